// Estimates the spectrum of all rows from a few hundred of them. Only forecasts use the estimates:
// they affect no decision and no bit of a result.
//
//   K = L L^T + E   the sample's kernel matrix, factored with m of its s rows as pivots
//   d(m), e(m)      means of the diagonal of E and of the squares of its other entries, over the
//                   rows that are not pivots
//   trace of the residual of m pivots on n rows  ~  n d(m);   |E|_F^2  ~  n^2 e(m) + n d(m)^2
//   l_1 >= l_2 ...  eigenvalues of the centred sample matrix / s
//   lambda_i        those of all n rows  ~  l_i - (1 - s / n) / (s - i) sum_{j > i} l_j
//
// because a sample of s rows inflates each leading eigenvalue by a share of the rest of the
// spectrum (Silverstein 1995, to first order). For m beyond the pivots of the sample, traces are
// extrapolated by the power of m at which they fell last. The solver is assumed to need as many
// passes as on the sample. Cost: s^2 / 2 kernel values, about 4 s^3 flops. Memory: 4 s^2 numbers.
// Error: for randomly drawn rows, eigenvalues are accurate to a few per cent where the spectrum
// falls, and to a factor of 2 near its end in the sample. Structure that occurs in fewer than one
// row in s is missed.
#pragma once
#include "../lift/lift.h"

namespace mercer {

class SpectrumEstimate {
  public:
    // The number of rows that a sample may have: 0 if there are too few rows or if the source must
    // be loaded before it can be read again. If kernel values come from callbacks, fewer rows are
    // allowed.
    static int64_t allowed(const Recipe &recipe, const Source &source);
    static bool asks(const Recipe &recipe, const Source &source); // true: kernel values come from callbacks
    // The cost of the sample, in flops at the speed of a matrix product.
    static double cost(const Source &source, int64_t rows);
    // The memory of the sample in the budget: the sampled rows twice, and two panels of prepared
    // rows. Its small matrices are not counted.
    static int64_t bytes(const Source &source, int64_t rows);
    // Reads a sample and estimates the spectrum. Returns nullptr if the sample cannot be used; if
    // the data are the reason, the fit will say what is wrong with them.
    static std::unique_ptr<SpectrumEstimate> take(Run &run, const Recipe &recipe, const Data &data);

    int64_t rows() const { return s_; }
    double value_seconds() const { return value_seconds_; } // time of one kernel value on one thread
    bool serial() const { return serial_; }                 // only one thread at a time may compute kernel values
    double self() const { return self_; }                   // mean of k(x, x)
    double variance() const { return variance_; }           // sum of all eigenvalues of the covariance
    double missed(int64_t r) const;                         // part of the variance beyond the first r components
    double left(int64_t m) const;                           // trace of the residual of m pivots, divided by n
    double eigenvalue(int64_t i) const;                     // of the covariance; i counts from 1
    double norm(int64_t m) const;                           // |E|_F of the residual of m pivots, divided by n
    // The number of pivots with which the sample left no residual, which is then taken for the rank
    // of the kernel matrix; n if a residual was left.
    int64_t rank() const { return rank_; }
    // The likely number of components, at most `most`.
    int64_t components(const CoreValues &values, int64_t most) const;
    // The passes that the plan's solver will need for r eigenpairs; 0 if the sample gives no
    // estimate.
    double passes(Run &run, const Recipe &recipe, const Plan &plan, int64_t r) const;

  private:
    struct Left { // the residual of m pivots
        int64_t m;
        double trace, square; // d(m) and e(m)
    };
    SpectrumEstimate() = default;
    template <class T>
    void look(Run &run, const Prepared &prepared, bool centred);
    void factor(int64_t most, const Random &random);
    void spectrum();
    template <class Of>
    double at(int64_t m, Of &&of) const;

    int64_t s_ = 0, n_ = 0, rank_ = 0, pivots_ = 0;
    double value_seconds_ = 0, self_ = 0, variance_ = 0;
    bool serial_ = false, centred_ = false;
    std::vector<double> k_;      // the sample's kernel matrix, weighted, later centred too; column-major
    std::vector<double> factor_; // L, s x pivots, column-major
    std::vector<double> values_; // the estimates of lambda_i that were possible
    std::vector<Left> left_;     // by ascending m
};

// Replaces the likely figures of a plan by estimates from the sample.
void expect_spectrum(const PlanTask &task, const SpectrumEstimate &spectrum, Plan &plan);

} // namespace mercer
