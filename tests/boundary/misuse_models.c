/* Models asked for what they cannot give, and files that are not there or are no models. */
#include "misuse.h"

static int32_t any_tile(void *user, const mercer_view *x, const mercer_view *y, const mercer_view *k) {
    (void)user, (void)x, (void)y, (void)k;
    return 0;
}

void models(void **state) {
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

void paths(void **state) {
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
