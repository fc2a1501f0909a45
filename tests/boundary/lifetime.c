/* Handles may be destroyed in any order, threads may share a model, and each thread has an error
 * message of its own. */
#include "boundary.h"

#include <pthread.h>
#include <stdbool.h>

enum { N = 300, D = 3, R = 3 };

static void null_may_be_destroyed(void **state) {
    (void)state;
    mercer_context_destroy(NULL);
    mercer_data_destroy(NULL);
    mercer_recipe_destroy(NULL);
    mercer_model_destroy(NULL);
}

struct set {
    mercer_context *context;
    mercer_data *data;
    mercer_recipe *recipe, *what;
};

static void destroy_one(struct set *set, int which) {
    switch (which) {
    case 0: mercer_context_destroy(set->context); break;
    case 1: mercer_data_destroy(set->data); break;
    case 2: mercer_recipe_destroy(set->recipe); break;
    default: mercer_recipe_destroy(set->what); break;
    }
}

static struct set new_set(double *x) {
    struct set set = {.context = new_context()};
    set.data = new_data(set.context, x, N, D);
    set.recipe = new_recipe(set.context, "components", "3", "kernel", "gaussian + laplacian", NULL);
    MUST(mercer_recipe_create(&set.what, set.context, "residual"));
    return set;
}

/* Destroys four handles in all 24 orders. `order` encodes the permutation in the factorial number
 * system. */
static void handles_may_be_destroyed_in_any_order(void **state) {
    (void)state;
    double *x = noise(N * D);
    static double out[N];
    for (int order = 0; order < 24; order++) {
        struct set set = new_set(x);
        mercer_model *model;
        MUST(mercer_model_fit(&model, set.recipe, set.data, NULL));
        int left[] = {0, 1, 2, 3}, code = order;
        for (int count = 4; count > 0; count--) {
            int at = code % count;
            code /= count;
            destroy_one(&set, left[at]);
            left[at] = left[count - 1];
        }
        struct set other = new_set(x);
        mercer_view view = doubles(out, N, 1);
        MUST(mercer_model_transform(model, other.what, other.data, &view, 1, NULL));
        for (int which = 0; which < 4; which++) destroy_one(&other, which);
        mercer_model_destroy(model);
    }
    free(x);
}

static void data_and_recipes_outlive_their_context(void **state) {
    (void)state;
    double *x = noise(N * D);
    struct set set = new_set(x);
    mercer_context_destroy(set.context);
    MUST(mercer_recipe_set(set.recipe, "kernel", "chi2"));
    MUST(mercer_recipe_set(set.recipe, "kernel", "gaussian"));
    FAILS(MERCER_E_NAME, "'gaussian'", mercer_recipe_set(set.recipe, "kernel", "gausian"));
    mercer_model *model;
    MUST(mercer_model_fit(&model, set.recipe, set.data, NULL));
    mercer_model_destroy(model);
    for (int which = 1; which < 4; which++) destroy_one(&set, which);
    free(x);
}

static void data_may_change_after_a_fit(void **state) {
    (void)state;
    double *x = noise(N * D), *copy = malloc(N * D * sizeof *x);
    memcpy(copy, x, N * D * sizeof *x);
    static double before[N * R], after[N * R];
    struct set set = new_set(copy);
    mercer_view first = doubles(before, N, R), second = doubles(after, N, R);
    mercer_model *model;
    MUST(mercer_model_fit(&model, set.recipe, set.data, NULL));
    MUST(mercer_model_transform(model, NULL, set.data, &first, 1, NULL));
    mercer_data_destroy(set.data);
    memset(copy, 0, N * D * sizeof *x); /* a model that still read `copy` would give other scores */
    set.data = new_data(set.context, x, N, D);
    MUST(mercer_model_transform(model, NULL, set.data, &second, 1, NULL));
    assert_memory_equal(before, after, sizeof before);
    mercer_model_destroy(model);
    for (int which = 0; which < 4; which++) destroy_one(&set, which);
    free(copy), free(x);
}

struct worker {
    pthread_t thread;
    mercer_model *model;
    double *x, *expected;
    bool right;
};

static void *use_model(void *user) {
    struct worker *worker = user;
    double *out = malloc(N * R * sizeof *out);
    mercer_context *context = NULL;
    mercer_data *data = NULL;
    mercer_view rows = doubles(worker->x, N, D), view = doubles(out, N, R), lambda = {.struct_size = sizeof lambda};
    worker->right = mercer_context_create(&context) == 0 && mercer_data_from_view(&data, context, &rows) == 0;
    for (int round = 0; round < 10 && worker->right; round++) {
        memset(out, 0, N * R * sizeof *out);
        worker->right = mercer_model_transform(worker->model, NULL, data, &view, 1, NULL) == 0 &&
                        memcmp(out, worker->expected, N * R * sizeof *out) == 0 &&
                        mercer_model_tensor(worker->model, "lambda", &lambda) == 0 && lambda.rows == R;
    }
    mercer_model_destroy(worker->model); /* releases the reference of this thread */
    mercer_data_destroy(data);
    mercer_context_destroy(context);
    free(out);
    return NULL;
}

static void threads_share_a_model(void **state) {
    (void)state;
    enum { THREADS = 6 };
    double *x = noise(N * D);
    static double expected[N * R];
    struct set set = new_set(x);
    mercer_view view = doubles(expected, N, R);
    mercer_model *model;
    MUST(mercer_model_fit(&model, set.recipe, set.data, NULL));
    MUST(mercer_model_transform(model, NULL, set.data, &view, 1, NULL));
    struct worker workers[THREADS];
    for (int t = 0; t < THREADS; t++) {
        workers[t] = (struct worker){.model = model, .x = x, .expected = expected};
        MUST(mercer_model_retain(model));
        assert_int_equal(pthread_create(&workers[t].thread, NULL, use_model, &workers[t]), 0);
    }
    mercer_model_destroy(model); /* the threads still use the model, and the last one frees it */
    for (int which = 0; which < 4; which++) destroy_one(&set, which);
    for (int t = 0; t < THREADS; t++) {
        pthread_join(workers[t].thread, NULL);
        assert_true(workers[t].right);
    }
    free(x);
}

struct blunder {
    pthread_t thread;
    const char *name;
    pthread_barrier_t *barrier;
    char first[64], seen[1200];
};

static void *blunder(void *user) {
    struct blunder *b = user;
    mercer_context *context = NULL;
    mercer_recipe *recipe = NULL;
    snprintf(b->first, sizeof b->first, "%s", mercer_last_error());
    mercer_context_create(&context);
    for (int round = 0; round < 100; round++) {
        mercer_recipe_create(&recipe, context, b->name);
        pthread_barrier_wait(b->barrier); /* both threads have failed now */
        snprintf(b->seen, sizeof b->seen, "%s", mercer_last_error());
        if (!strstr(b->seen, b->name)) round = 100;
        pthread_barrier_wait(b->barrier);
    }
    mercer_context_destroy(context);
    return NULL;
}

static void errors_belong_to_their_thread(void **state) {
    (void)state;
    FAILS(MERCER_E_ARGUMENT, "out", mercer_context_create(NULL));
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, 2);
    struct blunder one = {.name = "first-mistake", .barrier = &barrier},
                   two = {.name = "second-mistake", .barrier = &barrier};
    pthread_create(&one.thread, NULL, blunder, &one);
    pthread_create(&two.thread, NULL, blunder, &two);
    pthread_join(one.thread, NULL);
    pthread_join(two.thread, NULL);
    pthread_barrier_destroy(&barrier);
    assert_string_equal(one.first, ""); /* a new thread has no error yet */
    assert_non_null(strstr(one.seen, "'first-mistake'"));
    assert_non_null(strstr(two.seen, "'second-mistake'"));
    assert_string_equal(mercer_last_error(), "out is NULL, must not be NULL");
}

static void success_and_destruction_leave_the_error_alone(void **state) {
    (void)state;
    double *x = noise(N * D);
    struct set set = new_set(x);
    FAILS(MERCER_E_VALUE, "sigma = -1", mercer_recipe_set(set.recipe, "kernel.1.sigma", "-1"));
    const char *text = mercer_last_error();
    char kept[1200];
    snprintf(kept, sizeof kept, "%s", text);
    mercer_model *model;
    MUST(mercer_model_fit(&model, set.recipe, set.data, NULL));
    assert_string_equal(mercer_last_error(), kept);
    mercer_model_destroy(model);
    for (int which = 0; which < 4; which++) destroy_one(&set, which);
    mercer_set_error("no callback runs");
    assert_ptr_equal(mercer_last_error(), text);
    assert_string_equal(text, kept);
    free(x);
}

static void texts_of_entries_live_as_long_as_the_context(void **state) {
    (void)state;
    mercer_context *context = new_context();
    mercer_entry before = {.struct_size = sizeof before}, after = before;
    MUST(mercer_context_entry(context, "kernels", 0, &before));
    char name[64];
    snprintf(name, sizeof name, "%s", before.name);
    for (int i = 0; i < 100; i++) MUST(mercer_context_find(context, "kernels", i % 2 ? "linear" : "rbf", &after));
    assert_string_equal(before.name, name);
    assert_string_equal(before.summary, ""); /* the plugin is not loaded yet */
    assert_true(after.summary[0] != '\0');
    mercer_context_destroy(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_may_be_destroyed),
        cmocka_unit_test(handles_may_be_destroyed_in_any_order),
        cmocka_unit_test(data_and_recipes_outlive_their_context),
        cmocka_unit_test(data_may_change_after_a_fit),
        cmocka_unit_test(threads_share_a_model),
        cmocka_unit_test(errors_belong_to_their_thread),
        cmocka_unit_test(success_and_destruction_leave_the_error_alone),
        cmocka_unit_test(texts_of_entries_live_as_long_as_the_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
