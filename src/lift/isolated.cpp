// Isolated centres of a walk P = D^-1 W with the symmetric eigenvectors u_l of S = D^-1/2 W D^-1/2,
// |u_l| = 1.
//
// P_ii = W_ii / d_i near 1 means that a step from i mostly leads back to i: the row is far from all
// others on the scale of the kernel. S_ii = P_ii is the Rayleigh quotient of the unit vector e_i,
// so S has an eigenvalue of at least P_ii. If that eigenvalue is near 1, its vector is among the
// leading ones and is nearly e_i: a coordinate that is constant on all other rows. The same holds
// for a few rows near each other.
//
// Such coordinates are found by a rule: lambda_l >= 0.9, and the largest entries of u_l that make
// up 0.9 of |u_l|^2 belong either to centres with together at most 1 % of the weight, or to a
// single row, or to centres that each have P_ii >= 0.9 and no more weight than a single row or 1 %.
// A coordinate that splits the rows into larger parts does not meet this rule, because its square
// is spread over all of the smaller part. Cost: one sort of m entries per coordinate. Rounding does
// not matter, because the thresholds are far from both kinds of coordinates.
#include "isolated.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mercer {

namespace {

constexpr double stored = 0.9; // in the rule above: share of the square of u_l
constexpr double slow = 0.9;   // in the rule above: smallest lambda_l, smallest P_ii
constexpr double light = 0.01; // in the rule above: largest share of the weight

// Finds the fewest centres whose entries make up the share `stored` of the square of u. Returns
// them if one of the three cases of the rule at the top of this file holds, otherwise none.
CountedVector<int64_t> set_apart(const double *u, const CountedVector<double> &weights, const Buffer<double> &stay) {
    const int64_t m = static_cast<int64_t>(weights.size());
    const double most = light * std::accumulate(weights.begin(), weights.end(), 0.0), row = std::max(1.0, most);
    CountedVector<int64_t> order(static_cast<size_t>(m)), few;
    std::iota(order.begin(), order.end(), int64_t{0});
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        const double x = std::fabs(u[a]), y = std::fabs(u[b]);
        return x != y ? x > y : a < b;
    });
    double square = 0, weight = 0;
    bool stay_each = true;
    for (size_t k = 0; square < stored && k < order.size(); ++k) {
        const int64_t i = order[k];
        const double own = weights[static_cast<size_t>(i)];
        square += u[i] * u[i];
        weight += own;
        stay_each &= stay[i] >= slow && own <= row;
        few.push_back(i);
    }
    if (weight <= most || (few.size() == 1 && weight <= row) || stay_each) return few;
    return {};
}

} // namespace

Isolated find_isolated(Run &run, const Eigenpairs &pairs, int64_t count, const CountedVector<double> &weights,
                       const Buffer<double> &stay) {
    Isolated out;
    if (weights.size() < 3) return out; // with two rows, each would count as isolated
    pairs.each(run, count, [&](int64_t j, const double *u) {
        if (pairs.values[static_cast<size_t>(j)] < slow) return;
        const CountedVector<int64_t> few = set_apart(u, weights, stay);
        if (few.empty()) return;
        out.coordinates.push_back(j);
        out.centres.insert(out.centres.end(), few.begin(), few.end());
    });
    std::sort(out.centres.begin(), out.centres.end());
    out.centres.erase(std::unique(out.centres.begin(), out.centres.end()), out.centres.end());
    return out;
}

} // namespace mercer
