/* Wrong arguments, a row each: the status, and a text that says what was seen and what is allowed; what a constructor
 * was to fill is NULL. The rows are counted: at least 60, all different, at most 20 of them a null pointer. */
#include "temp_folder.h"

#include <math.h>

enum { N = 6, D = 2, R = 2 };

static struct {
    mercer_context *context;
    mercer_data *data;
    mercer_recipe *recipe, *scores, *density;
    mercer_model *model;
    double x[N * D], out[N * 8];
    /* what constructors fill */
    mercer_context *new_context;
    mercer_data *new_data;
    mercer_recipe *new_recipe;
    mercer_model *new_model;
} f;

static struct {
    const char *rows[400];
    int count, nulls, wrong;
} table;

/* One row: NEW for a constructor of f.new_##what, BAD for all else. saw and allowed are parts of the text. */
#define BAD(code, saw, allowed, ...) row((code), (saw), (allowed), NULL, (__VA_ARGS__), #__VA_ARGS__, __LINE__)
#define NEW(what, code, saw, allowed, ...)                                                                             \
    do {                                                                                                               \
        f.new_##what = (void *)&f;                                                                                     \
        int32_t status_ = (__VA_ARGS__);                                                                               \
        row((code), (saw), (allowed), (void **)&f.new_##what, status_, #__VA_ARGS__, __LINE__);                        \
    } while (0)

static void row(int32_t code, const char *saw, const char *allowed, void **out, int32_t status, const char *call,
                int line) {
    const char *text = mercer_last_error();
    for (int i = 0; i < table.count; i++)
        if (strcmp(table.rows[i], call) == 0) fail_msg("line %d: this row is there twice: %s", line, call);
    assert_true(table.count < 400);
    table.rows[table.count++] = call;
    table.nulls += strcmp(saw, "NULL") == 0;
    if (status == code && strstr(text, saw) && strstr(text, allowed) && !strchr(text, '\n') && (!out || !*out)) return;
    table.wrong++;
    print_error("misuse.c:%d: %s\n  status %d (not %d), text '%s' (not '%s' and '%s')%s\n", line, call, (int)status,
                (int)code, text, saw, allowed, out && *out ? ", *out is not NULL" : "");
}

static int begin(void **state) {
    (void)state;
    double *values = noise(N * D);
    memcpy(f.x, values, sizeof f.x);
    free(values);
    f.context = new_context();
    f.data = new_data(f.context, f.x, N, D);
    f.recipe = new_recipe(f.context, "components", "2", NULL);
    MUST(mercer_recipe_create(&f.scores, f.context, "scores"));
    MUST(mercer_recipe_create(&f.density, f.context, "density"));
    MUST(mercer_model_fit(&f.model, f.recipe, f.data, NULL));
    return 0;
}

static int end(void **state) {
    (void)state;
    mercer_model_destroy(f.model);
    mercer_recipe_destroy(f.density);
    mercer_recipe_destroy(f.scores);
    mercer_recipe_destroy(f.recipe);
    mercer_data_destroy(f.data);
    mercer_context_destroy(f.context);
    return 0;
}

static void finish_rows(void) {
    int wrong = table.wrong;
    table.wrong = 0;
    assert_int_equal(wrong, 0);
}

static mercer_view with(int64_t rows, int64_t cols, int64_t row_stride, int64_t col_stride) {
    return (mercer_view){sizeof(mercer_view), MERCER_F64, 0, rows, cols, row_stride, col_stride, f.x};
}

static void null_pointers(void **state) {
    (void)state;
    int64_t count = 0;
    mercer_view view = doubles(f.x, N, D), empty = doubles(NULL, N, D);
    const char *value = "1";
    mercer_chunks chunks = {.struct_size = sizeof chunks, .dtype = MERCER_F64, .rows = 3, .cols = 1};
    mercer_objects objects = {.struct_size = sizeof objects, .rows = 3, .values = MERCER_DISTANCE};
    mercer_sparse sparse = {sizeof sparse, MERCER_CSR, MERCER_F64, MERCER_I64, 0, 2, 2, 0, NULL, NULL, NULL};
    mercer_user_kernel kernel = {.struct_size = sizeof kernel};
    mercer_sink sink = {.struct_size = sizeof sink};
    mercer_source source = {.struct_size = sizeof source};
    BAD(MERCER_E_ARGUMENT, "NULL", "out", mercer_context_create(NULL));
    BAD(MERCER_E_ARGUMENT, "NULL", "context", mercer_context_add_plugins(NULL, "/tmp"));
    BAD(MERCER_E_ARGUMENT, "NULL", "folder", mercer_context_add_plugins(f.context, NULL));
    BAD(MERCER_E_ARGUMENT, "NULL", "what", mercer_context_count(f.context, NULL, &count));
    BAD(MERCER_E_ARGUMENT, "NULL", "count", mercer_context_count(f.context, "kernels", NULL));
    NEW(data, MERCER_E_ARGUMENT, "NULL", "context", mercer_data_from_view(&f.new_data, NULL, &view));
    NEW(data, MERCER_E_ARGUMENT, "NULL", "view", mercer_data_from_view(&f.new_data, f.context, NULL));
    NEW(data, MERCER_E_ARGUMENT, "NULL", "data", mercer_data_from_view(&f.new_data, f.context, &empty));
    NEW(data, MERCER_E_ARGUMENT, "NULL", "next", mercer_data_from_chunks(&f.new_data, f.context, &chunks));
    NEW(data, MERCER_E_ARGUMENT, "NULL", "offsets", mercer_data_from_sparse(&f.new_data, f.context, &sparse));
    NEW(data, MERCER_E_ARGUMENT, "NULL", "pairs", mercer_data_from_objects(&f.new_data, f.context, &objects));
    NEW(recipe, MERCER_E_ARGUMENT, "NULL", "name", mercer_recipe_create(&f.new_recipe, f.context, NULL));
    BAD(MERCER_E_ARGUMENT, "NULL", "value", mercer_recipe_set(f.recipe, "sigma", NULL));
    BAD(MERCER_E_ARGUMENT, "NULL", "names", mercer_recipe_set_many(f.recipe, NULL, &value, 1));
    NEW(model, MERCER_E_ARGUMENT, "NULL", "recipe", mercer_model_fit(&f.new_model, NULL, f.data, NULL));
    NEW(model, MERCER_E_ARGUMENT, "NULL", "data", mercer_model_fit(&f.new_model, f.recipe, NULL, NULL));
    BAD(MERCER_E_ARGUMENT, "NULL", "outs", mercer_model_transform(f.model, NULL, f.data, NULL, 1, NULL));
    BAD(MERCER_E_ARGUMENT, "NULL", "tile", mercer_recipe_set_kernel(f.recipe, &kernel));
    BAD(MERCER_E_ARGUMENT, "NULL", "write", mercer_model_write(f.model, &sink));
    NEW(model, MERCER_E_ARGUMENT, "NULL", "read", mercer_model_read(&f.new_model, f.context, &source));
    finish_rows();
}

static void names(void **state) {
    (void)state;
    int64_t count = 0;
    mercer_entry entry = {.struct_size = sizeof entry};
    mercer_view view = doubles(f.x, N, 1);
    const char *value, *part[] = {"kernel"};
    BAD(MERCER_E_NAME, "'kernel'", "'kernels'", mercer_context_count(f.context, "kernel", &count));
    BAD(MERCER_E_NAME, "'gausian'", "'gaussian'", mercer_context_find(f.context, "kernels", "gausian", &entry));
    BAD(MERCER_E_NAME, "'pca'", "'kpca'", mercer_context_find(f.context, "methods", "pca", &entry));
    BAD(MERCER_E_NAME, "'wieghted'", "'weighted'", mercer_context_find(f.context, "lifts", "wieghted", &entry));
    BAD(MERCER_E_NAME, "'dens'", "'dense'", mercer_context_find(f.context, "solvers", "dens", &entry));
    NEW(recipe, MERCER_E_NAME, "'kpac'", "'kpca'", mercer_recipe_create(&f.new_recipe, f.context, "kpac"));
    NEW(recipe, MERCER_E_NAME, "'residuals'", "'residual'",
        mercer_recipe_create(&f.new_recipe, f.context, "residuals"));
    NEW(recipe, MERCER_E_NAME, "'wholly-unknown'", "known are kpca",
        mercer_recipe_create(&f.new_recipe, f.context, "wholly-unknown"));
    NEW(recipe, MERCER_E_NAME, "''", "kpca", mercer_recipe_create(&f.new_recipe, f.context, ""));
    BAD(MERCER_E_NAME, "'kernel.sgima'", "'kernel.sigma'", mercer_recipe_set(f.recipe, "kernel.sgima", "1"));
    BAD(MERCER_E_NAME, "'sigam'", "'sigma'", mercer_recipe_set_real(f.recipe, "sigam", 1));
    BAD(MERCER_E_NAME, "'componets'", "'components'", mercer_recipe_get(f.recipe, "componets", &value));
    BAD(MERCER_E_NAME, "'unifrom'", "'uniform'", mercer_recipe_set(f.recipe, "reducer", "unifrom"));
    BAD(MERCER_E_NAME, "'danse'", "'dense'", mercer_recipe_set(f.recipe, "solver", "danse"));
    BAD(MERCER_E_NAME, "'weigthed'", "'weighted'", mercer_recipe_set(f.recipe, "lift", "weigthed"));
    BAD(MERCER_E_NAME, "'laplacain'", "'laplacian'", mercer_recipe_set(f.recipe, "kernel", "laplacain"));
    BAD(MERCER_E_NAME, "'rbff'", "'rbf'", mercer_recipe_set(f.recipe, "kernel", "linear + 2 rbff"));
    BAD(MERCER_E_NAME, "'sigma'", "none", mercer_recipe_set(f.density, "sigma", "1"));
    BAD(MERCER_E_NAME, "'sigma'", "known are whiten", mercer_recipe_set(f.scores, "sigma", "1"));
    BAD(MERCER_E_NAME, "'whitten'", "'whiten'", mercer_recipe_set_real(f.scores, "whitten", 1));
    BAD(MERCER_E_NAME, "'kernel'", "whiten", mercer_recipe_set_many(f.scores, part, part, 1));
    BAD(MERCER_E_NAME, "'weight'", "'weights'", mercer_data_attach(f.data, "weight", &view));
    BAD(MERCER_E_NAME, "'lamda'", "'lambda'", mercer_model_tensor(f.model, "lamda", &view));
    finish_rows();
}

static void parameters(void **state) {
    (void)state;
    const char *pair[] = {"sigma", "gamma"}, *ones[] = {"1", "1"};
    BAD(MERCER_E_VALUE, "sigma = 0", "> 0", mercer_recipe_set(f.recipe, "sigma", "0"));
    BAD(MERCER_E_VALUE, "sigma = -1", "> 0", mercer_recipe_set(f.recipe, "kernel.sigma", "-1"));
    BAD(MERCER_E_VALUE, "sigma = wide", "> 0", mercer_recipe_set(f.recipe, "sigma", "wide"));
    BAD(MERCER_E_VALUE, "sigma = 1e999", "> 0", mercer_recipe_set(f.recipe, "sigma", "1e999"));
    BAD(MERCER_E_VALUE, "sigma = 1,5", "> 0", mercer_recipe_set(f.recipe, "sigma", "1,5"));
    BAD(MERCER_E_VALUE, "sigma = 5 mm", "> 0", mercer_recipe_set(f.recipe, "sigma", "5 mm"));
    BAD(MERCER_E_VALUE, "sigma = nan", "> 0", mercer_recipe_set_real(f.recipe, "sigma", NAN));
    BAD(MERCER_E_VALUE, "sigma = inf", "> 0", mercer_recipe_set_real(f.recipe, "sigma", INFINITY));
    BAD(MERCER_E_VALUE, "accuracy = 0", "> 0", mercer_recipe_set(f.recipe, "accuracy", "0"));
    BAD(MERCER_E_VALUE, "accuracy = -1", "> 0", mercer_recipe_set(f.recipe, "accuracy", "-1"));
    BAD(MERCER_E_VALUE, "report.delta = 1", "< 1", mercer_recipe_set(f.recipe, "delta", "1"));
    BAD(MERCER_E_VALUE, "output.variance = 2", "<= 1", mercer_recipe_set(f.recipe, "variance", "2"));
    BAD(MERCER_E_VALUE, "report.certificates = all", "none, cheap", mercer_recipe_set(f.recipe, "certificates", "all"));
    BAD(MERCER_E_VALUE, "components = -3", ">= 0", mercer_recipe_set_real(f.recipe, "components", -3));
    BAD(MERCER_E_VALUE, "components = 2.5", ">= 0", mercer_recipe_set(f.recipe, "components", "2.5"));
    BAD(MERCER_E_VALUE, "components = 1e300", ">= 0", mercer_recipe_set(f.recipe, "components", "1e300"));
    BAD(MERCER_E_VALUE, "components = 99999999999999999999", ">= 0",
        mercer_recipe_set(f.recipe, "components", "99999999999999999999"));
    BAD(MERCER_E_VALUE, "seed = -1", ">= 0", mercer_recipe_set(f.recipe, "seed", "-1"));
    BAD(MERCER_E_VALUE, "seed = 9007199254740993", "<= 9007199254740992",
        mercer_recipe_set(f.recipe, "seed", "9007199254740993"));
    BAD(MERCER_E_VALUE, "tol = 0", "> 0", mercer_recipe_set(f.recipe, "solver.tol", "0"));
    BAD(MERCER_E_VALUE, "tol = 1.5", "<= 1", mercer_recipe_set(f.recipe, "solver.tol", "1.5"));
    BAD(MERCER_E_VALUE, "max_passes = -1", ">= 0", mercer_recipe_set(f.recipe, "solver.max_passes", "-1"));
    BAD(MERCER_E_VALUE, "whiten = maybe", "true or false", mercer_recipe_set(f.scores, "whiten", "maybe"));
    BAD(MERCER_E_VALUE, "strict = maybe", "true or false", mercer_recipe_set(f.recipe, "solver.strict", "maybe"));
    BAD(MERCER_E_VALUE, "storage = f16", "auto, stream, f64, f32", mercer_recipe_set(f.recipe, "gram.storage", "f16"));
    BAD(MERCER_E_VALUE, "scale = Standard", "none, standard, minmax",
        mercer_recipe_set(f.recipe, "data.scale", "Standard"));
    BAD(MERCER_E_VALUE, "bandwidth = medain", "median, mean, scale",
        mercer_recipe_set(f.recipe, "bandwidth", "medain"));
    BAD(MERCER_E_VALUE, "gamma", "only one", mercer_recipe_set_many(f.recipe, pair, ones, 2));
    BAD(MERCER_E_VALUE, "-1", ">= 0", mercer_recipe_set_many(f.recipe, pair, ones, -1));
    BAD(MERCER_E_VALUE, "gaussian[0-", "column", mercer_recipe_set(f.recipe, "kernel", "gaussian[0-"));
    BAD(MERCER_E_VALUE, "gaussian[5-2]", "ascending", mercer_recipe_set(f.recipe, "kernel", "gaussian[5-2]"));
    BAD(MERCER_E_VALUE, "gaussian +", "name", mercer_recipe_set(f.recipe, "kernel", "gaussian +"));
    BAD(MERCER_E_VALUE, "weight of 0", "> 0", mercer_recipe_set(f.recipe, "kernel", "0 gaussian"));
    BAD(MERCER_E_VALUE, "gaussian linear", "character 10", mercer_recipe_set(f.recipe, "kernel", "gaussian linear"));
    BAD(MERCER_E_VALUE, "(linear)", "name", mercer_recipe_set(f.recipe, "kernel", "(linear)"));
    finish_rows();
}

static void indices_and_runs(void **state) {
    (void)state;
    mercer_entry entry = {.struct_size = sizeof entry}, small_entry = {.struct_size = 4};
    mercer_row public_row = {.struct_size = sizeof public_row};
    mercer_forecast forecast = {.struct_size = 0};
    mercer_summary summary = {.struct_size = 1 << 20};
    mercer_run run[] = {{.struct_size = sizeof(mercer_run), .threads = -1},
                        {.struct_size = sizeof(mercer_run), .threads = 5000},
                        {.struct_size = sizeof(mercer_run), .memory = -5},
                        {.struct_size = 0},
                        {.struct_size = 5000},
                        {.struct_size = sizeof(mercer_run), .memory = 1000}};
    BAD(MERCER_E_VALUE, "-1", "0 to 4", mercer_context_entry(f.context, "methods", -1, &entry));
    BAD(MERCER_E_VALUE, "1000", "0 to 15", mercer_context_entry(f.context, "statuses", 1000, &entry));
    BAD(MERCER_E_ARGUMENT, "4", "56", mercer_context_entry(f.context, "statuses", 0, &small_entry));
    BAD(MERCER_E_VALUE, "row -1", "0 to ", mercer_recipe_row(f.recipe, -1, &public_row));
    BAD(MERCER_E_VALUE, "row 1000", "0 to ", mercer_recipe_row(f.recipe, 1000, &public_row));
    BAD(MERCER_E_VALUE, "row 0", "none", mercer_recipe_row(f.density, 0, &public_row));
    BAD(MERCER_E_VALUE, "row 1", "0 to 0", mercer_recipe_row(f.scores, 1, &public_row));
    BAD(MERCER_E_VALUE, "threads = -1", "0 to 1024", mercer_context_set_run(f.context, &run[0]));
    BAD(MERCER_E_VALUE, "threads = 5000", "0 to 1024", mercer_context_set_run(f.context, &run[1]));
    BAD(MERCER_E_VALUE, "memory = -5", ">= 0", mercer_context_set_run(f.context, &run[2]));
    BAD(MERCER_E_ARGUMENT, "struct_size = 0", "sizeof", mercer_context_set_run(f.context, &run[3]));
    NEW(model, MERCER_E_ARGUMENT, "struct_size = 5000", "sizeof",
        mercer_model_fit(&f.new_model, f.recipe, f.data, &run[4]));
    NEW(model, MERCER_E_BUDGET, "need 1.", "memory budget of 0.001 MiB",
        mercer_model_fit(&f.new_model, f.recipe, f.data, &run[5]));
    BAD(MERCER_E_ARGUMENT, "struct_size = 0", "88", mercer_recipe_forecast(f.recipe, f.data, NULL, &forecast));
    BAD(MERCER_E_ARGUMENT, "struct_size = 1048576", "64", mercer_model_summary(f.model, &summary));
    BAD(MERCER_E_VALUE, "'plugins'", "absolute", mercer_context_add_plugins(f.context, "plugins"));
    BAD(MERCER_E_VALUE, "''", "absolute", mercer_context_add_plugins(f.context, ""));
    BAD(MERCER_E_NAME, "'./kernel-gaussian.so'", "absolute", mercer_plugin_check(f.context, "./kernel-gaussian.so"));
    finish_rows();
}

static void views(void **state) {
    (void)state;
    mercer_view size = with(N, D, D, 1), huge_size = size, type = size, ints = size, odd = size;
    size.struct_size = 8, huge_size.struct_size = 1 << 20, type.dtype = 0, ints.dtype = MERCER_I64, odd.dtype = 99;
    mercer_view rows = with(-1, D, D, 1), cols = with(N, -2, D, 1), neither = with(N, D, 4, 2);
    mercer_view overlap = with(N, D, 1, 3), backwards = with(N, D, -2, 1), many = with(INT64_MAX / 4, D, D, 1);
    mercer_view wide = with(3, 2, INT64_MAX / 4, 1);
    NEW(data, MERCER_E_ARGUMENT, "struct_size = 8", "56", mercer_data_from_view(&f.new_data, f.context, &size));
    NEW(data, MERCER_E_ARGUMENT, "1048576", "56", mercer_data_from_view(&f.new_data, f.context, &huge_size));
    NEW(data, MERCER_E_ARGUMENT, "dtype = 0", "MERCER_F64", mercer_data_from_view(&f.new_data, f.context, &type));
    NEW(data, MERCER_E_ARGUMENT, "dtype = 3", "MERCER_F32", mercer_data_from_view(&f.new_data, f.context, &ints));
    NEW(data, MERCER_E_ARGUMENT, "dtype = 99", "MERCER_F32", mercer_data_from_view(&f.new_data, f.context, &odd));
    NEW(data, MERCER_E_SHAPE, "-1 x 2", ">= 0", mercer_data_from_view(&f.new_data, f.context, &rows));
    NEW(data, MERCER_E_SHAPE, "6 x -2", ">= 0", mercer_data_from_view(&f.new_data, f.context, &cols));
    NEW(data, MERCER_E_SHAPE, "4 and 2", "one must be 1", mercer_data_from_view(&f.new_data, f.context, &neither));
    NEW(data, MERCER_E_SHAPE, "1 and 3", "at least that side", mercer_data_from_view(&f.new_data, f.context, &overlap));
    NEW(data, MERCER_E_SHAPE, "-2 and 1", "at least that side",
        mercer_data_from_view(&f.new_data, f.context, &backwards));
    NEW(data, MERCER_E_SHAPE, "2305843009213693951", "", mercer_data_from_view(&f.new_data, f.context, &many));
    NEW(data, MERCER_E_SHAPE, "2305843009213693951", "", mercer_data_from_view(&f.new_data, f.context, &wide));
    finish_rows();
}

static int32_t no_rows(void *user, int64_t first, int64_t capacity, void *buffer, int64_t *rows) {
    (void)user, (void)first, (void)capacity, (void)buffer;
    *rows = 0;
    return 0;
}
static int32_t no_pairs(void *user, const int64_t *i, const int64_t *j, int64_t count, double *values) {
    (void)user, (void)i, (void)j;
    for (int64_t k = 0; k < count; k++) values[k] = 1;
    return 0;
}

static void chunks_and_objects(void **state) {
    (void)state;
    const mercer_chunks good = {sizeof good, MERCER_F64, 0, 4, 2, no_rows, NULL, NULL};
    mercer_chunks size = good, type = good, flags = good, rows = good, cols = good, many = good;
    size.struct_size = 16, type.dtype = MERCER_I64, flags.flags = 1, rows.rows = -2, cols.cols = 0;
    many.rows = many.cols = INT64_C(1) << 40;
    NEW(data, MERCER_E_ARGUMENT, "struct_size = 16", "56", mercer_data_from_chunks(&f.new_data, f.context, &size));
    NEW(data, MERCER_E_ARGUMENT, "dtype = 3", "MERCER_F32", mercer_data_from_chunks(&f.new_data, f.context, &type));
    NEW(data, MERCER_E_ARGUMENT, "flags = 1", "REWINDABLE", mercer_data_from_chunks(&f.new_data, f.context, &flags));
    NEW(data, MERCER_E_SHAPE, "-2 x 2", ">= -1", mercer_data_from_chunks(&f.new_data, f.context, &rows));
    NEW(data, MERCER_E_SHAPE, "4 x 0", ">= 1", mercer_data_from_chunks(&f.new_data, f.context, &cols));
    NEW(data, MERCER_E_SHAPE, "1099511627776", "", mercer_data_from_chunks(&f.new_data, f.context, &many));

    const mercer_objects known = {sizeof known, 4, MERCER_DISTANCE, 0, no_pairs, NULL, NULL, NULL};
    mercer_objects few = known, values = known, bits = known, kernel = known;
    few.rows = -1, values.values = 3, bits.flags = 64, kernel.values = MERCER_KERNEL;
    NEW(data, MERCER_E_SHAPE, "rows = -1", ">= 0", mercer_data_from_objects(&f.new_data, f.context, &few));
    NEW(data, MERCER_E_ARGUMENT, "values = 3", "MERCER_DISTANCE",
        mercer_data_from_objects(&f.new_data, f.context, &values));
    NEW(data, MERCER_E_ARGUMENT, "flags = 64", "unknown", mercer_data_from_objects(&f.new_data, f.context, &bits));

    mercer_data *objects;
    MUST(mercer_data_from_objects(&objects, f.context, &kernel));
    NEW(model, MERCER_E_UNSUPPORTED, "gaussian", "'user'", mercer_model_fit(&f.new_model, f.recipe, objects, NULL));
    mercer_recipe *scaled = new_recipe(f.context, "kernel", "user", "data.scale", "standard", NULL);
    NEW(model, MERCER_E_UNSUPPORTED, "data.scale", "no columns", mercer_model_fit(&f.new_model, scaled, objects, NULL));
    NEW(model, MERCER_E_ARGUMENT, "user", "mercer_recipe_set_kernel",
        mercer_model_fit(&f.new_model, scaled, f.data, NULL));
    mercer_recipe_destroy(scaled);
    mercer_data_destroy(objects);
    finish_rows();
}

static void sparse(void **state) {
    (void)state;
    static const int64_t offsets[] = {0, 1, 3}, late[] = {1, 2, 3}, falls[] = {0, 4, 3}, ends[] = {0, 1, 2};
    static const int64_t columns[] = {0, 0, 1}, beyond[] = {0, 0, 2}, below[] = {0, -1, 1}, twice[] = {0, 1, 1};
    static const double values[] = {1, 2, 3}, bad[] = {1, 2, NAN};
    const mercer_sparse good = {sizeof good, MERCER_CSR, MERCER_F64, MERCER_I64, 0, 2, 2, 3, offsets, columns, values};
    mercer_sparse size = good, layout = good, type = good, index = good, base = good, cols = good, wide = good,
                  count = good;
    size.struct_size = 64, layout.layout = 3, type.dtype = MERCER_I32, index.index_dtype = MERCER_F64, base.base = 2;
    cols.cols = 0, wide.cols = INT64_C(1) << 31, count.count = -1;
    NEW(data, MERCER_E_ARGUMENT, "struct_size = 64", "72", mercer_data_from_sparse(&f.new_data, f.context, &size));
    NEW(data, MERCER_E_ARGUMENT, "layout = 3", "MERCER_CSR", mercer_data_from_sparse(&f.new_data, f.context, &layout));
    NEW(data, MERCER_E_ARGUMENT, "dtype = 4", "MERCER_F32", mercer_data_from_sparse(&f.new_data, f.context, &type));
    NEW(data, MERCER_E_ARGUMENT, "index_dtype = 2", "MERCER_I32",
        mercer_data_from_sparse(&f.new_data, f.context, &index));
    NEW(data, MERCER_E_VALUE, "base = 2", "0 or 1", mercer_data_from_sparse(&f.new_data, f.context, &base));
    NEW(data, MERCER_E_SHAPE, "2 x 0", "1 to", mercer_data_from_sparse(&f.new_data, f.context, &cols));
    NEW(data, MERCER_E_SHAPE, "2147483648", "2147483647", mercer_data_from_sparse(&f.new_data, f.context, &wide));
    NEW(data, MERCER_E_SHAPE, "-1 entries", ">= 0", mercer_data_from_sparse(&f.new_data, f.context, &count));

    mercer_sparse first = good, last = good, order = good, outside = good, negative = good, repeated = good, nan = good;
    first.offsets = late, last.offsets = ends, order.offsets = falls, outside.indices = beyond,
    negative.indices = below;
    repeated.indices = twice, nan.values = bad;
    NEW(data, MERCER_E_DATA, "first offset is 1", "base", mercer_data_from_sparse(&f.new_data, f.context, &first));
    NEW(data, MERCER_E_DATA, "is 2", "3", mercer_data_from_sparse(&f.new_data, f.context, &last));
    NEW(data, MERCER_E_DATA, "row 0", "ascend", mercer_data_from_sparse(&f.new_data, f.context, &order));
    NEW(data, MERCER_E_DATA, "column 2", "0 to 1", mercer_data_from_sparse(&f.new_data, f.context, &outside));
    NEW(data, MERCER_E_DATA, "column -1", "0 to 1", mercer_data_from_sparse(&f.new_data, f.context, &negative));
    NEW(data, MERCER_E_DATA, "row 1", "column 1 twice", mercer_data_from_sparse(&f.new_data, f.context, &repeated));
    NEW(data, MERCER_E_DATA, "row 1, column 1", "finite", mercer_data_from_sparse(&f.new_data, f.context, &nan));

    mercer_data *data;
    MUST(mercer_data_from_sparse(&data, f.context, &good));
    mercer_recipe *scaled = new_recipe(f.context, "data.scale", "minmax", NULL);
    NEW(model, MERCER_E_UNSUPPORTED, "data.scale", "sparse", mercer_model_fit(&f.new_model, scaled, data, NULL));
    mercer_recipe_destroy(scaled);
    mercer_data_destroy(data);
    finish_rows();
}

static mercer_data *attached(const char *what, mercer_view view) {
    mercer_data *data = new_data(f.context, f.x, N, D);
    MUST(mercer_data_attach(data, what, &view));
    return data;
}

static void attachments(void **state) {
    (void)state;
    static int64_t numbers[] = {0, 1, 2, 3, 4, 5}, far[] = {0, 6}, before[] = {-1, 2};
    static double negative[] = {1, 1, -2, 1, 1, 1}, zero[N], nan[] = {1, 1, 1, NAN, 1, 1};
    mercer_view two = doubles(f.x, N, 2), few = doubles(f.x, 4, 1), ints = view_of(numbers, MERCER_I64, N, 1);
    mercer_view none = view_of(numbers, MERCER_I64, 0, 1);
    BAD(MERCER_E_SHAPE, "6 x 2", "6 x 1", mercer_data_attach(f.data, "weights", &two));
    BAD(MERCER_E_SHAPE, "4 x 1", "6 x 1", mercer_data_attach(f.data, "weights", &few));
    BAD(MERCER_E_ARGUMENT, "dtype = 3", "MERCER_F64", mercer_data_attach(f.data, "weights", &ints));
    BAD(MERCER_E_SHAPE, "landmarks", "none", mercer_data_attach(f.data, "landmarks", &none));

    mercer_data *minus = attached("weights", doubles(negative, N, 1)),
                *empty = attached("weights", doubles(zero, N, 1));
    mercer_data *hole = attached("weights", doubles(nan, N, 1));
    NEW(model, MERCER_E_DATA, "row 2 has -2", ">= 0", mercer_model_fit(&f.new_model, f.recipe, minus, NULL));
    NEW(model, MERCER_E_DATA, "sum is 0", "> 0", mercer_model_fit(&f.new_model, f.recipe, empty, NULL));
    NEW(model, MERCER_E_DATA, "row 3 has nan", "finite", mercer_model_fit(&f.new_model, f.recipe, hole, NULL));
    mercer_data_destroy(minus), mercer_data_destroy(empty), mercer_data_destroy(hole);

    mercer_recipe *given = new_recipe(f.context, "method", "subsampled", "reducer", "given", NULL);
    mercer_data *high = attached("landmarks", view_of(far, MERCER_I64, 2, 1));
    mercer_data *low = attached("landmarks", view_of(before, MERCER_I64, 2, 1));
    mercer_data *points = attached("landmarks", doubles(f.x, 2, 3));
    NEW(model, MERCER_E_VALUE, "6", "0 to 5", mercer_model_fit(&f.new_model, given, high, NULL));
    NEW(model, MERCER_E_VALUE, "-1", "0 to 5", mercer_model_fit(&f.new_model, given, low, NULL));
    NEW(model, MERCER_E_SHAPE, "3", "2", mercer_model_fit(&f.new_model, given, points, NULL));
    NEW(model, MERCER_E_VALUE, "landmarks", "given", mercer_model_fit(&f.new_model, given, f.data, NULL));
    mercer_data_destroy(high), mercer_data_destroy(low), mercer_data_destroy(points);
    mercer_recipe_destroy(given);
    finish_rows();
}

static void values_of_data(void **state) {
    (void)state;
    double nan[N * D], inf[N * D], negative[N * D];
    memcpy(nan, f.x, sizeof nan), memcpy(inf, f.x, sizeof inf), memcpy(negative, f.x, sizeof negative);
    nan[5] = NAN, inf[2] = -INFINITY, negative[0] = -3;
    mercer_data *with_nan = new_data(f.context, nan, N, D), *with_inf = new_data(f.context, inf, N, D);
    mercer_data *no_row = new_data(f.context, f.x, 0, D), *no_column = new_data(f.context, f.x, N, 0);
    mercer_data *below = new_data(f.context, negative, N, D);
    mercer_recipe *chi2 = new_recipe(f.context, "kernel", "chi2", NULL),
                  *column = new_recipe(f.context, "kernel", "gaussian[7]", NULL);
    mercer_view out = doubles(f.out, N, R);
    NEW(model, MERCER_E_DATA, "row 2, column 1 is NaN", "finite",
        mercer_model_fit(&f.new_model, f.recipe, with_nan, NULL));
    NEW(model, MERCER_E_DATA, "row 1, column 0 is", "finite", mercer_model_fit(&f.new_model, f.recipe, with_inf, NULL));
    BAD(MERCER_E_DATA, "row 2, column 1 is NaN", "finite",
        mercer_model_transform(f.model, NULL, with_nan, &out, 1, NULL));
    NEW(model, MERCER_E_DATA, "no rows", "", mercer_model_fit(&f.new_model, f.recipe, no_row, NULL));
    NEW(model, MERCER_E_DATA, "no columns", "", mercer_model_fit(&f.new_model, f.recipe, no_column, NULL));
    NEW(model, MERCER_E_DATA, "-3", ">= 0", mercer_model_fit(&f.new_model, chi2, below, NULL));
    NEW(model, MERCER_E_VALUE, "column 7", "2", mercer_model_fit(&f.new_model, column, f.data, NULL));
    mercer_data_destroy(with_nan), mercer_data_destroy(with_inf), mercer_data_destroy(no_row),
        mercer_data_destroy(no_column);
    mercer_data_destroy(below);
    mercer_recipe_destroy(chi2), mercer_recipe_destroy(column);
    finish_rows();
}

static int32_t any_tile(void *user, const mercer_view *x, const mercer_view *y, const mercer_view *k) {
    (void)user, (void)x, (void)y, (void)k;
    return 0;
}

static void models(void **state) {
    (void)state;
    int64_t count = 0;
    mercer_view short_out = doubles(f.out, N - 1, R), thin = doubles(f.out, N, R - 1), out = doubles(f.out, N, R);
    mercer_view floats = view_of(f.out, MERCER_F32, N, R), square = doubles(f.out, N, N - 1);
    mercer_output output = {.struct_size = sizeof output}, small = {.struct_size = 1};
    const char *text;
    mercer_data *wide = new_data(f.context, f.x, 2, 3);
    mercer_view two = doubles(f.out, 2, R);
    mercer_user_kernel kernel = {.struct_size = sizeof kernel, .tile = any_tile}, flags = kernel;
    flags.flags = 128;
    BAD(MERCER_E_SHAPE, "5 x 2", "6 x 2", mercer_model_transform(f.model, NULL, f.data, &short_out, 1, NULL));
    BAD(MERCER_E_SHAPE, "6 x 1", "6 x 2", mercer_model_transform(f.model, NULL, f.data, &thin, 1, NULL));
    BAD(MERCER_E_ARGUMENT, "dtype = 1", "2", mercer_model_transform(f.model, NULL, f.data, &floats, 1, NULL));
    BAD(MERCER_E_ARGUMENT, "count = 2", "1 output", mercer_model_transform(f.model, NULL, f.data, &out, 2, NULL));
    BAD(MERCER_E_ARGUMENT, "count = 0", "1 output", mercer_model_transform(f.model, NULL, f.data, &out, 0, NULL));
    BAD(MERCER_E_SHAPE, "3 columns", "2", mercer_model_transform(f.model, NULL, wide, &two, 1, NULL));
    BAD(MERCER_E_ARGUMENT, "'kpca'", "no operation", mercer_model_transform(f.model, f.recipe, f.data, &out, 1, NULL));
    BAD(MERCER_E_ARGUMENT, "'kpca'", "no operation",
        mercer_model_output(f.model, f.recipe, f.data, 0, &output, &count));
    BAD(MERCER_E_VALUE, "index = 1", "1 output", mercer_model_output(f.model, NULL, f.data, 1, &output, &count));
    BAD(MERCER_E_VALUE, "index = -1", "1 output", mercer_model_output(f.model, NULL, f.data, -1, &output, &count));
    BAD(MERCER_E_NAME, "/eigenvalue", "", mercer_model_info(f.model, "/eigenvalue", &text));
    BAD(MERCER_E_ARGUMENT, "struct_size = 1", "48", mercer_model_output(f.model, NULL, f.data, 0, &small, &count));
    NEW(model, MERCER_E_ARGUMENT, "'scores'", "method", mercer_model_fit(&f.new_model, f.scores, f.data, NULL));
    BAD(MERCER_E_SHAPE, "6 x 5", "6 x 6", mercer_recipe_kernel(f.recipe, f.data, NULL, &square, NULL));
    BAD(MERCER_E_SHAPE, "3 columns", "2", mercer_recipe_kernel(f.recipe, f.data, wide, &two, NULL));
    NEW(model, MERCER_E_UNSUPPORTED, "gaussian", "'user'", mercer_model_bind(&f.new_model, f.model, &kernel));
    BAD(MERCER_E_ARGUMENT, "flags = 128", "unknown", mercer_recipe_set_kernel(f.recipe, &flags));
    NEW(model, MERCER_E_ARGUMENT, "flags = 128", "unknown", mercer_model_bind(&f.new_model, f.model, &flags));
    mercer_data_destroy(wide);
    finish_rows();
}

static void paths(void **state) {
    (void)state;
    char *folder = new_folder();
    char garbage[4096];
    snprintf(garbage, sizeof garbage, "%s", joined(folder, "garbage"));
    write_file(garbage, "not what you think it is, but long enough to look at", 52);
    NEW(data, MERCER_E_IO, "/nowhere/x.npy", "No such file",
        mercer_data_from_file(&f.new_data, f.context, "/nowhere/x.npy", NULL));
    NEW(data, MERCER_E_IO, folder, "directory", mercer_data_from_file(&f.new_data, f.context, folder, NULL));
    NEW(data, MERCER_E_IO, "''", "empty", mercer_data_from_file(&f.new_data, f.context, "", NULL));
    NEW(data, MERCER_E_DATA, "garbage", "rows", mercer_data_from_file(&f.new_data, f.context, garbage, NULL));
    NEW(model, MERCER_E_IO, "/nowhere/m", "No such file", mercer_model_load(&f.new_model, f.context, "/nowhere/m"));
    NEW(model, MERCER_E_IO, "''", "empty", mercer_model_load(&f.new_model, f.context, ""));
    NEW(model, MERCER_E_MODEL, "garbage", "header", mercer_model_load(&f.new_model, f.context, garbage));
    BAD(MERCER_E_IO, "/nowhere/m", "No such file", mercer_model_save(f.model, "/nowhere/m"));
    BAD(MERCER_E_IO, folder, "directory", mercer_model_save(f.model, folder));
    BAD(MERCER_E_IO, "''", "empty", mercer_model_save(f.model, ""));
    remove_folder(folder);
    finish_rows();
}

/* A file with these options. */
static int32_t opened(const char *path, mercer_file options) {
    options.struct_size = sizeof options;
    return mercer_data_from_file(&f.new_data, f.context, path, &options);
}

static void data_files(void **state) {
    (void)state;
    char *folder = new_folder();
    char csv[4096], npy[4096], far[4096];
    const char header[] =
        "\x93NUMPY\1\0\x36\0{'descr':'<f8','fortran_order':False,'shape':(1,1)}    \n\0\0\0\0\0\0\0\0";
    snprintf(csv, sizeof csv, "%s", joined(folder, "x.csv"));
    snprintf(npy, sizeof npy, "%s", joined(folder, "x.npy"));
    snprintf(far, sizeof far, "%s", joined(folder, "far.csv"));
    write_file(csv, "height,name\n1,a\n2,b\n", 20);
    write_file(npy, header, 72);
    write_file(far, "x,y\n1,2\n3,1e999\n", 17);
    mercer_file small = {.struct_size = 8};
    NEW(data, MERCER_E_ARGUMENT, "struct_size = 8", "48", mercer_data_from_file(&f.new_data, f.context, csv, &small));
    NEW(data, MERCER_E_VALUE, "format = 3", "MERCER_CSV", opened(csv, (mercer_file){.format = 3}));
    NEW(data, MERCER_E_VALUE, "format = -1", "MERCER_CSV", opened(csv, (mercer_file){.format = -1}));
    NEW(data, MERCER_E_VALUE, "separator = 120", "tab", opened(csv, (mercer_file){.separator = 'x'}));
    NEW(data, MERCER_E_VALUE, "separator = 300", "tab", opened(csv, (mercer_file){.separator = 300}));
    NEW(data, MERCER_E_VALUE, "header = 2", "-1, 0 or 1", opened(csv, (mercer_file){.header = 2}));
    NEW(data, MERCER_E_ARGUMENT, "reserved = 1", "0", opened(csv, (mercer_file){.reserved = 1}));
    NEW(data, MERCER_E_NAME, "'hight'", "'height'", opened(csv, (mercer_file){.labels = "hight"}));
    NEW(data, MERCER_E_NAME, "column 2", "0 to 1", opened(csv, (mercer_file){.weights = "2"}));
    NEW(data, MERCER_E_VALUE, "'0'", "twice", opened(csv, (mercer_file){.columns = "height,0"}));
    NEW(data, MERCER_E_DATA, "'a'", "number", opened(csv, (mercer_file){.columns = "name"}));
    NEW(data, MERCER_E_DATA, "line 3, column 1 ('y'): '1e999'", "range",
        opened(far, (mercer_file){.format = MERCER_CSV}));
    NEW(data, MERCER_E_DATA, "x.csv", "no npy file", opened(csv, (mercer_file){.format = MERCER_NPY}));
    NEW(data, MERCER_E_UNSUPPORTED, "x.npy", "CSV files only", opened(npy, (mercer_file){.columns = "0"}));
    remove_folder(folder);
    finish_rows();
}

static void matrices(void **state) {
    (void)state;
    double values[9] = {0, 1, 2, 1, 0, 3, 2.5, 3, 0};
    mercer_view square = doubles(values, 3, 3), wide = doubles(values, 2, 3), none = doubles(values, 3, 3);
    none.dtype = MERCER_I64;
    mercer_recipe *gaussian = new_recipe(f.context, "sigma", "1", NULL),
                  *user = new_recipe(f.context, "kernel", "user", NULL);
    mercer_data *crooked = NULL, *flat = NULL;
    MUST(mercer_data_from_matrix(&crooked, f.context, &square, MERCER_DISTANCE));
    MUST(mercer_data_from_matrix(&flat, f.context, &wide, MERCER_KERNEL));
    NEW(data, MERCER_E_ARGUMENT, "values = 0", "MERCER_KERNEL",
        mercer_data_from_matrix(&f.new_data, f.context, &square, 0));
    NEW(data, MERCER_E_ARGUMENT, "dtype = 3", "MERCER_F64",
        mercer_data_from_matrix(&f.new_data, f.context, &none, MERCER_KERNEL));
    NEW(model, MERCER_E_DATA, "row 0, column 2 is 2, row 2, column 0 is 2.5", "symmetric",
        mercer_model_fit(&f.new_model, gaussian, crooked, NULL));
    NEW(model, MERCER_E_SHAPE, "2 x 3", "square", mercer_model_fit(&f.new_model, user, flat, NULL));
    NEW(model, MERCER_E_UNSUPPORTED, "gaussian", "'user'", mercer_model_fit(&f.new_model, gaussian, flat, NULL));
    mercer_data_destroy(crooked), mercer_data_destroy(flat);
    mercer_recipe_destroy(gaussian), mercer_recipe_destroy(user);
    finish_rows();
}

static void the_table_is_as_long_as_promised(void **state) {
    (void)state;
    print_message("%d rows, %d of them a null pointer\n", table.count, table.nulls);
    assert_true(table.count >= 60);
    assert_true(table.nulls <= 20);
}

static void nothing_was_changed(void **state) {
    (void)state;
    mercer_view out = doubles(f.out, N, R);
    const char *value = NULL;
    MUST(mercer_recipe_get(f.recipe, "components", &value));
    assert_string_equal(value, "2");
    MUST(mercer_recipe_get(f.recipe, "kernel", &value));
    assert_string_equal(value, "gaussian");
    MUST(mercer_recipe_get(f.recipe, "sigma", &value));
    assert_string_equal(value, "");
    MUST(mercer_model_fit(&f.new_model, f.recipe, f.data, NULL));
    MUST(mercer_model_transform(f.new_model, NULL, f.data, &out, 1, NULL));
    mercer_model_destroy(f.new_model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_pointers),
        cmocka_unit_test(names),
        cmocka_unit_test(parameters),
        cmocka_unit_test(indices_and_runs),
        cmocka_unit_test(views),
        cmocka_unit_test(chunks_and_objects),
        cmocka_unit_test(sparse),
        cmocka_unit_test(attachments),
        cmocka_unit_test(values_of_data),
        cmocka_unit_test(models),
        cmocka_unit_test(paths),
        cmocka_unit_test(data_files),
        cmocka_unit_test(matrices),
        cmocka_unit_test(nothing_was_changed),
        cmocka_unit_test(the_table_is_as_long_as_promised),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
