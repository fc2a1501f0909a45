// Derivations: operations that make a model from models. The recipe of a derivation has the rows of the
// derivation itself, the parameters of its reducer, and those of the core that have an effect in it
// (recipe/traits.h, recipe/parameters.cpp).
#pragma once
#include "../gram/data.h"
#include "../model/model.h"
#include "../recipe/recipe.h"

namespace mercer {

// What a derivation will need, from the models and its parameters alone.
struct DerivationForecast {
    Bytes bytes; // peak, including the new model, in addition to the models that it is made from
    mercer_figure kernel_evaluations{}, flops{};
    double dense_order = 0; // of the largest factorisation, which cannot be cancelled
    std::string strategy;   // how it will run
};

struct DeriveTask {
    Run &run;
    const Recipe &recipe;
    const std::vector<std::shared_ptr<const Model>> &models;
    const Data *data; // nullptr: no data were given
    const RunSettings &settings;
    const DerivationForecast *ahead = nullptr; // set by derive()
};

// The functions behind a derivation of recipe/traits.h.
struct DerivationFunctions {
    std::shared_ptr<const Model> (*derive)(const DeriveTask &task);
    DerivationForecast (*forecast)(const DeriveTask &task); // fails as derive would where that is known in advance
};
std::map<std::string, DerivationFunctions> &derive_functions(); // by name; tests add functions of their own

// E_ARGUMENT if the derivation does not accept this many models.
void check_count(const Recipe &recipe, int64_t count);
// E_BUDGET if bytes.most exceeds the budget.
DerivationForecast forecast_derivation(const DeriveTask &task);
// The same in the form of the C API, apart from the text of the strategy.
mercer_forecast forecast_figures(const Run &run, const DeriveTask &task, const DerivationForecast &ahead);
// Fails with E_BUDGET before any work if the forecast exceeds the budget.
std::shared_ptr<const Model> derive(const DeriveTask &task);

// The part of the report that all derivations share: kernel, data and variance of the model, the
// operation with its parameters, and its ancestors.
Json derived_text(const DeriveTask &task, const Model &model);
// Finishes the model and adds the costs to its report.
std::shared_ptr<const Model> derived_model(const DeriveTask &task, const Model &model, Json text, Tensors tensors);

std::shared_ptr<const Model> compress(const DeriveTask &task);
DerivationForecast forecast_compress(const DeriveTask &task);

} // namespace mercer
