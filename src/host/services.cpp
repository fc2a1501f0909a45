// The table of services, which are C functions. A service that can fail turns an exception into an
// error of the task, and returns the status of this error (`alloc` returns NULL).
#include "../core/structs.h"
#include "../core/tall.h"
#include "../core/threads.h"
#include "../core/vmath.h"
#include "task.h"

#include <cinttypes>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstring>

void *mercer_task::allocate(int64_t bytes) {
    arena.push_back(run.buffer<unsigned char>(bytes));
    std::memset(arena.back().data(), 0, static_cast<size_t>(bytes));
    return arena.back().data();
}

void mercer_task::record(int32_t code, const char *text) noexcept {
    std::lock_guard hold(lock);
    std::snprintf(error, sizeof error, "%s", text);
    error_code = code;
}

void mercer_task::check(int32_t status, const mercer::Plugin &plugin) {
    if (status == MERCER_OK) return;
    std::lock_guard hold(lock);
    const char *kind = mercer::kind_name(plugin.kind), *name = plugin.name.c_str();
    // A plugin to which alloc returned NULL reports E_MEMORY. alloc has recorded the true error,
    // which may be E_BUDGET.
    if (status == MERCER_E_MEMORY && error_code != 0) status = error_code;
    if (!mercer::status_text(status))
        mercer::fail(MERCER_E_PLUGIN, "%s %s returned %d, which is not a status", kind, name, status);
    if (error_code != status)
        mercer::fail(status, "%s %s failed: %s", kind, name, mercer::status_text(status)->summary);
    mercer::fail(status, "%s %s: %s", kind, name, error);
}

void mercer_task::check_cost(const mercer_cost &cost, const mercer::Plugin &plugin) {
    using mercer::kind_name;
    // Sums of a few such figures do not overflow.
    constexpr int64_t most = int64_t{1} << 60;
    const struct {
        const char *name;
        int64_t value;
    } whole[] = {{"bytes", cost.bytes},
                 {"kernel_evaluations", cost.kernel_evaluations},
                 {"passes", cost.passes},
                 {"columns", cost.columns},
                 {"blocks", cost.blocks},
                 {"m", cost.m},
                 {"first_columns", cost.first_columns},
                 {"first_blocks", cost.first_blocks},
                 {"likely_passes", cost.likely_passes},
                 {"likely_m", cost.likely_m},
                 {"likely_bytes", cost.likely_bytes}};
    for (const auto &[name, value] : whole)
        if (value < 0 || value > most)
            mercer::fail(MERCER_E_PLUGIN, "%s %s forecasts %s = %" PRId64 ", must be 0 to 2^60", kind_name(plugin.kind),
                         plugin.name.c_str(), name, value);
    for (const auto &[name, value] : {std::pair{"flops", cost.flops}, {"likely_evaluations", cost.likely_evaluations}})
        if (!(value >= 0) || !std::isfinite(value))
            mercer::fail(MERCER_E_PLUGIN, "%s %s forecasts %s = %g, must be finite and >= 0", kind_name(plugin.kind),
                         plugin.name.c_str(), name, value);
}

void mercer_task::check_callback(int32_t status) {
    if (status == MERCER_OK) return;
    std::lock_guard hold(lock);
    mercer::fail(status, "%s", error_code == status ? error : "a plugin's callback failed");
}

namespace mercer {
namespace {

void check_count(const char *what, int64_t count) {
    if (count < 0) fail(MERCER_E_PLUGIN, "%s = %" PRId64 ", must be >= 0", what, count);
}

Problem &problem_of(mercer_task *task) {
    if (!task->problem) fail(MERCER_E_PLUGIN, "this operation has no access to the data");
    return *task->problem;
}

int32_t fail_service(mercer_task *task, int32_t code, const char *format, ...) {
    char text[512];
    va_list args;
    va_start(args, format);
    std::vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (code == MERCER_OK) code = MERCER_E_PLUGIN;
    task->record(code, text);
    return code;
}

void log_service(mercer_task *task, int32_t level, const char *text) { task->run.log(level, text); }

int32_t report_service(mercer_task *task, const char *name, double value) {
    return task->guard([&] {
        if (!std::isfinite(value)) fail(MERCER_E_PLUGIN, "report: %s = %g, must be finite", name, value);
        if (task->report) (*task->report)[name] = value;
    });
}

int32_t progress_service(mercer_task *task, double fraction) {
    return task->guard([&] {
        task->done.reset();
        task->run.progress(fraction);
        if (task->problem) task->done.emplace(task->run, fraction, fraction);
    });
}

void *alloc_service(mercer_task *task, int64_t bytes) {
    void *block = nullptr;
    task->guard([&] { block = task->allocate(bytes); });
    return block;
}

double uniform_service(mercer_task *task, int64_t a, int64_t b) { return task->random.uniform(a, b); }

int32_t parallel_service(mercer_task *task, int64_t count, int32_t (*body)(void *, int64_t), void *user) {
    return task->guard([&] {
        check_count("parallel: count", count);
        parallel_for(task->run, count, [&](int64_t i) { task->check_callback(body(user, i)); });
    });
}

void exp_f32_service(float *values, int64_t count) { vector_math().exp_f32(values, count); }
void exp_f64_service(double *values, int64_t count) { vector_math().exp_f64(values, count); }
void reach_service(int64_t rows, const int64_t *row, int64_t d, const float *x, const float *level, int64_t count,
                   const float *y, int64_t ldy, const float *add, uint64_t *bits, int64_t words) {
    vector_math().reach(rows, row, d, x, level, count, y, ldy, add, bits, words);
}

void check_trans(char trans) {
    if (trans != 'N' && trans != 'T') fail(MERCER_E_PLUGIN, "trans = '%c', must be 'N' or 'T'", trans);
}

void check_matrix(const char *what, int64_t rows, int64_t cols, int64_t ld) {
    if (rows < 0 || cols < 0 || ld < rows)
        fail(MERCER_E_PLUGIN, "%s: %" PRId64 " x %" PRId64 " with leading dimension %" PRId64, what, rows, cols, ld);
}

int32_t gemm_service(mercer_task *task, char transa, char transb, int64_t m, int64_t n, int64_t k, double alpha,
                     const double *a, int64_t lda, const double *b, int64_t ldb, double beta, double *c, int64_t ldc) {
    return task->guard([&] {
        check_trans(transa);
        check_trans(transb);
        check_matrix("gemm: a", transa == 'N' ? m : k, transa == 'N' ? k : m, lda);
        check_matrix("gemm: b", transb == 'N' ? k : n, transb == 'N' ? n : k, ldb);
        check_matrix("gemm: c", m, n, ldc);
        gemm(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    });
}

int32_t trsm_service(mercer_task *task, char trans, int64_t m, int64_t n, const double *l, int64_t ldl, double *x,
                     int64_t ldx) {
    return task->guard([&] {
        check_trans(trans);
        check_matrix("trsm: l", n, n, ldl);
        check_matrix("trsm: x", m, n, ldx);
        trsm(trans, m, n, l, ldl, x, ldx);
    });
}

int32_t potrf_service(mercer_task *task, int64_t n, double *a, int64_t lda, int64_t *info) {
    return task->guard([&] {
        check_matrix("potrf: a", n, n, lda);
        *info = potrf(n, a, lda);
    });
}

int32_t eigh_service(mercer_task *task, int64_t n, double *a, int64_t lda, int64_t r, double *values, double *vectors,
                     int64_t ldv) {
    return task->guard([&] {
        check_matrix("eigh: a", n, n, lda);
        check_matrix("eigh: vectors", n, r, ldv);
        if (r > n) fail(MERCER_E_PLUGIN, "eigh: r = %" PRId64 ", must be <= n = %" PRId64, r, n);
        eigh_top(n, a, lda, r, values, vectors, ldv);
    });
}

int64_t rows_of(Columns x) { return x.block ? x.block->n() : 0; }

mercer_block *block_service(mercer_task *task, const mercer_operator *op, int64_t columns) {
    mercer_block *block = nullptr;
    task->guard([&] {
        constexpr int64_t most = int64_t{1} << 31;
        if (columns < 0 || columns > most)
            fail(MERCER_E_PLUGIN, "block: columns = %" PRId64 ", must be 0 to %" PRId64, columns, most);
        task->blocks.emplace_back(task->run, op->n, columns, op->dtype == MERCER_F32);
        block = &task->blocks.back();
    });
    return block;
}

int32_t dot_service(mercer_task *task, mercer_range a, mercer_range b, double *c, int64_t ldc) {
    return task->guard([&] {
        check_columns("dot: a", a, rows_of(a));
        check_columns("dot: b", b, rows_of(a));
        check_matrix("dot: c", a.count, b.count, ldc);
        tall_dot(task->run, a, b, c, ldc);
    });
}

int32_t times_service(mercer_task *task, mercer_range a, const double *s, int64_t lds, double beta, mercer_range y) {
    return task->guard([&] {
        check_columns("times: y", y, rows_of(y));
        check_columns("times: a", a, rows_of(y));
        check_matrix("times: s", a.count, y.count, lds);
        tall_times(task->run, a, s, lds, beta, y);
    });
}

int32_t copy_service(mercer_task *task, mercer_range from, mercer_range to) {
    return task->guard([&] {
        check_columns("copy: from", from, rows_of(from));
        check_columns("copy: to", to, rows_of(from));
        if (from.count != to.count)
            fail(MERCER_E_PLUGIN, "copy: %" PRId64 " columns to %" PRId64, from.count, to.count);
        if (to.count > 0) tall_copy(task->run, from, to);
    });
}

int32_t norms_service(mercer_task *task, mercer_range x, double *out) {
    return task->guard([&] {
        check_columns("norms: x", x, rows_of(x));
        if (x.count > 0) tall_norms(task->run, x, out);
    });
}

int32_t random_service(mercer_task *task, mercer_range x, int64_t stream) {
    return task->guard([&] {
        check_columns("random: x", x, rows_of(x));
        if (x.count > 0) tall_random(task->run, x, task->random, stream);
    });
}

int32_t orthonormalise_service(mercer_task *task, mercer_range x, mercer_range against, int64_t *rank) {
    return task->guard([&] {
        check_columns("orthonormalise: x", x, rows_of(x));
        check_columns("orthonormalise: against", against, rows_of(x));
        if (against.count > 0 && overlap(x, against)) fail(MERCER_E_PLUGIN, "orthonormalise: x overlaps against");
        *rank = orthonormalise(task->run, x, against);
    });
}

int32_t get_service(mercer_task *task, mercer_range x, double *out, int64_t ldo) {
    return task->guard([&] {
        check_columns("get: x", x, rows_of(x));
        check_matrix("get: out", rows_of(x), x.count, ldo);
        if (x.count > 0) x.block->use(x.first, x.count);
        for (int64_t j = 0; j < x.count; ++j) x.block->read(x.first + j, 0, x.block->n(), out + j * ldo);
    });
}

int32_t put_service(mercer_task *task, mercer_range x, const double *from, int64_t ldf) {
    return task->guard([&] {
        check_columns("put: x", x, rows_of(x));
        check_matrix("put: from", rows_of(x), x.count, ldf);
        if (x.count > 0) x.block->use(x.first, x.count);
        for (int64_t j = 0; j < x.count; ++j) x.block->write(x.first + j, 0, x.block->n(), from + j * ldf);
    });
}

int32_t checkpoint_service(mercer_task *task, const double *numbers, int64_t count, const mercer_range *columns,
                           int64_t ranges) {
    return task->guard([&] {
        check_count("checkpoint: count", count);
        for (int64_t k = 0; k < ranges; ++k) check_columns("checkpoint", columns[k], rows_of(columns[k]));
        if (task->keeper) task->keeper->save(numbers, count, columns, ranges);
        task->run.progress(0);
    });
}

int32_t resume_service(mercer_task *task, double *numbers, int64_t count, const mercer_range *columns, int64_t ranges,
                       int32_t *found) {
    return task->guard([&] {
        check_count("resume: count", count);
        for (int64_t k = 0; k < ranges; ++k) check_columns("resume", columns[k], rows_of(columns[k]));
        *found = task->keeper && task->keeper->resume(numbers, count, columns, ranges);
    });
}

int32_t visit_service(mercer_task *task, const mercer_visit *visit, const mercer_consumer *consumer) {
    return task->guard([&] { problem_of(task).visit(*visit, *consumer); });
}
int32_t columns_service(mercer_task *task, const int64_t *index, int64_t count, double *out, int64_t ldo) {
    return task->guard([&] { problem_of(task).columns(index, count, out, ldo); });
}
int32_t pairs_service(mercer_task *task, const int64_t *i, const int64_t *j, int64_t count, double *out) {
    return task->guard([&] { problem_of(task).pairs(i, j, count, out); });
}
int32_t rows_service(mercer_task *task, const int64_t *index, int64_t count, double *out) {
    return task->guard([&] { problem_of(task).rows(index, count, out); });
}
int32_t weights_service(mercer_task *task, double *out) {
    return task->guard([&] { problem_of(task).weights(out); });
}
int32_t landmarks_service(mercer_task *task, const int64_t **index, const void **points) {
    return task->guard([&] { problem_of(task).landmarks(index, points); });
}
int32_t pivot_service(mercer_task *task, const mercer_pivot_rule *rule, const mercer_pivot_stop *stop,
                      mercer_pivots *out) {
    return task->guard([&] { write_struct(out, problem_of(task).pivot_cholesky(*task, *rule, *stop), "pivots"); });
}
int32_t pivot_cost_service(mercer_task *task, const mercer_shape *shape, const mercer_pivot_stop *stop,
                           mercer_cost *out) {
    return task->guard([&] {
        if (!task->foreseen) fail(MERCER_E_PLUGIN, "pivot_cost: this operation is none of a reducer");
        write_struct(out, task->foreseen->pivot_cost(*task, *shape, *stop), "cost");
    });
}
int32_t give_service(mercer_task *task, int64_t count, const int64_t *index, const void *points,
                     const double *weights) {
    return task->guard([&] { problem_of(task).give(count, index, points, weights); });
}
int32_t radial_service(mercer_task *task, double *values, int64_t count) {
    return task->guard([&] {
        check_count("radial: count", count);
        problem_of(task).radial(values, count);
    });
}
int32_t nearest_service(mercer_task *task, const mercer_visit *to, double *square, int64_t *number) {
    return task->guard([&] { problem_of(task).nearest(*to, square, number); });
}
void check_gram(const char *name, int32_t flags) {
    constexpr int32_t known = MERCER_GRAM_WEIGHTED | MERCER_GRAM_CENTRED | MERCER_GRAM_STORED;
    if (flags & ~known)
        fail(MERCER_E_PLUGIN, "%s: flags = %d, must be a sum of MERCER_GRAM_... constants", name, flags);
}
int32_t gram_matrix_service(mercer_task *task, int32_t flags, mercer_gram *out) {
    return task->guard([&] {
        check_gram("gram", flags);
        if (!task->problem)
            fail(MERCER_E_PLUGIN,
                 "gram: this operation has no access to the data, only the reduction of a reducer has");
        write_struct(out, task->problem->gram(flags), "gram");
    });
}
int32_t gram_cost_service(mercer_task *task, const mercer_shape *shape, int32_t flags, int64_t columns,
                          mercer_cost *out) {
    return task->guard([&] {
        check_gram("gram_cost", flags);
        if (columns < 1 || columns > shape->n)
            fail(MERCER_E_PLUGIN, "gram_cost: columns = %" PRId64 ", must be 1 to n = %" PRId64, columns, shape->n);
        if (!task->foreseen) fail(MERCER_E_PLUGIN, "gram_cost: this operation is none of a reducer");
        write_struct(out, task->foreseen->gram_cost(*task, *shape, flags, columns), "cost");
    });
}

constexpr mercer_host table = {
    sizeof(mercer_host), MERCER_PLUGIN_ABI, 0,
    fail_service,        log_service,       report_service,
    progress_service,    alloc_service,     uniform_service,
    parallel_service,    exp_f32_service,   exp_f64_service,
    reach_service,       gemm_service,      trsm_service,
    potrf_service,       eigh_service,      block_service,
    dot_service,         times_service,     copy_service,
    norms_service,       random_service,    orthonormalise_service,
    get_service,         put_service,       checkpoint_service,
    resume_service,      visit_service,     columns_service,
    pairs_service,       rows_service,      weights_service,
    landmarks_service,   pivot_service,     pivot_cost_service,
    give_service,        radial_service,    nearest_service,
    gram_matrix_service, gram_cost_service,
};

} // namespace

const mercer_host &host_table() { return table; }

} // namespace mercer
