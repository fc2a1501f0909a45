/* Fits under difficult conditions: data of low rank, budgets that are too small, indefinite
 * kernels, concurrent threads and forked processes. */
#include "boundary.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

enum { D = 4, R = 3 };

static const char *const methods[] = {"kpca", "nystrom", "gkpca", "subsampled", "auto"};
enum { METHODS = sizeof methods / sizeof *methods };

/* Creates a recipe, fits with it and destroys it. */
static int32_t fit(mercer_model **out, mercer_context *context, const char *method, const char *components,
                   mercer_data *data, const mercer_run *run) {
    mercer_recipe *recipe = recipe_of(context, method, components);
    *out = NULL;
    const int32_t status = mercer_model_fit(out, recipe, data, run);
    mercer_recipe_destroy(recipe);
    return status;
}

/* ---- rank ---- */

/* Checks that every method gives a model of `rank` components that can transform, and reports that
 * the data have no more components. */
static void has_rank(double *x, int64_t n, int64_t rank, double variance) {
    mercer_context *context = new_context();
    mercer_data *data = new_data(context, x, n, D);
    for (int k = 0; k < METHODS; k++) {
        mercer_model *model;
        MUST(fit(&model, context, methods[k], "7", data, NULL));
        mercer_summary summary = {.struct_size = sizeof summary};
        MUST(mercer_model_summary(model, &summary));
        if (summary.r != rank || !(summary.outcome & MERCER_RANK_REACHED) ||
            !(fabs(summary.total_variance - variance) <= 1e-9))
            fail_msg("%s: r = %ld, outcome %u, total variance %g", methods[k], (long)summary.r, summary.outcome,
                     summary.total_variance);
        double *scores = calloc((size_t)(n * (rank + 1)), sizeof *scores);
        mercer_view out = doubles(scores, n, rank);
        MUST(mercer_model_transform(model, NULL, data, &out, 1, NULL));
        double sum = 0; /* of squared scores; it is n times the total variance, as the model has all components */
        for (int64_t i = 0; i < n * rank; i++) sum += scores[i] * scores[i];
        assert_true(fabs(sum / (double)n - variance) <= 1e-9);
        free(scores);
        mercer_model_destroy(model);
    }
    mercer_data_destroy(data), mercer_context_destroy(context);
}

static void one_point(void **state) {
    (void)state;
    double x[D] = {1, 2, 3, 4};
    has_rank(x, 1, 0, 0);
}
static void equal_points(void **state) {
    (void)state;
    enum { N = 700 };
    double x[N * D];
    for (int i = 0; i < N * D; i++) x[i] = 1 + i % D;
    has_rank(x, N, 0, 0);
}
/* Two distinct points at distance 3: the centred kernel matrix divided by n has one eigenvalue that
 * is not 0. It is (1 - k) / 2, where k is the kernel value of the two points. */
static void two_places(void **state) {
    (void)state;
    enum { N = 900 };
    double x[N * D] = {0};
    for (int i = 0; i < N; i++) x[i * D] = i % 2 * 3;
    has_rank(x, 2, 1, (1 - exp(-9.0 / 8)) / 2);
    has_rank(x, N, 1, (1 - exp(-9.0 / 8)) / 2);
}

/* 900 rows far from each other: the kernel matrix is the identity, so all eigenvalues of the
 * centred matrix but one are equal. */
static void equal_eigenvalues(void **state) {
    (void)state;
    enum { N = 900 };
    double *x = noise(N * D);
    for (int i = 0; i < N * D; i++) x[i] *= 1e5;
    mercer_context *context = new_context();
    mercer_data *data = new_data(context, x, N, D);
    for (int k = 0; k < METHODS; k++) {
        mercer_model *model;
        MUST(fit(&model, context, methods[k], "5", data, NULL));
        int64_t count;
        const double *lambda = tensor(model, "lambda", &count);
        assert_int_equal(count, 5);
        for (int64_t j = 0; k == 0 && j < count; j++) assert_true(fabs(lambda[j] * N - 1) <= 1e-9);
        mercer_model_destroy(model);
    }
    mercer_data_destroy(data), mercer_context_destroy(context);
    free(x);
}

/* ---- budget ---- */

static void no_room_for_a_panel(void **state) {
    (void)state;
    enum { N = 5000 };
    mercer_context *context = new_context();
    double *x = noise(N * D);
    mercer_data *data = new_data(context, x, N, D);
    mercer_run run = {.struct_size = sizeof run, .memory = 4096};
    for (int k = 0; k < METHODS; k++) {
        mercer_model *model;
        FAILS(MERCER_E_BUDGET, "budget", fit(&model, context, methods[k], "3", data, &run));
        assert_null(model);
    }
    mercer_data_destroy(data), mercer_context_destroy(context);
    free(x);
}

/* ---- indefinite kernels ---- */

/* cos(3 |x - y|), which is positive definite for points on a line, but not in four dimensions. */
static int32_t waves(void *user, const mercer_view *x, const mercer_view *y, const mercer_view *k) {
    (void)user;
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t j = 0; j < y->rows; j++) {
            double square = 0;
            for (int64_t c = 0; c < x->cols; c++) {
                const double step =
                    ((double *)x->data)[i * x->row_stride + c] - ((double *)y->data)[j * y->row_stride + c];
                square += step * step;
            }
            ((double *)k->data)[i * k->row_stride + j] = cos(3 * sqrt(square));
        }
    return 0;
}

static void indefinite_kernels(void **state) {
    (void)state;
    enum { N = 400 };
    double *x = noise(N * D);
    mercer_context *context = new_context();
    mercer_data *data = new_data(context, x, N, D);
    for (int says_so = 0; says_so < 2; says_so++) {
        mercer_user_kernel kernel = {
            .struct_size = sizeof kernel, .flags = MERCER_THREAD_SAFE | (says_so ? 0 : MERCER_PSD), .tile = waves};
        for (int k = 0; k < METHODS; k++) {
            mercer_recipe *recipe = NULL;
            MUST(mercer_recipe_create(&recipe, context, methods[k]));
            MUST(mercer_recipe_set(recipe, "components", "3"));
            MUST(mercer_recipe_set_kernel(recipe, &kernel));
            mercer_model *model = NULL;
            const int eigen = k == 0 || k == 3;   /* kpca and subsampled drop negative eigenvalues and report it */
            const int exact = k == 4 && !says_so; /* auto fits so few rows exactly */
            if (eigen || exact) {
                MUST(mercer_model_fit(&model, recipe, data, NULL));
                mercer_summary summary = {.struct_size = sizeof summary};
                MUST(mercer_model_summary(model, &summary));
                assert_true(summary.outcome & MERCER_INDEFINITE);
                mercer_model_destroy(model);
            } else {
                FAILS(says_so ? MERCER_E_UNSUPPORTED : MERCER_E_NUMERICAL, "kernel = user",
                      mercer_model_fit(&model, recipe, data, NULL));
                assert_true(says_so == !!strstr(mercer_last_error(), "declare MERCER_PSD if it is"));
            }
            mercer_recipe_destroy(recipe);
        }
    }
    mercer_data_destroy(data), mercer_context_destroy(context);
    free(x);
}

/* ---- threads and forked processes ---- */

enum { ROWS = 2000, READERS = 64 };

struct shared {
    mercer_model *model;
    mercer_context *context;
    double *x, expected[ROWS * R];
    int different; /* atomic */
};

static void *reader(void *user) {
    struct shared *shared = user;
    mercer_data *data = new_data(shared->context, shared->x, ROWS, D);
    double *scores = malloc(sizeof shared->expected);
    mercer_view out = doubles(scores, ROWS, R);
    for (int k = 0; k < 5; k++)
        if (mercer_model_transform(shared->model, NULL, data, &out, 1, NULL) != MERCER_OK ||
            memcmp(scores, shared->expected, sizeof shared->expected) != 0)
            __atomic_add_fetch(&shared->different, 1, __ATOMIC_RELAXED);
    free(scores);
    mercer_data_destroy(data);
    return NULL;
}

static struct shared *new_shared(void) {
    struct shared *shared = calloc(1, sizeof *shared);
    shared->context = new_context();
    shared->x = noise(ROWS * D);
    mercer_data *data = new_data(shared->context, shared->x, ROWS, D);
    mercer_recipe *recipe = recipe_of(shared->context, "nystrom", "3");
    MUST(mercer_recipe_set(recipe, "reducer.m", "200"));
    MUST(mercer_model_fit(&shared->model, recipe, data, NULL));
    mercer_view out = doubles(shared->expected, ROWS, R);
    MUST(mercer_model_transform(shared->model, NULL, data, &out, 1, NULL));
    mercer_recipe_destroy(recipe), mercer_data_destroy(data);
    return shared;
}
static void free_shared(struct shared *shared) {
    mercer_model_destroy(shared->model), mercer_context_destroy(shared->context);
    free(shared->x), free(shared);
}

/* Fits again and compares A with that of the first fit. Returns 0 if they are bitwise equal, 1 if
 * the fit fails and 2 if they differ. */
static int fit_again(struct shared *shared) {
    mercer_data *data = new_data(shared->context, shared->x, ROWS, D);
    mercer_recipe *recipe = recipe_of(shared->context, "nystrom", "3");
    MUST(mercer_recipe_set(recipe, "reducer.m", "200"));
    mercer_model *model = NULL;
    if (mercer_model_fit(&model, recipe, data, NULL) != MERCER_OK) return 1;
    int64_t count, others;
    const double *a = tensor(model, "A", &count), *b = tensor(shared->model, "A", &others);
    const int different = count != others || memcmp(a, b, sizeof *a * (size_t)count) != 0;
    mercer_model_destroy(model), mercer_recipe_destroy(recipe), mercer_data_destroy(data);
    return different ? 2 : 0;
}

static void read_beside_a_fit(int readers) {
    struct shared *shared = new_shared();
    pthread_t *threads = calloc((size_t)readers, sizeof *threads);
    for (int t = 0; t < readers; t++) assert_int_equal(pthread_create(&threads[t], NULL, reader, shared), 0);
    for (int k = 0; k < 3; k++) assert_int_equal(fit_again(shared), 0);
    for (int t = 0; t < readers; t++) pthread_join(threads[t], NULL);
    assert_int_equal(shared->different, 0);
    free(threads), free_shared(shared);
}
static void readers_beside_a_fit(void **state) {
    (void)state;
    read_beside_a_fit(READERS);
}
static void a_thousand_readers(void **state) {
    (void)state;
    read_beside_a_fit(1000);
}

static void *fitter(void *user) {
    struct shared *shared = user;
    for (int k = 0; k < 5; k++)
        if (fit_again(shared) != 0) __atomic_add_fetch(&shared->different, 1, __ATOMIC_RELAXED);
    return NULL;
}

static pid_t child_that(int (*work)(struct shared *), struct shared *shared) {
    const pid_t child = fork();
    if (child != 0) return child;
    alarm(60); /* a child that hangs is killed, and the test fails */
    _exit(work(shared));
}
static void ended_well(pid_t child) {
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail_msg("the child ended with status %d", status);
}

static int do_all(struct shared *none) {
    (void)none;
    struct shared *shared = new_shared();
    const int wrong = fit_again(shared);
    free_shared(shared);
    return wrong;
}
/* Parent and child both make their first call to the library after the fork, so this test must run
 * first. */
static void a_child_made_before_the_first_call(void **state) {
    (void)state;
    const pid_t child = child_that(do_all, NULL);
    assert_int_equal(do_all(NULL), 0);
    ended_well(child);
}

static int go_on(struct shared *shared) {
    const int wrong = fit_again(shared);
    reader(shared);
    return wrong ? wrong : shared->different ? 3 : 0;
}
/* The parent, which has opened parallel regions before, forks while none of its other threads runs,
 * while 8 threads transform, and while 2 threads fit. */
static void children_made_after_and_during(void **state) {
    (void)state;
    static const struct {
        int threads;
        void *(*work)(void *);
    } beside[] = {{0, reader}, {8, reader}, {2, fitter}};
    struct shared *shared = new_shared();
    for (size_t b = 0; b < sizeof beside / sizeof *beside; b++) {
        pthread_t threads[8];
        for (int t = 0; t < beside[b].threads; t++)
            assert_int_equal(pthread_create(&threads[t], NULL, beside[b].work, shared), 0);
        const pid_t child = child_that(go_on, shared);
        ended_well(child);
        for (int t = 0; t < beside[b].threads; t++) pthread_join(threads[t], NULL);
        assert_int_equal(fit_again(shared), 0); /* the parent must still be able to fit */
    }
    assert_int_equal(shared->different, 0);
    free_shared(shared);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_made_before_the_first_call),
        cmocka_unit_test(one_point),
        cmocka_unit_test(equal_points),
        cmocka_unit_test(two_places),
        cmocka_unit_test(equal_eigenvalues),
        cmocka_unit_test(no_room_for_a_panel),
        cmocka_unit_test(indefinite_kernels),
        cmocka_unit_test(readers_beside_a_fit),
        cmocka_unit_test(a_thousand_readers),
        cmocka_unit_test(children_made_after_and_during),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
