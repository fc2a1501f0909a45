// Limits of outputs: values that 5 % and 1 % of the training points exceed. They are empirical: the
// q-quantile is the smallest value v such that points with values <= v carry at least the share q
// of all weight (if all weights are 1, the ceil(q n)-th smallest value). Points that a model was
// fitted on lie a little closer to it than new points do, so new points exceed the limits slightly
// more often.
//
// For a projection, row l_i of the factor L and its residual d_i give the outputs of row i:
// f = V^T (l_i - mu), residual = d_i + |l_i - mu|^2 - |f|^2, T^2 = f^T S^-1 f, S the covariance of
// the scores. This takes one more sweep over L with 2 n m r flops (and n r^2 if S is not diagonal),
// and the memory of 2 n numbers, or 3 n with weights.
#include "control_limits.h"

#include "../core/threads.h"
#include "../gram/row_sums.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mercer {
namespace {

constexpr double not_rounding = 1 - 1e-12; // lowers a share of weights, because their sums have rounding errors

double quantile(const double *values, const double *weights, const Buffer<int64_t> &ascending, double q) {
    double total = 0, below = 0;
    for (int64_t i = 0; i < ascending.size(); ++i) total += weights[i];
    const double share = q * total * not_rounding;
    for (int64_t i : ascending)
        if ((below += weights[i]) >= share) return values[i];
    return ascending.empty() ? 0 : values[ascending[ascending.size() - 1]];
}

// Returns the quantile of values of equal weight, and reorders the values.
double quantile(int64_t n, double *values, double q) {
    if (n == 0) return 0;
    double *at = values + std::min(n, static_cast<int64_t>(std::ceil(q * static_cast<double>(n) * not_rounding))) - 1;
    std::nth_element(values, at, values + n);
    return *at;
}

} // namespace

Quantiles limits_of(Run &run, int64_t n, double *values, const double *weights) {
    if (!weights) return {quantile(n, values, 0.95), quantile(n, values, 0.99)};
    Buffer<int64_t> ascending = run.buffer<int64_t>(n);
    std::iota(ascending.begin(), ascending.end(), int64_t{0});
    std::sort(ascending.begin(), ascending.end(), [&](int64_t i, int64_t j) { return values[i] < values[j]; });
    return {quantile(values, weights, ascending, 0.95), quantile(values, weights, ascending, 0.99)};
}

namespace {

// Collects T^2 and the residual of n points. put() receives the scores of point i and its squared
// distance from the mean (left), from which it subtracts the squared scores.
struct Outputs {
    Run &run;
    int64_t r;
    const Whitening &whitening; // if its why_not() is not "", there is no T^2
    CountedVector<double> residual;
    Buffer<double> t2;

    Outputs(Run &run, int64_t r, const Whitening &whitening, CountedVector<double> residual)
        : run(run), r(r), whitening(whitening), residual(std::move(residual)),
          t2(run.buffer<double>(has_t2() ? static_cast<int64_t>(this->residual.size()) : 0)) {}
    bool has_t2() const { return whitening.why_not().empty(); }
    // f: the scores of point i, r numbers.
    void put(int64_t i, double left, const double *f) {
        for (int64_t j = 0; j < r; ++j) left -= f[j] * f[j];
        residual[static_cast<size_t>(i)] = std::max(left, 0.0);
        if (has_t2()) t2[i] = whitening.t2(f, r);
    }
    Limits limits(const double *weights, const char *kind) {
        Limits out{{}, limits_of(run, static_cast<int64_t>(residual.size()), residual.data(), weights), kind};
        if (has_t2()) out.t2 = limits_of(run, t2.size(), t2.data(), weights);
        return out;
    }
};

} // namespace

template <class T>
Limits limits_in_span(Run &run, const SpanRows<T> &span, Projection &projection, int64_t r, const Whitening &whitening,
                      const double *weights) {
    const int64_t n = span.n(), m = span.rank();
    const int64_t width = padded_columns<T>(r), slabs = (n + span_slab - 1) / span_slab;
    Buffer<T> v = std::move(run.buffer<T>(m, width).zero());
    std::vector<double> offset(static_cast<size_t>(r)); // V^T mu
    for (int64_t k = 0; k < m; ++k)
        for (int64_t j = 0; j < r; ++j) {
            v[k * width + j] = static_cast<T>(projection.v[k + j * m]);
            offset[static_cast<size_t>(j)] += projection.v[k + j * m] * projection.mean[static_cast<size_t>(k)];
        }
    Outputs outputs(run, r, whitening, std::move(projection.residual));
    struct Work {
        Buffer<T> made, f;
        Buffer<double> scores;
    };
    Pool<Work> pool([&] {
        return std::unique_ptr<Work>(new Work{{}, run.buffer<T>(span_slab, width), run.buffer<double>(r)});
    });
    parallel_for(
        run, slabs,
        [&](int64_t s) {
            const int64_t row0 = s * span_slab, rows = std::min(span_slab, n - row0);
            auto work = pool.take();
            int64_t stride = 0;
            const T *l = span.rows(run, row0, rows, work->made, stride);
            thin_table<T>().product(rows, width, m, l, stride, 1, v.data(), width, work->f.data(), width, false);
            for (int64_t i = 0; i < rows; ++i) {
                double left = outputs.residual[static_cast<size_t>(row0 + i)];
                for (int64_t k = 0; k < m; ++k) {
                    const double x = static_cast<double>(l[i * stride + k]) - projection.mean[static_cast<size_t>(k)];
                    left += x * x;
                }
                for (int64_t j = 0; j < r; ++j)
                    work->scores[j] = static_cast<double>(work->f[i * width + j]) - offset[static_cast<size_t>(j)];
                outputs.put(row0 + i, left, work->scores.data());
            }
        },
        span.serial());
    return outputs.limits(weights, "exact");
}

template Limits limits_in_span(Run &, const SpanRows<float> &, Projection &, int64_t, const Whitening &,
                               const double *);
template Limits limits_in_span(Run &, const SpanRows<double> &, Projection &, int64_t, const Whitening &,
                               const double *);

template <class T>
Limits limits_at(Run &run, const Expression &kernel, Points<T> x, Points<T> c, const Lifted &model,
                 const double *weights, const char *kind) {
    const Tensor &a = model.tensors.at("A"), &b = model.tensors.at("b");
    const Whitening whitening(model.tensors);
    const auto nu = model.tensors.find("nu");
    const bool centred = nu != model.tensors.end();
    const int64_t n = x.rows(), r = a.cols;
    x.lean();
    c.lean();
    const Tiles<T> tiles(kernel, x, c);
    Weights<T> w(run, a.rows, r + centred);
    w.columns(0, tensor_data<T>(a), r);
    if (centred) w.column(r, tensor_data<double>(nu->second), 1);
    Outputs outputs(run, r, whitening, CountedVector<double>(static_cast<size_t>(n)));
    self_values(run, tiles, outputs.residual.data());
    const double square = centred ? model.mean_square.value() : 0;
    RowSums<T>(run, tiles, false).evaluate(w, [&](const Panel<T> &panel, double *sums) {
        for (int64_t i = 0; i < panel.rows; ++i) {
            double *row = sums + i * w.stride;
            const double own =
                outputs.residual[static_cast<size_t>(panel.row0 + i)] + (centred ? square - 2 * row[r] : 0);
            for (int64_t j = 0; j < r; ++j) row[j] -= tensor_data<double>(b)[j];
            outputs.put(panel.row0 + i, own, row);
        }
    });
    return outputs.limits(weights, kind);
}

template Limits limits_at(Run &, const Expression &, Points<float>, Points<float>, const Lifted &, const double *,
                          const char *);
template Limits limits_at(Run &, const Expression &, Points<double>, Points<double>, const Lifted &, const double *,
                          const char *);

} // namespace mercer
