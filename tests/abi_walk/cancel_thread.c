/* Another thread asks a fit, and then a transform, to stop. Each must return within 0.2 s, and the
 * next call must succeed. */
#include "walk.h"

#include <pthread.h>
#include <time.h>

enum { N = 60000, D = 16, R = 10 };

typedef struct clock_state {
    int32_t cancel;
    double asked;
    double after; /* seconds until the other thread asks */
} clock_state;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *ask(void *user) {
    clock_state *s = user;
    struct timespec wait = {(time_t)s->after, (long)(1e9 * (s->after - (double)(time_t)s->after))};
    nanosleep(&wait, NULL);
    s->asked = now();
    __atomic_store_n(&s->cancel, 1, __ATOMIC_RELEASE);
    return NULL;
}

/* Runs body, and returns the seconds from the request to stop until body returned. */
static double answer(clock_state *s, int32_t (*body)(void *user, const mercer_run *run), void *user) {
    pthread_t asker;
    /* The call has only two threads; with more, it might end before it is asked to stop. */
    mercer_run run = {.struct_size = sizeof run, .threads = 2, .cancel = &s->cancel};
    CHECK(pthread_create(&asker, NULL, ask, s) == 0);
    CHECK(body(user, &run) == MERCER_E_CANCELLED && strstr(mercer_last_error(), "cancelled"));
    double answered = now();
    CHECK(pthread_join(asker, NULL) == 0);
    return answered - s->asked;
}

typedef struct work {
    mercer_recipe *recipe;
    mercer_data *data;
    mercer_model *model;
    mercer_view out;
} work;
static int32_t fit(void *user, const mercer_run *run) {
    work *w = user;
    mercer_model *model = NULL;
    int32_t status = mercer_model_fit(&model, w->recipe, w->data, run);
    CHECK(model == NULL);
    return status;
}
static int32_t transform(void *user, const mercer_run *run) {
    work *w = user;
    return mercer_model_transform(w->model, NULL, w->data, &w->out, 1, run);
}

int main(void) {
    static double x[N * D], scores[N * R];
    mercer_context *ctx = NULL;
    fill(x, N * D, 3);
    OK(mercer_context_create(&ctx));
    work w = {.data = rows_of(ctx, x, N, D), .recipe = RECIPE(ctx, "sigma", "2", "gram.storage", "stream")};
    for (int k = 0; k < 3; k++) {
        /* The other thread asks at once, while the fit reads its rows; after 0.15 s, during its
         * first passes; and after 0.6 s, in later ones. */
        clock_state s = {.after = k == 0 ? 0.0 : k == 1 ? 0.15 : 0.6};
        double seconds = answer(&s, fit, &w);
        fprintf(stderr, "fit: %.3f s\n", seconds);
        CHECK(seconds < 0.2);
    }
    int32_t already = 1;
    mercer_run stopped = {.struct_size = sizeof stopped, .cancel = &already};
    CHECK(fit(&w, &stopped) == MERCER_E_CANCELLED);

    /* The calls after a cancelled one must succeed. */
    mercer_data *few = rows_of(ctx, x, 8000, D);
    mercer_recipe *exact = RECIPE(ctx, "sigma", "2", "components", "10");
    w.model = fit_of(exact, few);
    w.out = f64_matrix(scores, N, R);
    clock_state s = {.after = 0.03};
    double seconds = answer(&s, transform, &w);
    fprintf(stderr, "transform: %.3f s\n", seconds);
    CHECK(seconds < 0.2);
    scores_of(w.model, w.data, scores, N, R);
    mercer_model_destroy(w.model);
    mercer_recipe_destroy(w.recipe);
    mercer_recipe_destroy(exact);
    mercer_data_destroy(w.data);
    mercer_data_destroy(few);
    mercer_context_destroy(ctx);
    return 0;
}
