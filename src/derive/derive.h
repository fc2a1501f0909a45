// Derivations: operations that make a model from models. The recipe of a derivation has the
// parameters of the derivation itself, those of its reducer, and those of the core that have an
// effect in it (recipe/traits.h, recipe/parameters.cpp).
#pragma once
#include "../gram/data.h"
#include "../model/model.h"
#include "../recipe/recipe.h"

namespace mercer {

// The forecast of a derivation, which follows from the models and the parameters alone.
struct DerivationForecast {
    Bytes bytes; // peak memory, including the new model but not the models that it is made from
    mercer_figure kernel_evaluations{}, flops{};
    double dense_order = 0; // order of the largest dense factorisation, which cannot be cancelled
    std::string strategy;   // a text that says what will be done
};

struct DeriveTask {
    Run &run;
    const Recipe &recipe;
    const std::vector<std::shared_ptr<const Model>> &models;
    const Data *data; // nullptr: no data were given
    const RunSettings &settings;
    const DerivationForecast *ahead = nullptr; // the forecast; derive() sets it
};

// The functions behind a derivation of recipe/traits.h.
struct DerivationFunctions {
    std::shared_ptr<const Model> (*derive)(const DeriveTask &task);
    DerivationForecast (*forecast)(const DeriveTask &task); // fails with the errors of derive that it can foresee
};
// The functions by the name of the derivation. Tests add functions of their own.
std::map<std::string, DerivationFunctions> &derive_functions();

// Fails with E_ARGUMENT if the derivation does not accept this number of models.
void check_count(const Recipe &recipe, int64_t count);
// Returns the forecast of the task; fails with E_BUDGET if bytes.most exceeds the budget.
DerivationForecast forecast_derivation(const DeriveTask &task);
// Returns the forecast `ahead` in the form of the C API. The field `strategy` is left null: the
// caller sets it.
mercer_forecast forecast_figures(const Run &run, const DeriveTask &task, const DerivationForecast &ahead);
// Makes the new model. Fails with E_BUDGET before any work if the forecast exceeds the budget.
std::shared_ptr<const Model> derive(const DeriveTask &task);

// The part of the report that all derivations share: kernel, data and variance of the model, the
// operation with its parameters, and its ancestors.
Json derived_text(const DeriveTask &task, const Model &model);
// Makes the new model, and adds forecast, memory and times to its report. model: the model from
// which it is derived.
std::shared_ptr<const Model> derived_model(const DeriveTask &task, const Model &model, Json text, Tensors tensors);

std::shared_ptr<const Model> compress(const DeriveTask &task);
DerivationForecast forecast_compress(const DeriveTask &task);
std::shared_ptr<const Model> truncate(const DeriveTask &task);
DerivationForecast forecast_truncate(const DeriveTask &task);

} // namespace mercer
