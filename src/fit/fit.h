// From a recipe and data to a model:  read -> prepare -> reduce -> lift -> model.
#pragma once
#include "../gram/data.h"
#include "../model/model.h"
#include "../recipe/recipe.h"

namespace mercer {

std::shared_ptr<const Model> fit(Run &run, const Recipe &recipe, const Data &data, const RunSettings &settings);

} // namespace mercer
