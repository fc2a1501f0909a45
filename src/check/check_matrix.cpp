#include "check_matrix.h"

#include "../core/blas.h"

#include <algorithm>
#include <cmath>

namespace mercer {

Matrix::Matrix(std::string text, const Values &spectrum)
    : text(std::move(text)), n(static_cast<int64_t>(spectrum.size())), a(static_cast<size_t>(n * n)), q(a.size()) {
    for (int64_t i = 0; i < n; ++i) q[static_cast<size_t>(i * (n + 1))] = 1;
    for (int64_t round = 0; round < 10; ++round) {
        Values v(static_cast<size_t>(n));
        double square = 0;
        for (int64_t i = 0; i < n; ++i) {
            double value = check_number(2000 + round, i) - 0.5;
            v[static_cast<size_t>(i)] = value, square += value * value;
        }
        for (int64_t j = 0; j < n; ++j) {
            double *column = q.data() + j * n, dot = 0;
            for (int64_t i = 0; i < n; ++i) dot += column[i] * v[static_cast<size_t>(i)];
            for (int64_t i = 0; i < n; ++i) column[i] -= 2 * dot / square * v[static_cast<size_t>(i)];
        }
    }
    Values scaled = q;
    for (int64_t j = 0; j < n; ++j) {
        norm = std::max(norm, std::fabs(spectrum[static_cast<size_t>(j)]));
        for (int64_t i = 0; i < n; ++i) scaled[static_cast<size_t>(i + j * n)] *= spectrum[static_cast<size_t>(j)];
    }
    gemm('N', 'T', n, n, n, 1.0, scaled.data(), n, q.data(), n, 0.0, a.data(), n);
    for (int64_t j = 0; j < n; ++j)
        for (int64_t i = 0; i < j; ++i) a[static_cast<size_t>(j + i * n)] = a[static_cast<size_t>(i + j * n)];
    for (double value : a) a_32.push_back(norm > 0 ? static_cast<float>(value / norm) : 0);
}

void Matrix::begin_call(int64_t columns) const {
    applies += columns, widest = std::max(widest, columns);
    if (cancel) *cancel = 1;
    if (calls() == fails_at) fail(MERCER_E_CALLBACK, "the operator fails");
}

namespace {

void check_blocks(int64_t n, const double *x, int64_t ldx, int64_t p, const double *y, int64_t ldy) {
    if (p < 1 || ldx < n || ldy < n || (x < y + ldy * p && y < x + ldx * p))
        fail(MERCER_E_PLUGIN, "apply with p = %d, ldq = %d, ldy = %d, n = %d, or with blocks that overlap", int(p),
             int(ldx), int(ldy), int(n));
    for (int64_t j = 0; j < p; ++j)
        if (!std::all_of(x + j * ldx, x + j * ldx + n, [](double v) { return std::isfinite(v); }))
            fail(MERCER_E_PLUGIN, "apply to a column with NaN or Inf");
}

int32_t apply(const mercer_operator *op, mercer_task *task, const double *x, int64_t ldx, int64_t p, double *y,
              int64_t ldy) {
    const Matrix &m = *static_cast<const Matrix *>(op->self);
    return task->guard([&] {
        const int64_t n = m.n;
        m.products += 1;
        m.begin_call(p);
        check_blocks(n, x, ldx, p, y, ldy);
        gemm('N', 'N', n, p, n, 1.0, m.a.data(), n, x, ldx, 0.0, y, ldy);
        if (m.spoilt) y[n / 2] = NAN;
    });
}

// Matrix, block and sums in f32. The matrix is scaled to norm 1, as kernel values are of moderate size.
int32_t apply_rough(const mercer_operator *op, mercer_task *task, const double *x, int64_t ldx, int64_t p, double *y,
                    int64_t ldy) {
    const Matrix &m = *static_cast<const Matrix *>(op->self);
    return task->guard([&] {
        const int64_t n = m.n;
        m.roughs += 1;
        m.begin_call(p);
        check_blocks(n, x, ldx, p, y, ldy);
        std::vector<float> from(static_cast<size_t>(n * p)), to(from.size());
        for (int64_t j = 0; j < p; ++j)
            for (int64_t i = 0; i < n; ++i) from[static_cast<size_t>(i + j * n)] = static_cast<float>(x[i + j * ldx]);
        gemm('N', 'N', n, p, n, 1.0F, m.a_32.data(), n, from.data(), n, 0.0F, to.data(), n);
        for (int64_t j = 0; j < p; ++j)
            for (int64_t i = 0; i < n; ++i)
                y[i + j * ldy] = m.norm * static_cast<double>(to[static_cast<size_t>(i + j * n)]);
        if (m.spoilt) y[n / 2] = NAN;
    });
}

int32_t dense(const mercer_operator *op, mercer_task *task, double *a, int64_t lda) {
    const Matrix &m = *static_cast<const Matrix *>(op->self);
    return task->guard([&] {
        m.denses += 1;
        m.begin_call(0);
        for (int64_t j = 0; j < m.n; ++j) std::copy_n(m.a.data() + j * m.n, m.n, a + j * lda);
        if (m.spoilt) a[m.n / 2] = a[m.n / 2 * lda] = NAN;
    });
}

int32_t diagonal(const mercer_operator *op, mercer_task *, double *d) {
    const Matrix &m = *static_cast<const Matrix *>(op->self);
    for (int64_t i = 0; i < m.n; ++i) d[i] = m.a[static_cast<size_t>(i * (m.n + 1))];
    return MERCER_OK;
}

} // namespace

mercer_operator Matrix::op(bool with_rough) const {
    return {sizeof(mercer_operator), n, this, apply, dense, diagonal, with_rough ? apply_rough : nullptr};
}

Solution solve(Run &run, const Plugin &plugin, const Params &params, const mercer_operator &op,
               const mercer_eigen_request &request, uint64_t seed) {
    Solution s;
    s.values.assign(static_cast<size_t>(request.r), 0);
    s.residuals = s.values;
    s.vectors.assign(static_cast<size_t>(op.n * request.r), 0);
    s.out = {sizeof s.out, s.values.data(), s.vectors.data(), s.residuals.data(), 0, 0, 0, 0, 0};
    s.cost.struct_size = sizeof s.cost;
    mercer_task task(run, Random(seed, Stage::solver));
    mercer_eigen_request asked = request; // vectors are not known yet
    asked.start = asked.locked = nullptr;
    s.status = plugin.solver.forecast(&host_table(), &task, params.values(), op.n, &asked, &s.cost);
    if (s.status == MERCER_OK)
        s.status = plugin.solver.solve(&host_table(), &task, params.values(), &op, &request, &s.out);
    s.error = task.error;
    for (const auto &block : task.arena) s.allocated += block.size();
    return s;
}

Values exact(const Matrix &m, const mercer_eigen_request &request) {
    const int64_t n = m.n, l = request.locked_count;
    Values b = m.a, values(static_cast<size_t>(n)), vectors(b.size());
    if (l > 0) {
        Values p(b.size()), half(b.size());
        for (int64_t i = 0; i < n; ++i) p[static_cast<size_t>(i * (n + 1))] = 1;
        gemm('N', 'T', n, n, l, -1.0, request.locked, n, request.locked, n, 1.0, p.data(), n);
        gemm('N', 'N', n, n, n, 1.0, p.data(), n, m.a.data(), n, 0.0, half.data(), n);
        gemm('N', 'N', n, n, n, 1.0, half.data(), n, p.data(), n, 0.0, b.data(), n);
        gemm('N', 'T', n, n, l, -3 * m.norm - 1, request.locked, n, request.locked, n, 1.0, b.data(), n); // to the end
    }
    eigh_top(n, b.data(), n, n, values.data(), vectors.data(), n);
    values.resize(static_cast<size_t>(n - l));
    return values;
}

} // namespace mercer
