// Estimates the spectrum of all rows from a few hundred of them. Only forecasts use the estimates:
// they affect no decision and no bit of a result.
//
//   K = L L^T + E on s rows; d, e: means of E's diagonal and of the squares of its other entries,
//     over the rows that are not pivots
//   trace of the residual of m pivots on n rows  ~  n d(m);   |E|_F^2  ~  n^2 e(m) + n d(m)^2
//   l_1 >= l_2 ... eigenvalues of the centred matrix / s;
//   lambda_i ~ l_i - (1 - s / n) / (s - i) sum_{j > i} l_j
//
// because a sample of s rows inflates each leading eigenvalue by a share of the rest of the
// spectrum (Silverstein 1995, to first order). Beyond the sample, traces are extrapolated by the
// power of m at which they fell last. The solver is assumed to need as many passes as on the
// sample. Cost: s^2 / 2 kernel values, 2 s^3 flops; memory 4 s^2. Error: estimated spectra of
// randomly drawn rows are accurate to a few per cent where they fall, and to a factor of 2 where
// the sample ends. Structure that occurs in fewer than one row in s is missed.
#pragma once
#include "../lift/lift.h"

namespace mercer {

class SpectrumEstimate {
  public:
    // The number of rows that may be read: 0 for a source that can be read only once, and fewer if
    // values come from callbacks.
    static int64_t allowed(const Recipe &recipe, const Source &source);
    static bool asks(const Recipe &recipe, const Source &source); // values come from callbacks
    // The cost of the sample, in flops at the speed of a matrix product.
    static double cost(const Source &source, int64_t rows);
    // The memory of the sample: the rows as read, and two panels of them, which may be packed.
    static int64_t bytes(const Source &source, int64_t rows);
    // nullptr if the sample cannot be used; the fit will report what is wrong with the data.
    static std::unique_ptr<SpectrumEstimate> take(Run &run, const Recipe &recipe, const Data &data);

    int64_t rows() const { return s_; }
    double value_seconds() const { return value_seconds_; } // of a kernel value on one thread
    bool serial() const { return serial_; }                 // only one thread at a time may compute values
    // Means over all rows: k(x, x), the variance, the variance that the first r components leave,
    // and the trace that m pivots leave.
    double self() const { return self_; }
    double variance() const { return variance_; }
    double missed(int64_t r) const;
    double left(int64_t m) const;
    double eigenvalue(int64_t i) const;    // of the covariance; i counts from 1
    double norm(int64_t m) const;          // |E|_F / n
    int64_t rank() const { return rank_; } // estimated rank of n rows if the sample reaches it; otherwise n
    // The likely number of components.
    int64_t components(const CoreValues &values, int64_t most) const;
    // The passes that the plan's solver will need for r pairs; 0 if the sample gives no estimate.
    double passes(Run &run, const Recipe &recipe, const Plan &plan, int64_t r) const;

  private:
    struct Left {
        int64_t m;
        double trace, square; // d, e
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
    std::vector<double> k_;      // the sample's matrix, later weighted and centred; column-major
    std::vector<double> factor_; // L, s x pivots
    std::vector<double> values_; // estimates of lambda
    std::vector<Left> left_;
};

// Replaces the likely figures of a plan by estimates from the sample.
void expect_spectrum(const PlanTask &task, const SpectrumEstimate &spectrum, Plan &plan);

} // namespace mercer
