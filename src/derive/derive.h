// Derivations: operations that make a model from models. The recipe of a derivation has the
// parameters of its reducer, and those of the core that have an effect in it (parameters.cpp).
#pragma once
#include "../gram/data.h"
#include "../model/model.h"
#include "../recipe/recipe.h"

namespace mercer {

struct DeriveTask {
    Run &run;
    const Recipe &recipe;
    const std::vector<std::shared_ptr<const Model>> &models;
    const Data *data; // nullptr: no data were given
    const RunSettings &settings;
};

// The functions behind the derivations of recipe/traits.h, by name. Tests add functions of their
// own.
using Derive = std::shared_ptr<const Model> (*)(const DeriveTask &task);
std::map<std::string, Derive> &derive_functions();

// E_ARGUMENT if the derivation does not accept this many models.
void check_count(const Recipe &recipe, int64_t count);
std::shared_ptr<const Model> derive(const DeriveTask &task);

// The part of the report that all derivations share: kernel, data and variance of the model, the
// operation with its parameters, and the reports of the models that it was made from, most recent
// first.
Json derived_text(const DeriveTask &task, const Model &model);
// Finishes the model and adds the costs to its report.
std::shared_ptr<const Model> derived_model(const DeriveTask &task, const Model &model, Json text, Tensors tensors);

std::shared_ptr<const Model> compress(const DeriveTask &task);

} // namespace mercer
