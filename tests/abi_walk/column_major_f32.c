/* Checks single precision for a caller such as R or Fortran: data and outputs are stored by
 * columns, with a leading dimension that exceeds the number of rows. */
#include "walk.h"

enum { N = 400, LD = 450, D = 6, R = 4 };

/* Fits the same rows in double precision, and checks that single precision is off by no more than
 * its rounding errors. */
static void precise(mercer_context *ctx, mercer_recipe *recipe, const float *packed, mercer_model *model,
                    const float *scores) {
    static double x[N * D], exact[N * R];
    for (int k = 0; k < N * D; k++) x[k] = packed[k];
    mercer_data *data = rows_of(ctx, x, N, D);
    mercer_model *wide = fit_of(recipe, data);
    scores_of(wide, data, exact, N, R);
    for (int j = 0; j < R; j++) NEAR(f64_of(wide, "lambda")[j], f64_of(model, "lambda")[j], 1e-6);
    for (int i = 0; i < N * R; i++) NEAR(exact[i], scores[i], 2e-4);
    mercer_model_destroy(wide);
    mercer_data_destroy(data);
}

int main(void) {
    static float columns[LD * D], packed[N * D], out[LD * (R + 2)], rows[N * R];
    static double x[N * D];
    mercer_context *ctx = NULL;
    mercer_data *by_column = NULL, *by_row = NULL;
    fill(x, N * D, 8);
    for (int i = 0; i < N; i++)
        for (int c = 0; c < D; c++) packed[i * D + c] = columns[c * LD + i] = (float)x[i * D + c];
    for (int k = 0; k < LD * (R + 2); k++) out[k] = -7;
    /* The rows from N to LD of each column are not part of the data, and must not be used. */
    for (int c = 0; c < D; c++)
        for (int i = N; i < LD; i++) columns[c * LD + i] = NAN;
    OK(mercer_context_create(&ctx));
    mercer_view view = {.struct_size = sizeof view,
                        .dtype = MERCER_F32,
                        .rows = N,
                        .cols = D,
                        .row_stride = 1,
                        .col_stride = LD,
                        .data = columns};
    mercer_view row_view = matrix(packed, MERCER_F32, N, D);
    OK(mercer_data_from_view(&by_column, ctx, &view));
    OK(mercer_data_from_view(&by_row, ctx, &row_view));
    mercer_recipe *recipe = RECIPE(ctx, "sigma", "1", "components", "4");
    mercer_model *model = fit_of(recipe, by_column), *same = fit_of(recipe, by_row);
    const char *const tensors[] = {"C", "A", "b", "lambda", "nu", "w"};
    for (int t = 0; t < COUNT(tensors); t++) {
        mercer_view a = tensor_of(model, tensors[t]), b = tensor_of(same, tensors[t]);
        CHECK(a.dtype == (t < 2 ? MERCER_F32 : MERCER_F64) && a.rows == b.rows && a.cols == b.cols);
        CHECK(memcmp(a.data, b.data, (size_t)(a.rows * a.cols) * (t < 2 ? 4 : 8)) == 0);
    }
    mercer_view scores = {.struct_size = sizeof scores,
                          .dtype = MERCER_F32,
                          .rows = N,
                          .cols = R + 2,
                          .row_stride = 1,
                          .col_stride = LD,
                          .data = out};
    mercer_view row_scores = matrix(rows, MERCER_F32, N, R);
    OK(mercer_model_transform(model, NULL, by_column, &scores, 1, NULL));
    OK(mercer_model_transform(same, NULL, by_row, &row_scores, 1, NULL));
    for (int i = 0; i < LD; i++)
        for (int j = 0; j < R + 2; j++) /* only the model's columns of the N rows are written */
            CHECK(out[j * LD + i] == (i < N && j < R ? rows[i * R + j] : -7));

    precise(ctx, recipe, packed, model, rows);
    mercer_view f64_out = f64_matrix(x, N, R); /* the same scores in f64, for callers without float */
    OK(mercer_model_transform(model, NULL, by_row, &f64_out, 1, NULL));
    for (int i = 0; i < N * R; i++) CHECK((float)x[i] == rows[i]);
    mercer_model_destroy(model);
    mercer_model_destroy(same);
    mercer_recipe_destroy(recipe);
    mercer_data_destroy(by_column);
    mercer_data_destroy(by_row);
    mercer_context_destroy(ctx);
    return 0;
}
