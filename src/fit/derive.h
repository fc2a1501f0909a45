// Derivations: operations that make a model of models. A recipe made by the name of one has the rows of its reducer, and
// those of the core that it has a use for (core_rows.cpp).
#pragma once
#include "fit.h"

namespace mercer {

struct DeriveTask {
    Run &run;
    const Recipe &recipe;
    const std::vector<std::shared_ptr<const Model>> &models;
    const Data *data; // nullptr: none
    const RunSettings &settings;
};

struct Derivation {
    const char *name, *reducer; // reducer nullptr: it uses none, and its recipes have no such row
    const char *summary, *reference;
    int64_t most_models;
    std::shared_ptr<const Model> (*derive)(const DeriveTask &task);
};
std::vector<Derivation> &derivations(); // tests add to it

void check_count(const Recipe &recipe, int64_t count); // E_ARGUMENT where its derivation does not take so many models
std::shared_ptr<const Model> derive(const DeriveTask &task);

// What is the same for all of them: kernel, data, variance as the model has them; the operation, its parameters, and the texts of
// the models it came from, nearest first.
Json derived_text(const DeriveTask &task, const Model &model);
// Done: costs are added.
std::shared_ptr<const Model> derived_model(const DeriveTask &task, const Model &model, Json text, Tensors tensors);

std::shared_ptr<const Model> compress(const DeriveTask &task);

} // namespace mercer
