/* Models as files and as bytes: what comes back is the same to the bit, what is damaged is refused, what stood there
 * before a failure still stands. */
#include "temp_folder.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
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

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

struct bytes {
    unsigned char *at;
    int64_t count, read, piece;
};
static int32_t append(void *user, const void *from, int64_t count) {
    struct bytes *b = user;
    b->at = realloc(b->at, (size_t)(b->count + count + 1));
    memcpy(b->at + b->count, from, (size_t)count);
    b->count += count;
    return 0;
}
static int32_t take(void *user, void *to, int64_t capacity, int64_t *count) {
    struct bytes *b = user;
    *count = b->count - b->read;
    *count = *count < capacity ? *count : capacity;
    if (b->piece && *count > b->piece) *count = b->piece;
    memcpy(to, b->at + b->read, (size_t)*count);
    b->read += *count;
    return 0;
}
static struct bytes written(mercer_model *model) {
    struct bytes b = {0};
    mercer_sink sink = {sizeof sink, append, &b};
    MUST(mercer_model_write(model, &sink));
    return b;
}
static int32_t read_back(mercer_model **out, struct bytes *b, int64_t piece) {
    mercer_source source = {sizeof source, take, b};
    b->read = 0, b->piece = piece;
    return mercer_model_read(out, context, &source);
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

static const char *const tensors[] = {"C",       "C.values", "C.columns", "C.offsets", "indices", "A",
                                      "b",       "nu",       "lambda",    "w",         "v",       "kii",
                                      "T.shift", "T.scale",  "T.columns", "shift.1",   "shift.2", "shift.3"};

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
            MUST(read_back(&read, &bytes, piece));
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
        MUST(read_back(&read, &bytes, 0)); /* and it can be stored */
        free(bytes.at);
        mercer_model_destroy(read), mercer_model_destroy(made), mercer_model_destroy(model);
        mercer_data_destroy(data);
    }
}

/* ---- damage ------------------------------------------------------------------------------------------------------ */

static struct bytes small_model(void) {
    mercer_data *data = new_data(context, x, 6, 2);
    mercer_model *model = model_of(DENSE, data);
    struct bytes bytes = written(model);
    mercer_model_destroy(model);
    mercer_data_destroy(data);
    return bytes;
}

static void every_damaged_byte_is_noticed(void **state) {
    (void)state;
    struct bytes bytes = small_model();
    int64_t accepted = 0;
    for (int64_t i = 0; i < bytes.count; i++)
        for (int bit = 0; bit < 8; bit += 3) {
            mercer_model *model = (void *)&bytes;
            bytes.at[i] ^= (unsigned char)(1 << bit);
            int32_t status = read_back(&model, &bytes, 0);
            bytes.at[i] ^= (unsigned char)(1 << bit);
            if (status != MERCER_E_MODEL || model)
                print_error("bit %d of byte %d: status %d: %s\n", bit, (int)i, (int)status, mercer_last_error()),
                    accepted++;
        }
    print_message("%d bytes\n", (int)bytes.count);
    assert_int_equal(accepted, 0);
    free(bytes.at);
}

static void every_truncation_is_noticed(void **state) {
    (void)state;
    struct bytes bytes = small_model();
    const int64_t whole = bytes.count;
    char path[4096];
    snprintf(path, sizeof path, "%s", joined(folder, "cut.safetensors"));
    mercer_model *model;
    for (bytes.count = 0; bytes.count < whole; bytes.count++) {
        FAILS(MERCER_E_MODEL, "", read_back(&model, &bytes, 0));
        if (bytes.count % 16 < 2) {
            write_file(path, bytes.at, (size_t)bytes.count);
            FAILS(MERCER_E_MODEL, "cut.safetensors", mercer_model_load(&model, context, path));
        }
    }
    unsigned char *longer = calloc(1, (size_t)whole + 9);
    memcpy(longer, bytes.at, (size_t)whole);
    for (int more = 1; more < 9; more += 7) {
        write_file(path, longer, (size_t)(whole + more));
        FAILS(MERCER_E_MODEL, "follow", mercer_model_load(&model, context, path));
    }
    write_file(path, longer, (size_t)whole);
    MUST(mercer_model_load(&model, context, path));
    mercer_model_destroy(model);
    unlink(path);
    free(longer), free(bytes.at);
}

/* A length of the header that no memory could hold, and bytes that never end. */
static int32_t endless(void *user, void *to, int64_t capacity, int64_t *count) {
    memset(to, *(int *)user, (size_t)capacity);
    *count = capacity;
    return 0;
}
static void false_lengths(void **state) {
    (void)state;
    mercer_model *model;
    for (int byte = 0; byte < 256; byte += 51) {
        mercer_source source = {sizeof source, endless, &byte};
        FAILS(MERCER_E_MODEL, "", mercer_model_read(&model, context, &source));
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

/* Runs body as a user who owns nothing here; its failed assertions would be lost, so it returns a verdict. */
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

    assert_int_equal(chmod(folder, 0755), 0); /* so that others can get there */
    assert_int_equal(chmod(inside, 0555), 0);
    assert_int_equal(chmod(path, 0666), 0);
    struct saving saving = {other, path};
    assert_int_equal(as_nobody(save_must_fail, &saving), 0); /* the folder is closed */
    assert_int_equal(chmod(inside, 0777), 0);
    assert_int_equal(chmod(path, 0444), 0);
    assert_int_equal(as_nobody(save_must_fail, &saving), 0); /* the file is closed */
    assert_int_equal(chmod(inside, 0755), 0);
    assert_int_equal(chmod(path, 0644), 0);

    struct rlimit limit, tight;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    signal(SIGXFSZ, SIG_IGN);
    for (rlim_t most = 0; most < 5000; most += 1000) { /* the disk is full after so many bytes */
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

    MUST(mercer_model_save(other, path)); /* and now it is replaced */
    MUST(mercer_model_load(&loaded, context, path));
    assert_same_model(loaded, other, data);
    assert_int_equal(files_in(inside), 1);
    FAILS(MERCER_E_IO, "/proc/model", mercer_model_save(model, "/proc/model"));
    mercer_model_destroy(loaded), mercer_model_destroy(other), mercer_model_destroy(model);
    mercer_data_destroy(data);
    free(before);
}

/* ---- hostile tensors and text ------------------------------------------------------------------------------------ */

enum { M = 4, COLS = 2, COMPONENTS = 2 };
static double centres[M * COLS] = {0, 1, 2, 3, 4, 5, 6, 7}, coefficients[64], ones[64];
static int64_t whole[64];

struct given {
    const char *names[8];
    mercer_view views[8];
    int64_t count;
};
static struct given sound(void) {
    struct given g = {{"C", "A"}, {doubles(centres, M, COLS), doubles(coefficients, M, COMPONENTS)}, 2};
    for (int i = 0; i < 64; i++) coefficients[i] = 0.25 * i, ones[i] = 1;
    return g;
}
static struct given plus(struct given g, const char *name, mercer_view view) {
    g.names[g.count] = name;
    g.views[g.count++] = view;
    return g;
}
static struct given instead(mercer_view centre_view, mercer_view a) {
    struct given g = sound();
    g.views[0] = centre_view, g.views[1] = a;
    return g;
}

/* All rows of a test are tried before it fails. */
static int accepted;
#define REFUSED(part, json, given) refused((part), (json), (given), __LINE__)
static void refused(const char *part, const char *json, struct given g, int line) {
    mercer_model *model = (void *)&g;
    int32_t status = mercer_model_from_tensors(&model, context, json, g.names, g.views, g.count);
    if (status == MERCER_E_MODEL && strstr(mercer_last_error(), part) && !model) return;
    accepted++;
    print_error("files.c:%d: %.150s\n  status %d, '%.200s', not '%s'%s\n", line, json, (int)status,
                status ? mercer_last_error() : "", part, status && model ? ", *out is not NULL" : "");
    if (status == MERCER_OK) mercer_model_destroy(model);
}
static void all_were_refused(void) {
    int count = accepted;
    accepted = 0;
    assert_int_equal(count, 0);
}

static const char linear[] = "{\"kernel\": \"linear\"}";

static void what_is_sound_is_taken(void **state) {
    (void)state;
    struct given g = plus(plus(sound(), "lambda", doubles(ones, COMPONENTS, 1)), "w", doubles(ones, M, 1));
    static const char *const texts[] = {
        "{\"kernel\": \"linear\"}",
        "{\"kernel\": \"gaussian\", \"parameters\": {\"kernel.sigma\": 2}}",
        "{\"kernel\": \"rbf[1]\", \"parameters\": {\"kernel.gamma\": \"0.5\"}, \"n\": 9, \"total_variance\": 3}",
        "{\"kernel\": \"linear\", \"capabilities\": [\"density\"], \"outcome\": [\"rank_reached\"]}",
        "{\"kernel\": \"linear\", \"something\": {\"else\": []}}",
    };
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        mercer_model *model;
        MUST(mercer_model_from_tensors(&model, context, texts[t], g.names, g.views, g.count));
        mercer_model_destroy(model);
    }
    /* column-major arrays and a linear kernel: f(x) = x^T C^T A */
    double turned[M * COMPONENTS], out[COMPONENTS], point[] = {1, 10};
    for (int i = 0; i < M; i++)
        for (int j = 0; j < COMPONENTS; j++) turned[j * M + i] = coefficients[i * COMPONENTS + j];
    g = sound();
    g.views[1] = (mercer_view){sizeof(mercer_view), MERCER_F64, 0, M, COMPONENTS, 1, M, turned};
    mercer_model *model;
    MUST(mercer_model_from_tensors(&model, context, linear, g.names, g.views, g.count));
    mercer_data *data = new_data(context, point, 1, COLS);
    mercer_view view = doubles(out, 1, COMPONENTS);
    MUST(mercer_model_transform(model, NULL, data, &view, 1, NULL));
    for (int j = 0; j < COMPONENTS; j++) {
        double expected = 0;
        for (int i = 0; i < M; i++)
            expected += (centres[i * COLS] + 10 * centres[i * COLS + 1]) * coefficients[i * COMPONENTS + j];
        assert_true(fabs(out[j] - expected) <= 1e-12 * fabs(expected));
    }
    mercer_data_destroy(data);
    mercer_model_destroy(model);
}

static void hostile_texts(void **state) {
    (void)state;
    static const struct {
        const char *json, *part;
    } cases[] = {
        {"", "JSON"},
        {"{", "JSON"},
        {"{\"kernel\": \"linear\"} x", "JSON"},
        {"{\"kernel\": 1e999}", "JSON"},
        {"{\"kernel\": \"\xff\xfe\"}", "JSON"},
        {"[]", "object"},
        {"null", "object"},
        {"\"linear\"", "object"},
        {"{}", "'kernel'"},
        {"{\"kernel\": 7}", "'kernel'"},
        {"{\"kernel\": null}", "'kernel'"},
        {"{\"kernel\": [\"linear\"]}", "'kernel'"},
        {"{\"kernel\": \"\"}", "name"},
        {"{\"kernel\": \"../../tmp/evil\"}", "expected"},
        {"{\"kernel\": \"/tmp/kernel-evil.so\"}", "name"},
        {"{\"kernel\": \"linear[5]\"}", "column 5"},
        {"{\"kernel\": \"linear[0-\"}", "column"},
        {"{\"kernel\": \"linear\", \"format\": 2}", "format"},
        {"{\"kernel\": \"linear\", \"format\": \"1\"}", "'format'"},
        {"{\"kernel\": \"linear\", \"requires\": [\"telepathy\"]}", "telepathy"},
        {"{\"kernel\": \"linear\", \"requires\": \"telepathy\"}", "telepathy"},
        {"{\"kernel\": \"linear\", \"requires\": {\"a\": 1}}", "requires"},
        {"{\"kernel\": \"linear\", \"n\": -1}", "'n'"},
        {"{\"kernel\": \"linear\", \"n\": 0}", "n = 0"},
        {"{\"kernel\": \"linear\", \"n\": 1e300}", "'n'"},
        {"{\"kernel\": \"linear\", \"n\": \"4\"}", "'n'"},
        {"{\"kernel\": \"linear\", \"n\": [4]}", "'n'"},
        {"{\"kernel\": \"linear\", \"total_variance\": \"big\"}", "'total_variance'"},
        {"{\"kernel\": \"linear\", \"total_variance\": {\"value\": []}}", "'value'"},
        {"{\"kernel\": \"linear\", \"mean_square\": \"0\"}", "'mean_square'"},
        {"{\"kernel\": \"linear\", \"capabilities\": [\"flight\"]}", "flight"},
        {"{\"kernel\": \"linear\", \"capabilities\": [1]}", "capability"},
        {"{\"kernel\": \"linear\", \"capabilities\": 3}", "capability"},
        {"{\"kernel\": \"linear\", \"outcome\": {\"x\": \"y\"}}", "outcome"},
        {"{\"kernel\": \"linear\", \"capabilities\": [\"mean\"]}", "'nu'"},
        {"{\"kernel\": \"linear\", \"capabilities\": [\"density\"]}", "'w'"},
        {"{\"kernel\": \"linear\", \"capabilities\": [\"residual\"]}", "orthonormal"},
        {"{\"kernel\": \"gaussian\"}", "bandwidth"},
        {"{\"kernel\": \"gaussian\", \"parameters\": {\"kernel.sigma\": -1}}", "sigma = -1"},
        {"{\"kernel\": \"gaussian\", \"parameters\": {\"kernel.sigma\": \"wide\"}}", "sigma = wide"},
        {"{\"kernel\": \"gaussian\", \"parameters\": {\"kernel.sigma\": null}}", "sigma"},
        {"{\"kernel\": \"gaussian\", \"parameters\": {\"kernel.sigma\": [1]}}", "sigma"},
        {"{\"kernel\": \"gaussian\", \"parameters\": {\"kernel.sigma\": {\"x\": 1}}}", "sigma"},
        {"{\"kernel\": \"gaussian\", \"parameters\": {\"kernel.sigma\": 1, \"kernel.gamma\": 1}}", "only one"},
        {"{\"kernel\": \"gaussian\", \"parameters\": [1, 2]}", ""},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) REFUSED(cases[c].part, cases[c].json, sound());
    all_were_refused();
}

static void long_texts(void **state) {
    (void)state;
    enum { DEEP = 200000 };
    char *text = malloc(2 * DEEP + 100);
    memset(text, '[', DEEP);
    memset(text + DEEP, ']', DEEP);
    text[2 * DEEP] = '\0';
    REFUSED("nested too deeply", text, sound());
    text[DEEP] = '\0';
    REFUSED("", text, sound());
    strcpy(text, "{\"kernel\": \"linear");
    memset(text + strlen(text), ' ', DEEP);
    strcpy(text + DEEP, " evil\"}");
    REFUSED("", text, sound());
    char *at = text + sprintf(text, "{\"kernel\": \"linear");
    for (int i = 0; i < 20000; i++) at += sprintf(at, " + linear");
    strcpy(at, "[9]\"}");
    REFUSED("", text, sound());
    free(text);
    all_were_refused();

    struct given g = sound();
    mercer_model *model = (void *)&g;
    FAILS(MERCER_E_NAME, "'linaer'",
          mercer_model_from_tensors(&model, context, "{\"kernel\": \"linaer\"}", g.names, g.views, 2));
    assert_null(model);
}

static void hostile_tensors(void **state) {
    (void)state;
    const mercer_view c = doubles(centres, M, COLS), a = doubles(coefficients, M, COMPONENTS);
    double nan[M * COMPONENTS] = {0};
    nan[3] = NAN;
    struct given none = sound(), only_c = sound(), only_a = sound(), twice = plus(sound(), "A", a);
    none.count = 0, only_c.count = 1, only_a.count = 1, only_a.names[0] = "A", only_a.views[0] = a;
    REFUSED("'A'", linear, none);
    REFUSED("'A'", linear, only_c);
    REFUSED("one of the tensors", linear, only_a);
    REFUSED("twice", linear, twice);
    REFUSED("'A'", linear, instead(c, doubles(coefficients, M + 1, COMPONENTS)));
    REFUSED("i64", linear, instead(c, view_of(whole, MERCER_I64, M, COMPONENTS)));
    REFUSED("type", linear, instead(c, view_of(coefficients, MERCER_F32, M, COMPONENTS)));
    REFUSED("type", linear, instead(view_of(whole, MERCER_I64, M, COLS), a));
    REFUSED("not finite", linear, instead(c, doubles(nan, M, COMPONENTS)));
    REFUSED("not finite", linear, instead(doubles(nan, M, COLS), a));
    REFUSED("", linear, instead(doubles(centres, 0, COLS), a));
    REFUSED("one of the tensors", linear, plus(sound(), "frequencies", c));
    REFUSED("'lambda'", linear, plus(sound(), "lambda", doubles(ones, COMPONENTS + 1, 1)));
    REFUSED("'lambda'", linear, plus(sound(), "lambda", doubles(ones, 1, COMPONENTS)));
    REFUSED("'lambda'", linear, plus(sound(), "lambda", view_of(ones, MERCER_F32, COMPONENTS, 1)));
    REFUSED("'b'", linear, plus(sound(), "b", doubles(ones, 1, 1)));
    REFUSED("'nu'", linear, plus(sound(), "nu", doubles(ones, M - 1, 1)));
    REFUSED("'w'", linear, plus(sound(), "w", doubles(ones, M, 2)));
    REFUSED("'v'", linear, plus(sound(), "v", view_of(whole, MERCER_I64, M, 1)));
    REFUSED("come together", linear, plus(sound(), "T.scale", doubles(ones, COLS, 1)));
    REFUSED("'T.shift'", linear,
            plus(plus(sound(), "T.scale", doubles(ones, COLS, 1)), "T.shift", doubles(ones, COLS + 1, 1)));
    REFUSED("'shift.1'", linear, plus(sound(), "shift.1", doubles(ones, COLS, 1))); /* a kernel that takes none */

    static const char gaussian[] = "{\"kernel\": \"gaussian\", \"parameters\": {\"kernel.sigma\": 1}}";
    REFUSED("'shift.1'", gaussian, plus(sound(), "shift.1", doubles(ones, COLS + 1, 1)));
    REFUSED("'shift.1'", gaussian, plus(sound(), "shift.1", view_of(ones, MERCER_F32, COLS, 1)));
    REFUSED("'shift.1'", gaussian, plus(sound(), "shift.1", doubles(ones, 1, COLS))); /* as many, but no column */
    all_were_refused();
}

static struct given sparse_set(mercer_view values, mercer_view column_view, mercer_view offset_view) {
    struct given g = {{"A", "C.values", "C.columns", "C.offsets"},
                      {doubles(coefficients, M, COMPONENTS), values, column_view, offset_view},
                      4};
    return g;
}

/* Sides that no byte vouches for, and row numbers that nobody has. */
static void hostile_sets_of_centres(void **state) {
    (void)state;
    static int64_t starts[] = {0, 1, 2, 3, 3}, at[] = {0, 1, 1}, beyond[] = {0, 1, 7}, below[] = {0, -1, 1};
    static int64_t falling[] = {0, 3, 2, 3, 3}, far[] = {0, 1, 2, INT64_C(1) << 60}, minus[] = {0, 1, -2, 3};
    static int64_t wrapped[] = {0, 1, (INT64_C(1) << 32) + 1}, negative[] = {0, 1, (INT64_C(1) << 31) + 1};
    static const char two[] = "{\"kernel\": \"linear\", \"d\": 2}", none[] = "{\"kernel\": \"linear\"}";
    static const char wide[] = "{\"kernel\": \"linear\", \"d\": 8589934592}",
                      odd[] = "{\"kernel\": \"linear\", \"d\": \"2\"}";
    const mercer_view values = doubles(ones, 3, 1), indices = view_of(at, MERCER_I64, 3, 1);
    const mercer_view first = view_of(starts, MERCER_I64, M + 1, 1);
    struct given good = sparse_set(values, indices, first);
    mercer_model *model;
    MUST(mercer_model_from_tensors(&model, context, two, good.names, good.views, good.count));
    mercer_model_destroy(model);

    REFUSED("C.values", none, good); /* no d: no columns */
    REFUSED("'d'", odd, good);
    REFUSED("C.values", two, sparse_set(values, view_of(beyond, MERCER_I64, 3, 1), first));
    REFUSED("C.values", two, sparse_set(values, view_of(below, MERCER_I64, 3, 1), first));
    REFUSED("C.values", two, sparse_set(values, indices, view_of(falling, MERCER_I64, M + 1, 1)));
    REFUSED("C.values", two, sparse_set(values, indices, view_of(starts, MERCER_I64, 0, 1)));
    REFUSED("C.values", two, sparse_set(values, doubles(ones, 3, 1), first));
    REFUSED("C.values", two, sparse_set(doubles(ones, 2, 1), indices, first));
    REFUSED("", wide,
            sparse_set(values, view_of(wrapped, MERCER_I64, 3, 1), first)); /* more columns than 32 bits number */
    REFUSED("", wide, sparse_set(values, view_of(negative, MERCER_I64, 3, 1), first));
    struct given missing = good;
    missing.count = 3;
    REFUSED("do not fit", two, missing);
    /* no entries, whatever their number of rows says */
    REFUSED("", two, sparse_set(doubles(NULL, 1 << 20, 0), view_of(NULL, MERCER_I64, 1 << 20, 0), first));
    REFUSED("", two, sparse_set(values, indices, view_of(NULL, MERCER_I64, 1 << 20, 0)));
    static int64_t many[] = {0, 0, 0, 0, 1 << 20};
    REFUSED("", two,
            sparse_set(doubles(NULL, 1 << 20, 0), view_of(NULL, MERCER_I64, 1 << 20, 0),
                       view_of(many, MERCER_I64, M + 1, 1)));

    static const char user[] = "{\"kernel\": \"user\", \"n\": 10}";
    struct given objects = {
        {"indices", "A"}, {view_of(starts, MERCER_I64, M, 1), doubles(coefficients, M, COMPONENTS)}, 2};
    MUST(mercer_model_from_tensors(&model, context, user, objects.names, objects.views, 2));
    mercer_model_destroy(model);
    objects.views[0].data = minus;
    REFUSED("is row -2 of 10", user, objects);
    objects.views[0].data = far; /* the caller's callback would be asked for it */
    REFUSED("'indices'", user, objects);
    objects.views[0] = doubles(ones, M, 1);
    REFUSED("i64", user, objects);
    objects.views[0] = view_of(NULL, MERCER_I64, 1 << 20, 0);
    objects.views[1] = doubles(NULL, 1 << 20, 0);
    REFUSED("", user, objects);
    all_were_refused();
}

/* What can be made can be stored, or is refused when it is made. */
static void odd_names_of_tensors(void **state) {
    (void)state;
    static const char *const odd[] = {"", "a b", "a\"b", "__metadata__", "line\nbreak", "back\\slash"};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        struct given g = plus(sound(), odd[i], doubles(ones, 1, 1));
        REFUSED("", linear, g);
    }
    all_were_refused();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_comes_back_to_the_bit),
        cmocka_unit_test(from_tensors_makes_the_same_model),
        cmocka_unit_test(every_damaged_byte_is_noticed),
        cmocka_unit_test(every_truncation_is_noticed),
        cmocka_unit_test(false_lengths),
        cmocka_unit_test(a_failed_save_leaves_the_old_file),
        cmocka_unit_test(what_is_sound_is_taken),
        cmocka_unit_test(hostile_texts),
        cmocka_unit_test(long_texts),
        cmocka_unit_test(hostile_tensors),
        cmocka_unit_test(hostile_sets_of_centres),
        cmocka_unit_test(odd_names_of_tensors),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
