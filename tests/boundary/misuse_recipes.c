/* Unknown names, values out of range for each type of row, kernel expressions, indices and sizes of
 * structs. */
#include "misuse.h"

#include <math.h>

static void names_of_registries(void) {
    int64_t count = 0;
    mercer_entry entry = {.struct_size = sizeof entry};
    BAD(mercer_context_count, "what", "unknown", MERCER_E_NAME, "'kernel'", "'kernels'", f.context, "kernel", &count);
    BAD(mercer_context_entry, "what", "unknown", MERCER_E_NAME, "'reducer'", "'reducers'", f.context, "reducer", 0,
        &entry);
    BAD(mercer_context_find, "what", "unknown", MERCER_E_NAME, "'solvres'", "'solvers'", f.context, "solvres", "dense",
        &entry);
    BAD(mercer_context_find, "a kernel", "unknown", MERCER_E_NAME, "'gausian'", "'gaussian'", f.context, "kernels",
        "gausian", &entry);
    BAD(mercer_context_find, "a method", "unknown", MERCER_E_NAME, "'pca'", "'kpca'", f.context, "methods", "pca",
        &entry);
    BAD(mercer_context_find, "an operation", "unknown", MERCER_E_NAME, "'score'", "'scores'", f.context, "operations",
        "score", &entry);
    BAD(mercer_context_find, "a reducer", "unknown", MERCER_E_NAME, "'gredy'", "'greedy'", f.context, "reducers",
        "gredy", &entry);
    BAD(mercer_context_find, "a lift", "unknown", MERCER_E_NAME, "'wieghted'", "'weighted'", f.context, "lifts",
        "wieghted", &entry);
    BAD(mercer_context_find, "a solver", "unknown", MERCER_E_NAME, "'dens'", "'dense'", f.context, "solvers", "dens",
        &entry);
    BAD(mercer_context_find, "a status", "unknown", MERCER_E_NAME, "'MERCER_E_VALEU'", "'MERCER_E_VALUE'", f.context,
        "statuses", "MERCER_E_VALEU", &entry);
    BAD(mercer_plugin_check, "name", "unknown", MERCER_E_NAME, "'gausian'", "'gaussian'", f.context, "kernel-gausian");
    BAD(mercer_plugin_check, "name", "relative path", MERCER_E_NAME, "'./kernel-gaussian.so'", "absolute", f.context,
        "./kernel-gaussian.so");
    BAD(mercer_plugin_check, "name", "no such file", MERCER_E_PLUGIN, "/nowhere/kernel-a.so", "No such file", f.context,
        "/nowhere/kernel-a.so");
    BAD(mercer_context_add_plugins, "folder", "relative", MERCER_E_VALUE, "'plugins'", "absolute", f.context,
        "plugins");
    BAD(mercer_context_add_plugins, "folder", "empty", MERCER_E_VALUE, "''", "absolute", f.context, "");
    BAD(mercer_context_add_plugins, "folder", "goes up", MERCER_E_VALUE, "'/usr/../tmp'", "must not contain '..'",
        f.context, "/usr/../tmp");
}

static void names_of_recipes(void) {
    const char *value, *part[] = {"kernel"};
    NEW(recipe, mercer_recipe_create, "name", "misspelt method", MERCER_E_NAME, "'kpac'", "'kpca'", f.context, "kpac");
    NEW(recipe, mercer_recipe_create, "name", "misspelt operation", MERCER_E_NAME, "'residuals'", "'residual'",
        f.context, "residuals");
    NEW(recipe, mercer_recipe_create, "name", "like none", MERCER_E_NAME, "'wholly-unknown'", "known names are kpca",
        f.context, "wholly-unknown");
    NEW(recipe, mercer_recipe_create, "name", "empty", MERCER_E_NAME, "''", "kpca", f.context, "");
    BAD(mercer_recipe_set, "name", "misspelt", MERCER_E_NAME, "'kernel.sgima'", "'kernel.sigma'", f.recipe,
        "kernel.sgima", "1");
    BAD(mercer_recipe_set, "name", "of another method", MERCER_E_NAME, "accuracy applies to the method 'auto'",
        "'kpca' takes solver.tol", f.recipe, "accuracy", "0.1");
    BAD(mercer_recipe_set, "name", "a part without use", MERCER_E_NAME, "solver applies to the lifts 'weighted'",
        "'nystrom' does not accept it", f.projected, "solver", "dense");
    BAD(mercer_recipe_set, "name", "of another lift", MERCER_E_NAME, "report.rows applies to models with fewer",
        "'kpca'", f.recipe, "report.rows", "10");
    BAD(mercer_recipe_set, "name", "of a method, operation without rows", MERCER_E_NAME, "'sigma'",
        "known names are none", f.density, "sigma", "1");
    BAD(mercer_recipe_set, "name", "of a method, operation with rows", MERCER_E_NAME, "'sigma'",
        "known names are whiten", f.scores, "sigma", "1");
    BAD(mercer_recipe_set_real, "name", "misspelt", MERCER_E_NAME, "'sigam'", "'sigma'", f.recipe, "sigam", 1);
    BAD(mercer_recipe_set_real, "name", "misspelt, operation", MERCER_E_NAME, "'whitten'", "'whiten'", f.scores,
        "whitten", 1);
    BAD(mercer_recipe_set_real, "name", "of another method", MERCER_E_NAME, "accuracy applies to the method 'auto'",
        "'nystrom' does not accept it", f.projected, "accuracy", 0.1);
    BAD(mercer_recipe_set_many, "names", "unknown", MERCER_E_NAME, "'kernel'", "whiten", f.scores, part, part, 1);
    BAD(mercer_recipe_get, "name", "misspelt", MERCER_E_NAME, "'componets'", "'components'", f.recipe, "componets",
        &value);
    BAD(mercer_recipe_get, "name", "of another method", MERCER_E_NAME, "solver.tol applies to", "'auto' takes accuracy",
        f.automatic, "tol", &value);
    mercer_recipe *sum = new_recipe(f.context, "kernel", "gaussian + laplacian", NULL);
    BAD(mercer_recipe_get, "name", "ambiguous", MERCER_E_NAME, "'sigma'", "'kernel.2.sigma'", sum, "sigma", &value);
    BAD(mercer_recipe_set, "name", "ambiguous", MERCER_E_NAME, "'bandwidth'", "'kernel.1.bandwidth'", sum, "bandwidth",
        "mean");
    mercer_recipe_destroy(sum);
    BAD(mercer_recipe_set, "method", "misspelt", MERCER_E_NAME, "'nystorm'", "'nystrom'", f.recipe, "method",
        "nystorm");
    BAD(mercer_recipe_set, "reducer", "misspelt", MERCER_E_NAME, "'unifrom'", "'uniform'", f.recipe, "reducer",
        "unifrom");
    BAD(mercer_recipe_set, "solver", "misspelt", MERCER_E_NAME, "'danse'", "'dense'", f.recipe, "solver", "danse");
    BAD(mercer_recipe_set, "lift", "misspelt", MERCER_E_NAME, "'weigthed'", "'weighted'", f.recipe, "lift", "weigthed");
    BAD(mercer_recipe_set, "kernel", "misspelt", MERCER_E_NAME, "'laplacain'", "'laplacian'", f.recipe, "kernel",
        "laplacain");
    BAD(mercer_recipe_set, "kernel", "misspelt in a sum", MERCER_E_NAME, "'rbff'", "'rbf'", f.recipe, "kernel",
        "linear + 2 rbff");
}

void names(void **state) {
    (void)state;
    names_of_registries(), names_of_recipes();
    finish_entries();
}

/* Adds an entry for a value that mercer_recipe_set must refuse. */
#define SET(recipe, name, fault, saw, allowed, value)                                                                  \
    BAD(mercer_recipe_set, name, fault, MERCER_E_VALUE, saw, allowed, recipe, name, value)

static void reals(void) {
    SET(f.recipe, "kernel.sigma", "0", "sigma = 0", "must be > 0", "0");
    SET(f.recipe, "kernel.sigma", "negative", "sigma = -1", "must be > 0", "-1");
    SET(f.recipe, "kernel.sigma", "a word", "sigma = wide is not a finite number", "must be > 0", "wide");
    SET(f.recipe, "kernel.sigma", "beyond f64", "sigma = 1e999", "must be > 0", "1e999");
    SET(f.recipe, "kernel.sigma", "a comma", "sigma = 1,5", "must be > 0", "1,5");
    SET(f.recipe, "kernel.sigma", "a unit", "sigma = 5 mm", "must be > 0", "5 mm");
    SET(f.recipe, "kernel.sigma", "a very long number", "sigma = 1111111", "must be > 0",
        "1111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111x");
    BAD(mercer_recipe_set_real, "kernel.sigma", "NaN", MERCER_E_VALUE, "sigma = nan", "must be > 0", f.recipe, "sigma",
        NAN);
    BAD(mercer_recipe_set_real, "kernel.sigma", "infinite", MERCER_E_VALUE, "sigma = inf", "must be > 0", f.recipe,
        "sigma", INFINITY);
    SET(f.recipe, "kernel.gamma", "negative", "gamma = -0.5", "must be > 0", "-0.5");
    SET(f.automatic, "accuracy", "0", "accuracy = 0", "must be > 0 and <= 1", "0");
    SET(f.automatic, "accuracy", "negative", "accuracy = -1", "must be > 0 and <= 1", "-1");
    SET(f.automatic, "accuracy", "above its range", "accuracy = 1.01", "must be > 0 and <= 1", "1.01");
    SET(f.projected, "report.delta", "its open upper end", "report.delta = 1", "< 1", "1");
    SET(f.recipe, "output.variance", "above its range", "output.variance = 2", "<= 1", "2");
    SET(f.recipe, "output.threshold", "negative", "output.threshold = -0.1", "must be > 0", "-0.1");
    SET(f.recipe, "solver.tol", "0", "solver.tol = 0", "must be > 0", "0");
    SET(f.recipe, "solver.tol", "above its range", "solver.tol = 1.5", "<= 1", "1.5");

    mercer_recipe *greedy = new_recipe(f.context, "reducer", "greedy", NULL);
    SET(greedy, "reducer.trace", "its open upper end", "reducer.trace = 1", "must be >= 0 and < 1", "1");
    SET(greedy, "reducer.mse", "negative", "reducer.mse = -1", "must be >= 0", "-1");
    mercer_recipe_destroy(greedy);
    mercer_recipe *polynomial = new_recipe(f.context, "kernel", "polynomial", NULL);
    SET(polynomial, "kernel.coef0", "infinite", "kernel.coef0 = -inf", "must be a finite number", "-inf");
    SET(polynomial, "kernel.degree", "0", "kernel.degree = 0", "must be >= 1 and <= 64", "0");
    SET(polynomial, "kernel.degree", "above its range", "kernel.degree = 65", "must be >= 1 and <= 64", "65");
    SET(polynomial, "kernel.degree", "a fraction", "kernel.degree = 2.5", "must be >= 1 and <= 64", "2.5");
    mercer_recipe_destroy(polynomial);
}

static void whole_numbers(void) {
    BAD(mercer_recipe_set_real, "output.components", "negative", MERCER_E_VALUE, "components = -3", "must be >= 0",
        f.recipe, "components", -3);
    BAD(mercer_recipe_set_real, "output.components", "NaN", MERCER_E_VALUE, "components = nan", "must be >= 0",
        f.recipe, "components", NAN);
    SET(f.recipe, "output.components", "a fraction", "components = 2.5", ">= 0", "2.5");
    SET(f.recipe, "output.components", "a share", "components = 0.95", "did you mean output.variance = 0.95?", "0.95");
    SET(f.recipe, "output.components", "beyond i64", "components = 1e300", ">= 0", "1e300");
    SET(f.recipe, "output.components", "beyond i64, in digits", "components = 99999999999999999999",
        "at most 18 digits", "99999999999999999999");
    SET(f.recipe, "seed", "negative", "seed = -1", ">= 0", "-1");
    SET(f.recipe, "seed", "above its range", "seed = 9007199254740993", "<= 9007199254740992", "9007199254740993");
    SET(f.recipe, "solver.max_passes", "negative", "max_passes = -1", "must be >= 0", "-1");
    SET(f.recipe, "report.bootstrap", "above its range", "report.bootstrap = 100001", "<= 100000", "100001");
    SET(f.projected, "report.rows", "above its range", "report.rows = 2e9", "<= 1000000000", "2e9");
    mercer_recipe *once = new_recipe(f.context, "report.bootstrap", "1", NULL);
    NEW(model, mercer_model_fit, "report.bootstrap", "one replicate", MERCER_E_VALUE, "report.bootstrap = 1",
        "must be 0 or >= 2", once, f.data, NULL);
    mercer_recipe_destroy(once);
}

void numbers(void **state) {
    (void)state;
    reals(), whole_numbers();
    finish_entries();
}

void other_rows(void **state) {
    (void)state;
    const char *pair[] = {"sigma", "gamma"}, *ones[] = {"1", "1"}, *wrong[] = {"1", "-2"};
    SET(f.scores, "whiten", "no boolean", "whiten = maybe", "must be true or false", "maybe");
    SET(f.recipe, "solver.strict", "no boolean", "strict = yes", "must be true or false", "yes");
    SET(f.recipe, "lift.centred", "no boolean", "lift.centred = 2", "must be true or false", "2");
    SET(f.recipe, "gram.storage", "no choice", "storage = f16", "must be one of auto, stream, f64, f32", "f16");
    SET(f.recipe, "data.scale", "a choice in capitals", "scale = Standard", "must be one of none, standard, minmax",
        "Standard");
    SET(f.recipe, "data.dtype", "no choice", "data.dtype = i32", "must be one of as-given, f32, f64", "i32");
    SET(f.recipe, "data.missing", "no choice", "data.missing = mean", "must be one of error, rows", "mean");
    SET(f.recipe, "kernel.bandwidth", "no choice", "bandwidth = medain", "median, mean, scale", "medain");
    SET(f.projected, "report.certificates", "no choice", "report.certificates = all", "none, cheap, rows", "all");
    SET(f.recipe, "data.lengths", "negative", "number 1 is '-2'", "must be a finite number > 0", "1,-2");
    SET(f.recipe, "data.lengths", "0", "number 0 is '0'", "must be a finite number > 0", "0");
    SET(f.recipe, "data.lengths", "a word", "number 2 is 'x'", "must be a finite number > 0", "1,2,x");
    SET(f.recipe, "data.lengths", "one missing", "number 1 is ''", "must be a finite number > 0", "1,,2");
    mercer_recipe *lengths = new_recipe(f.context, "data.lengths", "1,2,3", NULL);
    NEW(model, mercer_model_fit, "data.lengths", "more than columns", MERCER_E_SHAPE, "data.lengths: 3 numbers",
        "must be 1 or 2", lengths, f.data, NULL);
    mercer_recipe_destroy(lengths);
    BAD(mercer_recipe_set_many, "values", "two of a group", MERCER_E_VALUE, "kernel.gamma = 1", "only one", f.recipe,
        pair, ones, 2);
    BAD(mercer_recipe_set_many, "values", "out of range", MERCER_E_VALUE, "kernel.gamma = -2", "must be > 0", f.recipe,
        pair + 1, wrong + 1, 1);
    BAD(mercer_recipe_set_many, "count", "negative", MERCER_E_VALUE, "count = -1", "must be >= 0", f.recipe, pair, ones,
        -1);
    mercer_recipe *sigma = new_recipe(f.context, "sigma", "1", NULL);
    SET(sigma, "kernel.gamma", "beside sigma", "kernel.gamma = 2: 'sigma' is already set", "only one", "2");
    mercer_recipe_destroy(sigma);
    finish_entries();
}

void kernel_expressions(void **state) {
    (void)state;
    SET(f.recipe, "kernel", "columns that do not end", "gaussian[0-", "expected a column", "gaussian[0-");
    SET(f.recipe, "kernel", "columns that descend", "gaussian[5-2]", "ascending", "gaussian[5-2]");
    SET(f.recipe, "kernel", "a column twice", "column 0 of gaussian is listed twice", "must be once",
        "gaussian[0-1,0]");
    SET(f.recipe, "kernel", "a sum of one", "gaussian +", "expected a kernel's name", "gaussian +");
    SET(f.recipe, "kernel", "weight 0", "a weight of 0", "must be > 0", "0 gaussian");
    SET(f.recipe, "kernel", "negative weight", "-1 gaussian", "expected a kernel's name", "-1 gaussian");
    SET(f.recipe, "kernel", "two without a sign", "gaussian linear", "at character 10", "gaussian linear");
    SET(f.recipe, "kernel", "parentheses", "(linear)", "expected a kernel's name", "(linear)");
    SET(f.recipe, "kernel", "a path", "../linear", "expected a number", "../linear");
    mercer_recipe *column = new_recipe(f.context, "kernel", "gaussian[7]", NULL);
    NEW(model, mercer_model_fit, "kernel", "column beyond the data", MERCER_E_VALUE, "column 7", "the data have 2",
        column, f.data, NULL);
    mercer_recipe_destroy(column);
    finish_entries();
}

void indices_and_sizes(void **state) {
    (void)state;
    mercer_entry entry = {.struct_size = sizeof entry}, small_entry = {.struct_size = 4};
    mercer_row row = {.struct_size = sizeof row}, no_row = {.struct_size = -8};
    mercer_forecast forecast = {.struct_size = 0};
    mercer_summary summary = {.struct_size = 1 << 20};
    mercer_data_facts facts = {.struct_size = 7};
    BAD(mercer_context_entry, "index", "negative", MERCER_E_VALUE, "index = -1", "must be 0 to ", f.context, "methods",
        -1, &entry);
    BAD(mercer_context_entry, "index", "too large", MERCER_E_VALUE, "index = 1000", "must be 0 to 15", f.context,
        "statuses", 1000, &entry);
    BAD(mercer_context_entry, "struct_size", "too small", MERCER_E_ARGUMENT, "struct_size = 4", "= 72", f.context,
        "statuses", 0, &small_entry);
    BAD(mercer_context_find, "struct_size", "too small", MERCER_E_ARGUMENT, "struct_size = 4", "= 72", f.context,
        "statuses", "MERCER_OK", &small_entry);
    BAD(mercer_recipe_row, "index", "negative", MERCER_E_VALUE, "index = -1", "must be 0 to ", f.recipe, -1, &row);
    BAD(mercer_recipe_row, "index", "too large", MERCER_E_VALUE, "index = 1000", "must be 0 to ", f.recipe, 1000, &row);
    BAD(mercer_recipe_row, "index", "of none", MERCER_E_VALUE, "index = 0", "there are no entries", f.density, 0, &row);
    BAD(mercer_recipe_row, "index", "the one after the last", MERCER_E_VALUE, "index = 1", "must be 0 to 0", f.scores,
        1, &row);
    BAD(mercer_recipe_row, "struct_size", "negative", MERCER_E_ARGUMENT, "struct_size = -8", "= 72", f.recipe, 0,
        &no_row);
    const mercer_row unknown = {.struct_size = sizeof unknown, .name = "--width", .type = 9},
                     backwards = {.struct_size = sizeof backwards, .name = "--width", .type = MERCER_REAL, .lo = 2},
                     bare = {.struct_size = sizeof bare, .name = "--kind", .type = MERCER_CHOICE, .choices = ""};
    BAD(mercer_row_check, "struct_size", "negative", MERCER_E_ARGUMENT, "struct_size = -8", "= 72", &no_row, "1");
    BAD(mercer_row_check, "type", "unknown", MERCER_E_ARGUMENT, "type = 9", "MERCER_REAL", &unknown, "1");
    BAD(mercer_row_check, "lo", "above hi", MERCER_E_ARGUMENT, "lo = 2", "increasing range", &backwards, "1");
    BAD(mercer_row_check, "choices", "none", MERCER_E_ARGUMENT, "choices are missing", "row", &bare, "x");
    BAD(mercer_recipe_forecast, "struct_size", "0", MERCER_E_ARGUMENT, "struct_size = 0", "= 120", f.recipe, f.data,
        NULL, &forecast);
    BAD(mercer_model_summary, "struct_size", "too large", MERCER_E_ARGUMENT, "struct_size = 1048576", "= 72", f.model,
        &summary);
    BAD(mercer_data_inspect, "struct_size", "too small", MERCER_E_ARGUMENT, "struct_size = 7", "= 112", f.data, &facts);
    finish_entries();
}
