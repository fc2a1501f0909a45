/* Checks calls on eight threads with a kernel of the caller that may run on the calling thread
 * only, such as an R or Python function. The kernel must not be called on another thread, an error
 * in it must stop the call with the kernel's message, and a thread-safe kernel must give the same
 * bits. */
#include "walk.h"

#include <pthread.h>

enum { N = 600, D = 3 };

typedef struct state {
    pthread_t owner;
    int any_thread, fail_at;
    int calls, others, released;
} state;

static int32_t tile(void *user, const mercer_view *x, const mercer_view *y, const mercer_view *k) {
    state *s = user;
    int call = __atomic_add_fetch(&s->calls, 1, __ATOMIC_RELAXED);
    if (!pthread_equal(pthread_self(), s->owner)) __atomic_add_fetch(&s->others, 1, __ATOMIC_RELAXED);
    if (call == s->fail_at) {
        mercer_set_error("the kernel raised");
        return 1;
    }
    CHECK(x->dtype == MERCER_F64 && x->col_stride == 1 && k->col_stride == 1 && x->cols == D && k->rows == x->rows &&
          k->cols == y->rows);
    for (int64_t i = 0; i < k->rows; i++)
        for (int64_t j = 0; j < k->cols; j++)
            ((double *)k->data)[i * k->row_stride + j] = gaussian(0.7, (const double *)x->data + i * x->row_stride,
                                                                  (const double *)y->data + j * y->row_stride, D);
    return 0;
}
static void release(void *user) { ((state *)user)->released++; }

/* Fits and transforms on eight threads. Returns the status of the fit. */
static int32_t run(mercer_context *ctx, double *x, state *s, const char *storage, double *scores) {
    mercer_data *data = rows_of(ctx, x, N, D);
    mercer_recipe *recipe = RECIPE(ctx, "kernel", "user", "components", "3", "gram.storage", storage);
    mercer_user_kernel kernel = {.struct_size = sizeof kernel,
                                 .flags = MERCER_PSD | (s->any_thread ? MERCER_THREAD_SAFE : 0),
                                 .tile = tile,
                                 .user = s,
                                 .release = release};
    mercer_run eight = {.struct_size = sizeof eight, .threads = 8};
    mercer_model *model = NULL;
    s->owner = pthread_self();
    OK(mercer_recipe_set_kernel(recipe, &kernel));
    int32_t status = mercer_model_fit(&model, recipe, data, &eight);
    mercer_recipe_destroy(recipe);
    CHECK(s->released == (status == MERCER_OK ? 0 : 1)); /* a model keeps the kernel alive */
    if (status == MERCER_OK) {
        mercer_view out = f64_matrix(scores, N, 3);
        OK(mercer_model_transform(model, NULL, data, &out, 1, &eight));
        CHECK(f64_of(model, "lambda")[0] > 0);
    } else {
        CHECK(model == NULL);
    }
    mercer_model_destroy(model);
    mercer_data_destroy(data);
    CHECK(s->released == 1);
    return status;
}

int main(void) {
    static double x[N * D], scores[4][N * 3], plain[N * 3];
    mercer_context *ctx = NULL;
    fill(x, N * D, 1);
    OK(mercer_context_create(&ctx));
    for (int k = 0; k < 4; k++) {
        state s = {.any_thread = k & 1};
        OK(run(ctx, x, &s, k & 2 ? "stream" : "f64", scores[k]));
        CHECK(s.calls > 10 && (s.any_thread || s.others == 0));
        CHECK(memcmp(scores[0], scores[k], sizeof plain) == 0);
    }
    for (int at = 1; at < 12; at += 5) {
        /* The kernel fails when it is called for the `at`-th time. The fit must report its message,
         * and later calls must succeed. */
        state s = {.fail_at = at};
        CHECK(run(ctx, x, &s, "stream", plain) == MERCER_E_CALLBACK &&
              strcmp(mercer_last_error(), "the kernel raised") == 0);
    }
    mercer_data *data = rows_of(ctx, x, N, D);
    mercer_recipe *recipe = RECIPE(ctx, "sigma", "0.7", "components", "3");
    mercer_model *model = fit_of(recipe, data);
    scores_of(model, data, plain, N, 3);
    for (int i = 0; i < N * 3; i++) NEAR(plain[i], scores[0][i], 1e-9);
    mercer_model_destroy(model);
    mercer_recipe_destroy(recipe);
    mercer_data_destroy(data);
    mercer_context_destroy(ctx);
    return 0;
}
