// The input of `compress`: the vectors to project, and the old centres in the form in which a fit
// has its rows.
#pragma once
#include "../gram/row_sums.h"
#include "derive.h"

namespace mercer {

// The vectors to project: the columns of W = [A, nu, w], without nu or w if the model lacks them.
struct Originals {
    int64_t r = 0,                // number of columns of A, which are the first r columns of W
        mean = -1,                // the column of W that is nu; -1: the model has no nu
        density = -1,             // the column of W that is w; -1: the model has no density
        count = 0;                // number of columns of W
    std::vector<double> products; // inner products W^T K_CC W; compress computes them

    explicit Originals(const Model &model);
    double product(int64_t i, int64_t j) const { return products[static_cast<size_t>(i + j * count)]; }
    Weights<double> columns(Run &run, const Model &model) const;
};

// Returns the centres of the model, with their weights, as the rows from which a reducer selects.
// Fails if their kernel values cannot be computed, because the centres are objects and no data were
// given, or if the kernel is not positive semi-definite.
Prepared centres_as_rows(const DeriveTask &task, const Model &model, const Originals &originals);
// Fails with E_UNSUPPORTED if the outputs of the model are not sums of kernel values that can be
// computed: a denominator g, random features, or a user kernel that is not set.
void check_compressible(const Model &model);
// True if the model stays as it is: no fewer centres are requested, or there is nothing to project.
bool copies_model(const Recipe &recipe, const Model &model, const Originals &originals);

} // namespace mercer
