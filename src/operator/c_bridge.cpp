// Operators as plugins see them: C functions that turn exceptions into errors of the plugin's task.
#include "../host/task.h"
#include "operator.h"

#include <cinttypes>

namespace mercer {

namespace {

const Operator &self_of(const mercer_operator *op) { return *static_cast<const Operator *>(op->self); }

void check(const Operator &op, Columns q, Columns y) {
    check_columns("apply: q", q, op.n());
    check_columns("apply: y", y, op.n());
    if (q.count < 1 || q.count != y.count || overlap(q, y))
        fail(MERCER_E_PLUGIN,
             "apply: %" PRId64 " columns to %" PRId64 ", must be equally many, at least 1, without overlap", q.count,
             y.count);
}

int32_t apply_c(const mercer_operator *op, mercer_task *task, mercer_range q, mercer_range y) {
    return task->guard([&] {
        check(self_of(op), q, y);
        self_of(op).apply(task->run, false, q, y);
    });
}
int32_t apply_rough_c(const mercer_operator *op, mercer_task *task, mercer_range q, mercer_range y) {
    return task->guard([&] {
        check(self_of(op), q, y);
        self_of(op).apply(task->run, true, q, y);
    });
}
int32_t dense_c(const mercer_operator *op, mercer_task *task, double *a, int64_t lda) {
    return task->guard([&] {
        if (lda < op->n) fail(MERCER_E_PLUGIN, "dense: lda = %" PRId64 ", must be >= n = %" PRId64, lda, op->n);
        self_of(op).dense(task->run, a, lda);
    });
}
int32_t diagonal_c(const mercer_operator *op, mercer_task *task, double *d) {
    return task->guard([&] { self_of(op).diagonal(task->run, d); });
}

const Operator &self_of(const mercer_gram *gram) { return *static_cast<const Operator *>(gram->self); }

int32_t columns_c(const mercer_gram *gram, mercer_task *task, const int64_t *index, int64_t count, double *out,
                  int64_t ldo) {
    return task->guard([&] {
        const int64_t n = self_of(gram).n();
        if (count < 0 || ldo < n)
            fail(MERCER_E_PLUGIN,
                 "columns: count = %" PRId64 ", must be >= 0; leading dimension %" PRId64 ", must be >= n = %" PRId64,
                 count, ldo, n);
        for (int64_t k = 0; k < count; ++k)
            if (index[k] < 0 || index[k] >= n)
                fail(MERCER_E_PLUGIN, "columns: row %" PRId64 " (entry %" PRId64 "), must be 0 to %" PRId64, index[k],
                     k, n - 1);
        if (count > 0) self_of(gram).columns(task->run, index, count, out, ldo);
    });
}
int32_t row_squares_c(const mercer_gram *gram, mercer_task *task, double *out) {
    return task->guard([&] { self_of(gram).row_squares(task->run, {}, out); });
}

} // namespace

mercer_operator Operator::c_operator() const {
    return {sizeof(mercer_operator),
            n_,
            f32_ ? MERCER_F32 : MERCER_F64,
            0,
            this,
            apply_c,
            has_rough() ? apply_rough_c : nullptr,
            dense_c,
            diagonal_c};
}

mercer_gram Operator::c_gram(const mercer_operator &op) const {
    const Fidelity known = fidelity();
    mercer_gram out{};
    out.struct_size = sizeof out;
    out.n = n_;
    out.op = &op;
    out.self = this;
    out.columns = columns_c;
    out.row_squares = row_squares_c;
    out.distance = known.distance;
    out.positive = known.positive;
    return out;
}

} // namespace mercer
