// Error bars of eigenvalues by the bootstrap in Ritz space. In p orthonormal
// directions that span the leading part of the spectrum, a resample of the rows changes only the
// weights in
//
//   S_b = Z^T diag(c_b) Z / sum c_b - z_b z_b^T,  z_b = Z^T c_b / sum c_b  (uncentred: without z_b)
//
// so no kernel value is needed. (With p = 20 and 1500 rows, the standard deviations of five
// eigenvalues were within 2 % of those from a new fit for each replicate.) The counts c_b are independent Poisson(1) draws. This is resampling
// with replacement in which the number of rows is itself Poisson distributed; dividing by sum c_b
// corrects for that up to 1/n. The counts are a pure function of (seed, b, row).
//
// Percentiles keep the bias of the sample: its largest eigenvalues are too large if about as many
// directions matter as there are rows. The interval then lies above the eigenvalue of the
// distribution, and may even lie above that of the sample.
#pragma once
#include "../core/rng.h"
#include "../core/run.h"

namespace mercer {

struct BootstrapErrors { // for the first r eigenvalues
    std::vector<double> sd, mean;
    std::vector<double> lower, upper; // percentiles (1 -+ level) / 2 of the replicates
    std::vector<double> replicates;   // r x replicates, each column descending
};

// Returns how often replicate b contains row i.
int64_t bootstrap_count(const Random &random, int64_t b, int64_t i);

// z: n x p scores in orthonormal directions, column-major; weights: of the rows, or nullptr;
// r <= p, replicates >= 2. Cost: n p^2 replicates flops, less than one pass over a kernel matrix.
// Memory: a few slabs per thread.
BootstrapErrors bootstrap_eigenvalues(Run &run, int64_t n, int64_t p, const double *z, int64_t ldz,
                                      const double *weights, bool centred, int64_t r, int64_t replicates, double level,
                                      uint64_t seed);
// Returns an upper bound of the memory, including z.
int64_t bootstrap_bytes(int64_t n, int64_t p, int64_t threads);

} // namespace mercer
