/* Checks models of methods that the library does not have. They are assembled from arrays that the
 * caller has computed. */
#include "walk.h"

enum { N = 40, D = 3, R = 3 };
static const double sigma = 0.8;
static const char gaussian_json[] = "{\"kernel\": \"gaussian\", \"parameters\": {\"kernel.sigma\": 0.8}}";
static double x[N * D], k[N * N];

/* Computes the r largest eigenpairs of a symmetric matrix a (n x n) by orthogonal iteration:
 * eigenvalues into values, eigenvectors into the columns of u. */
static void eigenpairs(int n, const double *a, int r, double *values, double *u) {
    fill(u, n * r, 77);
    for (int step = 0; step < 4000; step++) {
        double y[N * N];
        for (int i = 0; i < n; i++)
            for (int j = 0; j < r; j++) {
                y[i * r + j] = 0;
                for (int c = 0; c < n; c++) y[i * r + j] += a[i * n + c] * u[c * r + j];
            }
        for (int j = 0; j < r; j++) { /* Gram-Schmidt, twice */
            for (int pass = 0; pass < 2; pass++)
                for (int l = 0; l < j; l++) {
                    double dot = 0;
                    for (int i = 0; i < n; i++) dot += y[i * r + j] * y[i * r + l];
                    for (int i = 0; i < n; i++) y[i * r + j] -= dot * y[i * r + l];
                }
            double norm = 0;
            for (int i = 0; i < n; i++) norm += y[i * r + j] * y[i * r + j];
            values[j] = sqrt(norm);
            for (int i = 0; i < n; i++) u[i * r + j] = y[i * r + j] / values[j];
        }
    }
}

/* A diffusion map with all weights 1 and alpha = 1, written as an expansion:
 *
 *   f = A^T k(C, x) / g(x), g = v^T k(C, x), v = 1 / q, q the row sums of K. */
static void diffusion_map(mercer_context *ctx) {
    double q[N], degree[N], s[N * N], u[N * (R + 1)], lambda[R + 1], v[N], f[N * R], a[N * R], b[R] = {0}, vol = 0;
    for (int i = 0; i < N; i++) {
        q[i] = 0;
        for (int j = 0; j < N; j++) q[i] += k[i * N + j];
    }
    for (int i = 0; i < N; i++) {
        degree[i] = 0;
        for (int j = 0; j < N; j++) degree[i] += k[i * N + j] / (q[i] * q[j]);
        vol += degree[i];
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) s[i * N + j] = k[i * N + j] / (q[i] * q[j]) / sqrt(degree[i] * degree[j]);
    eigenpairs(N, s, R + 1, lambda, u);
    NEAR(lambda[0], 1, 1e-12);
    for (int i = 0; i < N; i++) {
        v[i] = 1 / q[i];
        for (int l = 0; l < R; l++) {
            f[i * R + l] = sqrt(vol) * u[i * (R + 1) + l + 1] / sqrt(degree[i]);
            a[i * R + l] = v[i] * f[i * R + l] / lambda[l + 1];
        }
    }
    const char *names[] = {"C", "A", "v", "b"};
    mercer_view tensors[] = {f64_matrix(x, N, D), f64_matrix(a, N, R), f64_matrix(v, N, 1), f64_matrix(b, R, 1)};
    mercer_model *model = NULL;
    OK(mercer_model_from_tensors(&model, ctx, gaussian_json, names, tensors, 4));
    double out[N * R], far[4 * D] = {1e3, 0, 0, -1e4, 5, 7, 0, 1e8, 0, 40, 0, 0}, limit[4 * R];
    mercer_data *centres = rows_of(ctx, x, N, D), *away = rows_of(ctx, far, 4, D);
    scores_of(model, centres, out, N, R);
    /* At the centres, f must reproduce the eigenvectors. */
    for (int i = 0; i < N * R; i++) NEAR(out[i], f[i], 1e-9);
    scores_of(model, away, limit, 4, R);
    for (int i = 0; i < 4; i++) {
        /* Far from all centres, the model must compute k relative to its largest value. In the
         * limit, only the nearest centre counts. */
        double r2[N], best = INFINITY, g = 0, sums[R] = {0};
        for (int j = 0; j < N; j++) {
            r2[j] = 0;
            for (int c = 0; c < D; c++) r2[j] += (far[i * D + c] - x[j * D + c]) * (far[i * D + c] - x[j * D + c]);
            best = fmin(best, r2[j]);
        }
        for (int j = 0; j < N; j++) {
            double relative = exp(-(r2[j] - best) / (2 * sigma * sigma));
            g += relative * v[j];
            for (int l = 0; l < R; l++) sums[l] += relative * a[j * R + l];
        }
        /* At 1e8 (i = 2) squared distances have errors of about 2, so only finiteness can be
         * checked. */
        for (int l = 0; l < R; l++)
            CHECK(isfinite(limit[i * R + l]) && (i == 2 || fabs(limit[i * R + l] - sums[l] / g) < 1e-6));
    }
    CHECK(summary_of(model).capabilities == MERCER_CAN_SHARE);
    mercer_data_destroy(centres);
    mercer_data_destroy(away);
    mercer_model_destroy(model);
}

/* KSLS approximates the kernel values of a query q with all N rows from its kernel values with M
 * chosen rows R: khat(q) = m^T k_R(q), with the coefficients m = K_RR^-1 K_RN. The kernel values
 * come from a callback on indices. */
typedef struct index_space {
    int queries; /* 1: i is the number of a query, and query i is point i + 5 */
    int64_t calls;
} index_space;
static int32_t pairs(void *user, const int64_t *i, const int64_t *j, int64_t count, double *values) {
    index_space *space = user;
    space->calls += count;
    for (int64_t c = 0; c < count; c++) values[c] = k[(i[c] + (space->queries ? 5 : 0)) * N + j[c]];
    return 0;
}

static void ksls(mercer_context *ctx) {
    enum { M = 4 };
    int64_t chosen[M] = {3, 11, 26, 38};
    /* t = [K_RR | K_RN], which Gauss-Jordan elimination turns into [1 | K_RR^-1 K_RN]. */
    double t[M][M + N], kii[N], m[M * N], out[7 * N];
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M + N; j++) t[i][j] = k[chosen[i] * N + (j < M ? chosen[j] : j - M)];
    for (int p = 0; p < M; p++) {
        double pivot = t[p][p];
        for (int j = 0; j < M + N; j++) t[p][j] /= pivot;
        for (int i = 0; i < M; i++)
            for (int j = M + N - 1; i != p && j >= p; j--) t[i][j] -= t[i][p] * t[p][j];
    }
    for (int i = 0; i < M; i++) memcpy(m + i * N, t[i] + M, N * sizeof *m);
    for (int i = 0; i < N; i++) kii[i] = k[i * N + i];
    const char *names[] = {"indices", "A", "kii"};
    mercer_view tensors[] = {matrix(chosen, MERCER_I64, M, 1), f64_matrix(m, M, N), f64_matrix(kii, N, 1)};
    mercer_model *model = NULL;
    OK(mercer_model_from_tensors(&model, ctx, "{\"kernel\": \"user\"}", names, tensors, 3));
    index_space space = {1, 0};
    mercer_objects objects = {
        .struct_size = sizeof objects, .rows = 7, .values = MERCER_KERNEL, .pairs = pairs, .user = &space};
    mercer_data *queries = NULL;
    OK(mercer_data_from_objects(&queries, ctx, &objects));
    scores_of(model, queries, out, 7, N);
    CHECK(space.calls == 7 * M); /* M kernel values for each query */
    for (int q = 0; q < 7; q++)
        for (int i = 0; i < N; i++) {
            double khat = 0;
            for (int r = 0; r < M; r++) khat += k[(q + 5) * N + chosen[r]] * m[r * N + i];
            NEAR(out[q * N + i], khat, 1e-12);
            /* khat is exact where the query or the row i is in R. Query 6 is point 11, which is in
             * R. */
            if (q == 6 || i == 3 || i == 11 || i == 26 || i == 38) NEAR(out[q * N + i], k[(q + 5) * N + i], 1e-9);
            /* khat is an orthogonal projection in feature space, so this squared distance cannot be
             * negative. */
            CHECK(f64_of(model, "kii")[i] - 2 * out[q * N + i] + 1 >= -1e-9);
        }
    mercer_data_destroy(queries);
    mercer_model_destroy(model);
}

/* Random features: [cos W x; sin W x] . [cos W y; sin W y] / m -> k(x, y) as m grows. The model
 * computes A^T [cos W x; sin W x], so any factor such as 1 / sqrt m is part of A. The rows of A
 * that belong to cosines come first. */
static void random_features(mercer_context *ctx) {
    enum { M = 300 };
    static double w[M * D], a[2 * M * 2], out[N * 2];
    uint64_t seed = 5;
    for (int i = 0; i < M * D; i++) { /* approximately normal numbers, each the sum of twelve uniform ones */
        for (int s = 0; s < 12; s++) w[i] += number(&seed) / 2;
        w[i] /= sigma;
    }
    fill(a, 2 * M * 2, 6);
    const char *names[] = {"A", "frequencies"};
    mercer_view tensors[] = {f64_matrix(a, 2 * M, 2), f64_matrix(w, M, D)};
    mercer_model *model = NULL;
    OK(mercer_model_from_tensors(&model, ctx, gaussian_json, names, tensors, 2));
    CHECK(summary_of(model).m == M && summary_of(model).d == D && summary_of(model).r == 2);
    mercer_data *data = rows_of(ctx, x, N, D);
    scores_of(model, data, out, N, 2);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < 2; j++) {
            double f = 0;
            for (int c = 0; c < M; c++) {
                double t = 0;
                for (int col = 0; col < D; col++) t += w[c * D + col] * x[i * D + col];
                f += cos(t) * a[c * 2 + j] + sin(t) * a[(M + c) * 2 + j];
            }
            NEAR(out[i * 2 + j], f, 1e-11);
        }
    mercer_data_destroy(data);
    mercer_model_destroy(model);
}

/* A model of fewer centres, made by random rounding of the coefficients. A sparse B replaces A, and
 * b' = b + kappa (B - A)^T 1 replaces b, where kappa = 1/2 is the middle of the range of k. */
static void rounded(mercer_context *ctx) {
    mercer_data *data = rows_of(ctx, x, N, D);
    mercer_recipe *recipe = RECIPE(ctx, "sigma", "0.8", "components", "1");
    mercer_model *full = fit_of(recipe, data), *model = NULL;
    const double *a = f64_of(full, "A"), *b = f64_of(full, "b");
    double support[N * D], kept[N], offset = b[0], kappa = 0.5, norm = 0, out[N];
    uint64_t seed = 9;
    int64_t m = 0;
    for (int i = 0; i < N; i++) norm += a[i] * a[i] / 2;
    for (int i = 0; i < N; i++) {
        /* Coefficients with |a| > 1/s stay. Others become +-1/s with probability s |a|, and
         * otherwise vanish. */
        double s = 1 / sqrt(norm / 4), rounded = fabs(a[i]) > 1 / s                         ? a[i]
                                                 : (number(&seed) + 1) / 2 < s * fabs(a[i]) ? copysign(1 / s, a[i])
                                                                                            : 0;
        offset += kappa * (rounded - a[i]);
        if (rounded != 0) {
            memcpy(support + m * D, x + i * D, D * sizeof *x);
            kept[m++] = rounded;
        }
    }
    CHECK(m > 0 && m < N);
    const char *names[] = {"C", "A", "b"};
    mercer_view tensors[] = {f64_matrix(support, m, D), f64_matrix(kept, m, 1), f64_matrix(&offset, 1, 1)};
    OK(mercer_model_from_tensors(&model, ctx, gaussian_json, names, tensors, 3));
    scores_of(model, data, out, N, 1);
    for (int i = 0; i < N; i++) {
        double f = -offset;
        for (int j = 0; j < m; j++) f += kept[j] * gaussian(sigma, x + i * D, support + j * D, D);
        NEAR(out[i], f, 1e-12);
    }
    CHECK(summary_of(model).m == m && !(summary_of(model).capabilities & MERCER_CAN_ORTHONORMAL));
    mercer_model_destroy(full);
    mercer_model_destroy(model);
    mercer_recipe_destroy(recipe);
    mercer_data_destroy(data);
}

int main(void) {
    mercer_context *ctx = NULL;
    OK(mercer_context_create(&ctx));
    fill(x, N * D, 3);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) k[i * N + j] = gaussian(sigma, x + i * D, x + j * D, D);
    diffusion_map(ctx);
    ksls(ctx);
    random_features(ctx);
    rounded(ctx);
    mercer_context_destroy(ctx);
    return 0;
}
