// Makes a model from a recipe and data:  read -> prepare -> reduce -> lift -> report -> model.
#pragma once
#include "../gram/data.h"
#include "../model/model.h"
#include "../recipe/recipe.h"

namespace mercer {

std::shared_ptr<const Model> fit(Run &run, const Recipe &recipe, const Data &data, const RunSettings &settings);

} // namespace mercer
