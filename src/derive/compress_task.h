// What `compress` is asked for: the vectors to project, and the old centres in the form of the rows of a
// fit.
#pragma once
#include "../gram/row_sums.h"
#include "derive.h"

namespace mercer {

// The vectors to project, W = [A, nu, w] without nu or w if the model lacks them, and their inner
// products.
struct Originals {
    int64_t r = 0, mean = -1, density = -1, count = 0; // r: columns of A; mean, density: columns of nu, w; -1: absent
    std::vector<double> products;                      // W^T K_CC W

    explicit Originals(const Model &model);
    double product(int64_t i, int64_t j) const { return products[static_cast<size_t>(i + j * count)]; }
    Weights<double> columns(Run &run, const Model &model) const;
};

// Returns the centres of the model, with their weights, as the rows from which a reducer selects. Fails if
// their kernel values cannot be computed here or are not positive semi-definite.
Prepared centres_as_rows(const DeriveTask &task, const Model &model, const Originals &originals);
// Fails with E_UNSUPPORTED if the model is no sum of kernel values.
void check_compressible(const Model &model);
// True if the model stays as it is: no fewer centres are requested, or there is nothing to project.
bool copies_model(const Recipe &recipe, const Model &model, const Originals &originals);

} // namespace mercer
