// The two strategies of the method `auto`, exact passes and a projection: which of them are
// feasible for the shape and the budget, and their costs in flops at the speed of a matrix product:
//
//   one kernel value                    c = 2 d + 15
//   growing a factor from m to m'       n ((m' - m) c + m'^2 - m^2)
//   projecting on a factor of m'        n m'^2
//   s rows of the residual, projected
//     on p directions                   s n (c + 2 p)
//   two exact passes over n^2 / 2
//     pairs with blocks of b vectors    2 n^2 / 2 (c + 4 b), b = max(24, r + 8)
//
// The 15 stands for the exponential. Measured at d = 16: a kernel value in f32 takes 0.45 ns where
// a matrix product runs at 100 Gflop/s. Two passes suffice if they start from Nystrom vectors and
// stop at residuals of 1e-6.
#pragma once
#include "forecast.h"
#include "spectrum_estimate.h"

namespace mercer {

// The first two sizes of the factor, from which the decay of the trace is estimated.
constexpr int64_t first_ranks[] = {64, 128};
constexpr int64_t least_rank = 32;  // smallest size of the factor under a tight budget
constexpr int64_t pilot_rows = 500; // size of the sample from which the next sample's size follows

struct Costs {
    double n, // number of rows
        c,    // flops of one kernel value
        pass; // flops of one exact pass for each pair of rows: c + 4 b
    Costs(const Source &source, int64_t r)
        : n(static_cast<double>(source.rows())), c(value_cost(source.cols())),
          pass(c + 4 * static_cast<double>(std::max<int64_t>(24, r + 8))) {}
    double factor(int64_t from, int64_t to) const {
        const double a = static_cast<double>(from), b = static_cast<double>(to);
        return n * ((b - a) * c + b * b - a * a);
    }
    double projection(int64_t m) const { return n * static_cast<double>(m) * static_cast<double>(m); }
    double rows(double s, int64_t columns) const { return s * n * (c + 2.0 * static_cast<double>(columns)); }
    double exact() const { return n * n * pass; }
    // The cost of growing a factor to m columns and of one attempt to certify with it, by s rows of
    // the residual and p directions.
    double attempt(int64_t m, double s, int64_t p) const {
        return factor(0, m) + projection(m) + rows(s, padded_columns<float>(p));
    }
    // The largest size of a factor that can pay. To grow a factor from m to m' and to project on it
    // costs more than n (2 m'^2 - m^2) >= n m'^2, even if it grows in steps. For an m' above this
    // size, n m'^2 alone exceeds the cost of exact passes.
    double worth() const { return std::sqrt(n * pass); }
    // The largest number of sampled rows that can pay: the kernel values of more rows cost more
    // than exact passes.
    double worth_rows() const { return n * pass / c; }
};

// Predicts what the projected strategy will still cost if the factor grows to a given size, and the
// size at which this cost is least. The search uses it, and so does a forecast that simulates the
// search (simulate_strategy).
class Outlook {
  public:
    struct Size {
        int64_t m;
        double cost; // of all remaining work, in flops
    };
    struct Sample {
        int64_t p, s; // directions; rows of the residual
    };
    // What the last attempt to certify has found.
    struct Known {
        int64_t m = 0,         // columns of the factor
            r = 0;             // eigenvalues to certify
        double trace = 0,      // of the residual E
            norm = 0,          // upper bound of |E|
            target = 0;        // the largest error of an eigenvalue that the accuracy allows
        RitzSpectrum all;      // with as many directions as a sample may use
        double correction = 1; // ratio of the rows needed to the rows that were expected
    } known;
    double decay = 1; // the trace of the residual is assumed to fall as m^-decay

    // exact_cost: infinite if exact passes are impossible. f32: the factor is in f32.
    Outlook(const Costs &costs, const Strategies &strategies, double exact_cost, bool f32)
        : costs_(costs), most_rank_(strategies.most_rank), most_rows_(strategies.most_rows), exact_cost_(exact_cost),
          f32_(f32) {}
    // Estimates the decay from the traces of the residual before and after the factor grew.
    void grew(int64_t from, int64_t to, double before, double left);
    // The numbers of directions (p) and rows (s) that are expected to certify the accuracy if the
    // residual has this trace; s > most_rows if no number of rows is expected to.
    Sample expected(double trace, double failure) const;
    // The size >= least with the least remaining cost, for a factor that has `count` columns now
    // and leaves a residual of trace `left`. The cost is infinite if no size is expected to
    // suffice.
    Size cheapest(int64_t count, double left, int64_t least, double failure) const;

  private:
    const Costs &costs_;
    int64_t most_rank_, most_rows_;
    double exact_cost_;
    bool f32_;
};

// What the attempt that certifies will probably need.
struct LikelyAttempt {
    int64_t m; // columns of the factor
    double s,  // sampled rows of the residual
        cost;  // in flops, from the first column on
};
LikelyAttempt likely_attempt(const Costs &costs, const CoreValues &values, const Strategies &strategies);

// The outcome of a search that is simulated with estimates from a sample of the rows.
struct SimulatedStrategy {
    bool exact = false;
    int64_t m = 0;          // final number of columns of the factor
    double evaluations = 0, // number of kernel values
        cost = 0,           // of the whole search, in flops
        tol = 0;            // tolerance of exact passes, if they are taken
};
SimulatedStrategy simulate_strategy(const SpectrumEstimate &spectrum, const PlanTask &exact,
                                    const Strategies &strategies);

// Decides which strategies fit in the budget. exact: the plan task for all rows; bytes: what its
// lift needs; read: what reading the rows needs, in bytes. Fails with E_BUDGET if neither strategy
// fits.
Strategies find_strategies(const PlanTask &exact, int64_t bytes, int64_t read);
// Adds the projected strategy to a forecast of the exact one. simulated: nullptr if the search was
// not simulated, because no sample of the rows was taken.
void forecast_strategy(const PlanTask &exact, int64_t read, const SimulatedStrategy *simulated, Forecast &ahead);

} // namespace mercer
