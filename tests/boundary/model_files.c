/* Models as files and as bytes: a model that is read back must be bitwise equal, and a failed save
 * must leave the old file unchanged. */
#include "model_bytes.h"
#include "temp_folder.h"

#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { N = 120, D = 3, R = 3 };

static mercer_context *context;
static char *folder;
static double *x;

static int begin(void **state) {
    (void)state;
    context = new_context();
    folder = new_folder();
    x = noise(N * D);
    for (int i = 0; i < N * D; i++) x[i] = fabs(x[i]);
    return 0;
}
static int end(void **state) {
    (void)state;
    remove_folder(folder);
    mercer_context_destroy(context);
    free(x);
    return 0;
}
/* ---- models ------------------------------------------------------------------------------------------------------ */

static const int64_t offsets[] = {0, 2, 3, 5, 5, 6}, columns[] = {0, 2, 1, 0, 1, 2};
static const double entries[] = {1, 2, 3, 4, 5, 6};
static int32_t distances(void *user, const int64_t *i, const int64_t *j, int64_t count, double *values) {
    (void)user;
    for (int64_t k = 0; k < count; k++) values[k] = fabs(x[i[k]] - x[j[k]]);
    return 0;
}

enum { DENSE, FLOATS, SCALED, SUM, SPARSE, OBJECTS, MANY, KINDS };

static mercer_data *data_of(int kind) {
    mercer_data *data;
    if (kind == FLOATS) {
        static float single[N * D];
        for (int i = 0; i < N * D; i++) single[i] = (float)x[i];
        mercer_view view = view_of(single, MERCER_F32, N, D);
        MUST(mercer_data_from_view(&data, context, &view));
    } else if (kind == SPARSE) {
        mercer_sparse sparse = {sizeof sparse, MERCER_CSR, MERCER_F64, MERCER_I64, 0, 5, D, 6,
                                offsets,       columns,    entries};
        MUST(mercer_data_from_sparse(&data, context, &sparse));
    } else if (kind == OBJECTS) {
        mercer_objects objects = {
            .struct_size = sizeof objects, .rows = N, .values = MERCER_DISTANCE, .pairs = distances};
        MUST(mercer_data_from_objects(&data, context, &objects));
    } else {
        data = new_data(context, x, N, D);
    }
    return data;
}

static mercer_model *model_of(int kind, mercer_data *data) {
    mercer_recipe *recipe = new_recipe(context, "components", "3", NULL);
    mercer_model *model;
    if (kind == SCALED) MUST(mercer_recipe_set(recipe, "data.scale", "standard"));
    if (kind == SUM)
        MUST(mercer_recipe_set(recipe, "kernel", "0.1 gaussian[0-1] * chi2[2] + histogram-intersection + 1e-3 linear"));
    if (kind == MANY) MUST(mercer_recipe_set(recipe, "reducer", "greedy"));
    MUST(mercer_model_fit(&model, recipe, data, NULL));
    mercer_recipe_destroy(recipe);
    return model;
}

static const char *const tensors[] = {
    "C", "C.values", "C.columns", "C.offsets", "indices",   "A",       "b",       "nu",      "lambda", "w",
    "v", "kii",      "T.shift",   "T.scale",   "T.columns", "shift.1", "shift.2", "shift.3", "labels", "clusters"};

static mercer_view output_view(mercer_model *model, mercer_data *data) {
    mercer_output output = {.struct_size = sizeof output};
    int64_t count = 0;
    MUST(mercer_model_output(model, NULL, data, 0, &output, &count));
    assert_int_equal(count, 1);
    assert_string_equal(output.name, "scores");
    assert_in_range(output.rows * output.cols, 1, N * R);
    return view_of(NULL, output.dtype, output.rows, output.cols);
}

static void assert_same_model(mercer_model *a, mercer_model *b, mercer_data *data) {
    int found = 0;
    for (size_t t = 0; t < sizeof tensors / sizeof *tensors; t++) {
        mercer_view p = {.struct_size = sizeof p}, q = p;
        int32_t one = mercer_model_tensor(a, tensors[t], &p), two = mercer_model_tensor(b, tensors[t], &q);
        assert_int_equal(one, two);
        if (one) continue;
        found++;
        assert_int_equal(p.dtype, q.dtype);
        assert_int_equal(p.rows, q.rows);
        assert_int_equal(p.cols, q.cols);
        assert_memory_equal(p.data, q.data, (size_t)(p.rows * p.cols) * (p.dtype == MERCER_F32 ? 4 : 8));
    }
    assert_true(found >= 4);
    mercer_summary s = {.struct_size = sizeof s}, t = s;
    MUST(mercer_model_summary(a, &s));
    MUST(mercer_model_summary(b, &t));
    assert_memory_equal(&s, &t, sizeof s);
    const char *info, *other;
    MUST(mercer_model_info(a, "", &info));
    MUST(mercer_model_info(b, "", &other));
    assert_string_equal(info, other);

    static double out[2][N * R];
    memset(out, 0, sizeof out);
    mercer_view view = output_view(a, data);
    view.data = out[0];
    MUST(mercer_model_transform(a, NULL, data, &view, 1, NULL));
    view.data = out[1];
    MUST(mercer_model_transform(b, NULL, data, &view, 1, NULL));
    assert_memory_equal(out[0], out[1], sizeof out[0]);
}

static void a_model_comes_back_to_the_bit(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        mercer_data *data = data_of(kind);
        mercer_model *model = model_of(kind, data), *loaded, *read;
        char path[4096];
        snprintf(path, sizeof path, "%s", joined(folder, "model.safetensors"));
        MUST(mercer_model_save(model, path));
        MUST(mercer_model_load(&loaded, context, path));
        assert_same_model(model, loaded, data);

        struct bytes bytes = written(model), again = written(loaded);
        size_t size;
        unsigned char *file = read_file(path, &size);
        assert_int_equal(size, bytes.count);
        assert_memory_equal(file, bytes.at, size);
        assert_int_equal(size, again.count); /* a loaded model is written as it was read */
        assert_memory_equal(file, again.at, size);
        for (int64_t piece = 0; piece < 20; piece += 7) {
            MUST(read_back(&read, context, &bytes, piece));
            assert_same_model(model, read, data);
            mercer_model_destroy(read);
        }
        free(file), free(bytes.at), free(again.at);
        mercer_model_destroy(loaded);
        mercer_model_destroy(model);
        mercer_data_destroy(data);
        unlink(path);
    }
}

static void from_tensors_makes_the_same_model(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        mercer_data *data = data_of(kind);
        mercer_model *model = model_of(kind, data), *made;
        mercer_view views[sizeof tensors / sizeof *tensors];
        const char *names[sizeof tensors / sizeof *tensors], *json;
        int64_t count = 0;
        for (size_t t = 0; t < sizeof tensors / sizeof *tensors; t++) {
            views[count].struct_size = sizeof *views;
            if (mercer_model_tensor(model, tensors[t], &views[count]) == MERCER_OK) names[count++] = tensors[t];
        }
        MUST(mercer_model_info(model, "", &json));
        MUST(mercer_model_from_tensors(&made, context, json, names, views, count));
        static double out[2][N * R];
        mercer_view view = output_view(model, data);
        view.data = out[0];
        MUST(mercer_model_transform(model, NULL, data, &view, 1, NULL));
        view.data = out[1];
        MUST(mercer_model_transform(made, NULL, data, &view, 1, NULL));
        assert_memory_equal(out[0], out[1], sizeof out[0]);
        struct bytes bytes = written(made);
        mercer_model *read;
        MUST(read_back(&read, context, &bytes, 0)); /* the model can also be stored and read */
        free(bytes.at);
        mercer_model_destroy(read), mercer_model_destroy(made), mercer_model_destroy(model);
        mercer_data_destroy(data);
    }
}
/* ---- saving fails ------------------------------------------------------------------------------------------------ */

static int files_in(const char *path) {
    DIR *all = opendir(path);
    int count = -2; /* . and .. */
    while (readdir(all)) count++;
    closedir(all);
    return count;
}

/* Runs `body` in a child, as a user who owns no file here. Failed assertions of a child would be
 * lost, so `body` returns a verdict instead: 0 if all is right. */
static int as_nobody(int (*body)(void *), void *user) {
    pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(90);
        _exit(body(user));
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

struct saving {
    mercer_model *model;
    const char *path;
};
static int save_must_fail(void *user) {
    struct saving *saving = user;
    if (mercer_model_save(saving->model, saving->path) != MERCER_E_IO) return 1;
    return strstr(mercer_last_error(), saving->path) && strstr(mercer_last_error(), "ermission") ? 0 : 2;
}

static void a_failed_save_leaves_the_old_file(void **state) {
    (void)state;
    char inside[4096], path[4200];
    snprintf(inside, sizeof inside, "%s", joined(folder, "inside"));
    snprintf(path, sizeof path, "%s/model", inside);
    assert_int_equal(mkdir(inside, 0755), 0);
    mercer_data *data = data_of(DENSE);
    mercer_model *model = model_of(DENSE, data), *other = model_of(SCALED, data), *loaded;
    MUST(mercer_model_save(model, path));
    size_t size, now;
    unsigned char *before = read_file(path, &size), *after;

    assert_int_equal(chmod(folder, 0755), 0); /* other users must be able to reach `inside` */
    assert_int_equal(chmod(inside, 0555), 0);
    assert_int_equal(chmod(path, 0666), 0);
    struct saving saving = {other, path};
    assert_int_equal(as_nobody(save_must_fail, &saving), 0); /* the folder is read-only */
    assert_int_equal(chmod(inside, 0777), 0);
    assert_int_equal(chmod(path, 0444), 0);
    assert_int_equal(as_nobody(save_must_fail, &saving), 0); /* the file is read-only */
    assert_int_equal(chmod(inside, 0755), 0);
    assert_int_equal(chmod(path, 0644), 0);

    struct rlimit limit, tight;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    signal(SIGXFSZ, SIG_IGN);
    for (rlim_t most = 0; most < 5000; most += 1000) { /* writes beyond `most` bytes fail, as on a full disk */
        tight = limit;
        tight.rlim_cur = most;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
        int32_t status = mercer_model_save(other, path);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        fails(MERCER_E_IO, "too large", status, "save", __FILE__, __LINE__);
    }
    after = read_file(path, &now);
    assert_int_equal(now, size);
    assert_memory_equal(after, before, size);
    free(after);
    assert_int_equal(files_in(inside), 1); /* no temporary file is left */

    MUST(mercer_model_save(other, path)); /* without a fault the file is replaced */
    MUST(mercer_model_load(&loaded, context, path));
    assert_same_model(loaded, other, data);
    assert_int_equal(files_in(inside), 1);
    FAILS(MERCER_E_IO, "/proc/model", mercer_model_save(model, "/proc/model"));
    mercer_model_destroy(loaded), mercer_model_destroy(other), mercer_model_destroy(model);
    mercer_data_destroy(data);
    free(before);
}
int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_comes_back_to_the_bit),
        cmocka_unit_test(from_tensors_makes_the_same_model),
        cmocka_unit_test(a_failed_save_leaves_the_old_file),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
