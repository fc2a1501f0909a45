// Checks the selection of pivots by column energies (the reducers akfa, ackfa and skfa) against the
// plain algorithm, which updates the whole residual matrix in long double, and checks what the
// selection costs and what it must not depend on.
#include "factor/column_energy.h"
#include "operator/make_operator.h"
#include "pivots_problem.h"

namespace {

enum class Rule { akfa, skfa };

void score_akfa(void *, const mercer_pivot_state *state, int64_t first, int64_t count, double *scores) {
    for (int64_t j = first; j < first + count; ++j) scores[j - first] = state->energy[j] / state->residual[j];
}
void score_skfa(void *, const mercer_pivot_state *state, int64_t first, int64_t count, double *scores) {
    for (int64_t j = first; j < first + count; ++j)
        scores[j - first] = state->energy[j] / (state->expansion[j] * state->expansion[j]);
}

mercer_pivot_rule rule_of(Rule kind, double delta = 0, bool drop = false) {
    mercer_pivot_rule rule{};
    rule.struct_size = sizeof rule;
    rule.needs = kind == Rule::akfa ? MERCER_PIVOT_ENERGY : MERCER_PIVOT_EXPANSION;
    rule.score = kind == Rule::akfa ? score_akfa : score_skfa;
    rule.delta = delta, rule.drop = drop;
    return rule;
}

struct Selected {
    std::vector<int64_t> index, candidates;
    Vector errors, residual, factor;
    EnergyCounts counts;
    bool rank_reached;
};

template <class T = double>
Selected selected(const KernelRows &rows, const PivotStop &stop, const mercer_pivot_rule &rule, int64_t threads = 1,
                  Store store = Store::nothing) {
    const mercer_run settings = settings_of(threads);
    Run run({}, &settings);
    mercer_task task(run, Random(3, Stage::reducer));
    GramPlan plan;
    plan.f32 = sizeof(T) == 4, plan.store = store;
    const KernelMatrix matrix = make_operator<T>(run, rows, plan);
    ColumnEnergy energy(run, matrix.base(), rows);
    energy.select(task, rule, stop);
    Selected out{{energy.index(), energy.index() + energy.count()},
                 energy.candidates(),
                 energy.errors(),
                 {energy.residual(), energy.residual() + rows.n},
                 {},
                 energy.counts(),
                 energy.rank_reached()};
    for (int64_t i = 0; i < rows.n; ++i)
        out.factor.insert(out.factor.end(), energy.factor() + i * energy.stride(),
                          energy.factor() + i * energy.stride() + energy.count());
    return out;
}

// The plain algorithm: R is updated after each pivot. drop: rows below delta leave the energies.
struct Plain {
    std::vector<int64_t> index;
    Vector errors;
};
Plain plain(const Matrix &k, const Vector &weights, int64_t most, Rule rule, double least, double delta = 0,
            bool drop = false) {
    using Real = long double;
    const int64_t n = k.rows;
    std::vector<Real> r(k.v.begin(), k.v.end());
    const auto at = [&](int64_t i, int64_t j) -> Real & { return r[static_cast<size_t>(i * n + j)]; };
    const auto weight = [&](int64_t i) { return weights.empty() ? Real(1) : Real(weights[static_cast<size_t>(i)]); };
    std::vector<std::vector<Real>> columns; // of L
    std::vector<std::vector<Real>> a(static_cast<size_t>(n));
    Real total = 0;
    for (int64_t i = 0; i < n; ++i) total += weight(i);
    Plain out;
    const auto note = [&] {
        Real sum = 0;
        for (int64_t i = 0; i < n; ++i) sum += weight(i) * at(i, i);
        out.errors.push_back(static_cast<double>(sum / total));
    };
    note();
    while (static_cast<int64_t>(out.index.size()) < most) {
        std::vector<Real> score(static_cast<size_t>(n), -1);
        for (int64_t j = 0; j < n; ++j) {
            if (weight(j) == 0 || at(j, j) <= Real(least) || at(j, j) < Real(delta)) continue;
            Real s = 0, l1 = 1;
            for (int64_t t = 0; t < n; ++t)
                if (!drop || at(t, t) >= Real(delta)) s += weight(t) * at(t, j) * at(t, j);
            for (const Real value : a[static_cast<size_t>(j)]) l1 += std::fabs(value);
            score[static_cast<size_t>(j)] = rule == Rule::akfa ? s / at(j, j) : s / (l1 * l1);
        }
        const Real best = *std::max_element(score.begin(), score.end());
        if (best < 0) break;
        int64_t p = 0;
        while (score[static_cast<size_t>(p)] < (1 - 1e-10L) * best) ++p;
        std::vector<Real> l(static_cast<size_t>(n));
        const Real root = std::sqrt(at(p, p));
        for (int64_t i = 0; i < n; ++i) l[static_cast<size_t>(i)] = at(i, p) / root;
        // a_j: coefficients of row j's projection. The new feature is phi_p - sum a_pi phi_i, over
        // root.
        const std::vector<Real> ap = a[static_cast<size_t>(p)];
        for (int64_t j = 0; j < n; ++j) {
            std::vector<Real> &of = a[static_cast<size_t>(j)];
            const Real share = l[static_cast<size_t>(j)] / root;
            for (size_t q = 0; q < of.size(); ++q) of[q] -= share * ap[q];
            of.push_back(share);
        }
        for (int64_t i = 0; i < n; ++i)
            for (int64_t j = 0; j < n; ++j) at(i, j) -= l[static_cast<size_t>(i)] * l[static_cast<size_t>(j)];
        // The matrix may be indefinite by rounding. A row whose residual falls below 0 then counts
        // as one in the span of the pivots.
        for (int64_t i = 0; i < n; ++i)
            if (i == p || at(i, i) <= 0)
                for (int64_t t = 0; t < n; ++t) at(i, t) = at(t, i) = 0;
        out.index.push_back(p);
        note();
    }
    return out;
}

Matrix circle(int64_t n, uint64_t seed = 11) { // a noisy circle of radius 8
    oracle::Numbers numbers(seed);
    Matrix x(n, 2);
    for (int64_t i = 0; i < n; ++i) {
        const double angle = 6.283185307179586 * numbers.uniform(), radius = 8 + numbers() + numbers();
        x(i, 0) = radius * std::cos(angle), x(i, 1) = radius * std::sin(angle);
    }
    return x;
}

Vector some_weights(int64_t n) {
    oracle::Numbers numbers(5);
    Vector out;
    for (int64_t i = 0; i < n; ++i) out.push_back(i % 7 == 4 ? 0 : 0.25 + numbers.uniform());
    return out;
}

Matrix rounded(Matrix k) {
    for (double &value : k.v) value = static_cast<double>(static_cast<float>(value));
    return k;
}

void expect_same(const Plain &exact, const Selected &got, double tolerance) {
    TEST_ASSERT_EQUAL_INT64(static_cast<int64_t>(exact.index.size()), static_cast<int64_t>(got.index.size()));
    TEST_ASSERT_TRUE(got.index == exact.index);
    for (size_t k = 0; k < exact.errors.size(); ++k)
        TEST_ASSERT_TRUE(std::fabs(got.errors[k] - exact.errors[k]) <= tolerance);
}

// ---- pivots

// In f64, all pivots down to the rank floor must be those of the plain algorithm. The counts must
// show that the safeguards do little: without refreshes, 53 to 88 columns a pivot are formed.
void test_pivots() {
    const int64_t n = 300;
    for (double sigma : {4.0, 8.0, 20.0}) {
        const Matrix k = gaussian_gram(circle(n), sigma);
        const MatrixRows matrix(k);
        for (Rule rule : {Rule::akfa, Rule::skfa})
            for (const Vector &weights : {Vector{}, some_weights(n)}) {
                const Selected got = selected(matrix.rows(weights), stop_at(n), rule_of(rule));
                expect_same(plain(k, weights, n, rule, 1e-10), got, 1e-9);
                const auto l = static_cast<int64_t>(got.index.size());
                TEST_ASSERT_TRUE(got.rank_reached && l > 25);
                TEST_ASSERT_TRUE(got.counts.passes - got.counts.refreshes <= l + 1);
                TEST_ASSERT_TRUE(got.counts.refreshes <= 6);
                TEST_ASSERT_TRUE(got.counts.columns <= 2 * l);
            }
    }
}

// In f32, the pivots must be those of the rounded matrix, as long as the mean residual exceeds the
// rank floor. Below it the rounded matrix is indefinite, and the last bits of L decide.
void test_pivots_f32() {
    const int64_t n = 300;
    constexpr double least = 256 * 0x1p-24;
    for (double sigma : {4.0, 8.0, 20.0}) {
        const Matrix k = rounded(gaussian_gram(circle(n), sigma));
        const MatrixRows matrix(k);
        for (Rule rule : {Rule::akfa, Rule::skfa}) {
            const Selected got = selected<float>(matrix.rows(), stop_at(n), rule_of(rule));
            const Plain exact = plain(k, {}, n, rule, least);
            size_t compared = 0;
            while (compared < exact.index.size() && exact.errors[compared] > least) {
                TEST_ASSERT_TRUE(compared < got.index.size());
                TEST_ASSERT_EQUAL_INT64(exact.index[compared], got.index[compared]);
                TEST_ASSERT_TRUE(std::fabs(got.errors[compared] - exact.errors[compared]) < 1e-7);
                ++compared;
            }
            TEST_ASSERT_TRUE(compared >= 8 && got.counts.refreshes <= 12);
        }
    }
}

// The published example: points with whole coordinates.
void test_golden() {
    Matrix x(12, 2);
    for (int64_t i = 0; i < 12; ++i)
        x(i, 0) = static_cast<double>((7 * i * i + 2 * i) % 23),
             x(i, 1) = static_cast<double>((10 * i + 3 * i * i * i) % 19);
    const MatrixRows matrix(gaussian_gram(x, 8));
    const Selected akfa = selected(matrix.rows(), stop_at(5), rule_of(Rule::akfa)),
                   skfa = selected(matrix.rows(), stop_at(5), rule_of(Rule::skfa));
    TEST_ASSERT_TRUE(akfa.index == (std::vector<int64_t>{4, 7, 3, 2, 11}));
    const Vector errors = {1, .525749110351, .259873396082, .171358286792, .0972031246226, .0583899554353};
    for (size_t k = 0; k < errors.size(); ++k) TEST_ASSERT_TRUE(std::fabs(akfa.errors[k] - errors[k]) < 1e-12);
    TEST_ASSERT_TRUE(skfa.index == (std::vector<int64_t>{4, 7, 3, 0, 11}));
    TEST_ASSERT_TRUE(std::fabs(skfa.errors[5] - .066883131462) < 1e-12);
}

// ACKFA, with rows that are discarded as candidates only, or as data too.
void test_discards() {
    const int64_t n = 200;
    const Matrix k = gaussian_gram(circle(n), 4);
    const MatrixRows matrix(k);
    for (const Vector &weights : {Vector{}, some_weights(n)})
        for (double delta : {0.02, 0.1, 0.4})
            for (bool drop : {false, true}) {
                const Selected got = selected(matrix.rows(weights), stop_at(n), rule_of(Rule::akfa, delta, drop));
                expect_same(plain(k, weights, n, Rule::akfa, 1e-10, delta, drop), got, 1e-9);
                TEST_ASSERT_TRUE(!got.rank_reached && !got.index.empty());
                for (size_t step = 1; step < got.candidates.size(); ++step)
                    TEST_ASSERT_TRUE(got.candidates[step] < got.candidates[step - 1]);
            }
}

// ---- what must not matter

// A row that is given three times has the same effect as a row of weight 3.
void test_weights_are_repeats() {
    const int64_t n = 60;
    const Matrix x = circle(n);
    Vector weights;
    std::vector<int64_t> of; // for each repeated row, the row it repeats
    for (int64_t i = 0; i < n; ++i) {
        weights.push_back(static_cast<double>(i % 4));
        for (int64_t c = 0; c < i % 4; ++c) of.push_back(i);
    }
    Matrix repeated(static_cast<int64_t>(of.size()), 2);
    for (size_t i = 0; i < of.size(); ++i)
        for (int64_t j = 0; j < 2; ++j) repeated(static_cast<int64_t>(i), j) = x(of[i], j);
    const MatrixRows once(gaussian_gram(x, 4)), often(gaussian_gram(repeated, 4));
    for (Rule rule : {Rule::akfa, Rule::skfa})
        for (double delta : {0.0, 0.05})
            for (bool drop : {false, true}) {
                const Selected a = selected(once.rows(weights), stop_at(20), rule_of(rule, delta, drop)),
                               b = selected(often.rows(), stop_at(20), rule_of(rule, delta, drop));
                TEST_ASSERT_EQUAL_INT64(static_cast<int64_t>(a.index.size()), static_cast<int64_t>(b.index.size()));
                for (size_t k = 0; k < a.index.size(); ++k) {
                    TEST_ASSERT_EQUAL_INT64(a.index[k], of[static_cast<size_t>(b.index[k])]);
                    TEST_ASSERT_TRUE(std::fabs(a.errors[k] - b.errors[k]) < 1e-12);
                }
            }
}

// Threads and stored values must not change a bit, and the order of the rows no pivot.
template <class T>
void check_bits() {
    const Clusters clusters(5000);
    for (Rule rule : {Rule::akfa, Rule::skfa}) {
        const Selected one = selected<T>(clusters.rows(), stop_at(20), rule_of(rule));
        for (int64_t threads : {1, 2, 8})
            for (Store store : {Store::nothing, Store::rows, Store::matrix}) {
                const Selected other = selected<T>(clusters.rows(), stop_at(20), rule_of(rule), threads, store);
                TEST_ASSERT_TRUE(one.index == other.index && one.factor == other.factor);
                TEST_ASSERT_TRUE(one.errors == other.errors && one.residual == other.residual);
            }
        TEST_ASSERT_EQUAL_INT64(20, one.counts.passes - one.counts.refreshes);
    }
}
void test_bits() {
    check_bits<double>();
    check_bits<float>();
}

// ---- odd data

// Many copies of each row: equal rows count as one contender, so no refresh is needed for them.
void test_copies() {
    Clusters clusters(2000);
    for (int64_t i = 40; i < 2000; ++i)
        std::copy_n(clusters.x.v.begin() + (i % 40) * 6, 6, clusters.x.v.begin() + i * 6);
    std::fill(clusters.weights.begin(), clusters.weights.end(), 1.0);
    const Selected got = selected(clusters.rows(), stop_at(2000), rule_of(Rule::akfa));
    TEST_ASSERT_EQUAL_INT64(40, static_cast<int64_t>(got.index.size()));
    TEST_ASSERT_TRUE(got.rank_reached && got.errors.back() < 1e-12 && got.counts.refreshes <= 4);
}

void test_edges() {
    const auto select = [](const Matrix &k, Rule rule) {
        const MatrixRows matrix(k);
        return selected(matrix.rows(), stop_at(k.rows), rule_of(rule));
    };
    Matrix ones(6, 6), zeros(6, 6), single(1, 1), huge(3, 3), bad(3, 3);
    std::fill(ones.v.begin(), ones.v.end(), 1.0);
    single(0, 0) = 2;
    for (int64_t i = 0; i < 3; ++i) huge(i, i) = 1e200, bad(i, i) = 1;
    bad(0, 1) = bad(1, 0) = 2;
    for (Rule rule : {Rule::akfa, Rule::skfa}) {
        TEST_ASSERT_TRUE(select(single, rule).index == std::vector<int64_t>{0});
        const Selected constant = select(ones, rule);
        TEST_ASSERT_TRUE(constant.index == std::vector<int64_t>{0} && constant.rank_reached);
        const Selected nothing = select(zeros, rule);
        TEST_ASSERT_TRUE(nothing.index.empty() && nothing.rank_reached);
        expect_error(MERCER_E_NUMERICAL, "must be finite", [&] { select(huge, rule); });
        expect_error(MERCER_E_NUMERICAL, "is not positive semi-definite: 1 pivots leave -3",
                     [&] { select(bad, rule); });
    }
}

// Each stop must hold at its pivot and not before.
void test_stops() {
    const Matrix k = gaussian_gram(circle(200), 4);
    const MatrixRows matrix(k);
    const Selected all = selected(matrix.rows(), stop_at(60), rule_of(Rule::akfa));
    for (size_t m : {1u, 7u, 33u}) {
        const double mse = 0.5 * (all.errors[m] + all.errors[m - 1]);
        for (const PivotStop &stop : {stop_at(60, mse), stop_at(60, 0, 0, mse / all.errors[0])})
            TEST_ASSERT_EQUAL_INT64(
                static_cast<int64_t>(m),
                static_cast<int64_t>(selected(matrix.rows(), stop, rule_of(Rule::akfa)).index.size()));
    }
    const Selected largest = selected(matrix.rows(), stop_at(60, 0, 0.3), rule_of(Rule::akfa));
    TEST_ASSERT_TRUE(*std::max_element(largest.residual.begin(), largest.residual.end()) <= 0.3);
}

// The memory of a selection must stay within its forecast, of which it must use a good part.
void test_memory() {
    const Clusters clusters(9000);
    for (int32_t needs : {MERCER_PIVOT_ENERGY, MERCER_PIVOT_EXPANSION}) {
        const mercer_run settings = settings_of(2);
        Run run({}, &settings);
        mercer_task task(run, Random(0, Stage::reducer));
        PivotForecast forecast(tiles_of<double>(clusters.kernel, *clusters.source), true);
        mercer_shape shape{};
        shape.struct_size = sizeof shape, shape.n = 9000, shape.d = 6, shape.dtype = MERCER_F64;
        mercer_pivot_stop stop{};
        stop.struct_size = sizeof stop, stop.m = 30, stop.needs = needs;
        const mercer_cost cost = forecast.pivot_cost(task, shape, stop);
        const KernelRows rows = clusters.rows();
        GramPlan plan;
        plan.store =
            gram_service<double>(run, 9000, MERCER_GRAM_STORED, 1, tiles_of<double>(clusters.kernel, *clusters.source))
                .store;
        const KernelMatrix matrix = make_operator<double>(run, rows, plan);
        ColumnEnergy energy(run, matrix.base(), rows);
        run_pivots(energy, task, rule_of(needs == MERCER_PIVOT_ENERGY ? Rule::akfa : Rule::skfa), stop, {});
        TEST_ASSERT_TRUE(run.budget()->peak() <= cost.bytes && run.budget()->peak() > cost.bytes / 4);
    }
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_pivots);
    RUN_TEST(test_pivots_f32);
    RUN_TEST(test_golden);
    RUN_TEST(test_discards);
    RUN_TEST(test_weights_are_repeats);
    RUN_TEST(test_bits);
    RUN_TEST(test_copies);
    RUN_TEST(test_edges);
    RUN_TEST(test_stops);
    RUN_TEST(test_memory);
    return UNITY_END();
}
