/* Unknown names, values out of range, and runs that cannot be. */
#include "misuse.h"

#include <math.h>

void names(void **state) {
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
    BAD(MERCER_E_NAME, "accuracy belongs to the method 'auto'", "'kpca' takes solver.tol",
        mercer_recipe_set(f.recipe, "accuracy", "0.1"));
    BAD(MERCER_E_NAME, "accuracy belongs to the method 'auto'", "'nystrom' has no use for it",
        mercer_recipe_set_real(f.projected, "accuracy", 0.1));
    BAD(MERCER_E_NAME, "solver.tol belongs to", "'auto' takes accuracy", mercer_recipe_get(f.automatic, "tol", &value));
    BAD(MERCER_E_NAME, "solver belongs to the lift 'weighted'", "'nystrom' has no use for it",
        mercer_recipe_set(f.projected, "solver", "dense"));
    BAD(MERCER_E_NAME, "gram.storage belongs to the lift 'weighted'", "'nystrom'",
        mercer_recipe_set(f.projected, "gram.storage", "f32"));
    BAD(MERCER_E_NAME, "report.rows belongs to the lift 'projected'", "'kpca'",
        mercer_recipe_set(f.recipe, "report.rows", "10"));
    BAD(MERCER_E_NAME, "report.certificates belongs to the lift 'projected'", "'auto'",
        mercer_recipe_set(f.automatic, "certificates", "rows"));
    BAD(MERCER_E_NAME, "report.delta belongs to the lift 'projected' and the method 'auto'", "'kpca'",
        mercer_recipe_set(f.recipe, "delta", "0.1"));
    BAD(MERCER_E_NAME, "reducer belongs to", "like 'kpca'", mercer_recipe_set(f.automatic, "reducer", "uniform"));
    BAD(MERCER_E_NAME, "lift belongs to", "like 'kpca'", mercer_recipe_set(f.automatic, "lift", "weighted"));
    BAD(MERCER_E_NAME, "'sigma'", "none", mercer_recipe_set(f.density, "sigma", "1"));
    BAD(MERCER_E_NAME, "'sigma'", "known are whiten", mercer_recipe_set(f.scores, "sigma", "1"));
    BAD(MERCER_E_NAME, "'whitten'", "'whiten'", mercer_recipe_set_real(f.scores, "whitten", 1));
    BAD(MERCER_E_NAME, "'kernel'", "whiten", mercer_recipe_set_many(f.scores, part, part, 1));
    BAD(MERCER_E_NAME, "'weight'", "'weights'", mercer_data_attach(f.data, "weight", &view));
    BAD(MERCER_E_NAME, "'lamda'", "'lambda'", mercer_model_tensor(f.model, "lamda", &view));
    finish_rows();
}

void parameters(void **state) {
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
    BAD(MERCER_E_VALUE, "accuracy = 0", "> 0", mercer_recipe_set(f.automatic, "accuracy", "0"));
    BAD(MERCER_E_VALUE, "accuracy = -1", "> 0", mercer_recipe_set(f.automatic, "accuracy", "-1"));
    BAD(MERCER_E_VALUE, "report.delta = 1", "< 1", mercer_recipe_set(f.projected, "delta", "1"));
    BAD(MERCER_E_VALUE, "output.variance = 2", "<= 1", mercer_recipe_set(f.recipe, "variance", "2"));
    BAD(MERCER_E_VALUE, "report.certificates = all", "none, cheap",
        mercer_recipe_set(f.projected, "certificates", "all"));
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

void indices_and_runs(void **state) {
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
