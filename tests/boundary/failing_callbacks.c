/* Calls that fail before they take over a callback must neither call nor release it, and the
 * message of one failing callback must not appear in a later failure. No callback contains an
 * assertion, because cmocka leaves a failed test by longjmp, which must not cross the library. */
#include "boundary.h"

enum { N = 1500, D = 4 };

static mercer_context *context;
static double *x;

static int begin(void **state) {
    (void)state;
    context = new_context();
    x = noise(N * D);
    return 0;
}
static int end(void **state) {
    (void)state;
    mercer_context_destroy(context);
    free(x);
    return 0;
}

static int32_t no_rows(void *user, int64_t first, int64_t capacity, void *buffer, int64_t *rows) {
    (void)first, (void)capacity, (void)buffer, (void)rows;
    ++*(int *)user;
    return 1;
}
static int32_t no_pairs(void *user, const int64_t *i, const int64_t *j, int64_t count, double *values) {
    (void)i, (void)j, (void)count, (void)values;
    ++*(int *)user;
    return 1;
}
static int32_t no_tile(void *user, const mercer_view *a, const mercer_view *b, const mercer_view *k) {
    (void)a, (void)b, (void)k;
    ++*(int *)user;
    return 1;
}
static void release(void *user) { ++*(int *)user; }

static void a_call_that_fails_takes_nothing(void **state) {
    (void)state;
    int calls = 0;
    mercer_data *data;
    mercer_chunks rows = {sizeof rows, MERCER_I64, 0, 4, 2, no_rows, &calls, release};
    FAILS(MERCER_E_ARGUMENT, "dtype", mercer_data_from_chunks(&data, context, &rows));
    rows.dtype = MERCER_F64;
    FAILS(MERCER_E_ARGUMENT, "context", mercer_data_from_chunks(&data, NULL, &rows));
    FAILS(MERCER_E_ARGUMENT, "out", mercer_data_from_chunks(NULL, context, &rows));
    mercer_objects pairs = {sizeof pairs, 4, 9, 0, no_pairs, NULL, &calls, release};
    FAILS(MERCER_E_ARGUMENT, "values", mercer_data_from_objects(&data, context, &pairs));
    pairs.values = MERCER_KERNEL;
    FAILS(MERCER_E_ARGUMENT, "context", mercer_data_from_objects(&data, NULL, &pairs));
    mercer_recipe *scores, *gaussian = new_recipe(context, NULL), *user = new_recipe(context, "kernel", "user", NULL);
    mercer_user_kernel given = {sizeof given, 64, 0, no_tile, &calls, release};
    FAILS(MERCER_E_ARGUMENT, "flags", mercer_recipe_set_kernel(user, &given));
    given.flags = 0;
    FAILS(MERCER_E_ARGUMENT, "recipe", mercer_recipe_set_kernel(NULL, &given));
    MUST(mercer_recipe_create(&scores, context, "scores"));
    FAILS(MERCER_E_ARGUMENT, "scores", mercer_recipe_set_kernel(scores, &given));
    mercer_data *few = new_data(context, x, 20, D);
    mercer_model *model, *bound;
    MUST(mercer_model_fit(&model, gaussian, few, NULL));
    FAILS(MERCER_E_UNSUPPORTED, "'user'", mercer_model_bind(&bound, model, &given));
    mercer_model_destroy(model);
    mercer_data_destroy(few);
    mercer_recipe_destroy(gaussian), mercer_recipe_destroy(scores), mercer_recipe_destroy(user);
    assert_int_equal(calls, 0);
}

static int32_t full_disk(void *user, const void *bytes, int64_t count) {
    (void)bytes, (void)count;
    int *calls = user;
    if (++*calls < 2) return 0;
    mercer_set_error("tape 7 is full");
    return 1;
}
static int32_t broken_pipe(void *user, void *bytes, int64_t capacity, int64_t *count) {
    (void)bytes, (void)capacity, (void)count;
    mercer_set_error(user);
    return 1;
}
static int32_t silent(void *user, void *bytes, int64_t capacity, int64_t *count) {
    (void)user, (void)bytes, (void)capacity, (void)count;
    return 1;
}
static int32_t too_much(void *user, void *bytes, int64_t capacity, int64_t *count) {
    (void)user, (void)bytes;
    *count = capacity + 1;
    return 0;
}

static void sinks_and_sources_fail(void **state) {
    (void)state;
    mercer_recipe *recipe = new_recipe(context, NULL);
    mercer_data *few = new_data(context, x, 50, D);
    mercer_model *model, *read = NULL;
    MUST(mercer_model_fit(&model, recipe, few, NULL));
    int calls = 0;
    mercer_sink sink = {sizeof sink, full_disk, &calls};
    FAILS(MERCER_E_CALLBACK, "tape 7 is full", mercer_model_write(model, &sink));
    assert_int_equal(calls, 2);
    mercer_source source = {sizeof source, broken_pipe, "the pipe broke"};
    FAILS(MERCER_E_CALLBACK, "the pipe broke", mercer_model_read(&read, context, &source));
    source.read = too_much;
    FAILS(MERCER_E_CALLBACK, "must be 0 to", mercer_model_read(&read, context, &source));
    mercer_model_destroy(model);
    mercer_data_destroy(few);
    mercer_recipe_destroy(recipe);
}

static int32_t noisy_progress(void *user, const mercer_progress *progress) {
    (void)user, (void)progress;
    mercer_set_error("only a remark");
    return 0;
}

static void a_text_is_not_left_for_the_next_failure(void **state) {
    (void)state;
    mercer_recipe *recipe = new_recipe(context, NULL);
    mercer_data *few = new_data(context, x, 50, D);
    mercer_model *model, *read = NULL;
    int calls = 0;
    mercer_run run = on_two_threads();
    run.progress = noisy_progress;
    MUST(mercer_model_fit(&model, recipe, few, &run));
    mercer_source source = {sizeof source, silent, NULL};
    FAILS(MERCER_E_CALLBACK, "the source returned 1, must return 0", mercer_model_read(&read, context, &source));
    mercer_set_error("said outside of any callback");
    mercer_chunks chunks = {sizeof chunks, MERCER_F64, 0, 4, 2, no_rows, &calls, NULL};
    mercer_data *data;
    MUST(mercer_data_from_chunks(&data, context, &chunks));
    FAILS(MERCER_E_CALLBACK, "the chunk callback returned 1, must return 0",
          mercer_model_fit(&read, recipe, data, NULL));
    mercer_data_destroy(data);
    mercer_model_destroy(model);
    mercer_data_destroy(few);
    mercer_recipe_destroy(recipe);
}

static int32_t busy_progress(void *user, const mercer_progress *progress) {
    (void)progress;
    mercer_context *own = NULL;
    mercer_recipe *recipe = NULL;
    mercer_data *data = NULL;
    mercer_model *model = NULL;
    mercer_view view = doubles(x, 40, D);
    int32_t status = mercer_context_create(&own);
    if (!status) status = mercer_recipe_create(&recipe, own, "kpca");
    if (!status) status = mercer_data_from_view(&data, own, &view);
    if (!status) status = mercer_model_fit(&model, recipe, data, NULL);
    mercer_model_destroy(model);
    mercer_data_destroy(data);
    mercer_recipe_destroy(recipe);
    mercer_context_destroy(own);
    *(int *)user += status == MERCER_OK;
    return status;
}

static void callbacks_may_use_the_library(void **state) {
    (void)state;
    mercer_recipe *recipe = new_recipe(context, NULL);
    mercer_data *data = new_data(context, x, N, D);
    int inner = 0;
    mercer_run run = on_two_threads();
    run.progress = busy_progress, run.user = &inner;
    mercer_model *model;
    MUST(mercer_model_fit(&model, recipe, data, &run));
    assert_true(inner > 0);
    mercer_model_destroy(model);
    mercer_data_destroy(data);
    mercer_recipe_destroy(recipe);
}
int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_that_fails_takes_nothing),
        cmocka_unit_test(sinks_and_sources_fail),
        cmocka_unit_test(a_text_is_not_left_for_the_next_failure),
        cmocka_unit_test(callbacks_may_use_the_library),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
