// Error bars of eigenvalues by the bootstrap in Ritz space (FACTS B3.9): in p orthonormal directions that hold what matters
// of the spectrum, a resample of the rows changes only the weights in
//
//   S_b = Z^T diag(c_b) Z / sum c_b - z_b z_b^T,   z_b = Z^T c_b / sum c_b   (uncentred: without z_b)
//
// so no kernel value is needed. c_b are counts of independent Poisson(1) draws: resampling n rows with replacement, n
// itself Poisson, which the division undoes up to 1/n; they are a pure function of (seed, b, row).
// Percentiles keep the bias of the largest eigenvalues of a sample, which are too large where as many directions matter as
// there are rows: there the interval lies above the eigenvalue of the law, and may lie above that of the sample.
#pragma once
#include "../core/rng.h"
#include "../core/run.h"

namespace mercer {

struct BootstrapErrors { // of the first r eigenvalues
    std::vector<double> sd, mean;
    std::vector<double> lower, upper; // percentiles (1 -+ level) / 2 of the replicates
    std::vector<double> replicates;   // r x replicates, each column descending
};

// How often replicate b contains row i.
int64_t bootstrap_count(const Random &random, int64_t b, int64_t i);

// z: n x p scores in orthonormal directions, column-major; weights: of the rows, or nullptr; r <= p, replicates >= 2.
// n p^2 replicates flops, less than one pass over a kernel matrix; memory of a few slabs a thread.
BootstrapErrors bootstrap_eigenvalues(Run &run, int64_t n, int64_t p, const double *z, int64_t ldz,
                                      const double *weights, bool centred, int64_t r, int64_t replicates, double level,
                                      uint64_t seed);
// Upper bound of the memory, including z.
int64_t bootstrap_bytes(int64_t n, int64_t p, int64_t threads);

} // namespace mercer
