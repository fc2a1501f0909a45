// Checks rules that choose one pivot at a time: their pivots, what they may compute from the
// residual, and how they end. The algorithm AKFA, written as a rule, is compared with the plain
// algorithm that updates the whole matrix.
#include "pivots_problem.h"

#include <atomic>

namespace {

mercer_pivot_rule rule_of(int32_t needs, void *user = nullptr) {
    mercer_pivot_rule rule{};
    rule.struct_size = sizeof rule, rule.needs = needs, rule.user = user;
    return rule;
}

mercer_pivot_stop service_stop(const PivotStop &stop) {
    mercer_pivot_stop out{};
    out.struct_size = sizeof out, out.m = stop.m, out.mse = stop.mse, out.maxerr = stop.maxerr, out.trace = stop.trace;
    return out;
}

template <class T = double>
Result run_rule(const KernelRows &rows, const PivotStop &stop, const mercer_pivot_rule &rule, int64_t threads = 1) {
    const mercer_run settings = settings_of(threads);
    Run run({}, &settings);
    mercer_task task(run, Random(3, Stage::reducer));
    PartialCholesky<T> factor(run, rows, 4);
    Buffer<double> copy;
    const mercer_pivots pivots = run_pivots(factor, task, rule, service_stop(stop), copy);
    Result out = result_of(factor);
    TEST_ASSERT_EQUAL_INT64(static_cast<int64_t>(out.index.size()), pivots.count);
    out.rank_reached = pivots.rank_reached != 0;
    return out;
}

void residual_score(void *, const mercer_pivot_state *state, int64_t first, int64_t count, double *scores) {
    std::copy_n(state->residual + first, count, scores);
}

struct Problem {
    Matrix x, k;
    Vector weights;
    Problem(uint64_t seed, int64_t n, int64_t d, double sigma) {
        oracle::Numbers numbers(seed);
        x = numbers.matrix(n, d);
        k = gaussian_gram(x, sigma);
        for (int64_t i = 0; i < n; ++i) weights.push_back(i % 7 == 4 ? 0 : 0.25 + numbers.uniform());
    }
};

// ---- the pivots of a rule

// A rule whose own score is the residual, and a rule that needs the full residual, must give the
// pivots of greedy.
template <class T>
void check_greedy(uint64_t seed, bool weighted) {
    const Problem problem(seed, 60 + static_cast<int64_t>(seed) * 9, 2, 0.5);
    const MatrixRows matrix(problem.k);
    const Vector weights = weighted ? problem.weights : Vector{};
    const PivotStop stop = stop_at(problem.k.rows, 0, 1e-3);
    const std::vector<int64_t> exact = naive_greedy(problem.k, stop, weights).index;
    mercer_pivot_rule own = rule_of(MERCER_PIVOT_BOUND);
    own.score = residual_score;
    for (const mercer_pivot_rule &rule : {own, rule_of(MERCER_PIVOT_FULL)}) {
        const Result got = run_rule<T>(matrix.rows(weights), stop, rule);
        TEST_ASSERT_TRUE(got.index == exact);
        TEST_ASSERT_TRUE(got.index == greedy<T>(matrix, stop, weights).index);
        TEST_ASSERT_EQUAL_INT64(static_cast<int64_t>(exact.size()), got.sweeps);
    }
}

void test_equal_to_greedy() {
    for (uint64_t seed = 1; seed <= 12; ++seed)
        for (bool weighted : {false, true}) check_greedy<double>(seed, weighted);
    check_greedy<float>(2, false);
    check_greedy<float>(3, true);
}

// With an early stop, the factor first has room for 256 columns. Here it needs more than 300, and
// must be enlarged.
void test_growing() {
    const Problem problem(3, 500, 3, 0.2);
    const MatrixRows matrix(problem.k);
    const PivotStop stop = stop_at(500, 0, 1e-2);
    const Result got = run_rule(matrix.rows(), stop, rule_of(MERCER_PIVOT_FULL));
    TEST_ASSERT_TRUE(got.index.size() > 300);
    check_factor(got, naive_greedy(problem.k, stop), tolerance::pivots(500));
}

// Counts how often each row is scored: each must be scored once per step, and a step must use more
// than one range.
struct Counted {
    std::vector<std::atomic<int>> seen;
    std::atomic<int> ranges{0};
    explicit Counted(int64_t n) : seen(static_cast<size_t>(n)) {}
};

void test_ranges() {
    const Clusters clusters(9000);
    Counted counted(9000);
    mercer_pivot_rule rule = rule_of(MERCER_PIVOT_BOUND, &counted);
    rule.score = [](void *user, const mercer_pivot_state *state, int64_t first, int64_t count, double *scores) {
        auto &counted = *static_cast<Counted *>(user);
        ++counted.ranges;
        for (int64_t i = first; i < first + count; ++i) {
            ++counted.seen[static_cast<size_t>(i)];
            scores[i - first] = state->residual[i];
        }
    };
    run_rule(clusters.rows(), stop_at(5), rule, 2);
    for (const auto &seen : counted.seen) TEST_ASSERT_EQUAL_INT(5, seen);
    TEST_ASSERT_TRUE(counted.ranges >= 10);
}

// Rows with a very high score must be the first pivots, in the order of their list. Rows with a
// negative score must not be pivots.
const std::vector<int64_t> must = {5, 17, 2}, never = {0, 1, 30, 31, 32};

void test_must_and_never() {
    const Problem problem(6, 60, 2, 0.5);
    const MatrixRows matrix(problem.k);
    mercer_pivot_rule rule = rule_of(MERCER_PIVOT_BOUND);
    rule.score = [](void *, const mercer_pivot_state *state, int64_t first, int64_t count, double *scores) {
        std::copy_n(state->residual + first, count, scores);
        for (int64_t row : never)
            if (row >= first && row < first + count) scores[row - first] = -1;
        for (size_t k = 0; k < must.size(); ++k)
            if (must[k] >= first && must[k] < first + count) scores[must[k] - first] = 1e3 - static_cast<double>(k);
    };
    size_t step = 0;
    const Naive exact = column_by_column(problem.k, stop_at(20), {}, [&](const std::vector<long double> &d) {
        if (step < must.size()) return must[step++];
        int64_t best = 3;
        for (int64_t i = 0; i < 60; ++i)
            if (std::find(never.begin(), never.end(), i) == never.end() && d[size_t(i)] > d[size_t(best)]) best = i;
        return best;
    });
    TEST_ASSERT_TRUE(run_rule(matrix.rows(), stop_at(20), rule).index == exact.index);
}

// ---- AKFA (accelerated kernel feature analysis). The energies s of the columns are updated after
// each pivot. If, within the bound e of their errors, more than 16 rows may be the best, all
// energies are computed anew.

struct Akfa {
    double delta = 0; // rows with a smaller residual are no candidates
    Vector s, s0, e;
    double root = 0; // sqrt(sum w)
    int64_t refreshes = 0, columns = 0;

    static double weight(const mercer_pivot_state *state, int64_t i) { return state->weights ? state->weights[i] : 1; }
    int32_t refresh(const mercer_pivot_state *state, double eta) {
        s.resize(static_cast<size_t>(state->n)), e.resize(s.size());
        if (const int32_t status = state->row_squares(state, nullptr, s.data())) return status;
        for (size_t j = 0; j < s.size(); ++j) e[j] = 2 * eta * root * std::sqrt(s[j]) + root * root * eta * eta;
        return MERCER_OK;
    }
    bool candidate(const mercer_pivot_state *state, int64_t j) const {
        return weight(state, j) > 0 && state->residual[j] > state->least && state->residual[j] >= delta;
    }
    std::vector<int64_t> contenders(const mercer_pivot_state *state) const {
        double least = 0;
        std::vector<int64_t> out;
        auto share = [&](int64_t j, double bound) {
            const double d = state->residual[j], at_least = weight(state, j) * d * d;
            return std::max(s[static_cast<size_t>(j)] + bound, at_least) / d;
        };
        for (int64_t j = 0; j < state->n; ++j)
            if (candidate(state, j)) least = std::max(least, share(j, -e[static_cast<size_t>(j)]));
        for (int64_t j = 0; j < state->n; ++j)
            if (candidate(state, j) && share(j, e[static_cast<size_t>(j)]) >= (1 - 1e-10) * least) out.push_back(j);
        return out;
    }
    // Computes the energies of all rows that may be the best from their columns, free of
    // accumulated errors.
    int32_t settle(const mercer_pivot_state *state) {
        std::vector<int64_t> rows = contenders(state);
        if (rows.size() > 16) {
            ++refreshes;
            const double eta = (4 + std::sqrt(static_cast<double>(state->step))) * 0x1p-53;
            if (const int32_t status = refresh(state, eta)) return status;
            rows = contenders(state);
        }
        if (rows.size() < 2) return MERCER_OK;
        Matrix residual(static_cast<int64_t>(rows.size()), state->n);
        columns += residual.rows;
        if (const int32_t status = state->columns(state, rows.data(), residual.rows, residual.v.data(), state->n))
            return status;
        for (int64_t k = 0; k < residual.rows; ++k) {
            double &sum = s[static_cast<size_t>(rows[static_cast<size_t>(k)])];
            sum = 0;
            for (int64_t t = 0; t < state->n; ++t) sum += weight(state, t) * residual(k, t) * residual(k, t);
        }
        return MERCER_OK;
    }
    int32_t init(const mercer_pivot_state *state) {
        root = 0;
        for (int64_t i = 0; i < state->n; ++i) root += weight(state, i);
        root = std::sqrt(root);
        if (const int32_t status = refresh(state, 4 * 0x1p-53)) return status;
        s0 = s;
        return settle(state);
    }
    // Updates the energies after a pivot. With the new R and u = R w l: s <- s - 2 l u - l^2
    // |l|^2_w.
    int32_t update(const mercer_pivot_state *state, const double *l) {
        Vector weighted(s.size()), u(s.size());
        double square = 0;
        for (size_t j = 0; j < s.size(); ++j) {
            weighted[j] = weight(state, static_cast<int64_t>(j)) * l[j];
            square += weighted[j] * l[j];
        }
        if (const int32_t status = state->product(state, weighted.data(), u.data())) return status;
        for (size_t j = 0; j < s.size(); ++j) {
            const double v = std::fabs(u[j]) + std::fabs(l[j]) * square, length = std::sqrt(square);
            e[j] += 8 * 0x1p-53 * (s[j] + 2 * std::fabs(l[j]) * (v + std::sqrt(s0[j]) * length) + l[j] * l[j] * square);
            s[j] = std::max(s[j] - 2 * l[j] * u[j] - l[j] * l[j] * square, 0.0);
        }
        return settle(state);
    }
    mercer_pivot_rule rule() {
        mercer_pivot_rule out = rule_of(MERCER_PIVOT_FULL, this);
        out.init = [](void *user, const mercer_pivot_state *state) { return static_cast<Akfa *>(user)->init(state); };
        out.score = [](void *user, const mercer_pivot_state *state, int64_t first, int64_t count, double *scores) {
            const auto &akfa = *static_cast<const Akfa *>(user);
            for (int64_t i = first; i < first + count; ++i)
                scores[i - first] = akfa.candidate(state, i) ? akfa.s[static_cast<size_t>(i)] / state->residual[i] : -1;
        };
        out.update = [](void *user, const mercer_pivot_state *state, int64_t, const double *column) {
            return static_cast<Akfa *>(user)->update(state, column);
        };
        return out;
    }
};

// Updates the whole residual matrix in long double. Each step chooses the column that lowers the
// weighted trace most.
std::vector<int64_t> naive_akfa(const Matrix &k, const Vector &weights, int64_t most, double delta = 0) {
    const int64_t n = k.rows;
    std::vector<long double> r(k.v.begin(), k.v.end());
    auto at = [&](int64_t i, int64_t j) -> long double & { return r[static_cast<size_t>(i * n + j)]; };
    auto weight = [&](int64_t i) { return weights.empty() ? 1.0L : static_cast<long double>(weights[size_t(i)]); };
    std::vector<int64_t> out;
    while (static_cast<int64_t>(out.size()) < most) {
        std::vector<long double> score(static_cast<size_t>(n), -1);
        for (int64_t j = 0; j < n; ++j) {
            if (weight(j) == 0 || at(j, j) <= 1e-10L || at(j, j) < delta) continue;
            long double sum = 0;
            for (int64_t t = 0; t < n; ++t) sum += weight(t) * at(t, j) * at(t, j);
            score[static_cast<size_t>(j)] = sum / at(j, j);
        }
        const long double best = *std::max_element(score.begin(), score.end());
        if (best < 0) break;
        int64_t p = 0;
        while (score[static_cast<size_t>(p)] < (1 - 1e-10L) * best) ++p;
        out.push_back(p);
        std::vector<long double> column(static_cast<size_t>(n));
        for (int64_t i = 0; i < n; ++i) column[static_cast<size_t>(i)] = at(i, p) / std::sqrt(at(p, p));
        for (int64_t i = 0; i < n; ++i)
            for (int64_t j = 0; j < n; ++j) at(i, j) -= column[static_cast<size_t>(i)] * column[static_cast<size_t>(j)];
        for (int64_t i = 0; i < n; ++i) at(i, p) = at(p, i) = 0;
    }
    return out;
}

Matrix circle(int64_t n) { // a noisy circle of radius 10
    oracle::Numbers numbers(11);
    Matrix x(n, 2);
    for (int64_t i = 0; i < n; ++i) {
        const double angle = 6.283185307179586 * numbers.uniform(), radius = 10 + numbers() + numbers();
        x(i, 0) = radius * std::cos(angle), x(i, 1) = radius * std::sin(angle);
    }
    return x;
}

void test_akfa() {
    const int64_t n = 200;
    for (double sigma : {4.0, 8.0}) {
        const Problem problem(5, n, 2, 1);
        const Matrix k = gaussian_gram(circle(n), sigma);
        const MatrixRows matrix(k);
        for (const Vector &weights : {Vector{}, problem.weights}) {
            Akfa akfa;
            const Result got = run_rule(matrix.rows(weights), stop_at(n), akfa.rule());
            const std::vector<int64_t> exact = naive_akfa(k, weights, n);
            TEST_ASSERT_TRUE(got.rank_reached); // no row above the rank floor is left
            TEST_ASSERT_TRUE(got.index.size() > 25 && got.index == exact);
            TEST_ASSERT_TRUE(akfa.refreshes <= 4);
            TEST_ASSERT_TRUE(akfa.columns <= 2 * static_cast<int64_t>(exact.size()));
        }
    }
}

// Without recomputed energies the same rule must find other pivots. This shows that test_akfa can
// fail.
void test_akfa_needs_columns() {
    const Matrix k = gaussian_gram(circle(200), 4);
    const MatrixRows matrix(k);
    Akfa akfa;
    mercer_pivot_rule rule = akfa.rule();
    rule.update = [](void *user, const mercer_pivot_state *state, int64_t, const double *column) {
        auto &akfa = *static_cast<Akfa *>(user);
        const int32_t status = akfa.update(state, column);
        std::fill(akfa.e.begin(), akfa.e.end(), -1); // then no row is a contender
        return status;
    };
    TEST_ASSERT_TRUE(run_rule(matrix.rows(), stop_at(200), rule).index != naive_akfa(k, {}, 200));
}

// ACKFA (discard = candidates) gives rows with a residual below delta a score below 0. This must
// end the selection, but must not count as reaching the rank.
void test_ackfa() {
    const Matrix k = gaussian_gram(circle(200), 4);
    const MatrixRows matrix(k);
    for (double delta : {0.02, 0.3, 2.0}) {
        Akfa akfa;
        akfa.delta = delta;
        const Result got = run_rule(matrix.rows(), stop_at(200), akfa.rule());
        TEST_ASSERT_TRUE(got.index == naive_akfa(k, {}, 200, delta) && !got.rank_reached);
        TEST_ASSERT_TRUE(got.largest < delta && (delta > 1) == got.index.empty());
    }
}

// In f32, only the first pivots are compared, because their scores differ by more than rounding.
void test_akfa_f32() {
    Matrix k = gaussian_gram(circle(200), 4);
    for (double &value : k.v) value = static_cast<double>(static_cast<float>(value));
    const MatrixRows matrix(k);
    Akfa akfa;
    const Result got = run_rule<float>(matrix.rows(), stop_at(12), akfa.rule());
    TEST_ASSERT_TRUE(got.index == naive_akfa(k, {}, 12));
}

// ---- bitwise equal results

void check_threads(const mercer_pivot_rule &rule, Akfa *akfa = nullptr) {
    const Clusters clusters(9000); // three slabs of scores
    std::vector<Result> results;
    for (int64_t threads : {1, 2, 8}) {
        if (akfa) *akfa = {};
        results.push_back(run_rule(clusters.rows(), stop_at(9), rule, threads));
    }
    TEST_ASSERT_EQUAL_size_t(9, results[0].index.size());
    TEST_ASSERT_TRUE(results[1] == results[0] && results[2] == results[0]);
}

void test_threads() {
    mercer_pivot_rule largest = rule_of(MERCER_PIVOT_BOUND), draw = rule_of(MERCER_PIVOT_SAMPLE);
    largest.score = draw.score = residual_score;
    check_threads(largest);
    check_threads(draw);
    Akfa akfa;
    check_threads(akfa.rule(), &akfa);
}

// ---- what a rule may compute from the residual

struct Asked { // the results after three pivots
    Vector v, columns, product, squares, of_weights, factor;
    std::vector<int64_t> rows;
    double mse = -1;
};

template <class T>
void check_residual(const KernelRows &rows, const Matrix &k, const Vector &weights, double allowed) {
    const int64_t n = k.rows;
    oracle::Numbers numbers(8);
    Asked asked;
    asked.rows = {n - 1, 3, 0};
    for (int64_t i = 0; i < n; ++i) asked.v.push_back(numbers());
    mercer_pivot_rule rule = rule_of(MERCER_PIVOT_FULL, &asked);
    rule.update = [](void *user, const mercer_pivot_state *state, int64_t, const double *) {
        auto &asked = *static_cast<Asked *>(user);
        if (state->step < 3) return MERCER_OK + int32_t{0};
        const auto n = static_cast<size_t>(state->n);
        asked.mse = state->mse;
        asked.columns.resize(3 * n), asked.product.resize(n), asked.squares.resize(n), asked.of_weights.resize(n);
        asked.factor.resize(9);
        int32_t status = state->columns(state, asked.rows.data(), 3, asked.columns.data(), state->n);
        if (!status) status = state->product(state, asked.v.data(), asked.product.data());
        if (!status) status = state->row_squares(state, nullptr, asked.squares.data());
        if (!status) status = state->row_squares(state, asked.v.data(), asked.of_weights.data());
        if (!status) status = state->factor_rows(state, asked.rows.data(), 3, asked.factor.data());
        return status;
    };
    const Result got = run_rule<T>(rows, stop_at(3), rule);
    Matrix r(n, n); // K - L L^T with the factor's L; rows and columns of pivots are 0
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) {
            const bool none = got.residual[size_t(i)] == 0 || got.residual[size_t(j)] == 0;
            r(i, j) = none ? 0 : k(i, j) - oracle::dot(got.factor.row(i), got.factor.row(j), 3);
        }
    auto weight = [&](int64_t t) { return weights.empty() ? 1.0 : weights[static_cast<size_t>(t)]; };
    for (int64_t j = 0; j < n; ++j) {
        const auto at = static_cast<size_t>(j);
        for (size_t c = 0; c < 3; ++c)
            TEST_ASSERT_DOUBLE_WITHIN(allowed, r(j, asked.rows[c]), asked.columns[c * size_t(n) + at]);
        double product = 0, squares = 0, of_weights = 0;
        for (int64_t t = 0; t < n; ++t) {
            product += r(j, t) * asked.v[size_t(t)];
            squares += weight(t) * r(j, t) * r(j, t);
            of_weights += asked.v[size_t(t)] * r(j, t) * r(j, t);
        }
        const auto terms = static_cast<double>(n);
        TEST_ASSERT_DOUBLE_WITHIN(allowed * terms, product, asked.product[at]);
        TEST_ASSERT_DOUBLE_WITHIN(allowed * terms, squares, asked.squares[at]);
        TEST_ASSERT_DOUBLE_WITHIN(allowed * terms, of_weights, asked.of_weights[at]);
    }
    for (int64_t s : got.index) TEST_ASSERT_TRUE(asked.product[size_t(s)] == 0 && asked.squares[size_t(s)] == 0);
    for (int64_t c = 0; c < 3; ++c)
        for (int64_t s = 0; s < 3; ++s)
            TEST_ASSERT_TRUE(asked.factor[size_t(c * 3 + s)] == got.factor(asked.rows[size_t(c)], s));
    TEST_ASSERT_TRUE(asked.mse == got.mse);
    TEST_ASSERT_EQUAL_INT64(n * (1 + 3 + 3 + 3 * n), got.evaluations);
}

void test_residual() {
    const Problem problem(4, 300, 3, 0.7); // more than one tile
    const MatrixRows objects(problem.k);
    check_residual<double>(objects.rows(), problem.k, {}, 1e-14);
    check_residual<double>(objects.rows(problem.weights), problem.k, problem.weights, 1e-14);
    const Clusters clusters(600);
    check_residual<double>(clusters.rows(), gaussian_gram(clusters.x, 3), clusters.weights, 1e-13);
}

void test_residual_f32() {
    Problem problem(4, 300, 3, 0.7);
    for (double &value : problem.k.v) value = static_cast<double>(static_cast<float>(value));
    const MatrixRows objects(problem.k);
    const Vector v(300, 1);
    mercer_pivot_rule rule = rule_of(MERCER_PIVOT_FULL, const_cast<Vector *>(&v));
    rule.update = [](void *user, const mercer_pivot_state *state, int64_t, const double *) {
        Vector squares(static_cast<size_t>(state->n)), sums(squares);
        int32_t status = state->row_squares(state, nullptr, squares.data());
        if (!status) status = state->product(state, static_cast<Vector *>(user)->data(), sums.data());
        double trace = 0, square = 0; // |R|_F^2 and |R 1|^2, which is at most n |R|_F^2
        for (size_t i = 0; i < sums.size(); ++i) trace += squares[i], square += sums[i] * sums[i];
        return !status && square > 300 * trace * (1 + 1e-5) ? int32_t{MERCER_E_DATA} : status;
    };
    TEST_ASSERT_EQUAL_size_t(20, run_rule<float>(objects.rows(), stop_at(20), rule).index.size());
}

// ---- how a rule ends

struct Ending {
    int64_t at;
    int32_t status;
};

Result ended(Ending ending, int64_t m = 30) {
    const Problem problem(9, 80, 3, 0.4);
    const MatrixRows matrix(problem.k);
    mercer_pivot_rule rule = rule_of(MERCER_PIVOT_BOUND, &ending);
    rule.init = [](void *user, const mercer_pivot_state *) {
        const auto &ending = *static_cast<const Ending *>(user);
        return ending.at == 0 ? ending.status : int32_t{MERCER_OK};
    };
    rule.update = [](void *user, const mercer_pivot_state *state, int64_t pivot, const double *column) {
        const auto &ending = *static_cast<const Ending *>(user);
        const bool right = state->index[state->step - 1] == pivot && column[pivot] > 0 && !state->columns;
        return !right ? int32_t{MERCER_E_DATA} : state->step == ending.at ? ending.status : int32_t{MERCER_OK};
    };
    return run_rule(matrix.rows(), stop_at(m), rule);
}

void test_stops() {
    const std::vector<int64_t> all = ended({-1, MERCER_OK}).index;
    for (int64_t at : {0, 1, 7, 30}) {
        const Result got = ended({at, MERCER_PIVOT_STOP});
        TEST_ASSERT_TRUE(got.index == std::vector<int64_t>(all.begin(), all.begin() + at) && !got.rank_reached);
    }
    mercer_pivot_rule rounds = rule_of(MERCER_PIVOT_BOUND); // a rule that goes in rounds may stop in init, too
    rounds.init = [](void *, const mercer_pivot_state *) { return int32_t{MERCER_PIVOT_STOP}; };
    const Problem problem(9, 80, 3, 0.4);
    TEST_ASSERT_TRUE(run_rule(MatrixRows(problem.k).rows(), stop_at(5), rounds).index.empty());
}

void test_failures() {
    for (int64_t at : {0, 1, 6}) expect_error(MERCER_E_DATA, "callback failed", [&] { ended({at, MERCER_E_DATA}); });
    const Problem problem(9, 80, 3, 0.4);
    const MatrixRows matrix(problem.k);
    mercer_pivot_rule rule = rule_of(MERCER_PIVOT_FULL);
    rule.update = [](void *, const mercer_pivot_state *state, int64_t, const double *) {
        Vector out(static_cast<size_t>(state->n));
        const int64_t row = state->step == 3 ? 80 : 79;
        return state->columns(state, &row, 1, out.data(), state->n);
    };
    expect_error(MERCER_E_VALUE, "row 80 (entry 0), must be 0 to 79",
                 [&] { run_rule(matrix.rows(), stop_at(5), rule); });
    rule.update = [](void *, const mercer_pivot_state *state, int64_t, const double *) {
        Vector out(static_cast<size_t>(state->n)), v(out);
        v[5] = NAN;
        return state->product(state, v.data(), out.data());
    };
    expect_error(MERCER_E_PLUGIN, "product: entry 5", [&] { run_rule(matrix.rows(), stop_at(5), rule); });
    rule = rule_of(MERCER_PIVOT_SAMPLE);
    rule.score = [](void *, const mercer_pivot_state *, int64_t, int64_t count, double *scores) {
        std::fill_n(scores, count, INFINITY);
    };
    expect_error(MERCER_E_PLUGIN, "must be finite for a draw", [&] { run_rule(matrix.rows(), stop_at(5), rule); });
}

// The energies overflow although all kernel values are finite. The error must name a row.
void test_not_finite() {
    Problem problem(9, 80, 3, 0.4);
    for (double &value : problem.k.v) value *= 1e160;
    const MatrixRows matrix(problem.k);
    Akfa akfa;
    expect_error(MERCER_E_NUMERICAL, "row 0 is inf, must be finite",
                 [&] { run_rule(matrix.rows(), stop_at(1), akfa.rule()); });
}

// ---- the forecast

void test_forecast() {
    Run run({}, nullptr);
    mercer_task task(run, Random(0, Stage::reducer));
    const TileBytes tiles{1000, 100, 16, 8, false};
    PivotForecast pivots(tiles, false);
    mercer_shape shape{};
    shape.struct_size = sizeof shape, shape.n = 200000, shape.d = 3, shape.dtype = MERCER_F64;
    mercer_pivot_stop stop = service_stop(stop_at(100));
    const mercer_cost plain = pivots.pivot_cost(task, shape, stop);
    TEST_ASSERT_EQUAL_INT64(0, pivots.factor_bytes()); // the factor is recomputed
    stop.full = 1;
    const mercer_cost full = pivots.pivot_cost(task, shape, stop);
    TEST_ASSERT_TRUE(pivots.factor_bytes() >= 8 * 200000 * 100 && full.bytes > plain.bytes + 8 * 200000 * 90);
    stop.full = 0;
    TEST_ASSERT_EQUAL_INT64(plain.bytes, pivots.pivot_cost(task, shape, stop).bytes);
    TEST_ASSERT_EQUAL_INT64(0, pivots.factor_bytes()); // it describes the last call of pivot_cost
}

// The memory that a rule with passes takes must stay within its forecast.
void test_memory() {
    const Clusters clusters(9000);
    for (int64_t threads : {1, 2}) {
        const mercer_run settings = settings_of(threads);
        Run run({}, &settings);
        mercer_task task(run, Random(0, Stage::reducer));
        PivotForecast forecast(tiles_of<double>(clusters.kernel, *clusters.source), true);
        mercer_shape shape{};
        shape.struct_size = sizeof shape, shape.n = 9000, shape.d = 6, shape.dtype = MERCER_F64;
        mercer_pivot_stop stop = service_stop(stop_at(6));
        stop.full = 1;
        const mercer_cost cost = forecast.pivot_cost(task, shape, stop);
        PartialCholesky<double> factor(run, clusters.rows(), 6);
        Akfa akfa;
        Buffer<double> copy;
        run_pivots(factor, task, akfa.rule(), stop, copy);
        TEST_ASSERT_TRUE(run.budget()->peak() <= cost.bytes && run.budget()->peak() > cost.bytes / 4);
    }
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_equal_to_greedy);
    RUN_TEST(test_growing);
    RUN_TEST(test_ranges);
    RUN_TEST(test_must_and_never);
    RUN_TEST(test_akfa);
    RUN_TEST(test_akfa_needs_columns);
    RUN_TEST(test_ackfa);
    RUN_TEST(test_akfa_f32);
    RUN_TEST(test_threads);
    RUN_TEST(test_residual);
    RUN_TEST(test_residual_f32);
    RUN_TEST(test_stops);
    RUN_TEST(test_failures);
    RUN_TEST(test_not_finite);
    RUN_TEST(test_forecast);
    RUN_TEST(test_memory);
    return UNITY_END();
}
