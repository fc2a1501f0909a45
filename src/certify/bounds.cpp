// The bounds follow from the blocks of H K H in the basis [U, U'], where U' is orthonormal and
// orthogonal to U. The other symbols are those of bounds.h.
//
//   | A    C |    A = Theta + G,  C C^T <= W,  C C^T <= |E| G (E is PSD)
//   | C^T  D |    D <= mu := theta_{p+1} + |E|
//
// By interlacing, lambda_i(K) >= lambda_i(A). By the Schur complement and Sylvester's law of
// inertia, for t > mu at most as many eigenvalues of K lie above t as eigenvalues of
// A + C C^T / (t - mu) do. If C C^T <= N N^T, this number is at most the number of eigenvalues
// above t of
//
//   B = | A   N    |
//       | N^T mu 1 |
//
// so lambda_i(K) <= lambda_i(B), which is >= mu (i <= p, by interlacing). One problem of order 2 p
// gives all i; the result is exactly that of bisecting lambda_i(A + N N^T / (t - mu)) <= t over
// t > mu.
//
// G and W are bounded from s sampled rows by the inequalities below; X and the means are those of
// RowMoments (bounds.h). There are `events` inequalities, 4 with lower bounds of G and otherwise 3,
// and each of them is wrong with probability failure / events at most:
// L_p = ln(events p / failure), L_1 = ln(events / failure). Here g = |G|, and
// b = cross * sqrt(g) >= |X|, because |R_i|^2 <= d_i g.
//
//   v, the norm of the expectation of X^2:  v - V - V ln(v / V) <= b^2 L_1 / s,  V = |mean X^2|
//         Chernoff's bound of the lower tail of the numbers |X e|^2 in [0, b^2]. e is the leading
//         eigenvector of the expectation of X^2; it is fixed, so that no factor p is lost.
//   G - mean X <= dev(g) := sqrt(2 v L_p / s) + (b + g) L_p / 3s, and mean X - G <= dev(g)
//         matrix Bernstein inequality (Tropp 2012, 6.1)
//   W <= mean (R^T R / p_i) + sqrt(2 R_W w L_p / s),  R_W = g load,  w = |W|
//         lower tail of PSD matrices <= R_W
//
// dev grows with g, which is unknown. The iteration g <- |mean X| + dev(g), started at g = |E|,
// decreases, and each of its values is a bound of g. Cost: two symmetric eigenproblems of order 2 p
// and six of order p, about 80 p^3 flops; the cost of the iterations for g and v is negligible.
#include "bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mercer {
namespace {

using Square = std::vector<double>; // column-major, symmetric

size_t at(int64_t i, int64_t j, int64_t n) { return static_cast<size_t>(i + j * n); }

std::vector<double> eigenvalues(int64_t n, Square a, Square *vectors = nullptr) {
    std::vector<double> values(static_cast<size_t>(n));
    Square own(static_cast<size_t>(n * n));
    eigh_top(n, a.data(), n, n, values.data(), vectors ? vectors->data() : own.data(), n);
    return values;
}

// Returns the square block of a that begins at diagonal entry `from`.
Square block(const Square &a, int64_t n, int64_t from, int64_t size) {
    Square out(static_cast<size_t>(size * size));
    for (int64_t j = 0; j < size; ++j)
        for (int64_t i = 0; i < size; ++i) out[at(i, j, size)] = a[at(from + i, from + j, n)];
    return out;
}

double norm_of(int64_t n, const Square &a) {
    const std::vector<double> values = eigenvalues(n, a);
    return std::max({values.front(), -values.back(), 0.0});
}

Square plus_diagonal(Square a, int64_t n, double everywhere, const double *diagonal = nullptr) {
    for (int64_t i = 0; i < n; ++i) a[at(i, i, n)] += everywhere + (diagonal ? diagonal[i] : 0.0);
    return a;
}

Square scaled(Square a, double factor) {
    for (double &entry : a) entry *= factor;
    return a;
}

// Returns the p largest eigenvalues of B (see above), for M = N N^T. Negative eigenvalues of M,
// which arise from rounding, are set to 0.
std::vector<double> coupled_upper(int64_t p, const Square &a, const Square &m, double mu) {
    Square vectors(static_cast<size_t>(p * p)), b(static_cast<size_t>(4 * p * p));
    const std::vector<double> squares = eigenvalues(p, m, &vectors);
    for (int64_t j = 0; j < p; ++j) {
        const double root = std::sqrt(std::max(squares[static_cast<size_t>(j)], 0.0));
        for (int64_t i = 0; i < p; ++i) {
            b[at(i, j, 2 * p)] = a[at(i, j, p)];
            b[at(p + j, i, 2 * p)] = vectors[at(i, j, p)] * root;
        }
        b[at(p + j, p + j, 2 * p)] = mu;
    }
    std::vector<double> upper = eigenvalues(2 * p, b);
    upper.resize(static_cast<size_t>(p));
    return upper;
}

// The concentration inequalities of one certificate. `failure`, the probability that any of them is
// wrong, is divided evenly among them: l_1 = ln(events / failure), l_p = ln(p events / failure). s:
// number of sampled rows; cross: RowLaw::cross().
struct Tails {
    double l_p, l_1, s, cross;
    Tails(int64_t p, int64_t rows, double law_cross, double failure, Sides sides)
        : s(static_cast<double>(rows)), cross(law_cross) {
        const double events = sides == Sides::both ? 4 : 3;
        l_1 = std::log(events / failure);
        l_p = l_1 + std::log(static_cast<double>(p));
    }
    // Returns an upper bound of the largest v with v - V - V ln(v / V) <= c, where V is `seen`. The
    // left side is convex in v, so Newton's iterates, which start above this v, stay above it, and
    // each of them is a bound.
    static double variance(double seen, double c) {
        if (!(seen > 0)) return c;
        double v = seen + c + std::sqrt(c * (c + 2 * seen)); // solves (v - V)^2 / 2v = c, a weaker inequality
        for (int step = 0; step < 20; ++step) {
            const double slope = 1 - seen / v, above = v - seen - seen * std::log(v / seen) - c;
            if (!(above > 1e-12 * v) || !(slope > 0)) break;
            v -= above / slope;
        }
        return v;
    }
    double deviation(double g, double v) const {
        const double b = cross * std::sqrt(g);
        return std::sqrt(2 * variance(v, b * b * l_1 / s) * l_p / s) + (b + g) * l_p / (3 * s);
    }
    // Returns a bound of g, given a bound of |E| (norm) and the largest eigenvalue of mean X
    // (mean).
    double largest(double norm, double mean, double v) const {
        constexpr int rounds = 200; // the iteration may stop after any round: each value is a bound
        double g = norm;
        for (int round = 0; round < rounds; ++round) {
            const double next = std::max(mean, 0.0) + deviation(g, v);
            if (!(next < g * (1 - 1e-9))) break;
            g = next;
        }
        return g;
    }
    // Returns a bound of W - M, where M is the mean over the sample and W its expectation; w: |M|.
    double spread(double g, double load, double w) const {
        const double k = 2 * g * load * l_p / s, root = std::sqrt(k) / 2 + std::sqrt(k / 4 + w);
        return std::sqrt(k) * root;
    }
};

// Bounds of G and W that follow from the rows.
struct Blocks {
    double g, deviation;
    Square g_upper, w_upper;
    Blocks(const RowMoments &rows, double norm, double failure, Sides sides) {
        const int64_t p = rows.p;
        if (rows.all) {
            g = std::max(eigenvalues(p, rows.g).front(), 0.0), deviation = 0;
            g_upper = rows.g, w_upper = rows.w;
            return;
        }
        const Tails tails(p, rows.s, rows.cross, failure, sides);
        const double v = norm_of(p, rows.v);
        g = tails.largest(norm, eigenvalues(p, rows.g).front(), v);
        deviation = tails.deviation(g, v);
        g_upper = plus_diagonal(rows.g, p, deviation);
        w_upper = plus_diagonal(rows.w, p, tails.spread(g, rows.load, norm_of(p, rows.w)));
    }
};

// Returns an upper bound of the standard error of e^T (mean X) e. It follows from
// (e^T X e)^2 <= e^T X^2 e.
double spread_of(const RowMoments &rows, const double *e) {
    double square = 0, mean = 0;
    for (int64_t j = 0; j < rows.p; ++j)
        for (int64_t i = 0; i < rows.p; ++i) {
            square += e[i] * rows.v[at(i, j, rows.p)] * e[j];
            mean += e[i] * rows.g[at(i, j, rows.p)] * e[j];
        }
    return std::sqrt(std::max(square - mean * mean, 0.0) / static_cast<double>(rows.s));
}

Bounds start(const RitzSpectrum &spectrum, const char *kind, double above, double failure) {
    Bounds out;
    out.kind = kind;
    out.failure = failure;
    out.theta = out.value = out.lower = out.upper = spectrum.theta;
    for (double &value : out.upper) value += above;
    return out;
}

// Each entry of K has a relative error of a few u, so that K itself errs by a few u |K| in norm. As
// eta is about u |K|, 8 eta is allowed for these errors.
double rounding_of(const RitzSpectrum &spectrum, const RowMoments *rows) {
    return 8 * spectrum.eta + spectrum.sums + (rows ? rows->sums : 0);
}
double rounding_below(const RitzSpectrum &spectrum, const RowMoments *rows, size_t i) {
    return spectrum.rounding_below(i) + (rows ? rows->sums : 0);
}

// Converts bounds for K + eta to bounds for K, and moves each value into its bounds.
Bounds finish(Bounds out, const RitzSpectrum &spectrum, const RowMoments *rows = nullptr) {
    const double eta = spectrum.eta;
    for (size_t i = 0; i < out.value.size(); ++i) {
        out.lower[i] -= eta + rounding_below(spectrum, rows, i);
        out.upper[i] = std::max(out.upper[i] - eta + rounding_of(spectrum, rows), out.lower[i]);
        out.value[i] = std::clamp(out.value[i], out.lower[i], out.upper[i]);
    }
    return out;
}

} // namespace

double Bounds::error(int64_t i) const {
    const size_t k = static_cast<size_t>(i);
    return std::max(upper[k] - value[k], value[k] - lower[k]);
}

double Bounds::worst(int64_t r) const {
    double out = 0;
    for (int64_t i = 0; i < r; ++i) out = std::max(out, error(i));
    return out;
}

double Bounds::worst_share(int64_t r) const {
    const double least = r > 0 ? lower[static_cast<size_t>(r - 1)] : 1.0;
    return least > 0 ? worst(r) / least : std::numeric_limits<double>::infinity();
}

Bounds trace_bounds(const RitzSpectrum &spectrum) {
    return finish(start(spectrum, "trace", spectrum.total(), 0), spectrum);
}

Bounds norm_bounds(const RitzSpectrum &spectrum, double norm, double failure) {
    const double above = std::min(norm, spectrum.total());
    return finish(start(spectrum, "frobenius", above, failure), spectrum);
}

Bounds row_bounds(const RitzSpectrum &spectrum, const RowMoments &rows, double norm, double failure, Sides sides) {
    const int64_t p = spectrum.p();
    norm = std::min(norm, spectrum.total());
    const Blocks blocks(rows, norm, failure, sides);
    const double mu = spectrum.next + norm;
    Bounds out = start(spectrum, "rows", norm, rows.all ? 0 : failure);
    out.consistent = rows.reach <= norm * (1 + 1e-6);
    const Square a_upper = plus_diagonal(blocks.g_upper, p, 0, spectrum.theta.data());
    for (const Square &m : {blocks.w_upper, scaled(blocks.g_upper, norm)}) {
        const std::vector<double> upper = coupled_upper(p, a_upper, m, mu);
        for (size_t i = 0; i < upper.size(); ++i) out.upper[i] = std::min(out.upper[i], upper[i]);
    }
    Square vectors(static_cast<size_t>(p * p));
    out.value = eigenvalues(p, plus_diagonal(rows.g, p, 0, spectrum.theta.data()), &vectors);
    for (int64_t i = 0; i < p; ++i) out.spread.push_back(rows.all ? 0 : spread_of(rows, vectors.data() + i * p));
    if (sides == Sides::both || rows.all) {
        out.lower_certain = rows.all;
        for (size_t i = 0; i < out.lower.size(); ++i)
            out.lower[i] = std::max(out.lower[i], out.value[i] - blocks.deviation);
    }
    return finish(std::move(out), spectrum, &rows);
}

// Davis and Kahan: let X be the i leading exact eigenvectors and Lambda their eigenvalues. Then
// X^T K = Lambda X^T and the blocks of K in the basis [U, U'] give
// |U'^T X| (lambda_i - mu_i) <= |C| for mu_i >= D. If U consists of the first i directions alone,
// then C C^T is bounded by the leading i x i blocks of the bounds of W and |E| G, and mu_i by
// theta_{i+1} + |E|, or by the largest eigenvalue of the matrix B that belongs to the other p - i
// directions. Without rows, |C| <= |E| / 2, as for every off-diagonal block of a PSD matrix.
// Rounding is added to |C|.
//
// In feature space, the covariance operator replaces K. Its block on the first i directions is
// again Theta, and the off-diagonal block C has C C^T = Theta^1/2 G Theta^1/2, so that
// |C|_F^2 = sum theta_j G_jj <= theta_1 tr and |sines|_F (theta_i - lambda_{i+1}) <= |C|_F.
Sines subspace_sines(const RitzSpectrum &spectrum, const RowMoments *rows, double norm, const Bounds &bounds,
                     double failure, Sides sides, int64_t r) {
    const int64_t p = spectrum.p();
    norm = std::min(norm, spectrum.total());
    const double mu = spectrum.next + norm;
    std::vector<Blocks> blocks;
    if (rows) blocks.emplace_back(*rows, norm, failure, sides);
    auto coupling = [&](int64_t i) { // bounds |C| of the first i columns
        if (!rows) return norm / 2;
        const double w = norm_of(i, block(blocks[0].w_upper, p, 0, i)),
                     g = norm_of(i, block(blocks[0].g_upper, p, 0, i)) +
                         // Rounding is added before the root is taken, because a root enlarges
                         // errors of small numbers.
                         rounding_below(spectrum, rows, static_cast<size_t>(i - 1));
        return std::min(norm / 2, std::sqrt(std::min(w, norm * g)));
    };
    auto rest = [&](int64_t i) {
        if (i == p) return mu;
        const double plain = spectrum.theta[static_cast<size_t>(i)] + norm;
        if (!rows) return plain;
        const Square a = plus_diagonal(block(blocks[0].g_upper, p, i, p - i), p - i, 0, spectrum.theta.data() + i);
        const double w = coupled_upper(p - i, a, block(blocks[0].w_upper, p, i, p - i), mu).front();
        const double g = coupled_upper(p - i, a, scaled(block(blocks[0].g_upper, p, i, p - i), norm), mu).front();
        return std::min({plain, w, g});
    };
    // Two computed values may differ by this much although the exact ones are equal.
    const double rounding = 0x1p-48 * static_cast<double>(p) * spectrum.theta[0];
    auto sine = [&](double without, double gap, int64_t i) {
        const double c = without + rounding_below(spectrum, rows, static_cast<size_t>(i - 1));
        return gap - rounding > c ? c / (gap - rounding) : 1.0;
    };
    Sines out;
    const double all = coupling(p);
    double beside = 0; // sum theta_j G_jj
    for (int64_t i = 1; i <= r; ++i) {
        const size_t last = static_cast<size_t>(i - 1);
        const double g = rows ? std::clamp(blocks[0].g_upper[at(i - 1, i - 1, p)], 0.0, norm) : norm,
                     above = (i < p ? bounds.upper[last + 1] + spectrum.eta : mu) + rounding,
                     gap = spectrum.theta[last] - above - rounding_below(spectrum, rows, last);
        beside += spectrum.theta[last] * g;
        out.feature.push_back(gap > 0 ? (std::sqrt(std::min(beside, spectrum.theta[0] * spectrum.total())) +
                                         std::sqrt(static_cast<double>(i)) * rounding_below(spectrum, rows, last)) /
                                            gap
                                      : std::numeric_limits<double>::infinity());
        const double lambda = bounds.lower[last] + spectrum.eta;
        out.span.push_back(sine(all, lambda - mu, i));
        out.own.push_back(sine(coupling(i), lambda - rest(i), i));
    }
    return out;
}

namespace {

// Forecasts the error of the first r values after s rows. G and W are not known yet, so they are
// taken to be multiples of the identity, of a size that was measured on clustered data (n = 3000 to
// 6000, m = 200 to 600): |G| was |E|_F / 17 to |E|_F / 5, |mean X^2| was tr |G| sqrt p / 60 to
// tr |G| sqrt p / 20, and |W| about 2 |G|^2. B then splits into 2 x 2 blocks.
double expected_error(const RitzSpectrum &spectrum, double norm, int64_t r, int64_t s, double failure, Sides sides) {
    const double width = static_cast<double>(spectrum.p()), total = spectrum.total(), typical = norm / 13;
    const Tails tails(spectrum.p(), s, std::sqrt(width * total), failure, sides);
    const double v = total * typical * std::sqrt(width) / 40;
    const double g = tails.largest(norm, typical, v), upper_g = typical + tails.deviation(g, v);
    const double w = 2 * typical * typical, upper_w = w + tails.spread(g, 2 * total, w);
    const double mu = spectrum.next + norm, coupling = std::min(upper_w, norm * upper_g);
    double worst = 0;
    for (int64_t i = 0; i < std::min(r, spectrum.p()); ++i) {
        const double theta = spectrum.theta[static_cast<size_t>(i)], a = theta + upper_g, apart = (a - mu) / 2;
        const double upper = std::max(mu, (a + mu) / 2 + std::sqrt(apart * apart + coupling));
        worst = std::max(worst, std::min(upper, theta + norm) - theta - typical);
    }
    return worst;
}

// Returns the smallest s <= most with error(s) <= target, or a number that exceeds it by s / 64 at
// most; most + 1 if there is none. error(s) must decrease with s.
template <class Error>
int64_t least_rows(Error &&error, double target, int64_t most) {
    if (!(error(most) <= target)) return most + 1;
    int64_t low = 0, high = most; // error(low) > target, error(high) <= target
    while (high - low > 1 + low / 64) {
        const int64_t middle = low == 0 && high > 64 ? 64 : low + (high - low) / 2;
        (error(middle) <= target ? high : low) = middle;
    }
    return high;
}

} // namespace

int64_t rows_expected(const RitzSpectrum &spectrum, double norm, double failure, Sides sides, int64_t r, double target,
                      int64_t most) {
    norm = std::min(norm, spectrum.total());
    return least_rows([&](int64_t s) { return expected_error(spectrum, norm, r, s, failure, sides); }, target, most);
}

int64_t rows_needed(const RitzSpectrum &spectrum, const RowMoments &pilot, double norm, double failure, Sides sides,
                    int64_t r, double target, int64_t most) {
    RowMoments larger = pilot;
    auto error = [&](int64_t s) {
        larger.s = s;
        return row_bounds(spectrum, larger, norm, failure, sides).worst(r);
    };
    return least_rows(error, target, most);
}

RitzSpectrum leading(const RitzSpectrum &all, int64_t p) {
    RitzSpectrum out = all;
    out.theta.resize(static_cast<size_t>(p));
    if (!out.rounding.empty()) out.rounding.resize(static_cast<size_t>(p));
    if (p < all.p()) out.next = all.theta[static_cast<size_t>(p)];
    return out;
}

int64_t choose_width(const RitzSpectrum &all, double norm, int64_t r, int64_t s, double failure, Sides sides) {
    norm = std::min(norm, all.total());
    double least = std::numeric_limits<double>::infinity();
    int64_t best = std::min(r, all.p());
    for (int64_t p = best; p <= all.p(); ++p) {
        const double error = expected_error(leading(all, p), norm, r, s, failure, sides);
        if (error < least * (1 - 1e-3)) least = error, best = p;
    }
    return best;
}

// Here A = Theta, and the columns of C^T have the lengths rho_i = residuals[i], so that
// C C^T <= diag(rho_i sum rho) and C C^T <= (sum rho^2) 1, and B splits into 2 x 2 blocks. The
// simpler claim that lambda_i lies within rho_i of theta_i would be wrong where Ritz values are
// closer together than their residuals: for [[t, 0, c], [0, t, c], [c, c, t]] the first two unit
// vectors have the Ritz values t, t and the residuals c, c, but lambda_1 = t + sqrt(2) c.
Bounds residual_bounds(const std::vector<double> &theta, const std::vector<double> &residuals, double rest,
                       double failure, bool conditional, double image) {
    RitzSpectrum spectrum;
    spectrum.theta = theta;
    Bounds out = start(spectrum, "residuals", 0, failure);
    out.conditional = conditional;
    double sum = 0, squares = 0;
    for (double rho : residuals) sum += rho, squares += rho * rho;
    auto coupled = [rest](double a, double c2) { // the larger eigenvalue of [[a, c], [c, rest]]
        return std::max(a, rest) + c2 / (std::fabs(a - rest) / 2 + std::hypot((a - rest) / 2, std::sqrt(c2)));
    };
    std::vector<double> each = theta;
    for (size_t i = 0; i < theta.size(); ++i)
        each[i] = residuals[i] > 0 ? coupled(theta[i], residuals[i] * sum) : std::max(theta[i], rest);
    std::sort(each.rbegin(), each.rend());
    for (size_t i = 0; i < theta.size(); ++i) {
        const double whole = squares > 0 ? coupled(theta[i], squares) : std::max(theta[i], rest);
        out.upper[i] = std::max(theta[i], std::min(each[i], whole)) + image;
        out.lower[i] = std::max(theta[i] - image, 0.0);
    }
    return finish(std::move(out), spectrum);
}

} // namespace mercer
