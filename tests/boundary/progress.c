/* Progress callbacks and cancellation: the thread and the frequency of the calls, and the time
 * until a call stops. No callback contains an assertion, because cmocka leaves a failed test by
 * longjmp, which must not cross the library. */
#include "boundary.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
struct watch {
    pthread_t owner;
    int calls, stop_at;
    double last, first_seen, last_seen;
    bool monotone, own_thread, sane;
};

static struct watch new_watch(int stop_at) {
    return (struct watch){
        .owner = pthread_self(), .stop_at = stop_at, .monotone = true, .own_thread = true, .sane = true};
}

static int32_t watch_progress(void *user, const mercer_progress *progress) {
    struct watch *watch = user;
    double seen = now();
    if (watch->calls++ == 0) watch->first_seen = seen;
    watch->last_seen = seen;
    watch->own_thread &= pthread_equal(watch->owner, pthread_self()) != 0;
    watch->monotone &= progress->fraction >= watch->last;
    watch->sane &= progress->struct_size >= (int64_t)sizeof *progress && progress->stage && progress->stage[0] &&
                   progress->fraction >= 0 && progress->fraction <= 1 && progress->elapsed >= 0;
    watch->last = progress->fraction;
    return watch->calls == watch->stop_at;
}

static void progress_is_monotone_rare_and_on_the_calling_thread(void **state) {
    (void)state;
    enum { ROWS = 10000, COLS = 16 };
    double *x = noise(ROWS * COLS);
    mercer_context *context = new_context();
    mercer_data *data = new_data(context, x, ROWS, COLS);
    mercer_recipe *recipe =
        new_recipe(context, "kernel", "laplacian", "kernel.norm", "l1", "gram.storage", "stream", NULL);
    struct watch watch = new_watch(-1);
    mercer_run run = on_two_threads();
    run.progress = watch_progress, run.user = &watch;
    mercer_model *model;
    MUST(mercer_model_fit(&model, recipe, data, &run));
    print_message("%d calls in %.2f s\n", watch.calls, watch.last_seen - watch.first_seen);
    assert_true(watch.calls >= 2);
    assert_true(watch.calls <= 2 + 12 * (watch.last_seen - watch.first_seen));
    assert_true(watch.monotone);
    assert_true(watch.own_thread);
    assert_true(watch.sane);
    mercer_model_destroy(model);
    mercer_recipe_destroy(recipe);
    mercer_data_destroy(data);
    mercer_context_destroy(context);
    free(x);
}

static void progress_stops_a_call(void **state) {
    (void)state;
    enum { ROWS = 10000, COLS = 16 };
    double *x = noise(ROWS * COLS);
    mercer_context *context = new_context();
    mercer_data *data = new_data(context, x, ROWS, COLS);
    mercer_recipe *recipe =
        new_recipe(context, "kernel", "laplacian", "kernel.norm", "l1", "gram.storage", "stream", NULL);
    mercer_run run = on_two_threads();
    run.progress = watch_progress;
    for (int stop_at = 1; stop_at <= 3; stop_at += 2) {
        struct watch watch = new_watch(stop_at);
        run.user = &watch;
        mercer_model *model = (void *)&watch;
        FAILS(MERCER_E_CANCELLED, "cancelled", mercer_model_fit(&model, recipe, data, &run));
        assert_null(model);
        assert_int_equal(watch.calls, stop_at); /* progress is not called again */
    }
    struct watch watch = new_watch(1);
    run.user = &watch;
    MUST(mercer_context_set_run(context, &run)); /* recipes created from now on use this run by default */
    mercer_recipe *other = new_recipe(context, NULL);
    mercer_model *model;
    FAILS(MERCER_E_CANCELLED, "cancelled", mercer_model_fit(&model, other, data, NULL));
    MUST(mercer_context_set_run(context, NULL));
    mercer_recipe_destroy(other);
    mercer_recipe_destroy(recipe);
    mercer_data_destroy(data);
    mercer_context_destroy(context);
    free(x);
}

struct canceller {
    int32_t flag;
    double after, set_at;
};

static void *cancel_later(void *user) {
    struct canceller *canceller = user;
    struct timespec pause = {(time_t)canceller->after, (long)(1e9 * fmod(canceller->after, 1))};
    nanosleep(&pause, NULL);
    canceller->set_at = now();
    __atomic_store_n(&canceller->flag, 1, __ATOMIC_RELAXED);
    return NULL;
}

/* Seconds from setting the cancel flag to the return of the fit. The best of three attempts counts,
 * because the machine may be busy. */
static double answer_time(mercer_recipe *recipe, mercer_data *data, int64_t memory, double after) {
    double best = INFINITY;
    for (int attempt = 0; attempt < 3 && best > 0.2; attempt++) {
        struct canceller canceller = {.after = after};
        mercer_run run = on_two_threads();
        run.memory = memory;
        run.cancel = &canceller.flag;
        mercer_model *model = (void *)&run;
        pthread_t thread;
        pthread_create(&thread, NULL, cancel_later, &canceller);
        int32_t status = mercer_model_fit(&model, recipe, data, &run);
        double answered = now();
        pthread_join(thread, NULL);
        fails(MERCER_E_CANCELLED, "cancelled", status, "fit", __FILE__, __LINE__);
        assert_null(model);
        best = fmin(best, answered - canceller.set_at);
    }
    print_message("answered after %.3f s\n", best);
    return best;
}

static void cancel_is_answered_soon(void **state) {
    (void)state;
    enum { ROWS = 40000, COLS = 16 };
    double *x = noise((int64_t)ROWS * COLS);
    mercer_context *context = new_context();
    mercer_data *data = new_data(context, x, ROWS, COLS);
    mercer_recipe *recipe = new_recipe(context, "kernel", "laplacian", "kernel.norm", "l1", NULL);
    assert_true(answer_time(recipe, data, 400 << 20, 0.3) < 0.2); /* the kernel matrix is streamed */
    assert_true(answer_time(recipe, data, 400 << 20, 1.7) < 0.2);
    MUST(mercer_recipe_set(recipe, "reducer", "greedy"));
    MUST(mercer_recipe_set(recipe, "reducer.m", "4000"));
    assert_true(answer_time(recipe, data, 0, 0.5) < 0.2); /* cancelled while pivots are chosen */

    int32_t already = 1;
    mercer_run run = on_two_threads();
    run.cancel = &already;
    mercer_model *model;
    FAILS(MERCER_E_CANCELLED, "cancelled", mercer_model_fit(&model, recipe, data, &run));
    already = 0;
    mercer_data *few = new_data(context, x, 50, COLS);
    MUST(mercer_recipe_set(recipe, "reducer", "all"));
    MUST(mercer_model_fit(&model, recipe, few, &run)); /* the next call in the same session succeeds */
    mercer_model_destroy(model);
    mercer_data_destroy(few);
    mercer_recipe_destroy(recipe);
    mercer_data_destroy(data);
    mercer_context_destroy(context);
    free(x);
}
int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(progress_is_monotone_rare_and_on_the_calling_thread),
        cmocka_unit_test(progress_stops_a_call),
        cmocka_unit_test(cancel_is_answered_soon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
