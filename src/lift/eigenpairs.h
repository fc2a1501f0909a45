// Computes the r leading eigenpairs of an operator with the plan's solver.
#pragma once
#include "lift.h"

#include <functional>
#include <map>

namespace mercer {

struct Eigenpairs {
    std::vector<double> values, residuals;
    Block vectors; // m x r
    double most_negative = 0;
    bool converged = false;
    int64_t m() const { return vectors.n(); }
    // Calls body(j, u) for the first `count` vectors.
    template <class Body>
    void each(Run &run, int64_t count, Body &&body) const {
        Buffer<double> u = run.buffer<double>(m());
        for (int64_t j = 0; j < count; ++j) {
            vectors.read(j, 0, m(), u.data());
            body(j, u.data());
        }
    }
};

// Start vectors for a solver: write(to) writes the first to.count <= count of them.
struct Start {
    int64_t count = 0;
    std::function<void(Columns to)> write;
};

// scale: an upper bound of the operator's norm (mercer_eigen_request). keeper: stores checkpoints
// of the solver; nullptr: none are written.
Eigenpairs solve(Run &run, const Recipe &recipe, const Plan &plan, const Operator &op, double scale, int64_t r,
                 const Start &start, std::map<std::string, double> &report, Keeper *keeper);

} // namespace mercer
