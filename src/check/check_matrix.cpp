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
    int64_t &most = applies == 0 ? first : widest;
    most = std::max(most, columns);
    applies += columns;
    if (cancel) *cancel = 1;
    if (calls() == fails_at) fail(MERCER_E_CALLBACK, "the operator fails");
}

namespace {

Values values_of(Columns x) {
    Values out(static_cast<size_t>(x.block->n() * x.count));
    x.block->use(x.first, x.count);
    for (int64_t j = 0; j < x.count; ++j) x.block->read(x.first + j, 0, x.block->n(), out.data() + j * x.block->n());
    return out;
}

void put(const Values &from, Columns to) {
    to.block->use(to.first, to.count);
    for (int64_t j = 0; j < to.count; ++j)
        to.block->write(to.first + j, 0, to.block->n(), from.data() + j * to.block->n());
}

// Returns the values of the columns x that are to be multiplied. Fails unless x and y are legal
// arguments and x is finite.
Values checked(const Matrix &m, Columns x, Columns y) {
    check_columns("apply: q", x, m.n);
    check_columns("apply: y", y, m.n);
    if (x.count < 1 || x.count != y.count || overlap(x, y))
        fail(MERCER_E_PLUGIN, "apply maps %d columns to %d, or the columns overlap", int(x.count), int(y.count));
    Values out = values_of(x);
    if (!std::all_of(out.begin(), out.end(), [](double v) { return std::isfinite(v); }))
        fail(MERCER_E_PLUGIN, "apply to a column with NaN or Inf");
    return out;
}

int32_t apply(const mercer_operator *op, mercer_task *task, mercer_range x, mercer_range y) {
    const Matrix &m = *static_cast<const Matrix *>(op->self);
    return task->guard([&] {
        const int64_t n = m.n;
        m.products += 1;
        m.begin_call(x.count);
        const Values from = checked(m, x, y);
        Values to(from.size());
        gemm('N', 'N', n, x.count, n, 1.0, m.a.data(), n, from.data(), n, 0.0, to.data(), n);
        if (m.spoilt) to[static_cast<size_t>(n / 2)] = NAN;
        put(to, y);
    });
}

// Multiplies the matrix by the block of columns, with the matrix, the block and the sums in f32. A
// test matrix may have any norm, so it is scaled to norm 1, which prevents overflow in f32, and the
// result is multiplied by the norm in f64.
int32_t apply_rough(const mercer_operator *op, mercer_task *task, mercer_range x, mercer_range y) {
    const Matrix &m = *static_cast<const Matrix *>(op->self);
    return task->guard([&] {
        const int64_t n = m.n;
        m.roughs += 1;
        m.begin_call(x.count);
        const Values q = checked(m, x, y);
        std::vector<float> from(q.begin(), q.end()), to(from.size());
        gemm('N', 'N', n, x.count, n, 1.0F, m.a_32.data(), n, from.data(), n, 0.0F, to.data(), n);
        Values out(to.begin(), to.end());
        for (double &value : out) value *= m.norm;
        if (m.spoilt) out[static_cast<size_t>(n / 2)] = NAN;
        put(out, y);
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

mercer_operator Matrix::op(bool with_rough, bool f32) const {
    this->f32 = f32;
    return {sizeof(mercer_operator),
            n,
            f32 ? MERCER_F32 : MERCER_F64,
            0,
            this,
            apply,
            with_rough ? apply_rough : nullptr,
            dense,
            diagonal};
}

void Kept::save(const double *numbers, int64_t count, const Columns *columns, int64_t ranges) {
    if (++saves != at_) return;
    numbers_.assign(numbers, numbers + count);
    columns_.clear();
    for (int64_t k = 0; k < ranges; ++k) columns_.push_back(values_of(columns[k]));
    before = m_.calls();
    *cancel_ = 1;
}

bool Kept::resume(double *numbers, int64_t count, const Columns *columns, int64_t ranges) {
    asked |= m_.calls() == 0;
    if (numbers_.empty()) return false;
    if (count != static_cast<int64_t>(numbers_.size()))
        fail(MERCER_E_PLUGIN, "resume asks for %d numbers, but %d were kept", int(count), int(numbers_.size()));
    std::copy(numbers_.begin(), numbers_.end(), numbers);
    for (int64_t k = 0; k < ranges; ++k) {
        if (k >= static_cast<int64_t>(columns_.size()) ||
            static_cast<int64_t>(columns_[static_cast<size_t>(k)].size()) != columns[k].count * columns[k].block->n())
            fail(MERCER_E_PLUGIN, "resume asks for %d columns in range %d, which were not kept", int(columns[k].count),
                 int(k));
        put(columns_[static_cast<size_t>(k)], columns[k]);
    }
    return true;
}

Solution solve(Run &run, const Plugin &plugin, const Params &params, const mercer_operator &op, const Request &request,
               uint64_t seed) {
    Solution s;
    const bool f32 = op.dtype == MERCER_F32;
    Block vectors(run, op.n, request.r, f32), locked(run, op.n, request.locked_count(op.n), f32);
    put(request.locked_vectors, columns(locked));
    s.values.assign(static_cast<size_t>(request.r), 0);
    s.residuals = s.values;
    s.out = {};
    s.out.struct_size = sizeof s.out;
    s.out.values = s.values.data();
    s.out.vectors = columns(vectors);
    s.out.residuals = s.residuals.data();
    s.cost.struct_size = sizeof s.cost;
    mercer_task task(run, Random(seed, Stage::solver));
    task.keeper = request.keeper;
    // The forecast is told how many start vectors and locked vectors there are, but gets none of
    // them.
    mercer_eigen_request asked = request;
    asked.start = nullptr;
    asked.start_count = static_cast<int64_t>(request.guess.size()) / op.n;
    asked.locked = {nullptr, 0, locked.cols()};
    asked.rough = op.apply_rough != nullptr;
    s.status = plugin.solver.forecast(&host_table(), &task, params.values(), op.n, &asked, &s.cost);
    struct Asked {
        const Request &request;
        int64_t times = 0;
    } from{request};
    asked.locked = columns(locked);
    if (!asked.enough) asked.user = &from;
    asked.start = [](void *user, mercer_range to) -> int32_t {
        put(static_cast<Asked *>(user)->request.guess, to);
        return MERCER_OK;
    };
    if (s.status == MERCER_OK)
        s.status = plugin.solver.solve(&host_table(), &task, params.values(), &op, &asked, &s.out);
    s.error = task.error;
    s.vectors = values_of(columns(vectors));
    for (const auto &memory : task.arena) s.allocated += memory.size();
    for (const Block &block : task.blocks) s.columns += block.cols();
    return s;
}

Values exact(const Matrix &m, const Request &request) {
    const int64_t n = m.n, l = request.locked_count(n);
    Values b = m.a, values(static_cast<size_t>(n)), vectors(b.size());
    if (l > 0) {
        Values p(b.size()), half(b.size());
        for (int64_t i = 0; i < n; ++i) p[static_cast<size_t>(i * (n + 1))] = 1;
        const double *q = request.locked_vectors.data();
        gemm('N', 'T', n, n, l, -1.0, q, n, q, n, 1.0, p.data(), n);
        gemm('N', 'N', n, n, n, 1.0, p.data(), n, m.a.data(), n, 0.0, half.data(), n);
        gemm('N', 'N', n, n, n, 1.0, half.data(), n, p.data(), n, 0.0, b.data(), n);
        // Shifts the eigenvalues of the locked directions below all others, so that the first n - l
        // eigenvalues are those of the complement.
        gemm('N', 'T', n, n, l, -3 * m.norm - 1, q, n, q, n, 1.0, b.data(), n);
    }
    eigh_top(n, b.data(), n, n, values.data(), vectors.data(), n);
    values.resize(static_cast<size_t>(n - l));
    return values;
}

} // namespace mercer
