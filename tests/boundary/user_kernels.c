/* Kernels of the caller: the thread on which they run, how their failures are reported, and when
 * they are released. No callback contains an assertion, because cmocka leaves a failed test by
 * longjmp, which must not cross the library. */
#include "boundary.h"

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

struct kernel {
    pthread_t owner;
    int tiles, foreign, released, fail_at;
    const char *text;
    bool shapes;
};

static int32_t linear_tile(void *user, const mercer_view *x, const mercer_view *y, const mercer_view *k) {
    struct kernel *kernel = user;
    int tile = __atomic_add_fetch(&kernel->tiles, 1, __ATOMIC_SEQ_CST);
    if (!pthread_equal(kernel->owner, pthread_self())) __atomic_add_fetch(&kernel->foreign, 1, __ATOMIC_SEQ_CST);
    if (tile == kernel->fail_at) {
        if (kernel->text) mercer_set_error(kernel->text);
        return 7;
    }
    if (x->col_stride != 1 || y->col_stride != 1 || x->cols != y->cols || k->rows != x->rows || k->cols != y->rows ||
        x->dtype != MERCER_F64 || y->dtype != MERCER_F64 || k->dtype != MERCER_F64)
        kernel->shapes = false;
    const double *a = x->data, *b = y->data;
    double *out = k->data;
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t j = 0; j < y->rows; j++) {
            double sum = 0;
            for (int64_t l = 0; l < x->cols; l++) sum += a[i * x->row_stride + l] * b[j * y->row_stride + l];
            out[i * k->row_stride + j * k->col_stride] = sum;
        }
    return 0;
}

static void count_release(void *user) { ++((struct kernel *)user)->released; }

static mercer_user_kernel user_kernel(struct kernel *kernel, int32_t flags) {
    *kernel =
        (struct kernel){.owner = pthread_self(), .shapes = true, .text = kernel->text, .fail_at = kernel->fail_at};
    return (mercer_user_kernel){sizeof(mercer_user_kernel), flags, 0, linear_tile, kernel, count_release};
}

enum { KN = 1500, KD = 4 };
static struct {
    double *x;
    mercer_context *context;
    mercer_data *data;
    mercer_recipe *recipe;
} k;

static int begin_kernels(void **state) {
    (void)state;
    k.x = noise(KN * KD);
    k.context = new_context();
    k.data = new_data(k.context, k.x, KN, KD);
    k.recipe = new_recipe(k.context, "kernel", "user", "components", "3", NULL);
    return 0;
}
static int end_kernels(void **state) {
    (void)state;
    mercer_recipe_destroy(k.recipe);
    mercer_data_destroy(k.data);
    mercer_context_destroy(k.context);
    free(k.x);
    return 0;
}

/* Replaces the kernel of k.recipe before the local variable that it points to goes out of scope. */
static void leave_kernel(void) {
    mercer_user_kernel none = {.struct_size = sizeof none, .tile = linear_tile};
    MUST(mercer_recipe_set_kernel(k.recipe, &none));
}

static void user_kernels_run_on_the_calling_thread(void **state) {
    (void)state;
    struct kernel kernel = {0};
    mercer_user_kernel given = user_kernel(&kernel, MERCER_PSD);
    mercer_run run = on_two_threads();
    mercer_model *model;
    static double out[KN * 3];
    mercer_view view = doubles(out, KN, 3);
    for (int storage = 0; storage < 2; storage++) {
        MUST(mercer_recipe_set(k.recipe, "gram.storage", storage ? "stream" : "f64"));
        MUST(mercer_recipe_set_kernel(k.recipe, &given));
        MUST(mercer_model_fit(&model, k.recipe, k.data, &run));
        MUST(mercer_model_transform(model, NULL, k.data, &view, 1, &run));
        mercer_model_destroy(model);
        assert_true(kernel.tiles > 10);
        assert_int_equal(kernel.foreign, 0);
        assert_true(kernel.shapes);
    }
    MUST(mercer_recipe_set(k.recipe, "gram.storage", "auto"));
    leave_kernel();
    assert_int_equal(kernel.released, 2);
}

static int32_t slow_tile(void *user, const mercer_view *x, const mercer_view *y, const mercer_view *out) {
    struct timespec pause = {0, 2000000}; /* so that the other thread computes tiles even on a busy machine */
    nanosleep(&pause, NULL);
    return linear_tile(user, x, y, out);
}

static void thread_safe_kernels_run_in_parallel_and_give_the_same_bits(void **state) {
    (void)state;
    static double alone[KN * 3], together[KN * 3];
    for (int parallel = 0; parallel < 2; parallel++) {
        struct kernel kernel = {0};
        mercer_user_kernel given = user_kernel(&kernel, MERCER_PSD | (parallel ? MERCER_THREAD_SAFE : 0));
        mercer_run run = on_two_threads();
        mercer_model *model;
        mercer_view view = doubles(parallel ? together : alone, KN, 3);
        given.tile = slow_tile;
        MUST(mercer_recipe_set_kernel(k.recipe, &given));
        MUST(mercer_model_fit(&model, k.recipe, k.data, &run));
        MUST(mercer_model_transform(model, NULL, k.data, &view, 1, &run));
        mercer_model_destroy(model);
        assert_int_equal(kernel.foreign > 0, parallel);
        leave_kernel();
    }
    assert_memory_equal(alone, together, sizeof alone);
}

static void a_failing_kernel_says_why(void **state) {
    (void)state;
    mercer_run run = on_two_threads();
    mercer_model *model = NULL;
    for (int flags = 0; flags <= MERCER_THREAD_SAFE; flags += MERCER_THREAD_SAFE)
        for (int at = 1; at < 12; at += 5) {
            struct kernel kernel = {.fail_at = at, .text = "the kernel broke\nin two lines"};
            mercer_user_kernel given = user_kernel(&kernel, flags);
            MUST(mercer_recipe_set_kernel(k.recipe, &given));
            FAILS(MERCER_E_CALLBACK, "the kernel broke in two lines", mercer_model_fit(&model, k.recipe, k.data, &run));
            kernel.text = NULL, kernel.tiles = 0;
            FAILS(MERCER_E_CALLBACK, "user kernel", mercer_model_fit(&model, k.recipe, k.data, &run));
            leave_kernel();
        }
    struct kernel kernel = {.fail_at = 1, .text = "in the kernel matrix"};
    mercer_user_kernel given = user_kernel(&kernel, 0);
    double *values = malloc((size_t)KN * KN * sizeof *values);
    mercer_view out = doubles(values, KN, KN);
    MUST(mercer_recipe_set_kernel(k.recipe, &given));
    FAILS(MERCER_E_CALLBACK, "in the kernel matrix", mercer_recipe_kernel(k.recipe, k.data, NULL, &out, NULL));
    leave_kernel();
    free(values);
}

static void a_kernel_is_released_with_its_last_owner(void **state) {
    (void)state;
    struct kernel kernel = {0}, other = {0};
    mercer_user_kernel given = user_kernel(&kernel, 0), replacement = user_kernel(&other, 0);
    mercer_recipe *recipe = new_recipe(k.context, "kernel", "user", NULL);
    mercer_model *model, *bound;
    MUST(mercer_recipe_set_kernel(recipe, &given));
    MUST(mercer_model_fit(&model, recipe, k.data, NULL));
    MUST(mercer_recipe_set_kernel(recipe, &replacement));
    assert_int_equal(kernel.released, 0); /* the model still owns the kernel */
    MUST(mercer_model_bind(&bound, model, &replacement));
    MUST(mercer_model_retain(model));
    mercer_model_destroy(model);
    assert_int_equal(kernel.released, 0);
    mercer_model_destroy(model);
    assert_int_equal(kernel.released, 1);
    mercer_recipe_destroy(recipe);
    assert_int_equal(other.released, 1); /* `other` was given twice, so it is released twice */
    mercer_model_destroy(bound);
    assert_int_equal(other.released, 2);
    assert_int_equal(kernel.released, 1);
}
int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(user_kernels_run_on_the_calling_thread),
        cmocka_unit_test(thread_safe_kernels_run_in_parallel_and_give_the_same_bits),
        cmocka_unit_test(a_failing_kernel_says_why),
        cmocka_unit_test(a_kernel_is_released_with_its_last_owner),
    };
    return cmocka_run_group_tests(tests, begin_kernels, end_kernels);
}
