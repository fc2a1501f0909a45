/* Helpers of the tests of the C interface, which use only mercer.h and the shared library. */
#ifndef MERCER_TESTS_BOUNDARY_H
#define MERCER_TESTS_BOUNDARY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <mercer/mercer.h>

/* Fails unless the call succeeds, and prints its status and its message, which the assertions of
 * cmocka do not print. */
#define MUST(call) must((call), #call, __FILE__, __LINE__)
static inline void must(int32_t status, const char *call, const char *file, int line) {
    if (status == MERCER_OK) return;
    print_error("%s\n  status %d: %s\n", call, (int)status, mercer_last_error());
    _fail(file, line);
}

/* Checks that the call fails with this code, and that its message has one line and contains
 * `part`. */
#define FAILS(code, part, call) fails((code), (part), (call), #call, __FILE__, __LINE__)
static inline void fails(int32_t code, const char *part, int32_t status, const char *call, const char *file, int line) {
    const char *text = mercer_last_error();
    if (status == code && strstr(text, part) && !strchr(text, '\n')) return;
    print_error("%s\n  status %d, not %d: '%s', not '%s'\n", call, (int)status, (int)code, text, part);
    _fail(file, line);
}

static inline mercer_view view_of(void *data, int32_t dtype, int64_t rows, int64_t cols) {
    return (mercer_view){sizeof(mercer_view), dtype, 0, rows, cols, cols, 1, data};
}
static inline mercer_view doubles(double *data, int64_t rows, int64_t cols) {
    return view_of(data, MERCER_F64, rows, cols);
}

/* Numbers in [-1, 1), the same in every run. */
static inline double *noise(int64_t count) {
    double *out = malloc((size_t)(count > 0 ? count : 1) * sizeof *out);
    uint64_t state = 88172645463325252u;
    for (int64_t i = 0; i < count; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        out[i] = (double)(state >> 11) * 0x1p-52 - 1;
    }
    return out;
}

static inline mercer_context *new_context(void) {
    mercer_context *context = NULL;
    MUST(mercer_context_create(&context));
    return context;
}
static inline mercer_data *new_data(mercer_context *context, double *values, int64_t rows, int64_t cols) {
    mercer_data *data = NULL;
    mercer_view view = doubles(values, rows, cols);
    MUST(mercer_data_from_view(&data, context, &view));
    return data;
}
static inline mercer_run on_two_threads(void) { return (mercer_run){.struct_size = sizeof(mercer_run), .threads = 2}; }
/* A "kpca" recipe with settings given as pairs of name and value, ended by NULL. */
static inline mercer_recipe *new_recipe(mercer_context *context, ...) {
    mercer_recipe *recipe = NULL;
    MUST(mercer_recipe_create(&recipe, context, "kpca"));
    va_list list;
    va_start(list, context);
    for (const char *name = va_arg(list, const char *); name; name = va_arg(list, const char *))
        MUST(mercer_recipe_set(recipe, name, va_arg(list, const char *)));
    va_end(list);
    return recipe;
}

static inline const char *get(mercer_recipe *recipe, const char *name) {
    const char *value = NULL;
    MUST(mercer_recipe_get(recipe, name, &value));
    assert_non_null(value);
    return value;
}

static inline mercer_recipe *recipe_of(mercer_context *context, const char *method, const char *components) {
    mercer_recipe *recipe = NULL;
    MUST(mercer_recipe_create(&recipe, context, method));
    MUST(mercer_recipe_set(recipe, "components", components));
    MUST(mercer_recipe_set(recipe, "kernel.sigma", "2"));
    return recipe;
}

static inline const double *tensor(mercer_model *model, const char *name, int64_t *count) {
    mercer_view view = {.struct_size = sizeof view};
    MUST(mercer_model_tensor(model, name, &view));
    *count = view.rows * view.cols;
    return view.data;
}

#endif
