/* Runs shipped plugins on a host whose services fail. A plugin must return the status of the failed
 * service unchanged and call no further service. A case queues values only for the services that it
 * expects; cmocka reports a call of any other mock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <mercer/plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 40, STATUS = MERCER_E_CANCELLED }; /* a status that plugins pass on but never produce */

static char text[256];      /* the message passed to fail_mock */
static void *given_out[64]; /* blocks of the mocked alloc, freed after each case */
static int blocks;

static int32_t fail_mock(mercer_task *task, int32_t code, const char *format, ...) {
    (void)task;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return code;
}
static void *alloc_mock(mercer_task *task, int64_t bytes) {
    (void)task;
    if (mock() != MERCER_OK || blocks == 64) return NULL;
    return given_out[blocks++] = calloc(1, (size_t)bytes + 1);
}
static int32_t weights_mock(mercer_task *task, double *out) {
    (void)task;
    for (int i = 0; i < N; i++) out[i] = 1;
    return (int32_t)mock();
}
static double uniform_mock(mercer_task *task, int64_t a, int64_t b) {
    (void)task, (void)a, (void)b;
    return 0.5;
}
static int32_t give_mock(mercer_task *task, int64_t count, const int64_t *index, const void *points,
                         const double *weights) {
    (void)task, (void)count, (void)index, (void)points, (void)weights;
    return (int32_t)mock();
}
static int32_t landmarks_mock(mercer_task *task, const int64_t **index, const void **points) {
    (void)task;
    static const int64_t rows[] = {1, 2, 3};
    *index = rows, *points = NULL;
    return (int32_t)mock();
}
static int32_t pivots_mock(mercer_task *task, const mercer_pivot_rule *rule, const mercer_pivot_stop *stop,
                           mercer_pivots *out) {
    (void)task, (void)out;
    assert_true(rule->needs == MERCER_PIVOT_BOUND || rule->needs == MERCER_PIVOT_SAMPLE);
    assert_true(stop->m >= 1 && stop->struct_size == sizeof *stop);
    return (int32_t)mock();
}
static int32_t cost_mock(mercer_task *task, const mercer_shape *shape, const mercer_pivot_stop *stop,
                         mercer_cost *out) {
    (void)task;
    assert_true(stop->struct_size == sizeof *stop && out->struct_size == sizeof *out);
    assert_true(stop->m >= 1 && shape->n == N);
    return (int32_t)mock();
}
static int32_t report_mock(mercer_task *task, const char *name, double value) {
    (void)task, (void)name, (void)value;
    return (int32_t)mock();
}
static int32_t nearest_mock(mercer_task *task, const mercer_visit *to, double *square, int64_t *number) {
    (void)task, (void)square, (void)number;
    assert_true(to->struct_size == sizeof *to && to->count == 1 && to->index[0] == N / 2);
    for (int i = 0; i < N; i++) square[i] = i, number[i] = 0;
    return (int32_t)mock();
}
static int32_t rows_mock(mercer_task *task, const int64_t *index, int64_t count, double *out) {
    (void)task, (void)index, (void)count, (void)out;
    return (int32_t)mock();
}
static int32_t progress_mock(mercer_task *task, double fraction) {
    (void)task;
    assert_true(fraction >= 0 && fraction <= 1);
    return (int32_t)mock();
}
static mercer_block *block_mock(mercer_task *task, const mercer_operator *op, int64_t columns) {
    (void)task, (void)op, (void)columns;
    static char block; /* plugins do not look into a block */
    return mock() == MERCER_OK ? (mercer_block *)&block : NULL;
}
static int32_t random_mock(mercer_task *task, mercer_range x, int64_t stream) {
    (void)task, (void)x, (void)stream;
    return (int32_t)mock();
}
static int32_t resume_mock(mercer_task *task, double *numbers, int64_t count, const mercer_range *columns,
                           int64_t ranges, int32_t *found) {
    (void)task, (void)numbers, (void)count, (void)columns, (void)ranges;
    *found = 0;
    return (int32_t)mock();
}
static int32_t orthonormalise_mock(mercer_task *task, mercer_range x, mercer_range against, int64_t *rank) {
    (void)task, (void)x, (void)against;
    *rank = 0;
    return (int32_t)mock();
}
static int32_t dense_mock(const mercer_operator *op, mercer_task *task, double *a, int64_t lda) {
    (void)op, (void)task, (void)a, (void)lda;
    return (int32_t)mock();
}

static const mercer_host host = {.struct_size = sizeof(mercer_host),
                                 .fail = fail_mock,
                                 .report = report_mock,
                                 .progress = progress_mock,
                                 .alloc = alloc_mock,
                                 .uniform = uniform_mock,
                                 .block = block_mock,
                                 .resume = resume_mock,
                                 .random = random_mock,
                                 .orthonormalise = orthonormalise_mock,
                                 .rows = rows_mock,
                                 .nearest = nearest_mock,
                                 .weights = weights_mock,
                                 .landmarks = landmarks_mock,
                                 .pivot_cholesky = pivots_mock,
                                 .pivot_cost = cost_mock,
                                 .give = give_mock};

static const mercer_module *module_of(const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.so", PLUGINS, name);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    assert_non_null(handle);
    const mercer_module *module = dlsym(handle, "mercer_plugin");
    assert_non_null(module);
    return module;
}

/* Runs a reducer with `m` landmarks, 0 = automatic. In all reducers m is the first parameter. */
static int32_t reduce(const char *name, int64_t m) {
    const mercer_reducer_ops *ops = module_of(name)->ops;
    char params[256] = {0};
    memcpy(params, &m, sizeof m);
    mercer_shape shape = {.struct_size = sizeof shape, .n = N, .d = 2, .r = 3, .dtype = MERCER_F64, .landmarks = 3};
    mercer_want want = {.struct_size = sizeof want};
    text[0] = 0;
    int32_t status = ops->reduce(&host, NULL, params, &shape, &want);
    while (blocks > 0) free(given_out[--blocks]);
    return status;
}

static void uniform_passes_failures_on(void **state) {
    (void)state;
    will_return_count(alloc_mock, MERCER_E_MEMORY, 2);
    assert_int_equal(reduce("reducer-uniform", 5), MERCER_E_MEMORY);
    will_return_count(alloc_mock, MERCER_OK, 2);
    will_return(weights_mock, STATUS);
    assert_int_equal(reduce("reducer-uniform", 5), STATUS);
    will_return_count(alloc_mock, MERCER_OK, 2);
    will_return(weights_mock, MERCER_OK);
    will_return(give_mock, STATUS);
    assert_int_equal(reduce("reducer-uniform", 5), STATUS);
    assert_int_equal(reduce("reducer-uniform", N + 1), MERCER_E_VALUE); /* refused before any service is called */
    assert_string_equal(text, "m = 41, must be <= n = 40");
}

static void pivoting_passes_failures_on(void **state) {
    (void)state;
    static const char *const names[] = {"reducer-greedy", "reducer-rpcholesky"};
    for (int k = 0; k < 2; k++) {
        will_return(cost_mock, STATUS); /* the host checks m <= n for these two reducers */
        assert_int_equal(reduce(names[k], 5), STATUS);
        will_return_count(cost_mock, MERCER_OK, 5);
        will_return(pivots_mock, STATUS);
        assert_int_equal(reduce(names[k], 5), STATUS);
        will_return_count(pivots_mock, MERCER_OK, 4);
        for (int report = 0; report < 3; report++) {
            if (report > 0) will_return_count(report_mock, MERCER_OK, report);
            will_return(report_mock, STATUS);
            assert_int_equal(reduce(names[k], 5), STATUS);
        }
        will_return_count(report_mock, MERCER_OK, 3);
        will_return(give_mock, STATUS);
        assert_int_equal(reduce(names[k], 5), STATUS);
    }
}

static void farthest_passes_failures_on(void **state) {
    (void)state;
    will_return(alloc_mock, MERCER_E_MEMORY);
    will_return_count(alloc_mock, MERCER_OK, 7);
    assert_int_equal(reduce("reducer-farthest", 5), MERCER_E_MEMORY);
    will_return_always(alloc_mock, MERCER_OK);
    will_return(weights_mock, STATUS);
    assert_int_equal(reduce("reducer-farthest", 5), STATUS);
    will_return_always(weights_mock, MERCER_OK);
    will_return(progress_mock, STATUS);
    assert_int_equal(reduce("reducer-farthest", 5), STATUS);
    will_return_count(progress_mock, MERCER_OK, 2);
    will_return(nearest_mock, STATUS);
    assert_int_equal(reduce("reducer-farthest", 5), STATUS);
    will_return_always(nearest_mock, MERCER_OK);
    will_return(progress_mock, STATUS);
    assert_int_equal(reduce("reducer-farthest", 5), STATUS);
    will_return_always(progress_mock, MERCER_OK);
    will_return(rows_mock, STATUS);
    assert_int_equal(reduce("reducer-farthest", 5), STATUS);
    will_return(report_mock, STATUS); /* with m = 1 there is only one sweep */
    assert_int_equal(reduce("reducer-farthest", 1), STATUS);
    will_return_count(report_mock, MERCER_OK, 2);
    will_return(give_mock, STATUS);
    assert_int_equal(reduce("reducer-farthest", 1), STATUS);
    assert_int_equal(reduce("reducer-farthest", N + 1), MERCER_E_VALUE);
    assert_string_equal(text, "m = 41, must be <= n = 40");
}

static void given_passes_failures_on(void **state) {
    (void)state;
    will_return(landmarks_mock, STATUS);
    assert_int_equal(reduce("reducer-given", 0), STATUS);
    will_return(landmarks_mock, MERCER_OK);
    will_return(give_mock, STATUS);
    assert_int_equal(reduce("reducer-given", 0), STATUS);
}

static int32_t solve(const char *name) {
    static double values[3], residuals[3];
    const mercer_solver_ops *ops = module_of(name)->ops;
    char params[256] = {0};
    mercer_operator op = {.struct_size = sizeof op, .n = N, .dense = dense_mock};
    mercer_eigen_request request = {.struct_size = sizeof request, .r = 3, .tol = 1e-9};
    mercer_eigen_result result = {
        .struct_size = sizeof result, .values = values, .vectors = {NULL, 0, 3}, .residuals = residuals};
    int32_t status = ops->solve(&host, NULL, params, &op, &request, &result);
    while (blocks > 0) free(given_out[--blocks]);
    return status;
}

static void solvers_pass_failures_on(void **state) {
    (void)state;
    will_return_always(alloc_mock, MERCER_E_MEMORY);
    assert_int_equal(solve("solver-block-krylov"), MERCER_E_MEMORY);
    assert_int_equal(solve("solver-orthogonal"), MERCER_E_MEMORY);
    assert_int_equal(solve("solver-dense"), MERCER_E_MEMORY);
}

static void solvers_pass_a_missing_block_on(void **state) {
    (void)state;
    will_return_always(alloc_mock, MERCER_OK);
    will_return_always(block_mock, MERCER_E_MEMORY);
    assert_int_equal(solve("solver-block-krylov"), MERCER_E_MEMORY);
    assert_int_equal(solve("solver-orthogonal"), MERCER_E_MEMORY);
}

static void dense_passes_the_operators_failure_on(void **state) {
    (void)state;
    will_return_always(alloc_mock, MERCER_OK);
    will_return_maybe(progress_mock, MERCER_OK);
    will_return(dense_mock, STATUS);
    assert_int_equal(solve("solver-dense"), STATUS);
}

static void iterations_pass_a_services_failure_on(void **state) {
    (void)state;
    will_return_always(alloc_mock, MERCER_OK);
    will_return_maybe(progress_mock, MERCER_OK);
    will_return_always(block_mock, MERCER_OK);
    will_return_count(resume_mock, STATUS, 2);
    assert_int_equal(solve("solver-block-krylov"), STATUS);
    assert_int_equal(solve("solver-orthogonal"), STATUS);
    will_return_always(resume_mock, MERCER_OK);
    will_return_count(random_mock, STATUS, 2);
    assert_int_equal(solve("solver-block-krylov"), STATUS);
    assert_int_equal(solve("solver-orthogonal"), STATUS);
    will_return_count(random_mock, MERCER_OK, 2);
    will_return_count(orthonormalise_mock, STATUS, 2);
    assert_int_equal(solve("solver-block-krylov"), STATUS);
    assert_int_equal(solve("solver-orthogonal"), STATUS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uniform_passes_failures_on),
        cmocka_unit_test(pivoting_passes_failures_on),
        cmocka_unit_test(given_passes_failures_on),
        cmocka_unit_test(farthest_passes_failures_on),
        cmocka_unit_test(solvers_pass_failures_on),
        cmocka_unit_test(solvers_pass_a_missing_block_on),
        cmocka_unit_test(dense_passes_the_operators_failure_on),
        cmocka_unit_test(iterations_pass_a_services_failure_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
