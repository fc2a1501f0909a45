/* Plugins that must be refused after they were opened, each with a message of its own; and changes
 * that opening a plugin must not make to the process. */
#include "plugin_files.h"

#include <fenv.h>

static void broken_modules(void **state) {
    (void)state;
    static const struct {
        const char *name, *why;
    } cases[] = {
        {"kernel-wrong-abi", "plugin ABI 1000, but this library has 0"},
        {"kernel-other-header", "built with the header of version 0.0.7, but this library is " MERCER_VERSION},
        {"kernel-no-header", "built with the header of version ?, but this library is " MERCER_VERSION},
        {"kernel-bad-name", "its name must be lower-case letters, digits and '-'"},
        {"kernel-user", "the name of the kernel 'user' is reserved by the library"},
        {"kernel-rbf", "the name 'rbf' is an alias of 'gaussian'"},
        {"kernel-ops-null", "ops is NULL"},
        {"kernel-ops-short", "ops.struct_size = 16, must be at least 56"},
        {"kernel-bad-form", "form = 99, must be MERCER_DOT to MERCER_BLOCK"},
        {"kernel-missing-op", "the operation 'facts' is missing"},
        {"kernel-no-block", "the operation 'block' is missing"},
        {"reducer-no-forecast", "the operation 'forecast' is missing"},
        {"solver-no-forecast", "the operation 'forecast' is missing"},
        {"kernel-table-damaged", "its parameter table is damaged"},
        {"kernel-row-short", "parameter row 0 has struct_size 8"},
        {"kernel-row-name", "row 0 has the invalid name 'No Name'"},
        {"kernel-row-type", "row 'a' has the unknown type 77"},
        {"kernel-row-outside", "row 'a' is outside its struct"},
        {"kernel-row-twice", "two rows are named 'a'"},
        {"kernel-row-choices", "row 'a' has no choices"},
        {"kernel-row-range", "row 'a' has an empty range"},
        {"kernel-bad-row", "a default violates its own row: sigma = -1, must be > 0"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char file[64];
        snprintf(file, sizeof file, "%s.so", cases[c].name);
        char *path = strdup(joined(folder, file));
        copy_file(joined(BROKEN_PLUGINS, file), path, 0644);
        refused(path, cases[c].why);
        refused(path, cases[c].why); /* the second attempt must give the same answer */

        /* If the folder is searched and a recipe asks for the kernel by name, the message must be
         * the same, and other kernels must still work. */
        mercer_context *context = new_context();
        mercer_recipe *recipe = new_recipe(context, NULL);
        MUST(mercer_context_add_plugins(context, folder));
        const char *dash = strchr(cases[c].name, '-');
        if (strncmp(cases[c].name, "kernel", 6) == 0 && !strstr("kernel-user kernel-rbf", cases[c].name))
            FAILS(MERCER_E_PLUGIN, cases[c].why, mercer_recipe_set(recipe, "kernel", dash + 1));
        MUST(mercer_recipe_set(recipe, "kernel", "linear"));
        mercer_recipe_destroy(recipe);
        mercer_context_destroy(context);
        unlink(path);
        free(path);
    }
}

static void a_file_is_named_as_its_module(void **state) {
    (void)state;
    static const char *const names[] = {"kernel-other.so", "solver-linear.so", "linear.so", "kernel-linear.so.1"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = joined(folder, names[i]);
        copy_file(PLUGINS "/kernel-linear.so", path, 0644);
        refused(path, "its name is 'linear', so its file must be named kernel-linear.so");
        unlink(path);
    }
}

/* The constructors of a plugin run on the thread that opens it. They must neither cause a deadlock
 * nor change the rounding mode of this thread. */
static void opening_leaves_the_thread_as_it_was(void **state) {
    (void)state;
    char *path = strdup(joined(folder, "kernel-marker.so")), *nested = strdup(joined(folder, "kernel-linear.so"));
    copy_file(BROKEN_PLUGINS "/kernel-marker.so", path, 0644);
    copy_file(PLUGINS "/kernel-linear.so", nested, 0644);
    setenv("MERCER_MARKER", joined(folder, "marker"), 1);
    setenv("MERCER_NESTED", nested, 1);
    mercer_context *context = new_context();
    MUST(mercer_plugin_check(context, path));
    assert_int_equal(fegetround(), FE_TONEAREST);
    size_t count;
    char *trace = (char *)read_file(joined(folder, "marker"), &count);
    trace[count] = '\0';
    if (!strstr(trace, "7 ") || !strstr(trace, "refused while this thread is opening another plugin"))
        fail_msg("a plugin opened from a plugin's constructor: '%s'", trace);
    MUST(mercer_plugin_check(context, nested)); /* accepted once the other plugin is open */
    mercer_context_destroy(context);
    free(trace);
    unlink(path), unlink(nested), unlink(joined(folder, "marker"));
    free(path), free(nested);
}

/* A callback may load a plugin, because the library holds no lock while it calls a user kernel. */
static int32_t tile_that_loads(void *user, const mercer_view *x, const mercer_view *y, const mercer_view *k) {
    mercer_context *context = new_context();
    mercer_entry entry = {.struct_size = sizeof entry};
    *(int32_t *)user = mercer_context_find(context, "kernels", "hamming", &entry);
    mercer_context_destroy(context);
    double *out = k->data;
    const double *a = x->data, *b = y->data;
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t j = 0; j < y->rows; j++) out[i * k->row_stride + j] = a[i * x->row_stride] * b[j * y->row_stride];
    return 0;
}

static void a_callback_may_load_plugins(void **state) {
    (void)state;
    int32_t status = -1;
    mercer_user_kernel kernel = {.struct_size = sizeof kernel, .tile = tile_that_loads, .user = &status};
    double *values = noise(20);
    mercer_context *context = new_context();
    mercer_data *data = new_data(context, values, 20, 1);
    mercer_recipe *recipe = new_recipe(context, NULL);
    mercer_model *model = NULL;
    MUST(mercer_recipe_set_kernel(recipe, &kernel));
    MUST(mercer_model_fit(&model, recipe, data, NULL));
    assert_int_equal(status, MERCER_OK);
    mercer_model_destroy(model);
    mercer_recipe_destroy(recipe);
    mercer_data_destroy(data);
    mercer_context_destroy(context);
    free(values);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broken_modules),
        cmocka_unit_test(a_file_is_named_as_its_module),
        cmocka_unit_test(opening_leaves_the_thread_as_it_was),
        cmocka_unit_test(a_callback_may_load_plugins),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
