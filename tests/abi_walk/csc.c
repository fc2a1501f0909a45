/* Checks data in compressed columns with indices counted from 1, as in R's package SparseM and in
 * Fortran codes. One entry in twenty is set. */
#include "walk.h"

enum { N = 300, D = 50, R = 3 };

int main(void) {
    static double dense[N * D], values[N * D], a[N * R], b[N * R];
    static int32_t offsets[D + 1], rows[N * D];
    mercer_context *ctx = NULL;
    mercer_data *sparse_data = NULL;
    uint64_t seed = 12;
    int32_t count = 0;
    for (int c = 0; c < D; c++) {
        offsets[c] = count + 1;
        for (int i = 0; i < N; i++)
            if (number(&seed) > 0.9 && i != 17) { /* rows 17 and 18 stay empty */
                dense[i * D + c] = i == 18 ? 0 : number(&seed);
                if (i == 18) continue;
                rows[count] = i + 1;
                values[count++] = dense[i * D + c];
            }
    }
    offsets[D] = count + 1;
    mercer_sparse sparse = {.struct_size = sizeof sparse,
                            .layout = MERCER_CSC,
                            .dtype = MERCER_F64,
                            .index_dtype = MERCER_I32,
                            .base = 1,
                            .rows = N,
                            .cols = D,
                            .count = count,
                            .offsets = offsets,
                            .indices = rows,
                            .values = values};
    OK(mercer_context_create(&ctx));
    OK(mercer_data_from_sparse(&sparse_data, ctx, &sparse));
    mercer_data *dense_data = rows_of(ctx, dense, N, D);
    const char *const kernels[] = {"gaussian", "linear", "laplacian"};
    for (int k = 0; k < COUNT(kernels); k++) {
        mercer_recipe *recipe = RECIPE(ctx, "kernel", kernels[k], "components", "3");
        mercer_model *from_sparse = fit_of(recipe, sparse_data), *from_dense = fit_of(recipe, dense_data);
        for (int j = 0; j < R; j++)
            /* The tolerance allows for the kernel laplacian, which is the least accurate of these
             * because of its cusp at distance 0. */
            NEAR(f64_of(from_sparse, "lambda")[j], f64_of(from_dense, "lambda")[j], 1e-8);
        scores_of(from_sparse, sparse_data, a, N, R);
        scores_of(from_sparse, dense_data, b, N, R); /* dense queries on a sparse model */
        for (int i = 0; i < N * R; i++) NEAR(a[i], b[i], 1e-7);
        scores_of(from_dense, sparse_data, b, N, R);
        for (int i = 0; i < N * R; i++) NEAR(a[i], b[i], 1e-6);
        mercer_view c = tensor_of(from_sparse, "C.values");
        CHECK(c.rows == count && summary_of(from_sparse).d == D && summary_of(from_sparse).m == N);
        mercer_model_destroy(from_sparse);
        mercer_model_destroy(from_dense);
        mercer_recipe_destroy(recipe);
    }
    mercer_data_destroy(sparse_data);
    mercer_data_destroy(dense_data);
    mercer_context_destroy(ctx);
    return 0;
}
