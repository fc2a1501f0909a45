/* Operations and derivations that a model does not support, queries that do not fit a model, and
 * tensors that do not form one. */
#include "misuse.h"

void outputs(void **state) {
    (void)state;
    int64_t count = 0;
    mercer_output output = {.struct_size = sizeof output}, small = {.struct_size = 1};
    mercer_view out = doubles(f.out, N, R), few = doubles(f.out, N - 1, R), thin = doubles(f.out, N, R - 1);
    mercer_view floats = view_of(f.out, MERCER_F32, N, R), ints = view_of(f.out, MERCER_I64, N, R);
    mercer_view overlap = out, unsized = out, tensor = {.struct_size = 3}, square = doubles(f.out, N, N - 1);
    mercer_view halves = view_of(f.out, MERCER_I64, N, N);
    const char *text;
    overlap.row_stride = 1, overlap.col_stride = 2, unsized.struct_size = 5;
#define OUT(argument, fault, code, saw, allowed, view)                                                                 \
    BAD(mercer_model_transform, argument, fault, code, saw, allowed, f.model, NULL, f.data, &(view), 1, NULL)
    OUT("outs", "too few rows", MERCER_E_SHAPE, "5 x 2", "must be 6 x 2", few);
    OUT("outs", "too few columns", MERCER_E_SHAPE, "6 x 1", "must be 6 x 2", thin);
    OUT("outs", "f32 of an f64 model", MERCER_E_ARGUMENT, "dtype = 1", "2 (MERCER_F64)", floats);
    OUT("outs", "integers", MERCER_E_ARGUMENT, "dtype = 3", "MERCER_F64", ints);
    OUT("outs", "columns that overlap", MERCER_E_SHAPE, "1 and 2", "at least the number of columns", overlap);
    OUT("outs", "struct_size too small", MERCER_E_ARGUMENT, "struct_size = 5", "= 56", unsized);
    mercer_view beside = doubles(f.x + 1, N, R);
    OUT("outs", "in the memory of data", MERCER_E_ARGUMENT, "shares memory with data", "use separate memory", beside);
    beside = doubles(f.x, N, N);
    BAD(mercer_recipe_kernel, "out", "in the memory of x", MERCER_E_ARGUMENT, "shares memory with x",
        "use separate memory", f.recipe, f.data, NULL, &beside, NULL);
    BAD(mercer_model_transform, "count", "too many", MERCER_E_ARGUMENT, "count = 2", "1 output", f.model, NULL, f.data,
        &out, 2, NULL);
    BAD(mercer_model_transform, "count", "0", MERCER_E_ARGUMENT, "count = 0", "1 output", f.model, NULL, f.data, &out,
        0, NULL);
    BAD(mercer_model_transform, "what", "a method", MERCER_E_ARGUMENT, "'kpca'", "must be an operation", f.model,
        f.recipe, f.data, &out, 1, NULL);
    BAD(mercer_model_output, "what", "a method", MERCER_E_ARGUMENT, "'kpca'", "must be an operation", f.model, f.recipe,
        f.data, 0, &output, &count);
    BAD(mercer_model_output, "index", "too large", MERCER_E_VALUE, "index = 1", "1 output", f.model, NULL, f.data, 1,
        &output, &count);
    BAD(mercer_model_output, "index", "negative", MERCER_E_VALUE, "index = -1", "1 output", f.model, NULL, f.data, -1,
        &output, &count);
    BAD(mercer_model_output, "struct_size", "too small", MERCER_E_ARGUMENT, "struct_size = 1", "= 48", f.model, NULL,
        f.data, 0, &small, &count);
    BAD(mercer_model_info, "path", "unknown", MERCER_E_NAME, "'/eigenvalue'", "'/eigenvalues'", f.model, "/eigenvalue",
        &text);
    BAD(mercer_model_info, "path", "without its slash", MERCER_E_NAME, "'kernel'", "'/kernel'", f.model, "kernel",
        &text);
    BAD(mercer_model_info, "path", "unknown below", MERCER_E_NAME, "'/timings/totl'", "'/timings/total'", f.model,
        "/timings/totl", &text);
    BAD(mercer_model_info, "path", "beyond an array", MERCER_E_NAME, "'/eigenvalues/2'", "has 2 values, counted from 0",
        f.model, "/eigenvalues/2", &text);
    BAD(mercer_model_info, "path", "below a number", MERCER_E_NAME, "'/total_variance/value/1'", "known names are none",
        f.model, "/total_variance/value/1", &text);
    BAD(mercer_model_tensor, "name", "misspelt", MERCER_E_NAME, "'lamda'", "'lambda'", f.model, "lamda", &tensor);
    BAD(mercer_model_tensor, "struct_size", "too small", MERCER_E_ARGUMENT, "struct_size = 3", "= 56", f.model, "A",
        &tensor);
    NEW(model, mercer_model_fit, "recipe", "an operation", MERCER_E_ARGUMENT, "'scores'", "must be a method", f.scores,
        f.data, NULL);
    BAD(mercer_recipe_kernel, "recipe", "an operation", MERCER_E_ARGUMENT, "'scores'", "must be a method", f.scores,
        f.data, NULL, &square, NULL);
    BAD(mercer_recipe_kernel, "out", "not square", MERCER_E_SHAPE, "6 x 5", "must be 6 x 6", f.recipe, f.data, NULL,
        &square, NULL);
    BAD(mercer_recipe_kernel, "out", "integers", MERCER_E_ARGUMENT, "dtype = 3", "MERCER_F64", f.recipe, f.data, NULL,
        &halves, NULL);
    finish_entries();
}

static int32_t one(void *user, const mercer_view *x, const mercer_view *y, const mercer_view *k) {
    (void)user;
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t j = 0; j < y->rows; j++) ((double *)k->data)[i * k->row_stride + j * k->col_stride] = 1;
    return 0;
}

void queries(void **state) {
    (void)state;
    static double distances[3 * 5], between[3 * 3] = {0, 1, 2, 1, 0, 3, 2, 3, 0};
    mercer_view out = doubles(f.out, 2, R), three = doubles(f.out, 3, 1), known = doubles(between, 3, 3);
    const mercer_view rows = doubles(distances, 3, 5);
    mercer_data *wide = new_data(f.context, f.x, 2, 3), *matrix = NULL, *off = NULL;
    BAD(mercer_model_transform, "data", "of other columns", MERCER_E_SHAPE, "3 columns", "fitted on 2", f.model, NULL,
        wide, &out, 1, NULL);
    BAD(mercer_recipe_kernel, "y", "of other columns", MERCER_E_SHAPE, "y has 3 columns", "x has 2", f.recipe, f.data,
        wide, &out, NULL);
    MUST(mercer_data_from_matrix(&matrix, f.context, &known, MERCER_DISTANCE));
    MUST(mercer_data_from_matrix(&off, f.context, &rows, MERCER_DISTANCE));
    BAD(mercer_model_transform, "data", "objects for vectors", MERCER_E_SHAPE, "queries are objects",
        "rows of 2 columns", f.model, NULL, matrix, &three, 1, NULL);
    mercer_recipe *recipe = new_recipe(f.context, "components", "1", "sigma", "1", NULL);
    mercer_model *model = NULL;
    MUST(mercer_model_fit(&model, recipe, matrix, NULL));
    BAD(mercer_model_transform, "data", "a matrix of other columns", MERCER_E_SHAPE, "5 columns", "must have 3", model,
        NULL, off, &three, 1, NULL);
    BAD(mercer_model_transform, "data", "vectors for objects", MERCER_E_SHAPE, "rows of 3 columns", "must be objects",
        model, NULL, wide, &out, 1, NULL);
    mercer_model_destroy(model);
    mercer_recipe_destroy(recipe);
    mercer_data_destroy(wide), mercer_data_destroy(matrix), mercer_data_destroy(off);
    finish_entries();
}

void capabilities(void **state) {
    (void)state;
    static const char json[] = "{\"kernel\": \"gaussian\", \"parameters\": {\"kernel.sigma\": 1}}";
    static const char *const names[] = {"C", "A"};
    static const char *const operations[] = {"density", "residual", "t2"};
    static const char *const lacks[] = {"no weights", "not orthonormal", "no eigenvalues"};
    static const char *const saw[] = {"'density'", "'residual'", "'t2'"};
    const mercer_view tensors[] = {doubles(f.x, N, D), doubles(f.x, N, R)};
    mercer_view out = doubles(f.out, N, R);
    mercer_model *bare, *user;
    MUST(mercer_model_from_tensors(&bare, f.context, json, names, tensors, 2));
    for (int k = 0; k < 3; k++) {
        mercer_recipe *what;
        MUST(mercer_recipe_create(&what, f.context, operations[k]));
        BAD(mercer_model_transform, operations[k], "of a model without", MERCER_E_UNSUPPORTED, saw[k], lacks[k], bare,
            what, f.data, &out, 1, NULL);
        mercer_recipe_destroy(what);
    }
    MUST(mercer_recipe_set(f.scores, "whiten", "true"));
    BAD(mercer_model_transform, "whiten", "of a model without eigenvalues", MERCER_E_UNSUPPORTED, "'whiten'",
        "no eigenvalues", bare, f.scores, f.data, &out, 1, NULL);
    MUST(mercer_recipe_set(f.scores, "whiten", "false"));

    mercer_user_kernel kernel = {.struct_size = sizeof kernel, .tile = one}, flags = kernel, padding = kernel;
    flags.flags = 128, padding.reserved = 2;
    NEW(model, mercer_model_bind, "model", "no user kernel", MERCER_E_UNSUPPORTED, "'gaussian'", "'user'", f.model,
        &kernel);
    NEW(model, mercer_model_bind, "flags", "unknown", MERCER_E_ARGUMENT, "flags = 128", "MERCER_PSD", f.model, &flags);
    BAD(mercer_recipe_set_kernel, "flags", "unknown", MERCER_E_ARGUMENT, "flags = 128", "MERCER_PSD", f.recipe, &flags);
    BAD(mercer_recipe_set_kernel, "reserved", "not 0", MERCER_E_ARGUMENT, "reserved = 2", "must be 0", f.recipe,
        &padding);
    BAD(mercer_recipe_set_kernel, "recipe", "an operation", MERCER_E_ARGUMENT, "'scores'", "must be a method", f.scores,
        &kernel);
    MUST(mercer_model_from_tensors(&user, f.context, "{\"kernel\": \"user\"}", names, tensors, 2));
    BAD(mercer_model_transform, "model", "its user kernel is elsewhere", MERCER_E_UNSUPPORTED, "user kernel",
        "mercer_model_bind", user, NULL, f.data, &out, 1, NULL);
    mercer_recipe *gradient;
    MUST(mercer_recipe_create(&gradient, f.context, "gradient"));
    BAD(mercer_model_transform, "gradient", "of a user kernel", MERCER_E_UNSUPPORTED, "'gradient'", "derivative", user,
        gradient, f.data, &out, 1, NULL);
    mercer_recipe_destroy(gradient);
    mercer_model_destroy(bare), mercer_model_destroy(user);
    finish_entries();
}

void derivations(void **state) {
    (void)state;
    static const char gaussian[] = "{\"kernel\": \"gaussian\", \"parameters\": {\"kernel.sigma\": 1}}";
    static const char *const names[] = {"C", "A", "v"};
    const mercer_view tensors[] = {doubles(f.x, N, D), doubles(f.x, N, R), doubles(f.x, N, 1)};
    mercer_model *pair[] = {f.model, f.model}, *divided, *indefinite, *elsewhere, *objects;
    mercer_view out = doubles(f.out, N, R);
    int64_t count;
    mercer_output output = {.struct_size = sizeof output};
#define DERIVE(argument, fault, code, saw, allowed, recipe, models, count, data)                                       \
    NEW(model, mercer_model_derive, argument, fault, code, saw, allowed, recipe, models, count, data, NULL)
    DERIVE("operation", "a method", MERCER_E_ARGUMENT, "'kpca' is a method", "mercer_model_fit", f.recipe, &f.model, 1,
           NULL);
    DERIVE("operation", "of outputs", MERCER_E_ARGUMENT, "'scores' is an operation", "mercer_model_transform", f.scores,
           &f.model, 1, NULL);
    DERIVE("count", "0", MERCER_E_ARGUMENT, "count = 0", "takes 1 model", f.compress, &f.model, 0, NULL);
    DERIVE("count", "too many", MERCER_E_ARGUMENT, "count = 2", "takes 1 model", f.compress, pair, 2, NULL);
    DERIVE("count", "negative", MERCER_E_ARGUMENT, "count = -1", "takes 1 model", f.compress, pair, -1, NULL);
    DERIVE("data", "not needed", MERCER_E_ARGUMENT, "data", "must be NULL", f.compress, &f.model, 1, f.data);
    mercer_forecast forecast = {.struct_size = sizeof forecast};
    BAD(mercer_model_forecast, "operation", "a method", MERCER_E_ARGUMENT, "'kpca' is a method", "mercer_model_fit",
        f.recipe, &f.model, 1, NULL, NULL, &forecast);
    BAD(mercer_model_forecast, "count", "too many", MERCER_E_ARGUMENT, "count = 2", "takes 1 model", f.compress, pair,
        2, NULL, NULL, &forecast);
    BAD(mercer_model_forecast, "data", "not needed", MERCER_E_ARGUMENT, "data", "must be NULL", f.compress, &f.model, 1,
        f.data, NULL, &forecast);
    NEW(model, mercer_model_fit, "recipe", "a derivation", MERCER_E_ARGUMENT, "'compress' is a derivation",
        "mercer_model_derive", f.compress, f.data, NULL);
    BAD(mercer_model_transform, "what", "a derivation", MERCER_E_ARGUMENT, "'compress' is a derivation",
        "mercer_model_derive", f.model, f.compress, f.data, &out, 1, NULL);
    BAD(mercer_model_output, "what", "a derivation", MERCER_E_ARGUMENT, "'compress' is a derivation",
        "mercer_model_derive", f.model, f.compress, f.data, 0, &output, &count);
    BAD(mercer_recipe_set, "name", "a kernel, of a derivation", MERCER_E_NAME, "kernel applies to methods",
        "'compress'", f.compress, "kernel", "linear");
    BAD(mercer_recipe_set, "name", "orthonormal, of a method", MERCER_E_NAME, "output.orthonormal applies to",
        "'compress'", f.recipe, "orthonormal", "true");
    MUST(mercer_model_from_tensors(&divided, f.context, gaussian, names, tensors, 3));
    MUST(mercer_model_from_tensors(&indefinite, f.context, "{\"kernel\": \"sigmoid\"}", names, tensors, 2));
    MUST(mercer_model_from_tensors(&elsewhere, f.context, "{\"kernel\": \"user\"}", names, tensors, 2));
    DERIVE("models", "one with a denominator", MERCER_E_UNSUPPORTED, "'v'", "are not supported", f.compress, &divided,
           1, NULL);
    DERIVE("models", "an indefinite kernel", MERCER_E_UNSUPPORTED, "sigmoid", "positive semi-definite", f.compress,
           &indefinite, 1, NULL);
    DERIVE("models", "its user kernel is elsewhere", MERCER_E_UNSUPPORTED, "user kernel", "mercer_model_bind",
           f.compress, &elsewhere, 1, NULL);
    mercer_model_destroy(divided), mercer_model_destroy(indefinite), mercer_model_destroy(elsewhere);

    static double between[3 * 3] = {0, 1, 2, 1, 0, 3, 2, 3, 0}, fewer[2 * 2] = {0, 1, 1, 0};
    const mercer_view three = doubles(between, 3, 3), two = doubles(fewer, 2, 2), wide = doubles(between, 3, 2);
    mercer_data *known, *less, *queries;
    mercer_recipe *recipe = new_recipe(f.context, "components", "1", "sigma", "1", NULL), *one;
    MUST(mercer_data_from_matrix(&known, f.context, &three, MERCER_DISTANCE));
    MUST(mercer_data_from_matrix(&less, f.context, &two, MERCER_DISTANCE));
    MUST(mercer_model_fit(&objects, recipe, known, NULL));
    MUST(mercer_recipe_create(&one, f.context, "compress"));
    MUST(mercer_recipe_set(one, "m", "2"));
    DERIVE("data", "none, of a model of objects", MERCER_E_ARGUMENT, "centres of the model are objects", "are required",
           one, &objects, 1, NULL);
    DERIVE("data", "rows, of a model of objects", MERCER_E_ARGUMENT, "centres of the model are objects", "are required",
           f.compress, &objects, 1, f.data);
    DERIVE("data", "other objects", MERCER_E_SHAPE, "2 objects", "fitted on 3", one, &objects, 1, less);
    MUST(mercer_data_from_matrix(&queries, f.context, &wide, MERCER_DISTANCE));
    DERIVE("data", "a matrix that is not square", MERCER_E_SHAPE, "3 x 2", "square", one, &objects, 1, queries);
    MUST(mercer_recipe_set(one, "reducer", "given"));
    DERIVE("operation", "its reducer wants landmarks", MERCER_E_VALUE, "given", "landmarks", one, &objects, 1, known);
    mercer_recipe_destroy(recipe), mercer_recipe_destroy(one);
    mercer_model_destroy(objects);
    mercer_data_destroy(known), mercer_data_destroy(less), mercer_data_destroy(queries);
    finish_entries();
}

#define TENSORS(argument, fault, code, saw, allowed, json, count, ...)                                                 \
    do {                                                                                                               \
        const char *names_[] = {"C", "A", "lambda"};                                                                   \
        mercer_view v[] = {doubles(f.x, N, D), doubles(f.x, N, R), doubles(f.x, R, 1)};                                \
        __VA_ARGS__;                                                                                                   \
        NEW(model, mercer_model_from_tensors, argument, fault, code, saw, allowed, f.context, json, names_, v, count); \
    } while (0)

void tensors(void **state) {
    (void)state;
    static const char linear[] = "{\"kernel\": \"linear\"}";
    double nan[N * D] = {1, 2, 0.0 / 0.0};
    TENSORS("count", "negative", MERCER_E_VALUE, "count = -1", "must be >= 0", linear, -1, (void)0);
    TENSORS("json", "not JSON", MERCER_E_MODEL, "json", "not JSON", "{kernel", 2, (void)0);
    TENSORS("json", "an array", MERCER_E_MODEL, "header", "not a JSON object", "[]", 2, (void)0);
    TENSORS("json", "no kernel", MERCER_E_MODEL, "'kernel'", "missing", "{}", 2, (void)0);
    TENSORS("json", "kernel misspelt", MERCER_E_NAME, "'linaer'", "'linear'", "{\"kernel\": \"linaer\"}", 2, (void)0);
    TENSORS("json", "n = 0", MERCER_E_MODEL, "n = 0", "must be >= 1", "{\"kernel\": \"linear\", \"n\": 0}", 2, (void)0);
    TENSORS("json", "another format", MERCER_E_MODEL, "format 2", "reads format 1",
            "{\"kernel\": \"linear\", \"format\": 2}", 2, (void)0);
    TENSORS("json", "requires the unknown", MERCER_E_MODEL, "telepathy", "does not support",
            "{\"kernel\": \"linear\", \"requires\": [\"telepathy\"]}", 2, (void)0);
    TENSORS("json", "a capability without its tensor", MERCER_E_MODEL, "'density'", "'w'",
            "{\"kernel\": \"linear\", \"capabilities\": [\"density\"]}", 2, (void)0);
    TENSORS("tensors", "no A", MERCER_E_MODEL, "'A'", "missing", linear, 1, (void)0);
    TENSORS("tensors", "no centres", MERCER_E_MODEL, "not 0", "'C'", linear, 1, names_[0] = "A");
    TENSORS("tensors", "A of other rows", MERCER_E_MODEL, "5 x 2", "must be f64 6 x 2", linear, 2, v[1].rows = 5);
    TENSORS("tensors", "lambda of other rows", MERCER_E_MODEL, "'lambda' is f64 3 x 1", "2 x 1", linear, 3,
            v[2].rows = 3);
    TENSORS("tensors", "A of integers", MERCER_E_MODEL, "type i64", "must be f32 or f64", linear, 2,
            v[1].dtype = MERCER_I64);
    TENSORS("tensors", "an unknown dtype", MERCER_E_ARGUMENT, "dtype = 9", "MERCER_I64", linear, 2, v[1].dtype = 9);
    TENSORS("tensors", "struct_size 0", MERCER_E_ARGUMENT, "struct_size = 0", "= 56", linear, 2, v[0].struct_size = 0);
    TENSORS("tensors", "NaN", MERCER_E_MODEL, "'C': entry 2 is", "finite", linear, 2, v[0].data = nan);
    TENSORS("names", "twice", MERCER_E_MODEL, "'A' is given twice", "must be once", linear, 3, names_[2] = "A");
    TENSORS("names", "a quote", MERCER_E_MODEL, "a\"b", "printable ASCII", linear, 3, names_[2] = "a\"b");
    finish_entries();
}
