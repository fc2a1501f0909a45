// For tests of pivoted Cholesky: a class that presents a matrix as the kernel matrix of objects,
// and a naive factorisation that adds one column at a time.
#pragma once
#include "factor/pivot_service.h"
#include "oracle.h"
#include "temp_files.h" // expect_error
#include "tolerances.h"

using namespace mercer;
using oracle::Matrix;
using oracle::Vector;

// A matrix whose entries a factor requests one by one, as kernel values of objects. It cannot be
// copied or moved, because the source keeps a pointer to the matrix.
class MatrixRows {
  public:
    explicit MatrixRows(Matrix k, bool psd = true) : k_(std::move(k)), kernel_(parse_expression("user"), registry_) {
        kernel_.leaves[0].facts.flags = psd ? MERCER_PSD : 0;
        auto entries = [](void *user, const int64_t *i, const int64_t *j, int64_t count, double *values) {
            const Matrix &k = *static_cast<const Matrix *>(user);
            for (int64_t p = 0; p < count; ++p) values[p] = k(i[p], j[p]);
            return int32_t{0};
        };
        source_ = std::make_shared<ObjectSource>(mercer_objects{sizeof(mercer_objects), k_.rows, MERCER_KERNEL,
                                                                MERCER_THREAD_SAFE, entries, nullptr, &k_, nullptr});
    }
    MatrixRows(const MatrixRows &) = delete;
    const Matrix &k() const { return k_; }
    KernelRows rows(const Vector &weights = {}) const {
        return {source_, map_, kernel_, nullptr, k_.rows, weights.empty() ? nullptr : weights.data()};
    }

  private:
    Matrix k_;
    Registry registry_;
    Expression kernel_;
    InputMap map_;
    std::shared_ptr<const Source> source_;
};

inline PivotStop stop_at(int64_t m, double mse = 0, double maxerr = 0, double trace = 0) {
    return {m, mse, maxerr, trace};
}

// The results of a factor as plain arrays. If the factor does not store L, `factor` holds zeros.
struct Result {
    std::vector<int64_t> index;
    Matrix factor;
    Vector residual;
    double mse, trace, largest;
    bool rank_reached;
    int64_t sweeps, evaluations;
    bool operator==(const Result &other) const {
        return index == other.index && factor.v == other.factor.v && residual == other.residual && mse == other.mse &&
               trace == other.trace && largest == other.largest && sweeps == other.sweeps;
    }
};

// Returns the results of a factor. `largest` is the largest residual of the rows with weight > 0
// (weights = {}: of all rows).
template <class T>
Result result_of(const PartialCholesky<T> &factor, const Vector &weights = {}) {
    const int64_t n = factor.n(), m = factor.count();
    double largest = 0;
    for (int64_t i = 0; i < n; ++i)
        if (weights.empty() || weights[static_cast<size_t>(i)] > 0)
            largest = oracle::larger(largest, factor.residual()[i]);
    Result out{{factor.index(), factor.index() + m},
               Matrix(n, m),
               {factor.residual(), factor.residual() + n},
               factor.mean_residual(),
               factor.trace_left(),
               largest,
               factor.rank_reached(),
               factor.sweeps(),
               factor.evaluations()};
    for (int64_t i = 0; i < n && factor.stored(); ++i)
        for (int64_t j = 0; j < m; ++j)
            out.factor(i, j) = static_cast<double>(factor.factor()[i * factor.stride() + j]);
    return out;
}

template <class T = double>
Result greedy(const MatrixRows &matrix, PivotStop stop, const Vector &weights = {}, Factor kind = Factor::stored) {
    Run run({}, nullptr);
    const int64_t capacity = PartialCholesky<T>::first_capacity(stop.m, stop.early());
    PartialCholesky<T> factor(run, matrix.rows(weights), capacity, kind);
    factor.grow_greedy(stop);
    return result_of(factor, weights);
}

template <class T = double>
Result sampled(const MatrixRows &matrix, PivotStop stop, uint64_t seed, const Vector &weights = {}) {
    mercer_run one{};
    one.struct_size = sizeof one, one.threads = 1; // tests factor thousands of small matrices
    Run run({}, &one);
    PartialCholesky<T> factor(run, matrix.rows(weights), stop.m);
    factor.grow_sampled(stop, Random(seed, Stage::reducer));
    return result_of(factor, weights);
}

inline Matrix gaussian_gram(const Matrix &x, double sigma) { return oracle::gram(oracle::gaussian(sigma), x, x); }

// Points in 12 clusters, with weights of which every fifth is 0. Tests take enough rows for several
// slabs, of which the last one is not full.
struct Clusters {
    explicit Clusters(int64_t n, int64_t d = 6) : x(n, d), kernel(parse_expression("gaussian"), registry) {
        oracle::Numbers numbers(2);
        const Matrix centres = numbers.matrix(12, d, -4, 4);
        for (int64_t i = 0; i < n; ++i)
            for (int64_t j = 0; j < d; ++j) x(i, j) = centres((i * 7) % 12, j) + numbers() + numbers() + numbers();
        for (int64_t i = 0; i < n; ++i) weights.push_back(i % 5 == 3 ? 0 : 0.5 + numbers.uniform());
        Run run({}, nullptr);
        kernel.finish(run, d, [](const Leaf &, const std::string &) { return 3.0; });
        source = make_view_source({sizeof(mercer_view), MERCER_F64, 0, n, d, d, 1, x.v.data()});
    }
    KernelRows rows() const { return {source, map, kernel, nullptr, x.rows, weights.data()}; }
    Registry registry;
    Matrix x;
    Expression kernel;
    InputMap map;
    Vector weights;
    std::shared_ptr<const Source> source;
};

inline mercer_run settings_of(int64_t threads) {
    mercer_run run{};
    run.struct_size = sizeof run;
    run.threads = threads;
    return run;
}

// The naive factorisation, one column at a time, in long double. choose(d) returns the next pivot,
// or -1 if no row can become one.
struct Naive {
    std::vector<int64_t> index;
    std::vector<std::vector<long double>> columns;
    std::vector<long double> d;
    double mse, trace, largest; // only rows with weight > 0 count
};
template <class Choose>
Naive column_by_column(const Matrix &k, PivotStop stop, Vector weights, Choose &&choose) {
    const size_t n = static_cast<size_t>(k.rows);
    if (weights.empty()) weights.assign(n, 1);
    Naive out;
    long double all = 0, sum = 0, trace = 0, largest = 0;
    for (size_t i = 0; i < n; ++i) {
        int64_t at = static_cast<int64_t>(i);
        out.d.push_back(static_cast<long double>(k(at, at)));
        all += weights[i];
        trace += weights[i] * out.d[i];
    }
    auto measure = [&] {
        sum = largest = 0;
        for (size_t i = 0; i < n; ++i) {
            sum += weights[i] * out.d[i];
            if (weights[i] > 0) largest = std::max(largest, out.d[i]);
        }
        out.mse = static_cast<double>(sum / all);
        out.trace = static_cast<double>(trace > 0 ? sum / trace : 0);
        out.largest = static_cast<double>(largest);
    };
    measure();
    while (static_cast<int64_t>(out.index.size()) < std::min(stop.m, k.rows)) {
        const int64_t p = choose(out.d);
        if (p < 0) break;
        std::vector<long double> column(n);
        for (size_t i = 0; i < n; ++i) {
            column[i] = static_cast<long double>(k(static_cast<int64_t>(i), p));
            for (const auto &earlier : out.columns) column[i] -= earlier[i] * earlier[static_cast<size_t>(p)];
        }
        const long double root = std::sqrt(out.d[static_cast<size_t>(p)]);
        for (size_t i = 0; i < n; ++i) {
            column[i] /= root;
            out.d[i] = std::max(out.d[i] - column[i] * column[i], 0.0L);
        }
        for (int64_t earlier : out.index) column[static_cast<size_t>(earlier)] = 0;
        column[static_cast<size_t>(p)] = root;
        out.d[static_cast<size_t>(p)] = 0;
        out.index.push_back(p);
        out.columns.push_back(column);
        measure();
        if ((stop.mse > 0 && out.mse <= stop.mse) || (stop.maxerr > 0 && out.largest <= stop.maxerr) ||
            (stop.trace > 0 && out.trace <= stop.trace))
            break;
    }
    return out;
}

inline Naive naive_greedy(const Matrix &k, PivotStop stop, const Vector &weights = {}) {
    double scale = 0;
    for (int64_t i = 0; i < k.rows; ++i) scale = std::max(scale, k(i, i));
    auto counts = [&](size_t i) { return weights.empty() || weights[i] > 0; };
    return column_by_column(k, stop, weights, [&](const std::vector<long double> &d) -> int64_t {
        long double best = 0;
        for (size_t i = 0; i < d.size(); ++i)
            if (counts(i)) best = std::max(best, d[i]);
        if (!(best > 1e-10 * scale)) return -1;
        for (size_t i = 0;; ++i)
            if (counts(i) && d[i] >= (1 - 1e-10L) * best) return static_cast<int64_t>(i);
    });
}

// Compares each entry of L, the residual diagonal and the error measures of a factor with those of
// the naive factorisation, which must have the same pivots.
inline void check_factor(const Result &got, const Naive &exact, double allowed) {
    TEST_ASSERT_TRUE(got.index == exact.index);
    for (int64_t i = 0; i < got.factor.rows; ++i) {
        const size_t row = static_cast<size_t>(i);
        TEST_ASSERT_DOUBLE_WITHIN(allowed, static_cast<double>(exact.d[row]), got.residual[row]);
        for (int64_t j = 0; j < got.factor.cols; ++j)
            TEST_ASSERT_DOUBLE_WITHIN(allowed, static_cast<double>(exact.columns[static_cast<size_t>(j)][row]),
                                      got.factor(i, j));
    }
    TEST_ASSERT_DOUBLE_WITHIN(allowed, exact.mse, got.mse);
    TEST_ASSERT_DOUBLE_WITHIN(allowed, exact.trace, got.trace);
    TEST_ASSERT_DOUBLE_WITHIN(allowed, exact.largest, got.largest);
    for (size_t s = 0; s < got.index.size(); ++s) { // the pivots' rows of L are exactly lower triangular
        TEST_ASSERT_TRUE(got.residual[static_cast<size_t>(got.index[s])] == 0);
        for (size_t t = 0; t < s; ++t) TEST_ASSERT_TRUE(got.factor(got.index[t], static_cast<int64_t>(s)) == 0);
    }
}
