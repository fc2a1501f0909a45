/* Checks that third-party plugins, at least one of each kind, are found in a folder that is given
 * to the context, and that fits can use them. The argument is the path of the folder. */
#include "walk.h"

enum { N = 120, D = 3, R = 4 };
static double x[N * D], q[10 * D], k[N * N], kq[10 * N], scores[10 * R];

static double cauchy(const double *a, const double *b) {
    double r2 = 0;
    for (int c = 0; c < D; c++) r2 += (a[c] - b[c]) * (a[c] - b[c]);
    return 1 / (1 + r2 / 0.49);
}
static double anova(const double *a, const double *b) {
    double sum = 0;
    for (int c = 0; c < D; c++) sum += exp(-2 * (a[c] - b[c]) * (a[c] - b[c]));
    return sum * sum;
}

/* A fit with a plugin's kernel must be an eigendecomposition of that kernel's matrix, which is
 * computed here by plain loops. */
static void kernels(mercer_context *ctx, const char *name, const char *parameter, const char *value,
                    double (*kernel)(const double *, const double *)) {
    mercer_data *data = rows_of(ctx, x, N, D), *queries = rows_of(ctx, q, 10, D);
    mercer_recipe *recipe = RECIPE(ctx, "kernel", name, parameter, value, "components", "4");
    mercer_model *model = fit_of(recipe, data);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) k[i * N + j] = kernel(x + i * D, x + j * D);
    for (int i = 0; i < 10; i++)
        for (int j = 0; j < N; j++) kq[i * N + j] = kernel(q + i * D, x + j * D);
    scores_of(model, queries, scores, 10, R);
    CHECK(eigen_error(model, k) < 1e-11 && expansion_error(model, kq, scores, 10) < 1e-12);
    mercer_model_destroy(model);
    mercer_recipe_destroy(recipe);
    mercer_data_destroy(data);
    mercer_data_destroy(queries);
}

/* The pivot rule of the reducer `energy`: each pivot must be the row that lowers the trace of the
 * residual most, as found here by updating the whole residual matrix. A row whose residual is below
 * delta must not be chosen. */
static double energy_of(int j) {
    double sum = 0;
    for (int t = 0; t < N; t++) sum += k[t * N + j] * k[t * N + j];
    return k[j * N + j] > 1e-9 ? sum / k[j * N + j] : 0;
}
static void pivot_rule(mercer_context *ctx, const char *delta) {
    mercer_data *data = rows_of(ctx, x, N, D);
    mercer_recipe *recipe = RECIPE(ctx, "sigma", "0.6", "reducer", "energy", "m", "12", "reducer.delta", delta);
    mercer_model *model = fit_of(recipe, data);
    const double *c = f64_of(model, "C");
    const int64_t m = summary_of(model).m;
    CHECK(atof(delta) > 0 ? m > 1 && m < 12 : m == 12);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) k[i * N + j] = gaussian(0.6, x + i * D, x + j * D, D);
    for (int step = 0; step < m; step++) {
        int p = 0; /* the chosen row; of rows with equal scores any may be chosen */
        while (p < N - 1 && memcmp(c + step * D, x + p * D, D * sizeof *x)) p++;
        for (int col = 0; col < D; col++) CHECK(c[step * D + col] == x[p * D + col]);
        CHECK(k[p * N + p] >= atof(delta));
        for (int i = 0; i < N; i++) CHECK(k[i * N + i] < atof(delta) || energy_of(p) >= energy_of(i) * (1 - 1e-10));
        double column[N], root = sqrt(k[p * N + p]);
        for (int i = 0; i < N; i++) column[i] = k[i * N + p] / root;
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) k[i * N + j] -= column[i] * column[j];
    }
    for (int i = 0; i < N; i++) CHECK(m == 12 || k[i * N + i] < atof(delta));
    mercer_model_destroy(model);
    mercer_recipe_destroy(recipe);
    mercer_data_destroy(data);
}

/* The pivot rule of the reducer `descent`, on whole rows: each pivot must be the row that lowers
 * the trace of the residual most. Row j would lower it by the sum of squares of row j of the
 * residual, divided by its diagonal entry; the test updates the whole residual matrix to find this.
 * The data are vectors, or objects known by their distances. */
static int32_t distances(void *user, const int64_t *i, const int64_t *j, int64_t count, double *values) {
    (void)user;
    for (int64_t c = 0; c < count; c++) {
        double r2 = 0;
        for (int col = 0; col < D; col++) r2 += pow(x[i[c] * D + col] - x[j[c] * D + col], 2);
        values[c] = sqrt(r2);
    }
    return 0;
}
static double gain(int j) {
    double sum = 0;
    for (int t = 0; t < N; t++) sum += k[j * N + t] * k[j * N + t];
    return k[j * N + j] > 1e-9 ? sum / k[j * N + j] : 0;
}
static int pivot_of(mercer_model *model, int step, int objects) {
    if (objects) return (int)((const int64_t *)tensor_of(model, "indices").data)[step];
    int p = 0;
    while (p < N - 1 && memcmp(f64_of(model, "C") + step * D, x + p * D, D * sizeof *x)) p++;
    return p;
}
static void whole_rows(mercer_context *ctx, int objects) {
    const mercer_objects known = {
        .struct_size = sizeof known, .rows = N, .values = MERCER_DISTANCE, .pairs = distances};
    mercer_data *data = NULL;
    if (objects)
        OK(mercer_data_from_objects(&data, ctx, &known));
    else
        data = rows_of(ctx, x, N, D);
    mercer_recipe *recipe = RECIPE(ctx, "sigma", "0.6", "reducer", "descent", "m", "12");
    mercer_model *model = fit_of(recipe, data);
    CHECK(summary_of(model).m == 12);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) k[i * N + j] = gaussian(0.6, x + i * D, x + j * D, D);
    for (int step = 0; step < 12; step++) {
        const int p = pivot_of(model, step, objects);
        for (int i = 0; i < N; i++) CHECK(gain(p) >= gain(i) * (1 - 1e-9));
        double column[N], root = sqrt(k[p * N + p]);
        for (int i = 0; i < N; i++) column[i] = k[i * N + p] / root;
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) k[i * N + j] -= column[i] * column[j];
    }
    mercer_model_destroy(model);
    mercer_recipe_destroy(recipe);
    mercer_data_destroy(data);
}

/* k-means: each centroid must be the mean of the rows nearest to it, and each weight the number of
 * these rows. */
static void points_reducer(mercer_context *ctx) {
    mercer_data *data = rows_of(ctx, x, N, D);
    mercer_recipe *recipe = RECIPE(ctx, "sigma", "0.6", "reducer", "lloyd", "m", "9");
    mercer_model *model = fit_of(recipe, data);
    const double *c = f64_of(model, "C"), *w = f64_of(model, "w");
    int64_t m = summary_of(model).m;
    double sums[9][D] = {{0}}, count[9] = {0}, total = 0;
    CHECK(m >= 2 && m <= 9);
    for (int i = 0; i < N; i++) {
        int64_t nearest = 0;
        for (int64_t j = 1; j < m; j++)
            if (gaussian(1, x + i * D, c + j * D, D) > gaussian(1, x + i * D, c + nearest * D, D)) nearest = j;
        count[nearest] += 1;
        for (int col = 0; col < D; col++) sums[nearest][col] += x[i * D + col];
    }
    for (int64_t j = 0; j < m; j++) {
        NEAR(w[j], count[j], 1e-12 * N);
        total += w[j];
        for (int col = 0; col < D; col++) NEAR(c[j * D + col], sums[j][col] / count[j], 1e-13);
    }
    NEAR(total, N, 1e-12 * N);
    mercer_model_destroy(model);
    mercer_recipe_destroy(recipe);
    mercer_data_destroy(data);
}

/* A solver that uses apply() alone, on a streamed matrix, must find the eigenpairs that LAPACK
 * finds. */
static void solver(mercer_context *ctx) {
    mercer_data *data = rows_of(ctx, x, N, D);
    mercer_recipe *recipe = RECIPE(ctx, "sigma", "0.6", "components", "4", "solver", "power", "gram.storage", "stream",
                                   "solver.tol", "1e-11");
    mercer_model *model = fit_of(recipe, data);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) k[i * N + j] = gaussian(0.6, x + i * D, x + j * D, D);
    CHECK(summary_of(model).outcome == 0 && eigen_error(model, k) < N * 1e-10);
    OK(mercer_recipe_set(recipe, "solver", "dense"));
    mercer_model *dense = fit_of(recipe, data);
    for (int j = 0; j < R; j++) NEAR(f64_of(model, "lambda")[j], f64_of(dense, "lambda")[j], 1e-10);
    mercer_model_destroy(model);
    mercer_model_destroy(dense);
    mercer_recipe_destroy(recipe);
    mercer_data_destroy(data);
}

int main(int argc, char **argv) {
    mercer_context *ctx = NULL;
    mercer_entry entry = {.struct_size = sizeof entry};
    CHECK(argc == 2);
    fill(x, N * D, 1);
    fill(q, 10 * D, 2);
    OK(mercer_context_create(&ctx));
    CHECK(mercer_context_find(ctx, "kernels", "plainc", &entry) == MERCER_E_NAME);
    OK(mercer_context_add_plugins(ctx, argv[1]));
    OK(mercer_context_find(ctx, "kernels", "plainc", &entry));
    CHECK(strcmp(entry.summary, "1 / (1 + r^2/h^2)") == 0 && strstr(entry.path, "kernel-plainc.so"));
    kernels(ctx, "plainc", "h", "0.7", cauchy);
    kernels(ctx, "blocky", "gamma", "2", anova);
    pivot_rule(ctx, "0");
    pivot_rule(ctx, "0.9");
    whole_rows(ctx, 0);
    whole_rows(ctx, 1);
    points_reducer(ctx);
    solver(ctx);
    mercer_context_destroy(ctx);
    return 0;
}
