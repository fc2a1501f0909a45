// A model in the making.
#pragma once
#include "model.h"

namespace mercer {

// What a lift adds to a model.
struct Lifted {
    Tensors tensors; // A, b, nu, lambda, w ...
    Json text = Json::object();
    uint32_t outcome = 0, capabilities = 0;
    int64_t kept = 0;                           // columns of A to keep; lift.ritz computes more
    int64_t kernel_evaluations = 0, passes = 0; // passes: how often the kernel matrix was computed
    double columns = 0, products = 0;
    double worst_share = 0; // exact fits: largest certified relative error of an eigenvalue
};

} // namespace mercer
