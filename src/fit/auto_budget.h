// The two strategies of the method `auto`, exact passes and a projection: which of them are feasible for
// the shape and the budget, and their costs in flops at the speed of a matrix product:
//
//   a kernel value          c = 2 d + 15   (15: the exponential; 0.45 ns against 100 Gflop/s in
//                           f32, FACTS B3.12)
//   factor from m to m'     n ((m' - m) c + m'^2 - m^2)
//   its projection          n m'^2
//   s rows                  s n (c + 2 p)
//   exact passes            2 n^2 / 2 (c + 4 b), b = max(24, r + 8), if they start from
//                           known vectors and stop at residuals of 1e-6
#pragma once
#include "forecast.h"
#include "spectrum_estimate.h"

namespace mercer {

constexpr int64_t first_ranks[] = {64, 128}; // two sizes, which give the decay of the trace
constexpr int64_t least_rank = 32;           // smallest factor under a tight budget
constexpr int64_t pilot_rows = 500;

struct Costs {
    double n, c, pass; // n: rows; c, pass: flops of a kernel value and of an entry of a pass
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
    // The cost of one look at a factor of m columns, with s rows of the residual for p directions.
    double attempt(int64_t m, double s, int64_t p) const {
        return factor(0, m) + projection(m) + rows(s, padded_columns<float>(p));
    }
    // The largest factor worth growing. To grow a factor from m to m' and to project it costs more
    // than n (2 m'^2 - m^2) >= n m'^2, even if it grows in steps; beyond this size that is more
    // than exact passes cost.
    double worth() const { return std::sqrt(n * pass); }
    double worth_rows() const { return n * pass / c; }
};

// Predicts the remaining cost of the projected strategy after each size of the factor, and the size at
// which it is least. The search uses it, and so does a forecast that simulates the search
// (forecast_strategy).
class Outlook {
  public:
    struct Size {
        int64_t m;
        double cost; // of all remaining work
    };
    struct Sample {
        int64_t p, s;
    };
    // The results of the last look.
    struct Known {
        int64_t m = 0, r = 0;
        double trace = 0, norm = 0, target = 0;
        RitzSpectrum all;
        double correction = 1; // ratio of rows needed to rows expected
    } known;
    double decay = 1; // the trace of the residual falls as m^-decay

    // exact_cost: infinite if exact passes are impossible.
    Outlook(const Costs &costs, const Strategies &strategies, double exact_cost, bool f32)
        : costs_(costs), most_rank_(strategies.most_rank), most_rows_(strategies.most_rows), exact_cost_(exact_cost),
          f32_(f32) {}
    // Estimates the decay from the traces before and after a growth.
    void grew(int64_t from, int64_t to, double before, double left);
    // The directions and rows that should certify the accuracy if the residual has this trace;
    // s > most_rows if no number of rows should.
    Sample expected(double trace, double failure) const;
    // The cheapest size >= least, for a factor of `count` columns that leaves this trace. The cost
    // is infinite if no size suffices.
    Size cheapest(int64_t count, double left, int64_t least, double failure) const;

  private:
    const Costs &costs_;
    int64_t most_rank_, most_rows_;
    double exact_cost_;
    bool f32_;
};

// The likely needs of one look: columns of the factor, rows of the residual, and the cost.
struct LikelyAttempt {
    int64_t m;
    double s, cost;
};
LikelyAttempt likely_attempt(const Costs &costs, const CoreValues &values, const Strategies &strategies);

// The outcome of a search that is simulated with estimates from a sample of the rows.
struct SimulatedStrategy {
    bool exact = false;
    int64_t m = 0;                             // final number of columns
    double evaluations = 0, cost = 0, tol = 0; // kernel values; total flops; tolerance of exact passes
};
SimulatedStrategy simulate_strategy(const SpectrumEstimate &spectrum, const PlanTask &exact,
                                    const Strategies &strategies);

// Decides which strategies fit in the budget. exact: the plan task for all rows, whose lift needs
// `bytes`; read: bytes for reading. E_BUDGET if neither strategy fits.
Strategies find_strategies(const PlanTask &exact, int64_t bytes, int64_t read);
// Adds the projected strategy to a forecast of the exact one. simulated: nullptr if no row may be read.
void forecast_strategy(const PlanTask &exact, int64_t read, const SimulatedStrategy *simulated, Forecast &ahead);

} // namespace mercer
