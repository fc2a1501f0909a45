/* npy files that a fit reads while it runs: files larger than the budget, with a NaN in row
 * 1000000, or changed during the fit. */
#include "temp_folder.h"

#include <math.h>

static char *folder;

static int begin(void **state) {
    (void)state;
    folder = new_folder();
    return 0;
}
static int end(void **state) {
    (void)state;
    remove_folder(folder);
    return 0;
}

static void write_npy(const char *path, const float *x, int64_t rows, int64_t cols) {
    char header[128];
    memset(header, ' ', sizeof header);
    memcpy(header, "\x93NUMPY\x01\x00\x76\x00", 10);
    int length = snprintf(header + 10, 117, "{'descr': '<f4', 'fortran_order': False, 'shape': (%lld, %lld), }",
                          (long long)rows, (long long)cols);
    header[10 + length] = ' ';
    header[127] = '\n';
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(header, 1, sizeof header, file), sizeof header);
    assert_int_equal(fwrite(x, sizeof *x, (size_t)(rows * cols), file), rows * cols);
    assert_int_equal(fclose(file), 0);
}

static void nan_in_row_a_million(void **state) {
    (void)state;
    const int64_t n = 1000003;
    float *x = calloc((size_t)n * 2, sizeof *x);
    for (int64_t i = 0; i < 2 * n; i++) x[i] = (float)(i % 101);
    x[1000000 * 2 + 1] = NAN;
    const char *path = joined(folder, "million.npy");
    write_npy(path, x, n, 2);
    mercer_context *context = new_context();
    mercer_view view = view_of(x, MERCER_F32, n, 2);
    mercer_data *memory = NULL, *file = NULL;
    MUST(mercer_data_from_view(&memory, context, &view));
    MUST(mercer_data_from_file(&file, context, path, NULL));
    static const char *const methods[] = {"kpca", "nystrom", "gkpca", "subsampled", "auto", NULL};
    for (int k = 0; methods[k]; k++) {
        mercer_recipe *recipe = recipe_of(context, methods[k], "3");
        mercer_model *model = NULL;
        mercer_run run = {.struct_size = sizeof run, .memory = (int64_t)4 << 30};
        FAILS(MERCER_E_DATA, "row 1000000, column 1", mercer_model_fit(&model, recipe, memory, &run));
        FAILS(MERCER_E_DATA, "row 1000000, column 1", mercer_model_fit(&model, recipe, file, &run));
        mercer_recipe_destroy(recipe);
    }
    mercer_data_destroy(memory), mercer_data_destroy(file), mercer_context_destroy(context);
    free(x);
}

struct changing {
    const char *path;
    int shrink; /* 0: write a NaN into the last row */
    int done;
};
/* Changes the file when the first pass over its rows has ended. */
static int32_t change(void *user, const mercer_progress *progress) {
    struct changing *file = user;
    if (file->done || strcmp(progress->stage, "read") == 0) return 0;
    file->done = 1;
    struct stat about;
    if (stat(file->path, &about) != 0) return 0;
    if (file->shrink) return truncate(file->path, about.st_size / 2) != 0;
    FILE *open = fopen(file->path, "r+b");
    const float nan = NAN;
    fseek(open, -(long)sizeof nan, SEEK_END);
    fwrite(&nan, sizeof nan, 1, open);
    return fclose(open) != 0;
}

/* The reducer rpcholesky finds its pivots in several sweeps, and each sweep reads the file
 * again. */
static void files_that_change_during_a_fit(void **state) {
    (void)state;
    enum { N = 40000, COLS = 64 };
    double *values = noise(N * COLS);
    float *x = malloc(sizeof(float) * N * COLS);
    for (int i = 0; i < N * COLS; i++) x[i] = (float)values[i];
    mercer_context *context = new_context();
    for (int shrink = 0; shrink < 2; shrink++) {
        const char *path = joined(folder, "changing.npy");
        write_npy(path, x, N, COLS);
        mercer_data *data = NULL;
        MUST(mercer_data_from_file(&data, context, path, NULL));
        mercer_recipe *recipe = recipe_of(context, "nystrom", "3");
        MUST(mercer_recipe_set(recipe, "reducer", "rpcholesky"));
        MUST(mercer_recipe_set(recipe, "reducer.m", "600"));
        struct changing file = {path, shrink, 0};
        mercer_run run = {.struct_size = sizeof run, .progress = change, .user = &file};
        mercer_model *model = NULL;
        FAILS(shrink ? MERCER_E_IO : MERCER_E_DATA, shrink ? "changing.npy" : "row 39999, column 63",
              mercer_model_fit(&model, recipe, data, &run));
        assert_true(file.done);
        assert_null(model);
        mercer_recipe_destroy(recipe), mercer_data_destroy(data);
    }
    mercer_context_destroy(context);
    free(values), free(x);
}

enum { ROWS = 60000, COLS = 128, CENTRES = 60, KEPT = 4, SCORES = 100 };

/* The eigenvalues, and the scores of the first rows. */
struct outcome {
    double lambda[KEPT], scores[SCORES * KEPT];
};
static struct outcome fit_within(mercer_context *context, mercer_data *data, mercer_recipe *recipe, float *x,
                                 int64_t memory) {
    struct outcome out;
    mercer_run run = on_two_threads();
    run.memory = memory;
    mercer_forecast forecast = {.struct_size = sizeof forecast};
    MUST(mercer_recipe_forecast(recipe, data, &run, &forecast));
    assert_true(forecast.bytes.most <= (double)memory);
    mercer_model *model;
    MUST(mercer_model_fit(&model, recipe, data, &run));
    const char *peak;
    MUST(mercer_model_info(model, "/peak_bytes", &peak));
    assert_true(strtod(peak, NULL) <= (double)memory);
    int64_t count;
    memcpy(out.lambda, tensor(model, "lambda", &count), sizeof out.lambda);
    assert_int_equal(count, KEPT);
    mercer_view view = view_of(x, MERCER_F32, SCORES, COLS), scores = doubles(out.scores, SCORES, KEPT);
    mercer_data *few;
    MUST(mercer_data_from_view(&few, context, &view));
    MUST(mercer_model_transform(model, NULL, few, &scores, 1, NULL));
    mercer_data_destroy(few);
    mercer_model_destroy(model);
    return out;
}

/* With a large budget the factor of m columns is stored, with a small budget it is recomputed, and
 * the results must agree to rounding. The Cholesky factor of the centres is well conditioned,
 * because in 128 columns no point is near the span of others (residuals of order 1), so its error
 * of m u grows by less than 10^4. The eigenvectors turn by this error divided by the eigenvalue
 * gap, and scores are at most 2. */
static void larger_than_the_budget(void **state) {
    (void)state;
    const double rounding = CENTRES * 0x1p-53 * 1e4;
    double *values = noise((int64_t)ROWS * COLS);
    float *x = malloc(sizeof(float) * ROWS * COLS);
    for (int64_t i = 0; i < (int64_t)ROWS * COLS; i++)
        x[i] = (float)(values[i] * (i % COLS < KEPT ? 5 - 0.5 * (double)(i % COLS) : 1));
    const char *path = joined(folder, "large.npy");
    write_npy(path, x, ROWS, COLS);
    const int64_t bytes = (int64_t)sizeof(float) * ROWS * COLS, little = bytes / 4 * 3;
    mercer_context *context = new_context();
    mercer_data *data = NULL;
    MUST(mercer_data_from_file(&data, context, path, NULL));
    static const char *const names[] = {"method", "reducer", "lift", "reducer.m", "components", "sigma", "dtype"};
    static const char *const values_of[][7] = {{"nystrom", "uniform", "projected", "60", "4", "6", "f64"},
                                               {"kpca", "rpcholesky", "projected", "60", "4", "6", "f64"}};
    for (int c = 0; c < 2; c++) {
        mercer_recipe *recipe = new_recipe(context, NULL);
        MUST(mercer_recipe_set_many(recipe, names, values_of[c], 7));
        const struct outcome small = fit_within(context, data, recipe, x, little),
                             large = fit_within(context, data, recipe, x, (int64_t)2 << 30);
        for (int j = 0; j < KEPT; j++)
            assert_true(fabs(small.lambda[j] - large.lambda[j]) <= rounding * large.lambda[0]);
        double gap = large.lambda[0];
        for (int j = 0; j + 1 < KEPT; j++) gap = fmin(gap, large.lambda[j] - large.lambda[j + 1]);
        for (int i = 0; i < SCORES * KEPT; i++)
            if (i % KEPT + 1 < KEPT) /* the gap below the last eigenvalue is unknown */
                assert_true(fabs(small.scores[i] - large.scores[i]) <= 2 * rounding * large.lambda[0] / gap);
        mercer_recipe_destroy(recipe);
    }
    mercer_recipe *exact = new_recipe(context, "sigma", "6", NULL);
    mercer_run run = {.struct_size = sizeof run, .memory = little};
    mercer_forecast forecast = {.struct_size = sizeof forecast};
    mercer_model *model;
    FAILS(MERCER_E_BUDGET, "keeps all rows", mercer_recipe_forecast(exact, data, &run, &forecast));
    FAILS(MERCER_E_BUDGET, "'nystrom'", mercer_model_fit(&model, exact, data, &run));
    mercer_recipe_destroy(exact), mercer_data_destroy(data), mercer_context_destroy(context);
    free(values), free(x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nan_in_row_a_million),
        cmocka_unit_test(files_that_change_during_a_fit),
        cmocka_unit_test(larger_than_the_budget),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
