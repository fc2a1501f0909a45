/* Checks, data and the kernel in plain loops, which the tests of this folder share. It includes
 * public headers only. */
#ifndef WALK_H
#define WALK_H

#include <math.h>
#include <mercer/mercer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s\n  last error: %s\n", __FILE__, __LINE__, #condition, mercer_last_error());     \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)
#define OK(call) CHECK((call) == MERCER_OK)
#define NEAR(a, b, allowed) CHECK(fabs((a) - (b)) <= (allowed))
#define COUNT(array) ((int64_t)(sizeof(array) / sizeof *(array)))

/* Knuth's linear congruential generator: numbers in (-1, 1). */
static inline double number(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-52 - 1;
}
static inline void fill(double *x, int64_t count, uint64_t seed) {
    for (int64_t k = 0; k < count; k++) x[k] = number(&seed);
}

static inline double gaussian(double sigma, const double *x, const double *y, int64_t d) {
    double r2 = 0;
    for (int64_t k = 0; k < d; k++) r2 += (x[k] - y[k]) * (x[k] - y[k]);
    return exp(-r2 / (2 * sigma * sigma));
}

static inline mercer_view matrix(void *data, int32_t dtype, int64_t rows, int64_t cols) {
    mercer_view view = {.struct_size = sizeof view,
                        .dtype = dtype,
                        .rows = rows,
                        .cols = cols,
                        .row_stride = cols,
                        .col_stride = 1,
                        .data = data};
    return view;
}
static inline mercer_view f64_matrix(double *data, int64_t rows, int64_t cols) {
    return matrix(data, MERCER_F64, rows, cols);
}

static inline mercer_data *rows_of(mercer_context *ctx, double *x, int64_t rows, int64_t cols) {
    mercer_view view = f64_matrix(x, rows, cols);
    mercer_data *data = NULL;
    OK(mercer_data_from_view(&data, ctx, &view));
    return data;
}

/* settings: names and values in turn, NULL at the end */
static inline mercer_recipe *recipe_of(mercer_context *ctx, const char *method, const char *const *settings) {
    mercer_recipe *recipe = NULL;
    OK(mercer_recipe_create(&recipe, ctx, method));
    for (; *settings; settings += 2) OK(mercer_recipe_set(recipe, settings[0], settings[1]));
    return recipe;
}
#define RECIPE(ctx, ...) recipe_of(ctx, "kpca", (const char *const[]){__VA_ARGS__, NULL})

static inline mercer_model *fit_of(mercer_recipe *recipe, mercer_data *data) {
    mercer_model *model = NULL;
    OK(mercer_model_fit(&model, recipe, data, NULL));
    return model;
}

static inline mercer_summary summary_of(mercer_model *model) {
    mercer_summary summary = {.struct_size = sizeof summary};
    OK(mercer_model_summary(model, &summary));
    return summary;
}

/* Returns a tensor of a model, in the type in which the model stores it. */
static inline mercer_view tensor_of(mercer_model *model, const char *name) {
    mercer_view view = {.struct_size = sizeof view};
    OK(mercer_model_tensor(model, name, &view));
    return view;
}
static inline const double *f64_of(mercer_model *model, const char *name) {
    mercer_view view = tensor_of(model, name);
    CHECK(view.dtype == MERCER_F64);
    return view.data;
}

/* Writes the scores of `count` queries to out (count x r). */
static inline void scores_of(mercer_model *model, mercer_data *data, double *out, int64_t count, int64_t r) {
    mercer_view view = f64_matrix(out, count, r);
    OK(mercer_model_transform(model, NULL, data, &view, 1, NULL));
}

/* Returns the larger of two numbers, or NaN if one of them is NaN. fmax drops NaN. */
static inline double larger(double a, double b) { return a >= b || isnan(a) ? a : b; }

/* Computes f(q) = A^T k(C, q) - b in plain loops, from the model's tensors and the kernel values k
 * (count x m). Returns the largest difference from `scores`. */
static inline double expansion_error(mercer_model *model, const double *k, const double *scores, int64_t count) {
    mercer_summary s = summary_of(model);
    const double *a = f64_of(model, "A"), *b = f64_of(model, "b");
    double worst = 0;
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < s.r; j++) {
            double f = -b[j];
            for (int64_t c = 0; c < s.m; c++) f += a[c * s.r + j] * k[i * s.m + c];
            worst = larger(worst, fabs(f - scores[i * s.r + j]));
        }
    return worst;
}

/* Returns the largest entry of |H K H v - n lambda v| over the unit eigenvectors v, which are the
 * columns of A but for their length. K is n x n, and every row is a centre. */
static inline double eigen_error(mercer_model *model, const double *k) {
    mercer_summary s = summary_of(model);
    const double *a = f64_of(model, "A"), *lambda = f64_of(model, "lambda");
    double worst = 0, *y = malloc((size_t)s.m * sizeof *y);
    for (int64_t j = 0; j < s.r; j++) {
        double mean = 0, norm = 0;
        for (int64_t i = 0; i < s.m; i++) {
            y[i] = 0;
            for (int64_t c = 0; c < s.m; c++) /* H v = v, because columns of A sum to 0 */
                y[i] += k[i * s.m + c] * a[c * s.r + j];
            mean += y[i] / (double)s.m;
            norm += a[i * s.r + j] * a[i * s.r + j];
        }
        for (int64_t i = 0; i < s.m; i++)
            worst = larger(worst, fabs(y[i] - mean - (double)s.n * lambda[j] * a[i * s.r + j]) / sqrt(norm));
        /* The component has unit length in feature space. */
        NEAR(norm * (double)s.n * lambda[j], 1, 1e-8);
    }
    free(y);
    return worst;
}

#endif
