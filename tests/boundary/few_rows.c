/* Scores of a few rows must be bitwise equal for all run settings, for dense and chunked data, and
 * with and without a recipe that names the operation. For one row the library must make no system
 * call. */
#include "boundary.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <math.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { M = 128, COLS = 4, PARTS = 5, MOST = 6 };

struct scene {
    mercer_context *context;
    mercer_model *model;
    double *x;
    float *single;
    int f32;
};

static mercer_view view_on(struct scene *scene, int64_t rows) {
    return scene->f32 ? view_of(scene->single, MERCER_F32, rows, COLS) : doubles(scene->x, rows, COLS);
}

static mercer_data *data_on(struct scene *scene, int64_t rows) {
    mercer_data *data = NULL;
    mercer_view view = view_on(scene, rows);
    MUST(mercer_data_from_view(&data, scene->context, &view));
    return data;
}

static struct scene new_scene(int f32) {
    struct scene scene = {new_context(), NULL, noise(M * COLS), calloc(M * COLS, sizeof(float)), f32};
    for (int i = 0; i < M * COLS; i++) scene.x[i] = scene.single[i] = (float)scene.x[i];
    mercer_recipe *recipe = recipe_of(scene.context, "kpca", "5");
    mercer_data *data = data_on(&scene, M);
    MUST(mercer_model_fit(&scene.model, recipe, data, NULL));
    mercer_data_destroy(data), mercer_recipe_destroy(recipe);
    return scene;
}

static void free_scene(struct scene *scene) {
    mercer_model_destroy(scene->model), mercer_context_destroy(scene->context);
    free(scene->x), free(scene->single);
}

static int32_t told(void *user, const mercer_progress *progress) {
    (void)progress;
    ++*(int *)user;
    return 0;
}

static int32_t next(void *user, int64_t first, int64_t capacity, void *buffer, int64_t *count) {
    const mercer_view *view = user;
    const int64_t size = view->dtype == MERCER_F32 ? 4 : 8, left = view->rows - first;
    *count = left < capacity ? left : capacity;
    memcpy(buffer, (char *)view->data + first * view->cols * size, (size_t)(*count * view->cols * size));
    return 0;
}

static void same_bits(int f32) {
    struct scene scene = new_scene(f32);
    mercer_recipe *scores = NULL;
    MUST(mercer_recipe_create(&scores, scene.context, "scores"));
    int calls = 0, flag = 0;
    const mercer_run runs[] = {
        {.struct_size = sizeof *runs},
        {.struct_size = sizeof *runs, .threads = 1, .memory = 1 << 30},
        {.struct_size = sizeof *runs, .threads = 2, .progress = told, .user = &calls},
        {.struct_size = sizeof *runs, .cancel = &flag},
    };
    for (int64_t rows = 1; rows <= MOST; rows++) {
        mercer_data *data = data_on(&scene, rows), *chunked = NULL;
        mercer_view view = view_on(&scene, rows);
        const mercer_chunks chunks = {.struct_size = sizeof chunks,
                                      .dtype = view.dtype,
                                      .flags = MERCER_REWINDABLE,
                                      .rows = rows,
                                      .cols = COLS,
                                      .next = next,
                                      .user = &view};
        MUST(mercer_data_from_chunks(&chunked, scene.context, &chunks));
        double want[MOST * PARTS], got[MOST * PARTS];
        const mercer_view wanted = doubles(want, rows, PARTS), out = doubles(got, rows, PARTS);
        MUST(mercer_model_transform(scene.model, NULL, data, &wanted, 1, NULL));
        for (size_t way = 0; way < 4 * 4 + 3; way++) {
            const mercer_run *run = way < 16 ? &runs[way % 4] : NULL;
            mercer_recipe *what = way & 4 || way == 16 ? scores : NULL;
            memset(got, 0, sizeof got);
            MUST(mercer_model_transform(scene.model, what, (way & 8 || way > 16) ? chunked : data, &out, 1, run));
            if (memcmp(want, got, (size_t)rows * PARTS * sizeof *got) != 0)
                fail_msg("%s, %ld rows, way %zu: other bits", f32 ? "f32" : "f64", (long)rows, way);
        }
        assert_true(calls > 0);
        flag = 1; /* a cancelled call must stop even if it is short */
        FAILS(MERCER_E_CANCELLED, "cancel", mercer_model_transform(scene.model, NULL, data, &out, 1, &runs[3]));
        flag = 0;
        mercer_data_destroy(data), mercer_data_destroy(chunked);
    }
    mercer_recipe_destroy(scores);
    free_scene(&scene);
}
static void same_bits_f64(void **state) { (void)state, same_bits(0); }
static void same_bits_f32(void **state) { (void)state, same_bits(1); }

/* f = 3e38 + 3e38 is finite in f64 but overflows f32. This must be reported as an error for every
 * number of rows. */
static void numbers_beyond_the_type_are_an_error(void **state) {
    (void)state;
    mercer_context *context = new_context();
    float c[2] = {0, 0}, a[2] = {3e38f, 3e38f}, x[MOST] = {0}, z[MOST];
    const char *const names[] = {"C", "A"};
    const mercer_view tensors[] = {view_of(c, MERCER_F32, 2, 1), view_of(a, MERCER_F32, 2, 1)};
    mercer_model *model = NULL;
    MUST(mercer_model_from_tensors(&model, context, "{\"kernel\": \"gaussian\", \"parameters\": {\"kernel.sigma\": 1}}",
                                   names, tensors, 2));
    for (int64_t rows = 1; rows <= MOST; rows++) {
        mercer_data *data = NULL;
        const mercer_view in = view_of(x, MERCER_F32, rows, 1), out = view_of(z, MERCER_F32, rows, 1);
        MUST(mercer_data_from_view(&data, context, &in));
        FAILS(MERCER_E_NUMERICAL, "overflows f32", mercer_model_transform(model, NULL, data, &out, 1, NULL));
        mercer_data_destroy(data);
    }
    mercer_model_destroy(model), mercer_context_destroy(context);
}

/* Makes every later system call except exit_group end this process with SIGSYS. Returns 0 if the
 * system does not support such a filter. */
static int forbid_system_calls(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

enum { FILTERED = 0, WRONG = 1, NO_FILTER = 77 };

/* Runs in a child: transforms one row 1000 times. The first three calls may pack the centres, and
 * the other calls must make no system call. */
static int calls_on_one_row(struct scene *scene, mercer_data *data, const mercer_run *run) {
    double z[PARTS];
    const mercer_view out = doubles(z, 1, PARTS);
    for (int call = 0; call < 1000; call++) {
        if (call == 3 && !forbid_system_calls()) return NO_FILTER;
        if (mercer_model_transform(scene->model, NULL, data, &out, 1, run) != MERCER_OK) return WRONG;
    }
    return FILTERED;
}

static void one_row_makes_no_system_call(void **state) {
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* the sanitizers make system calls of their own */
#endif
    const mercer_run runs[] = {{.struct_size = sizeof *runs},
                               {.struct_size = sizeof *runs, .threads = 1, .memory = 1 << 30}};
    for (int f32 = 0; f32 < 2; f32++)
        for (int k = 0; k < 3; k++) {
            struct scene scene = new_scene(f32);
            mercer_data *data = data_on(&scene, 1);
            const pid_t child = fork();
            assert_true(child >= 0);
            if (child == 0) syscall(SYS_exit_group, calls_on_one_row(&scene, data, k < 2 ? &runs[k] : NULL));
            int status = 0;
            while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
            }
            mercer_data_destroy(data);
            free_scene(&scene);
            if (WIFEXITED(status) && WEXITSTATUS(status) == NO_FILTER) skip();
            if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) fail_msg("a system call, run %d, f32 = %d", k, f32);
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) == FILTERED);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bits_f64),
        cmocka_unit_test(same_bits_f32),
        cmocka_unit_test(numbers_beyond_the_type_are_an_error),
        cmocka_unit_test(one_row_makes_no_system_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
