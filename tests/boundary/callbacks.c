/* Callbacks of the caller: on which thread, how often, what their failures become, when they are released. No assertion
 * stands inside one: cmocka leaves a failed test by longjmp, which may not cross the library. */
#include "boundary.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static mercer_run a_run(void) { return (mercer_run){.struct_size = sizeof(mercer_run), .threads = 2}; }

/* ---- progress and cancel ----------------------------------------------------------------------------------------- */

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
    mercer_run run = a_run();
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
    mercer_run run = a_run();
    run.progress = watch_progress;
    for (int stop_at = 1; stop_at <= 3; stop_at += 2) {
        struct watch watch = new_watch(stop_at);
        run.user = &watch;
        mercer_model *model = (void *)&watch;
        FAILS(MERCER_E_CANCELLED, "cancelled", mercer_model_fit(&model, recipe, data, &run));
        assert_null(model);
        assert_int_equal(watch.calls, stop_at); /* and is not asked again */
    }
    struct watch watch = new_watch(1);
    run.user = &watch;
    MUST(mercer_context_set_run(context, &run)); /* what is made of the context from here on runs so */
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

/* Seconds from the flag to the return of a fit. The machine may be busy with others: the best of three counts. */
static double answer_time(mercer_recipe *recipe, mercer_data *data, int64_t memory, double after) {
    double best = INFINITY;
    for (int attempt = 0; attempt < 3 && best > 0.2; attempt++) {
        struct canceller canceller = {.after = after};
        mercer_run run = a_run();
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
    assert_true(answer_time(recipe, data, 400 << 20, 0.3) < 0.2); /* streams */
    assert_true(answer_time(recipe, data, 400 << 20, 1.7) < 0.2);
    MUST(mercer_recipe_set(recipe, "reducer", "greedy"));
    MUST(mercer_recipe_set(recipe, "reducer.m", "4000"));
    assert_true(answer_time(recipe, data, 0, 0.5) < 0.2); /* among the pivots */

    int32_t already = 1;
    mercer_run run = a_run();
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

/* ---- user kernels ------------------------------------------------------------------------------------------------ */

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

/* Before what the recipe's kernel points at goes out of scope. */
static void leave_kernel(void) {
    mercer_user_kernel none = {.struct_size = sizeof none, .tile = linear_tile};
    MUST(mercer_recipe_set_kernel(k.recipe, &none));
}

static void user_kernels_run_on_the_calling_thread(void **state) {
    (void)state;
    struct kernel kernel = {0};
    mercer_user_kernel given = user_kernel(&kernel, MERCER_PSD);
    mercer_run run = a_run();
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
    struct timespec pause = {0, 2000000}; /* so that others get their share, however busy the machine is */
    nanosleep(&pause, NULL);
    return linear_tile(user, x, y, out);
}

static void thread_safe_kernels_run_in_parallel_and_give_the_same_bits(void **state) {
    (void)state;
    static double alone[KN * 3], together[KN * 3];
    for (int parallel = 0; parallel < 2; parallel++) {
        struct kernel kernel = {0};
        mercer_user_kernel given = user_kernel(&kernel, MERCER_PSD | (parallel ? MERCER_THREAD_SAFE : 0));
        mercer_run run = a_run();
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
    mercer_run run = a_run();
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
    assert_int_equal(kernel.released, 0); /* the model has it */
    MUST(mercer_model_bind(&bound, model, &replacement));
    MUST(mercer_model_retain(model));
    mercer_model_destroy(model);
    assert_int_equal(kernel.released, 0);
    mercer_model_destroy(model);
    assert_int_equal(kernel.released, 1);
    mercer_recipe_destroy(recipe);
    assert_int_equal(other.released, 1); /* given twice, released twice */
    mercer_model_destroy(bound);
    assert_int_equal(other.released, 2);
    assert_int_equal(kernel.released, 1);
}

/* ---- chunks ------------------------------------------------------------------------------------------------------ */

enum { CN = 700, CD = 3 };
struct chunks {
    double *x;
    int64_t rows, at_once; /* how many it has, and gives in one call */
    int calls, released, fail_at, lie_at;
    int64_t lie;
    const char *text;
};

static int32_t next_rows(void *user, int64_t first, int64_t capacity, void *buffer, int64_t *rows) {
    struct chunks *c = user;
    c->calls++;
    if (c->calls == c->fail_at) {
        if (c->text) mercer_set_error(c->text);
        return -1;
    }
    int64_t count = c->rows - first;
    count = count < capacity ? count : capacity;
    count = count < c->at_once ? count : c->at_once;
    memcpy(buffer, c->x + first * CD, (size_t)count * CD * sizeof(double));
    *rows = c->calls == c->lie_at ? c->lie : count;
    return 0;
}
static void release_chunks(void *user) { ++((struct chunks *)user)->released; }

static mercer_data *chunk_data(struct chunks *chunks, int64_t rows, int32_t flags) {
    mercer_chunks given = {sizeof given, MERCER_F64, flags, rows, CD, next_rows, chunks, release_chunks};
    mercer_data *data = NULL;
    MUST(mercer_data_from_chunks(&data, k.context, &given));
    return data;
}

static void chunks_of_any_size_are_the_same_data(void **state) {
    (void)state;
    double *x = noise(CN * CD);
    static double expected[CN * 2], out[CN * 2];
    mercer_recipe *recipe = new_recipe(k.context, "components", "2", NULL);
    mercer_data *view_data = new_data(k.context, x, CN, CD);
    mercer_view first = doubles(expected, CN, 2), second = doubles(out, CN, 2);
    mercer_model *model;
    MUST(mercer_model_fit(&model, recipe, view_data, NULL));
    MUST(mercer_model_transform(model, NULL, view_data, &first, 1, NULL));
    mercer_model_destroy(model);
    static const int64_t sizes[] = {1, 7, 256, CN, 100000};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int known = 0; known < 2; known++) {
            struct chunks chunks = {.x = x, .rows = CN, .at_once = sizes[s]};
            mercer_data *data = chunk_data(&chunks, known ? CN : -1, MERCER_REWINDABLE);
            mercer_data_facts facts = {.struct_size = sizeof facts};
            MUST(mercer_data_inspect(data, &facts));
            assert_int_equal(facts.rows, known ? CN : -1);
            assert_int_equal(facts.cols, CD);
            assert_int_equal(facts.kind, MERCER_DENSE);
            MUST(mercer_model_fit(&model, recipe, data, NULL));
            MUST(mercer_model_transform(model, NULL, data, &second, 1, NULL)); /* reads it a second time */
            assert_memory_equal(out, expected, sizeof out);
            mercer_model_destroy(model);
            assert_int_equal(chunks.released, 0);
            mercer_data_destroy(data);
            assert_int_equal(chunks.released, 1);
        }
    struct chunks once = {.x = x, .rows = CN, .at_once = 100};
    mercer_data *data = chunk_data(&once, CN, 0);
    MUST(mercer_model_fit(&model, recipe, data, NULL));
    mercer_model_destroy(model);
    FAILS(MERCER_E_DATA, "REWINDABLE", mercer_model_fit(&model, recipe, data, NULL));
    mercer_data_destroy(data);
    mercer_data_destroy(view_data);
    mercer_recipe_destroy(recipe);
    free(x);
}

static void chunk_callbacks_that_fail_or_lie(void **state) {
    (void)state;
    double *x = noise(CN * CD);
    mercer_recipe *recipe = new_recipe(k.context, "components", "2", NULL);
    static const struct {
        int fail_at, lie_at;
        int64_t lie, declared;
        const char *text;
        int32_t code;
        const char *part;
    } cases[] = {
        {1, 0, 0, CN, "no such table", MERCER_E_CALLBACK, "no such table"},
        {3, 0, 0, -1, "connection lost", MERCER_E_CALLBACK, "connection lost"},
        {2, 0, 0, CN, NULL, MERCER_E_CALLBACK, "chunk callback"},
        {0, 1, -1, CN, NULL, MERCER_E_CALLBACK, "says -1 rows"},
        {0, 2, 1 << 20, CN, NULL, MERCER_E_CALLBACK, "says 1048576 rows"},
        {0, 2, INT64_MAX, -1, NULL, MERCER_E_CALLBACK, "says 9223372036854775807 rows"},
        {0, 2, INT64_MIN, -1, NULL, MERCER_E_CALLBACK, "says -9223372036854775808 rows"},
        {0, 3, 0, CN, NULL, MERCER_E_DATA, "ended after 200 rows of 700"},
        {0, 1, 0, -1, NULL, MERCER_E_DATA, "no rows"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct chunks chunks = {.x = x,
                                .rows = CN,
                                .at_once = 100,
                                .fail_at = cases[c].fail_at,
                                .text = cases[c].text,
                                .lie_at = cases[c].lie_at,
                                .lie = cases[c].lie};
        mercer_data *data = chunk_data(&chunks, cases[c].declared, MERCER_REWINDABLE);
        mercer_model *model = (void *)data;
        FAILS(cases[c].code, cases[c].part, mercer_model_fit(&model, recipe, data, NULL));
        assert_null(model);
        mercer_data_destroy(data);
        assert_int_equal(chunks.released, 1);
    }
    mercer_recipe_destroy(recipe);
    free(x);
}

/* ---- objects ----------------------------------------------------------------------------------------------------- */

struct objects {
    double *x;
    pthread_t owner;
    int calls, foreign, released, fail_at, fail_self;
};

static int32_t products(void *user, const int64_t *i, const int64_t *j, int64_t count, double *values) {
    struct objects *o = user;
    if (!pthread_equal(o->owner, pthread_self())) __atomic_add_fetch(&o->foreign, 1, __ATOMIC_SEQ_CST);
    if (__atomic_add_fetch(&o->calls, 1, __ATOMIC_SEQ_CST) == o->fail_at) {
        mercer_set_error("object 3 is gone");
        return 1;
    }
    for (int64_t p = 0; p < count; p++) {
        const double *a = o->x + i[p] * CD, *b = o->x + j[p] * CD;
        values[p] = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    }
    return 0;
}
static int32_t own_products(void *user, const int64_t *i, int64_t count, double *values) {
    struct objects *o = user;
    if (o->fail_self) {
        mercer_set_error("a query has no self");
        return 1;
    }
    return products(user, i, i, count, values);
}
static void release_objects(void *user) { ++((struct objects *)user)->released; }

static void objects_fail_and_are_released(void **state) {
    (void)state;
    double *x = noise(CN * CD);
    static double out[CN];
    mercer_recipe *recipe = new_recipe(k.context, "components", "2", "kernel", "user", NULL), *residual;
    MUST(mercer_recipe_create(&residual, k.context, "residual"));
    struct objects good = {.x = x, .owner = pthread_self()}, bad = good, queries = good;
    bad.fail_at = 4, queries.fail_self = 1;
    mercer_objects given = {sizeof given, CN,           MERCER_KERNEL, MERCER_PSD,
                            products,     own_products, &good,         release_objects};
    mercer_data *data, *failing, *asked;
    MUST(mercer_data_from_objects(&data, k.context, &given));
    given.user = &bad;
    MUST(mercer_data_from_objects(&failing, k.context, &given));
    given.user = &queries;
    MUST(mercer_data_from_objects(&asked, k.context, &given));
    mercer_run run = a_run();
    mercer_model *model;
    FAILS(MERCER_E_CALLBACK, "object 3 is gone", mercer_model_fit(&model, recipe, failing, &run));
    MUST(mercer_model_fit(&model, recipe, data, &run));
    mercer_view view = doubles(out, CN, 1);
    MUST(mercer_model_transform(model, residual, data, &view, 1, &run));
    FAILS(MERCER_E_CALLBACK, "a query has no self", mercer_model_transform(model, residual, asked, &view, 1, &run));
    assert_int_equal(good.foreign, 0);
    assert_int_equal(good.released, 0);
    mercer_data_destroy(data), mercer_data_destroy(failing), mercer_data_destroy(asked);
    assert_int_equal(good.released, 1);
    assert_int_equal(bad.released, 1);
    mercer_model_destroy(model);
    mercer_recipe_destroy(residual);
    mercer_recipe_destroy(recipe);
    free(x);
}

static void a_call_that_fails_takes_nothing(void **state) {
    (void)state;
    struct chunks chunks = {0};
    struct objects objects = {0};
    struct kernel kernel = {0};
    mercer_data *data;
    mercer_chunks rows = {sizeof rows, MERCER_I64, 0, 4, 2, next_rows, &chunks, release_chunks};
    FAILS(MERCER_E_ARGUMENT, "dtype", mercer_data_from_chunks(&data, k.context, &rows));
    rows.dtype = MERCER_F64;
    FAILS(MERCER_E_ARGUMENT, "context", mercer_data_from_chunks(&data, NULL, &rows));
    FAILS(MERCER_E_ARGUMENT, "out", mercer_data_from_chunks(NULL, k.context, &rows));
    assert_int_equal(chunks.released, 0);
    mercer_objects pairs = {sizeof pairs, 4, 9, 0, products, NULL, &objects, release_objects};
    FAILS(MERCER_E_ARGUMENT, "values", mercer_data_from_objects(&data, k.context, &pairs));
    pairs.values = MERCER_KERNEL;
    FAILS(MERCER_E_ARGUMENT, "context", mercer_data_from_objects(&data, NULL, &pairs));
    assert_int_equal(objects.released, 0);
    mercer_user_kernel given = user_kernel(&kernel, 64);
    FAILS(MERCER_E_ARGUMENT, "flags", mercer_recipe_set_kernel(k.recipe, &given));
    given.flags = 0;
    FAILS(MERCER_E_ARGUMENT, "recipe", mercer_recipe_set_kernel(NULL, &given));
    mercer_recipe *scores, *gaussian = new_recipe(k.context, NULL);
    MUST(mercer_recipe_create(&scores, k.context, "scores"));
    FAILS(MERCER_E_ARGUMENT, "scores", mercer_recipe_set_kernel(scores, &given));
    mercer_data *few = new_data(k.context, k.x, 20, KD);
    mercer_model *model, *bound;
    MUST(mercer_model_fit(&model, gaussian, few, NULL));
    FAILS(MERCER_E_UNSUPPORTED, "'user'", mercer_model_bind(&bound, model, &given));
    assert_int_equal(kernel.released, 0);
    mercer_model_destroy(model);
    mercer_data_destroy(few);
    mercer_recipe_destroy(gaussian), mercer_recipe_destroy(scores);
}

/* ---- sinks, sources, and what is left of a failure ------------------------------------------------------------------
 */

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
    mercer_recipe *recipe = new_recipe(k.context, NULL);
    mercer_data *few = new_data(k.context, k.x, 50, KD);
    mercer_model *model, *read = NULL;
    MUST(mercer_model_fit(&model, recipe, few, NULL));
    int calls = 0;
    mercer_sink sink = {sizeof sink, full_disk, &calls};
    FAILS(MERCER_E_CALLBACK, "tape 7 is full", mercer_model_write(model, &sink));
    assert_int_equal(calls, 2);
    mercer_source source = {sizeof source, broken_pipe, "the pipe broke"};
    FAILS(MERCER_E_CALLBACK, "the pipe broke", mercer_model_read(&read, k.context, &source));
    source.read = too_much;
    FAILS(MERCER_E_CALLBACK, "capacity", mercer_model_read(&read, k.context, &source));
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
    mercer_recipe *recipe = new_recipe(k.context, NULL);
    mercer_data *few = new_data(k.context, k.x, 50, KD);
    mercer_model *model, *read = NULL;
    mercer_run run = a_run();
    run.progress = noisy_progress;
    MUST(mercer_model_fit(&model, recipe, few, &run));
    mercer_source source = {sizeof source, silent, NULL};
    FAILS(MERCER_E_CALLBACK, "the source returned an error", mercer_model_read(&read, k.context, &source));
    mercer_set_error("said outside of any callback");
    struct chunks chunks = {.fail_at = 1};
    mercer_data *data = chunk_data(&chunks, CN, 0);
    FAILS(MERCER_E_CALLBACK, "the chunk callback returned an error", mercer_model_fit(&read, recipe, data, NULL));
    mercer_data_destroy(data);
    mercer_model_destroy(model);
    mercer_data_destroy(few);
    mercer_recipe_destroy(recipe);
}

static int32_t busy_progress(void *user, const mercer_progress *progress) {
    (void)progress;
    mercer_context *context = NULL;
    mercer_recipe *recipe = NULL;
    mercer_data *data = NULL;
    mercer_model *model = NULL;
    mercer_view view = doubles(k.x, 40, KD);
    int32_t status = mercer_context_create(&context);
    if (!status) status = mercer_recipe_create(&recipe, context, "kpca");
    if (!status) status = mercer_data_from_view(&data, context, &view);
    if (!status) status = mercer_model_fit(&model, recipe, data, NULL);
    mercer_model_destroy(model);
    mercer_data_destroy(data);
    mercer_recipe_destroy(recipe);
    mercer_context_destroy(context);
    *(int *)user += status == MERCER_OK;
    return status;
}

static void callbacks_may_use_the_library(void **state) {
    (void)state;
    mercer_recipe *recipe = new_recipe(k.context, NULL);
    int inner = 0;
    mercer_run run = a_run();
    run.progress = busy_progress, run.user = &inner;
    mercer_model *model;
    MUST(mercer_model_fit(&model, recipe, k.data, &run));
    assert_true(inner > 0);
    mercer_model_destroy(model);
    mercer_recipe_destroy(recipe);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(progress_is_monotone_rare_and_on_the_calling_thread),
        cmocka_unit_test(progress_stops_a_call),
        cmocka_unit_test(cancel_is_answered_soon),
        cmocka_unit_test(user_kernels_run_on_the_calling_thread),
        cmocka_unit_test(thread_safe_kernels_run_in_parallel_and_give_the_same_bits),
        cmocka_unit_test(a_failing_kernel_says_why),
        cmocka_unit_test(a_kernel_is_released_with_its_last_owner),
        cmocka_unit_test(chunks_of_any_size_are_the_same_data),
        cmocka_unit_test(chunk_callbacks_that_fail_or_lie),
        cmocka_unit_test(objects_fail_and_are_released),
        cmocka_unit_test(a_call_that_fails_takes_nothing),
        cmocka_unit_test(sinks_and_sources_fail),
        cmocka_unit_test(a_text_is_not_left_for_the_next_failure),
        cmocka_unit_test(callbacks_may_use_the_library),
    };
    return cmocka_run_group_tests(tests, begin_kernels, end_kernels);
}
