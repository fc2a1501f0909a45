// Certificates: each formula against its naive form, bounds against exact eigenvalues where the rows leave nothing to
// chance, and the laws that rows are drawn by. How often bounds fail is tests/property/test_coverage.
#include "certify_problems.h"
#include "unity_cpp.h"

using namespace mercer;
using namespace certify_problems;

namespace {

constexpr int64_t endless = int64_t{1} << 60; // as a number of rows: deviations vanish, but for 1e-8 of the norm

Options some(int64_t k) {
    Gauss random(static_cast<uint64_t>(k) + 99);
    for (int skip = 0; skip < 8; ++skip) random.uniform();
    Options options;
    options.kind = static_cast<Kind>(k % static_cast<int64_t>(Kind::count));
    options.n = random.between(2, 120);
    options.m = random.between(1, options.n);
    options.p = random.between(1, 12);
    options.centred = random.uniform() < 0.7;
    options.f32 = random.uniform() < 0.3;
    return options;
}

// The true G and W as if all rows had been seen endlessly often.
RowMoments exact_moments(const Problem &problem) {
    const int64_t n = problem.options.n, p = problem.options.p;
    RowMoments out;
    out.p = p;
    out.s = endless;
    out.cross = std::sqrt(static_cast<double>(p) * problem.spectrum.total());
    out.load = 2 * problem.spectrum.total();
    out.g.resize(static_cast<size_t>(p * p)), out.w = out.v = out.g;
    Dense shifted = problem.ru;
    for (size_t i = 0; i < shifted.size(); ++i) shifted[i] += problem.spectrum.eta * problem.u[i];
    gemm('T', 'N', p, p, n, 1.0, problem.u.data(), n, shifted.data(), n, 0.0, out.g.data(), p);
    gemm('T', 'N', p, p, n, 1.0, shifted.data(), n, shifted.data(), n, 0.0, out.w.data(), p);
    return out;
}

void check_order(const Bounds &bounds) {
    for (size_t i = 0; i < bounds.value.size(); ++i) {
        TEST_ASSERT_TRUE(std::isfinite(bounds.lower[i]) && std::isfinite(bounds.upper[i]));
        TEST_ASSERT_TRUE(bounds.lower[i] <= bounds.value[i] && bounds.value[i] <= bounds.upper[i]);
        TEST_ASSERT_TRUE(i == 0 || (bounds.upper[i] <= bounds.upper[i - 1] && bounds.lower[i] <= bounds.lower[i - 1] &&
                                    bounds.value[i] <= bounds.value[i - 1]));
    }
}

void check_holds(const Bounds &bounds, const Problem &problem, double slack = 0) {
    check_order(bounds);
    for (size_t i = 0; i < bounds.value.size(); ++i) {
        TEST_ASSERT_TRUE(bounds.lower[i] <= problem.exact[i] + problem.rounding() + slack);
        TEST_ASSERT_TRUE(bounds.upper[i] >= problem.exact[i] - problem.rounding() - slack);
    }
}

void test_shares() {
    for (Sides sides : {Sides::upper, Sides::both}) {
        const Shares shares = share_failure(0.01, sides);
        TEST_ASSERT_DOUBLE_WITHIN(1e-16, 0.01, shares.pairs + shares.rows);
        TEST_ASSERT_DOUBLE_WITHIN(1e-16, sides == Sides::both ? 0.002 : 0.0025, shares.pairs);
    }
    double spent = 0;
    for (int64_t look = 1; look < 60; ++look)
        for (int choice = 0; choice < 3; ++choice) spent += look_failure(0.1, look, 3);
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 0.1, spent);
    TEST_ASSERT_TRUE(look_failure(0.1, 5000) >= 0);
}

// Bounds without rows, and those with rows that leave nothing to chance.
void test_certain() {
    double schur = 0, trace = 0;
    for (int64_t k = 0; k < 240; ++k) {
        const Problem problem = make(some(k), static_cast<uint64_t>(k), true);
        const Bounds plain = trace_bounds(problem.spectrum);
        check_holds(plain, problem);
        check_holds(norm_bounds(problem.spectrum, problem.norm, 0.1), problem);
        const RowMoments moments = exact_moments(problem);
        const double chance = 1e-6 * problem.spectrum.total(); // dev(g) at `endless`
        for (Sides sides : {Sides::upper, Sides::both}) {
            const Bounds bounds = row_bounds(problem.spectrum, moments, problem.norm, 0.5, sides);
            check_holds(bounds, problem, chance);
            TEST_ASSERT_EQUAL(sides == Sides::upper, bounds.lower_certain);
            TEST_ASSERT_TRUE(bounds.upper[0] <= plain.upper[0]);
            schur += bounds.upper[0] - problem.exact[0];
            trace += plain.upper[0] - problem.exact[0];
        }
    }
    TEST_ASSERT_TRUE(schur < 0.2 * trace);
}

// The naive form: bisection over t, eigenvalues by Jacobi (specification 6.5).
oracle::Matrix as_matrix(const Dense &a, int64_t p) {
    oracle::Matrix out(p, p);
    for (int64_t i = 0; i < p; ++i)
        for (int64_t j = 0; j < p; ++j) out(i, j) = a[static_cast<size_t>(i + j * p)];
    return out;
}
oracle::Vector jacobi(const oracle::Matrix &a) {
    oracle::Matrix vectors;
    return oracle::eigen(a, vectors);
}
double naive_upper(const RitzSpectrum &spectrum, const RowMoments &rows, double norm, double events, double failure,
                   int64_t i) {
    const int64_t p = spectrum.p();
    const double s = static_cast<double>(rows.s), l1 = std::log(events / failure),
                 lp = std::log(events * static_cast<double>(p) / failure);
    const oracle::Matrix gh = as_matrix(rows.g, p), wh = as_matrix(rows.w, p);
    const double v = jacobi(as_matrix(rows.v, p))[0], wide = jacobi(wh)[0], mean = std::max(jacobi(gh)[0], 0.0);
    auto dev = [&](double g) {
        const double b = std::sqrt(g) * rows.cross, h = b * b * l1 / 2 / s;
        return (std::sqrt(h) + std::sqrt(h + v)) * std::sqrt(2 * lp / s) + (b + g) * lp / 3 / s;
    };
    double g = norm;
    for (int k = 0; k < 10000; ++k) g = std::min(g, mean + dev(g));
    double w = wide; // from below: root of w = |Wh| + sqrt(2 R w L / s)
    for (int k = 0; k < 10000; ++k) w = wide + std::sqrt(2 * g * rows.load * w * lp / s);
    const double spread = std::sqrt(2 * g * rows.load * w * lp / s), mu = spectrum.next + norm;
    auto least = [&](bool by_w) {
        auto holds = [&](double t) {
            oracle::Matrix a(p, p);
            for (int64_t x = 0; x < p; ++x)
                for (int64_t y = 0; y < p; ++y) {
                    const double gp = gh(x, y) + (x == y ? dev(g) : 0), wp = wh(x, y) + (x == y ? spread : 0);
                    a(x, y) =
                        (x == y ? spectrum.theta[static_cast<size_t>(x)] : 0) + gp + (by_w ? wp : norm * gp) / (t - mu);
                }
            return jacobi(a)[static_cast<size_t>(i)] <= t;
        };
        double low = mu, high = std::max(mu, spectrum.theta[0]) + 10 * (norm + mu + 1);
        for (int k = 0; k < 80; ++k) (holds((low + high) / 2) ? high : low) = (low + high) / 2;
        return high;
    };
    return std::min({spectrum.theta[static_cast<size_t>(i)] + norm, least(true), least(false)});
}

void test_formula() {
    mercer_run settings = one_thread();
    Run run({}, &settings);
    int tighter = 0;
    for (int64_t k = 0; k < 24; ++k) {
        Options options = some(k);
        options.n = 60, options.p = 1 + k % 4, options.m = 10 + k;
        const Problem problem = make(options, static_cast<uint64_t>(k), true);
        const double norm = std::min(problem.norm, problem.spectrum.total());
        RowMoments rows = sampled_rows(run, problem, 50, static_cast<uint64_t>(k));
        for (int64_t s : {50, 100000}) {
            rows.s = s;
            for (Sides sides : {Sides::upper, Sides::both}) {
                const Bounds bounds = row_bounds(problem.spectrum, rows, norm, 0.01, sides);
                for (int64_t i = 0; i < problem.options.p; ++i) {
                    const double naive =
                                     naive_upper(problem.spectrum, rows, norm, sides == Sides::both ? 4 : 3, 0.01, i),
                                 ours = bounds.upper[static_cast<size_t>(i)] + problem.spectrum.eta;
                    TEST_ASSERT_DOUBLE_WITHIN(
                        1e-6 * norm + problem.rounding(), naive,
                        std::max(ours, bounds.lower[static_cast<size_t>(i)] + problem.spectrum.eta));
                    tighter += naive < problem.spectrum.theta[static_cast<size_t>(i)] + 0.9 * norm;
                }
            }
        }
    }
    TEST_ASSERT_TRUE(tighter > 20);
}

void test_frobenius() {
    const double x[] = {0.25, 0, 0.5, 0.1, 0.05, 0, 0, 0.3}, l = std::log(2 / 0.1);
    double mean = 0, variance = 0;
    for (double value : x) mean += value / 8;
    for (double value : x) variance += (value - mean) * (value - mean) / 7;
    std::vector<double> many;
    for (int k = 0; k < 800; ++k) many.push_back(x[k % 8]);
    TEST_ASSERT_DOUBLE_WITHIN(0, 3, frobenius_bound(3, x, 8, 0.1)); // beyond 1: the trace
    const double spread = 2 * (variance * 700 / 799) * l / 800;
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 3 * std::sqrt(mean + std::sqrt(spread) + 7 * l / (3 * 799)),
                              frobenius_bound(3, many.data(), 800, 0.1));
    TEST_ASSERT_DOUBLE_WITHIN(0, 3, frobenius_bound(3, x, 1, 0.1));
    TEST_ASSERT_DOUBLE_WITHIN(1e-16, 0.25, pair_share(0.5, false, 1, 1, 0));
    TEST_ASSERT_DOUBLE_WITHIN(1e-16, 1, pair_share(1, true, 1, 1, 0.25)); // a diagonal entry, shifted
    TEST_ASSERT_DOUBLE_WITHIN(0, 0, pair_share(0.5, false, -1e-9, 1, 0));
}

void test_lottery() {
    mercer_run settings = one_thread();
    Run run({}, &settings);
    const double weight[] = {0, 3, 0, 1, 4, 0};
    const Lottery lottery(run, 6, weight);
    TEST_ASSERT_EQUAL_INT64(1, lottery.draw(0));
    TEST_ASSERT_EQUAL_INT64(4, lottery.draw(1 - 0x1p-53));
    TEST_ASSERT_EQUAL_INT64(4, lottery.draw(1));
    const Random random(7, Stage::certificate);
    double seen[6] = {};
    for (int64_t k = 0; k < 40000; ++k) seen[lottery.draw(random.uniform(0, k))] += 1.0 / 40000;
    for (int i = 0; i < 6; ++i) TEST_ASSERT_DOUBLE_WITHIN(0.0125, weight[i] / 8, seen[i]); // 5 standard deviations
    const double nothing[] = {0, 0};
    try {
        Lottery none(run, 2, nothing);
        TEST_FAIL_MESSAGE("a lottery without weights");
    } catch (const Error &error) {
        TEST_ASSERT_EQUAL_INT32(MERCER_E_NUMERICAL, error.code());
    }
}

// The ranges are those of all rows; means over the law are G, E X^2 and W.
void test_law() {
    mercer_run settings = one_thread();
    Run run({}, &settings);
    for (int64_t k = 0; k < 12; ++k) {
        const Problem problem = make(some(k), static_cast<uint64_t>(k), false);
        const int64_t n = problem.options.n, p = problem.options.p;
        const double eta = problem.spectrum.eta, total = problem.spectrum.total();
        const RowLaw law(run, n, problem.d.data(), eta, p, problem.u.data(), n);
        double sum = 0, cross = 0, load = 0;
        Dense g(static_cast<size_t>(p * p));
        for (int64_t i = 0; i < n; ++i) {
            double uu = 0;
            for (int64_t j = 0; j < p; ++j) uu += std::pow(problem.u[static_cast<size_t>(i + j * n)], 2);
            const double d = problem.d[static_cast<size_t>(i)] + eta, chance = law.probability(i);
            sum += chance;
            if (total > 0) TEST_ASSERT_DOUBLE_WITHIN(1e-8, (d / total + uu / static_cast<double>(p)) / 2, chance);
            cross = std::max(cross, std::sqrt(uu * d) / chance);
            load = std::max(load, d / chance);
            Dense r, u;
            for (int64_t j = 0; j < p; ++j)
                r.push_back(problem.ru[static_cast<size_t>(i + j * n)]),
                    u.push_back(problem.u[static_cast<size_t>(i + j * n)]);
            RowSample one(law, p, eta);
            one.add(r.data(), u.data(), d - eta, chance);
            const RowMoments moments = one.moments();
            const double size_of_x = std::sqrt(uu * (moments.reach * d + 1e-20)) / chance;
            for (int64_t a = 0; a < p; ++a)
                for (int64_t b = 0; b < p; ++b) {
                    const size_t ab = static_cast<size_t>(a + b * p);
                    auto x = [&](int64_t c, int64_t e) {
                        const size_t cc = static_cast<size_t>(c), ee = static_cast<size_t>(e);
                        return (u[cc] * (r[ee] + eta * u[ee]) + (r[cc] + eta * u[cc]) * u[ee]) / (2 * chance);
                    };
                    double square = 0, size = 0;
                    for (int64_t c = 0; c < p; ++c) square += x(a, c) * x(c, b), size += std::fabs(x(a, c) * x(c, b));
                    TEST_ASSERT_DOUBLE_WITHIN(1e-11 * size_of_x, x(a, b), moments.g[ab]);
                    TEST_ASSERT_DOUBLE_WITHIN(1e-11 * size + 1e-11 * moments.v[static_cast<size_t>(a * (p + 1))],
                                              square, moments.v[ab]);
                    const size_t aa = static_cast<size_t>(a), bb = static_cast<size_t>(b);
                    const double w = (r[aa] + eta * u[aa]) * (r[bb] + eta * u[bb]) / chance;
                    TEST_ASSERT_DOUBLE_WITHIN(1e-12 * std::fabs(w), w, moments.w[ab]);
                    g[ab] += chance * moments.g[ab];
                }
        }
        TEST_ASSERT_DOUBLE_WITHIN(1e-12, 1, sum);
        TEST_ASSERT_DOUBLE_WITHIN(1e-9 * cross, cross, law.cross());
        TEST_ASSERT_DOUBLE_WITHIN(1e-9 * load, load, law.load());
        TEST_ASSERT_TRUE(law.cross() <= std::sqrt(static_cast<double>(p) * total) * (1 + 1e-6) &&
                         law.load() <= 2 * total * (1 + 1e-12));
        const RowMoments exact = exact_moments(problem);
        for (size_t ab = 0; ab < g.size(); ++ab) TEST_ASSERT_DOUBLE_WITHIN(problem.rounding(), exact.g[ab], g[ab]);
    }
}

void test_monotone() {
    mercer_run settings = one_thread();
    Run run({}, &settings);
    for (int64_t k = 0; k < 30; ++k) {
        const Problem problem = make(some(k), static_cast<uint64_t>(k), true);
        RowMoments rows = sampled_rows(run, problem, 40, 3);
        Bounds last;
        for (double failure : {0.5, 0.1, 1e-3, 1e-9, 1e-300}) {
            for (int64_t s : {1, 40, 4000}) {
                rows.s = s;
                check_order(row_bounds(problem.spectrum, rows, problem.norm, failure, Sides::both));
            }
            const Bounds bounds = row_bounds(problem.spectrum, rows, problem.norm, failure, Sides::both);
            for (size_t i = 0; i < last.upper.size(); ++i) {
                TEST_ASSERT_TRUE(bounds.upper[i] >= last.upper[i] - problem.rounding());
                TEST_ASSERT_TRUE(bounds.lower[i] <= last.lower[i] + problem.rounding());
            }
            last = bounds;
        }
    }
}

// A matrix that is not PSD is seen by its rows; eta heals it.
void test_indefinite() {
    mercer_run settings = one_thread();
    Run run({}, &settings);
    Options options;
    options.kind = Kind::clusters;
    Problem problem = make(options, 5, true);
    TEST_ASSERT_TRUE(
        row_bounds(problem.spectrum, sampled_rows(run, problem, 300, 1), problem.norm, 0.01, Sides::both).consistent);
    const int64_t n = options.n, p = problem.options.p;
    // K with a negative eigenvalue, along U's second column mixed with unit vectors: d hardly changes.
    const double depth = 5 * problem.norm;
    for (int64_t j = 0; j < n; ++j)
        for (int64_t i = 0; i < n; ++i)
            problem.e[static_cast<size_t>(i + j * n)] -=
                depth * problem.u[static_cast<size_t>(i + n)] * problem.u[static_cast<size_t>(j + n)];
    gemm('N', 'N', n, p, n, 1.0, problem.e.data(), n, problem.u.data(), n, 0.0, problem.ru.data(), n);
    TEST_ASSERT_FALSE(
        row_bounds(problem.spectrum, sampled_rows(run, problem, 300, 1), problem.norm, 0.01, Sides::both).consistent);
    problem.spectrum.eta = depth;
    for (int64_t i = 0; i < n; ++i)
        problem.d[static_cast<size_t>(i)] = std::max(problem.e[static_cast<size_t>(i * (n + 1))], 0.0);
    TEST_ASSERT_TRUE(
        row_bounds(problem.spectrum, sampled_rows(run, problem, 300, 1), problem.norm + depth, 0.01, Sides::both)
            .consistent);
}

double sine(const Problem &problem, const Dense &vectors, int64_t i, int64_t columns) {
    const int64_t n = problem.options.n;
    Dense left(vectors.begin(), vectors.begin() + n * i), c(static_cast<size_t>(columns * i)),
        gram(static_cast<size_t>(i * i));
    gemm('T', 'N', columns, i, n, 1.0, problem.u.data(), n, vectors.data(), n, 0.0, c.data(), columns);
    gemm('N', 'N', n, i, columns, -1.0, problem.u.data(), n, c.data(), columns, 1.0, left.data(), n);
    gemm('T', 'N', i, i, n, 1.0, left.data(), n, left.data(), n, 0.0, gram.data(), i);
    return std::sqrt(std::max(top(i, gram, 1)[0], 0.0));
}

void test_subspace() {
    int said = 0;
    for (int64_t k = 0; k < 120; ++k) {
        const Problem problem = make(some(k), static_cast<uint64_t>(k), true);
        const int64_t n = problem.options.n, p = problem.options.p;
        Dense vectors;
        top(n, problem.options.centred ? centre(n, problem.k) : problem.k, p, &vectors);
        const RowMoments moments = exact_moments(problem);
        const Bounds bounds = row_bounds(problem.spectrum, moments, problem.norm, 0.5, Sides::both),
                     plain = trace_bounds(problem.spectrum);
        for (const RowMoments *rows : {&moments, static_cast<const RowMoments *>(nullptr)}) {
            const Sines sines =
                subspace_sines(problem.spectrum, rows, problem.norm, rows ? bounds : plain, 0.5, Sides::both, p);
            for (int64_t i = 1; i <= p; ++i) {
                const size_t at = static_cast<size_t>(i - 1);
                TEST_ASSERT_TRUE(sines.own[at] <= 1 && sines.span[at] <= 1);
                if (sines.own[at] < 1) TEST_ASSERT_TRUE(sine(problem, vectors, i, i) <= sines.own[at] + 1e-6);
                if (sines.span[at] < 1) TEST_ASSERT_TRUE(sine(problem, vectors, i, p) <= sines.span[at] + 1e-6);
                said += sines.own[at] < 0.5;
            }
        }
    }
    TEST_ASSERT_TRUE(said > 100);
}

// Ritz pairs of K: of exact vectors turned by noise.
void test_residuals() {
    double quadratic = 0;
    for (int64_t k = 0; k < 60; ++k) {
        Options options = some(k);
        options.n = std::max<int64_t>(options.n, 12), options.p = 5, options.f32 = false;
        Problem problem = make(options, static_cast<uint64_t>(k), true);
        const int64_t n = options.n, p = problem.options.p;
        Dense a = options.centred ? centre(n, problem.k) : problem.k, x, gram(static_cast<size_t>(p * p)), v;
        top(n, a, p, &x);
        Gauss random(static_cast<uint64_t>(k));
        const double noise = std::pow(10.0, -1 - 5 * random.uniform());
        for (double &value : x) value += noise * random.normal() / std::sqrt(static_cast<double>(n));
        mercer_run settings = one_thread();
        Run run({}, &settings);
        TEST_ASSERT_EQUAL_INT64(p, orthonormalise(run, n, p, x.data(), n, 0, nullptr, n));
        Dense ax(x.size()), u(x.size()), r(x.size());
        gemm('N', 'N', n, p, n, 1.0, a.data(), n, x.data(), n, 0.0, ax.data(), n);
        gemm('T', 'N', p, p, n, 1.0, x.data(), n, ax.data(), n, 0.0, gram.data(), p);
        const Dense theta = top(p, gram, p, &v);
        gemm('N', 'N', n, p, p, 1.0, x.data(), n, v.data(), p, 0.0, u.data(), n);
        gemm('N', 'N', n, p, p, 1.0, ax.data(), n, v.data(), p, 0.0, r.data(), n);
        Dense residuals, captured, rest = a, ku(x.size());
        double sum = 0;
        for (int64_t j = 0; j < p; ++j) {
            for (int64_t i = 0; i < n; ++i)
                r[static_cast<size_t>(i + j * n)] -= theta[static_cast<size_t>(j)] * u[static_cast<size_t>(i + j * n)];
            residuals.push_back(std::sqrt(oracle::dot(r.data() + j * n, r.data() + j * n, n)));
            sum += residuals.back();
        }
        // D = (1 - U U^T) A (1 - U U^T) = A - U Theta U^T - r U^T - U r^T
        for (int64_t j = 0; j < n; ++j)
            for (int64_t i = 0; i < n; ++i)
                for (int64_t c = 0; c < p; ++c) {
                    auto in = [&](const Dense &m, int64_t row) { return m[static_cast<size_t>(row + c * n)]; };
                    rest[static_cast<size_t>(i + j * n)] -=
                        theta[static_cast<size_t>(c)] * in(u, i) * in(u, j) + in(r, i) * in(u, j) + in(u, i) * in(r, j);
                }
        const double beyond = std::max(top(n, rest, 1)[0], 0.0);
        const Bounds bounds = residual_bounds(theta, residuals, beyond, 0, false);
        problem.exact = top(n, a, p);
        check_holds(bounds, problem);
        const double gap = theta[0] - beyond;
        if (gap > 0)
            TEST_ASSERT_TRUE(bounds.upper[0] <=
                             theta[0] + std::min(sum, sum * residuals[0] / gap + sum * sum / gap) * (1 + 1e-9) +
                                 problem.rounding());
        if (gap > 10 * sum) quadratic += 1;
        // The factor's word on the rest.
        Dense lu(static_cast<size_t>(problem.l.size()) / static_cast<size_t>(n) * static_cast<size_t>(p));
        const int64_t m = static_cast<int64_t>(problem.l.size()) / n;
        Dense centred_u = u;
        for (int64_t j = 0; j < p && options.centred; ++j) {
            double mean = 0;
            for (int64_t i = 0; i < n; ++i) mean += u[static_cast<size_t>(i + j * n)] / static_cast<double>(n);
            for (int64_t i = 0; i < n; ++i) centred_u[static_cast<size_t>(i + j * n)] -= mean;
        }
        gemm('T', 'N', m, p, n, 1.0, problem.l.data(), n, centred_u.data(), n, 0.0, lu.data(), m);
        for (int64_t j = 0; j < p; ++j) captured.push_back(oracle::dot(lu.data() + j * m, lu.data() + j * m, m));
        TEST_ASSERT_TRUE(rest_from_factor(problem.all.theta, captured, problem.norm) >= beyond - problem.rounding());
    }
    TEST_ASSERT_TRUE(quadratic > 10);
    // Ritz values closer than their residuals: rho_1 = rho_2 = c, lambda_1 = t + sqrt(2) c.
    const Bounds close = residual_bounds({3, 3}, {0.1, 0.1}, 3, 0, true);
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 3 + std::sqrt(2) * 0.1, close.upper[0]);
    TEST_ASSERT_TRUE(close.conditional);
    const Bounds exact = residual_bounds({3, 2}, {0, 0}, 2, 0, true);
    TEST_ASSERT_TRUE(exact.upper[0] == 3 && exact.upper[1] == 2);
}

// Forecasts: sizes that do what they were asked for, a width near the best one.
void test_forecasts() {
    mercer_run settings = one_thread();
    Run run({}, &settings);
    Options options;
    options.kind = Kind::clusters;
    options.n = 500, options.m = 80, options.p = 40;
    const Problem problem = make(options, 11, true);
    const int64_t r = 5;
    const double norm =
        sampled_norm(run, problem, 20000, 0.01, 1); // of Frobenius: larger than |E|, so that gaps matter
    double least = HUGE_VAL, most = 0, chosen = 0;
    const int64_t width = choose_width(leading(problem.all, 40), norm, r, 3000, 0.01, Sides::upper);
    for (int64_t p = r; p <= 40; ++p) {
        Problem part = problem;
        part.spectrum = leading(problem.all, p), part.options.p = p;
        const double error =
            row_bounds(part.spectrum, sampled_rows(run, part, 3000, 2), norm, 0.01, Sides::upper).worst(r);
        least = std::min(least, error), most = std::max(most, error);
        if (p == width) chosen = error;
    }
    TEST_ASSERT_TRUE(chosen > 0 && chosen <= 1.2 * least && most > 2 * least);
    Problem part = problem;
    part.spectrum = leading(problem.all, width), part.options.p = width;
    const RowMoments pilot = sampled_rows(run, part, 500, 3);
    const double target = 0.3 * row_bounds(part.spectrum, pilot, norm, 0.01, Sides::upper).worst(r);
    const int64_t s = rows_needed(part.spectrum, pilot, norm, 0.01, Sides::upper, r, target, 100000);
    TEST_ASSERT_TRUE(s > 1000 && s <= 100000);
    const double error = row_bounds(part.spectrum, sampled_rows(run, part, s, 3), norm, 0.01, Sides::upper).worst(r);
    TEST_ASSERT_TRUE(error < 1.2 * target && error > 0.5 * target);
    TEST_ASSERT_EQUAL_INT64(101, rows_needed(part.spectrum, pilot, norm, 0.01, Sides::upper, r, target / 1e6, 100));
    const double l = std::log(3 * static_cast<double>(width) / 0.01);
    TEST_ASSERT_EQUAL_INT64(static_cast<int64_t>(std::ceil(
                                l * std::sqrt(20 * static_cast<double>(width) * part.spectrum.total() / target))),
                            first_sample(part.spectrum, target, 0.01, Sides::upper));
}

// Nothing left over, one direction, two points.
void test_edges() {
    RitzSpectrum spectrum;
    spectrum.theta = {2, 1};
    spectrum.n = 10;
    RowMoments rows;
    rows.p = 2, rows.s = 1;
    rows.g = rows.v = rows.w = {0, 0, 0, 0};
    for (Sides sides : {Sides::upper, Sides::both}) {
        const Bounds bounds = row_bounds(spectrum, rows, 0, 0.01, sides);
        check_order(bounds);
        TEST_ASSERT_TRUE(bounds.upper == spectrum.theta && bounds.lower == spectrum.theta && bounds.consistent);
        const Sines sines = subspace_sines(spectrum, &rows, 0, bounds, 0.01, sides, 2);
        TEST_ASSERT_TRUE(sines.own[0] == 0 && sines.own[1] == 0);
    }
    TEST_ASSERT_TRUE(trace_bounds(spectrum).worst(2) == 0);
    spectrum.trace = 3;
    TEST_ASSERT_TRUE(trace_bounds(spectrum).upper[1] == 4 && trace_bounds(spectrum).worst_share(2) == 3);
    mercer_run settings = one_thread();
    Run run({}, &settings);
    const double d[] = {0, 0}, u[] = {std::sqrt(0.5), -std::sqrt(0.5)};
    const RowLaw law(run, 2, d, 0, 1, u, 2);
    TEST_ASSERT_DOUBLE_WITHIN(1e-15, 0.5, law.probability(0));
    TEST_ASSERT_TRUE(law.cross() == 0 && law.load() == 0);
    try {
        RowSample(1, 0, 1, 1).moments();
        TEST_FAIL_MESSAGE("moments of no row");
    } catch (const Error &) {
    }
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_shares);
    RUN_TEST(test_certain);
    RUN_TEST(test_formula);
    RUN_TEST(test_frobenius);
    RUN_TEST(test_lottery);
    RUN_TEST(test_law);
    RUN_TEST(test_monotone);
    RUN_TEST(test_indefinite);
    RUN_TEST(test_subspace);
    RUN_TEST(test_residuals);
    RUN_TEST(test_forecasts);
    RUN_TEST(test_edges);
    return UNITY_END();
}
