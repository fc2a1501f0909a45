// The two roads of the method `auto`, exact passes and a projection: which of them shape and budget leave open, and what they
// cost, in the currency of flops at the speed of a matrix product:
//
//   a kernel value          c = 2 d + 15   (15: what the exponential costs; 0.45 ns against 100 Gflop/s in f32, FACTS B3.12)
//   factor from m to m'     n ((m' - m) c + m'^2 - m^2)
//   its projection          n m'^2
//   s rows                  s n (c + 2 p)
//   exact passes            2 n^2 / 2 (c + 4 b), b = max(24, r + 8), where they begin from what is known and stop at residuals
//                           of 1e-6
#pragma once
#include "evidence.h"
#include "fit.h"

namespace mercer {

constexpr int64_t first_ranks[] = {64, 128}; // two, for the decay of the trace
constexpr int64_t least_rank = 32;           // that a tight budget leaves
constexpr int64_t pilot_rows = 500;

struct Costs {
    double n, c, pass; // rows, a kernel value and an entry of a pass in flops
    Costs(const Source &source, int64_t r)
        : n(static_cast<double>(source.rows())), c(2.0 * static_cast<double>(std::max<int64_t>(source.cols(), 1)) + 15),
          pass(c + 4 * static_cast<double>(std::max<int64_t>(24, r + 8))) {}
    double factor(int64_t from, int64_t to) const {
        const double a = static_cast<double>(from), b = static_cast<double>(to);
        return n * ((b - a) * c + b * b - a * a);
    }
    double projection(int64_t m) const { return n * static_cast<double>(m) * static_cast<double>(m); }
    double rows(double s, int64_t columns) const { return s * n * (c + 2.0 * static_cast<double>(columns)); }
    double exact() const { return n * n * pass; }
    // One look, with so many rows for p directions.
    double look(int64_t m, double s, int64_t p) const {
        return factor(0, m) + projection(m) + rows(s, padded_columns<float>(p));
    }
    // A larger factor would cost more than exact passes even if it grew in steps: 2 m'^2 - m^2 < n pass bounds them all.
    double worth() const { return std::sqrt(n * pass); }
    double worth_rows() const { return n * pass / c; }
};

// What one look will take, as a rule: columns, rows of the residual.
struct LikelyLook {
    int64_t m;
    double s, cost;
};
LikelyLook likely_look(const Costs &costs, const CoreValues &values, const Roads &roads);

// exact: of all rows, whose lift takes these bytes; read: what reading takes. E_BUDGET: neither is open.
Roads find_roads(const PlanTask &exact, int64_t bytes, int64_t read);
// Into a forecast of the exact road.
void foresee_road(const PlanTask &exact, int64_t read, Forecast &ahead);

} // namespace mercer
