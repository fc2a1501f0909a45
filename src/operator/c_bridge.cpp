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
    return task->guard([&] { self_of(op).dense(task->run, a, lda); });
}
int32_t diagonal_c(const mercer_operator *op, mercer_task *task, double *d) {
    return task->guard([&] { self_of(op).diagonal(task->run, d); });
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

} // namespace mercer
