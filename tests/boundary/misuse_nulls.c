/* Null pointers and null handles, as arguments and inside structs and arrays. */
#include "misuse.h"

static void contexts(void) {
    int64_t count = 0;
    mercer_entry entry = {.struct_size = sizeof entry};
    NO(mercer_context_create, "out", NULL);
    NO(mercer_context_add_plugins, "context", NULL, "/tmp");
    NO(mercer_context_add_plugins, "folder", f.context, NULL);
    NO(mercer_context_set_log, "context", NULL, NULL, NULL);
    NO(mercer_context_set_run, "context", NULL, NULL);
    NO(mercer_context_count, "what", f.context, NULL, &count);
    NO(mercer_context_count, "count", f.context, "kernels", NULL);
    NO(mercer_context_entry, "entry", f.context, "kernels", 0, NULL);
    NO(mercer_context_find, "name", f.context, "kernels", NULL, &entry);
    NO(mercer_plugin_check, "name", f.context, NULL);
}

static void data(void) {
    const mercer_view view = doubles(f.x, N, D), empty = doubles(NULL, N, D);
    const mercer_chunks chunks = {.struct_size = sizeof chunks, .dtype = MERCER_F64, .rows = 3, .cols = 1};
    const mercer_objects objects = {.struct_size = sizeof objects, .rows = 3, .values = MERCER_DISTANCE};
    static const int64_t offsets[] = {0, 1, 1};
    mercer_sparse sparse = {sizeof sparse, MERCER_CSR, MERCER_F64, MERCER_I64, 0, 2, 2, 1, NULL, NULL, NULL};
    NO_NEW(data, mercer_data_from_view, "context", NULL, &view);
    NO_NEW(data, mercer_data_from_view, "view", f.context, NULL);
    NO_NEW(data, mercer_data_from_view, "view: data", f.context, &empty);
    NO_NEW(data, mercer_data_from_file, "path", f.context, NULL, NULL);
    NO_NEW(data, mercer_data_from_chunks, "chunks: next", f.context, &chunks);
    NO_NEW(data, mercer_data_from_sparse, "sparse: offsets", f.context, &sparse);
    sparse.offsets = offsets;
    NO_NEW(data, mercer_data_from_sparse, "sparse: indices", f.context, &sparse);
    NO_NEW(data, mercer_data_from_objects, "objects: pairs", f.context, &objects);
    NO_NEW(data, mercer_data_from_matrix, "view", f.context, NULL, MERCER_KERNEL);
    NO(mercer_data_attach, "weights", f.data, "weights", NULL);
    NO(mercer_data_inspect, "data_facts", f.data, NULL);
}

static void recipes(void) {
    const char *name = "sigma", *value = "1", *none[] = {NULL};
    const mercer_user_kernel kernel = {.struct_size = sizeof kernel};
    mercer_view out = doubles(f.out, N, N);
    NO_NEW(recipe, mercer_recipe_create, "name", f.context, NULL);
    NO(mercer_recipe_set, "value", f.recipe, "sigma", NULL);
    NO(mercer_recipe_set_real, "name", f.recipe, NULL, 1);
    NO(mercer_recipe_set_many, "names", f.recipe, NULL, &value, 1);
    NO(mercer_recipe_set_many, "values[0]", f.recipe, &name, none, 1);
    NO(mercer_recipe_get, "value", f.recipe, "sigma", NULL);
    NO(mercer_recipe_rows, "count", f.recipe, NULL);
    NO(mercer_recipe_row, "row", f.recipe, 0, NULL);
    NO(mercer_recipe_set_kernel, "user_kernel", f.recipe, NULL);
    NO(mercer_recipe_set_kernel, "user_kernel: tile", f.recipe, &kernel);
    NO(mercer_recipe_forecast, "forecast", f.recipe, f.data, NULL, NULL);
    NO(mercer_recipe_kernel, "x", f.recipe, NULL, NULL, &out, NULL);
    NO_NEW(model, mercer_model_fit, "recipe", NULL, f.data, NULL);
    NO_NEW(model, mercer_model_fit, "data", f.recipe, NULL, NULL);
}

static void models(void) {
    mercer_output output = {.struct_size = sizeof output};
    mercer_view view = doubles(f.x, N, D);
    const mercer_sink sink = {.struct_size = sizeof sink};
    const mercer_source source = {.struct_size = sizeof source};
    const char *none[] = {NULL};
    mercer_model *no_model = NULL;
    NO(mercer_model_retain, "model", NULL);
    NO(mercer_model_output, "count", f.model, NULL, f.data, 0, &output, NULL);
    NO(mercer_model_transform, "outs", f.model, NULL, f.data, NULL, 1, NULL);
    NO(mercer_model_summary, "summary", f.model, NULL);
    NO(mercer_model_info, "text", f.model, "", NULL);
    NO(mercer_model_tensor, "name", f.model, NULL, &view);
    NO_NEW(model, mercer_model_from_tensors, "json", f.context, NULL, none, &view, 0);
    NO_NEW(model, mercer_model_from_tensors, "names[0]", f.context, "{}", none, &view, 1);
    NO(mercer_model_save, "path", f.model, NULL);
    NO_NEW(model, mercer_model_load, "path", f.context, NULL);
    NO(mercer_model_write, "sink: write", f.model, &sink);
    NO_NEW(model, mercer_model_read, "source: read", f.context, &source);
    NO_NEW(model, mercer_model_bind, "user_kernel", f.model, NULL);
    NO_NEW(model, mercer_model_derive, "models", f.compress, NULL, 1, NULL, NULL);
    NO_NEW(model, mercer_model_derive, "models[0]", f.compress, &no_model, 1, NULL, NULL);
}

void null_pointers(void **state) {
    (void)state;
    contexts(), data(), recipes(), models();
    finish_entries();
}
