// Tests of certificates: the upper bound is compared with a naive form of its formula, and bounds
// with exact eigenvalues and subspaces, using moments of rows that leave nothing to chance.
// test_certify_coverage tests how often bounds fail, and test_certify_rows how rows are sampled.
#include "certify_problems.h"
#include "unity_cpp.h"

using namespace mercer;
using namespace certify_problems;

namespace {

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

// Checks bounds that use no rows, and bounds from exact moments, which leave nothing to chance.
void test_certain() {
    double schur = 0, trace = 0;
    for (int64_t k = 0; k < 240; ++k) {
        const Problem problem = make(some(k), static_cast<uint64_t>(k), true);
        const Bounds plain = trace_bounds(problem.spectrum);
        check_holds(plain, problem);
        if (!problem.options.centred) // then exact[0] is |K|
            TEST_ASSERT_TRUE(problem.spectrum.eta <= tolerance::u32 * problem.exact[0] + problem.rounding());
        check_holds(norm_bounds(problem.spectrum, problem.norm, 0.1), problem);
        const RowMoments moments = exact_moments(problem);
        const double chance = 1e-6 * problem.spectrum.total(); // more than dev(g) for `endless` rows
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

// If all rows are taken, the moments must be G and W themselves, the bounds certain, and the values
// the eigenvalues of U^T K U.
void test_all_rows() {
    mercer_run settings = one_thread();
    Run run({}, &settings);
    for (int64_t k = 0; k < 240; ++k) {
        const Problem problem = make(some(k), static_cast<uint64_t>(k), true);
        const RowMoments rows = all_rows(run, problem), truth = exact_moments(problem);
        const int64_t n = problem.options.n, p = problem.options.p;
        for (size_t i = 0; i < truth.g.size(); ++i) {
            TEST_ASSERT_DOUBLE_WITHIN(problem.rounding(), truth.g[i], rows.g[i]);
            TEST_ASSERT_DOUBLE_WITHIN(problem.rounding() * problem.exact[0], truth.w[i], rows.w[i]);
        }
        const Bounds bounds = row_bounds(problem.spectrum, rows, problem.norm, 0.5, Sides::both);
        check_holds(bounds, problem);
        TEST_ASSERT_TRUE(bounds.failure == 0 && bounds.lower_certain);
        Dense ku(static_cast<size_t>(n * p)), uku(static_cast<size_t>(p * p));
        gemm('N', 'N', n, p, n, 1.0, problem.k.data(), n, problem.u.data(), n, 0.0, ku.data(), n);
        gemm('T', 'N', p, p, n, 1.0, problem.u.data(), n, ku.data(), n, 0.0, uku.data(), p);
        const Dense values = top(p, uku, p);
        for (size_t i = 0; i < values.size(); ++i)
            TEST_ASSERT_DOUBLE_WITHIN(problem.rounding() + 20 * problem.spectrum.eta, values[i], bounds.value[i]);
    }
}

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
// The naive form of the upper bound: bisection over t, with eigenvalues from Jacobi rotations.
double naive_upper(const RitzSpectrum &spectrum, const RowMoments &rows, double norm, double events, double failure,
                   int64_t i) {
    const int64_t p = spectrum.p();
    const double s = static_cast<double>(rows.s), l1 = std::log(events / failure),
                 lp = std::log(events * static_cast<double>(p) / failure);
    const oracle::Matrix gh = as_matrix(rows.g, p), wh = as_matrix(rows.w, p);
    const double v = jacobi(as_matrix(rows.v, p))[0], wide = jacobi(wh)[0], mean = std::max(jacobi(gh)[0], 0.0);
    auto dev = [&](double g) {
        const double b = std::sqrt(g) * rows.cross;
        double low = v, high = v + 10 * b * b * (1 + l1);
        for (int k = 0; k < 200; ++k) {
            const double middle = (low + high) / 2;
            (middle - v - v * std::log(middle / v) <= b * b * l1 / s ? low : high) = middle;
        }
        return std::sqrt(2 * high * lp / s) + (b + g) * lp / 3 / s;
    };
    double g = norm;
    for (int k = 0; k < 1000; ++k) g = std::min(g, mean + dev(g));
    double w = wide; // converges from below to the root of w = |Wh| + sqrt(2 R w L / s)
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
                                 eta = problem.spectrum.eta, // row_bounds subtracts it and adds 8 eta
                        ours = bounds.upper[static_cast<size_t>(i)] - 7 * eta;
                    TEST_ASSERT_DOUBLE_WITHIN(1e-6 * norm + problem.rounding(), naive,
                                              std::max(ours, bounds.lower[static_cast<size_t>(i)] + 9 * eta));
                    tighter += naive < problem.spectrum.theta[static_cast<size_t>(i)] + 0.9 * norm;
                }
            }
        }
    }
    TEST_ASSERT_TRUE(tighter > 20);
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

// The sampled rows must reveal that E is not positive semi-definite. If eta is so large that
// E + eta is positive semi-definite, the rows must be reported as consistent.
void test_indefinite() {
    mercer_run settings = one_thread();
    Run run({}, &settings);
    Options options;
    options.kind = Kind::clusters;
    Problem problem = make(options, 5, true);
    TEST_ASSERT_TRUE(
        row_bounds(problem.spectrum, sampled_rows(run, problem, 300, 1), problem.norm, 0.01, Sides::both).consistent);
    const int64_t n = options.n, p = problem.options.p;
    // Gives K a negative eigenvalue along the second column of U. The law of the rows still uses
    // the old d.
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

// Tests the bounds of Ritz pairs of K, which come from exact eigenvectors with added noise.
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
        Block basis(run, n, p, false);
        basis.use(0, p);
        std::copy(x.begin(), x.end(), basis.column(0));
        TEST_ASSERT_EQUAL_INT64(p, orthonormalise(run, columns(basis), {}));
        x.assign(basis.column(0), basis.column(p));
        Dense ax(x.size()), u(x.size()), r(x.size());
        gemm('N', 'N', n, p, n, 1.0, a.data(), n, x.data(), n, 0.0, ax.data(), n);
        gemm('T', 'N', p, p, n, 1.0, x.data(), n, ax.data(), n, 0.0, gram.data(), p);
        const Dense theta = top(p, gram, p, &v);
        gemm('N', 'N', n, p, p, 1.0, x.data(), n, v.data(), p, 0.0, u.data(), n);
        gemm('N', 'N', n, p, p, 1.0, ax.data(), n, v.data(), p, 0.0, r.data(), n);
        Dense residuals, rest = a, ku(x.size());
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
    }
    TEST_ASSERT_TRUE(quadratic > 10);
    // The two Ritz values are closer to each other than their residuals: for theta = (t, t) and
    // residuals of 0.1, lambda_1 is at most t + sqrt(2) 0.1.
    const Bounds close = residual_bounds({3, 3}, {0.1, 0.1}, 3, 0, true);
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 3 + std::sqrt(2) * 0.1, close.upper[0]);
    TEST_ASSERT_TRUE(close.conditional);
    const Bounds below = residual_bounds({1}, {0.5}, 2, 0, true); // rest > theta; [[1, 0.5], [0.5, 2]] attains this
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 1.5 + std::sqrt(0.5), below.upper[0]);
    const Bounds rough = residual_bounds({3, 1e-9}, {0.1, 0.1}, 1, 0, true, 1e-8); // images are accurate to 1e-8
    const Bounds sure = residual_bounds({3, 1e-9}, {0.1, 0.1}, 1, 0, true);
    TEST_ASSERT_TRUE(rough.lower[0] == 3 - 1e-8 && rough.lower[1] == 0 && sure.lower[0] == 3);
    TEST_ASSERT_TRUE(rough.upper[0] == sure.upper[0] + 1e-8 && rough.upper[1] == sure.upper[1] + 1e-8);
    const Bounds exact = residual_bounds({3, 2}, {0, 0}, 2, 0, true);
    TEST_ASSERT_TRUE(exact.upper[0] == 3 && exact.upper[1] == 2);
}

// Tests special cases: E = 0, where all bounds must equal theta; a law with d = 0 for two rows and
// one direction; moments of no row, which must be refused.
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
    RUN_TEST(test_certain);
    RUN_TEST(test_all_rows);
    RUN_TEST(test_formula);
    RUN_TEST(test_monotone);
    RUN_TEST(test_indefinite);
    RUN_TEST(test_subspace);
    RUN_TEST(test_residuals);
    RUN_TEST(test_edges);
    return UNITY_END();
}
