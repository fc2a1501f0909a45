/* Models whose kernel plugin is not installed, is refused or has changed: they can be inspected and
 * written, and must name the plugin that they need. */
#include "model_bytes.h"
#include "plugin_files.h"

enum { N = 60, D = 3, R = 2 };

static double x[N * D], scores[N * R];

/* A folder below `folder` that holds version `age` of the plugin kernel-aged.so. */
static const char *plugins_of(int age) {
    char name[32], inside[64];
    snprintf(name, sizeof name, "age-%d", age);
    if (mkdir(joined(folder, name), 0755) == 0) {
        snprintf(inside, sizeof inside, "%s/kernel-aged.so", name);
        snprintf(name, sizeof name, "kernel-aged-%d.so", age);
        copy_file(joined(BROKEN_PLUGINS, name), joined(folder, inside), 0644);
        snprintf(name, sizeof name, "age-%d", age);
    }
    return joined(folder, name);
}
static mercer_context *context_with(const char *plugins) {
    mercer_context *context = new_context();
    if (plugins) MUST(mercer_context_add_plugins(context, plugins));
    return context;
}

static mercer_view x_view(mercer_context *context, mercer_data **data) {
    *data = new_data(context, x, N, D);
    return doubles(scores, N, R);
}

/* Fits a model with this kernel, stores its scores in `scores` and returns its bytes. */
static struct bytes model_with(const char *kernel, const char *height, const mercer_user_kernel *user) {
    double *values = noise(N * D);
    memcpy(x, values, sizeof x);
    free(values);
    mercer_context *context = context_with(plugins_of(1));
    mercer_recipe *recipe = new_recipe(context, "kernel", kernel, "components", "2", NULL);
    if (height) MUST(mercer_recipe_set(recipe, "height", height));
    if (user) MUST(mercer_recipe_set_kernel(recipe, user));
    mercer_data *data;
    mercer_view out = x_view(context, &data);
    mercer_model *model;
    MUST(mercer_model_fit(&model, recipe, data, NULL));
    MUST(mercer_model_transform(model, NULL, data, &out, 1, NULL));
    struct bytes bytes = written(model);
    mercer_model_destroy(model), mercer_recipe_destroy(recipe), mercer_data_destroy(data);
    mercer_context_destroy(context);
    return bytes;
}

static const char *info(mercer_model *model, const char *path) {
    const char *text = NULL;
    MUST(mercer_model_info(model, path, &text));
    return text;
}

static void assert_has(const char *text, const char *part) {
    if (!strstr(text, part)) fail_msg("'%s' does not say '%s'", text, part);
}

/* Checks that everything that needs the kernel fails with the reason `why`, that all other calls
 * succeed, and that the model is written as it was read. */
static void can_only_be_looked_at(mercer_context *context, mercer_model *model, struct bytes *bytes, const char *why) {
    mercer_summary summary = {.struct_size = sizeof summary};
    MUST(mercer_model_summary(model, &summary));
    assert_int_equal(summary.n, N), assert_int_equal(summary.m, N), assert_int_equal(summary.d, D);
    assert_int_equal(summary.r, R), assert_int_equal(summary.capabilities, 0);
    int64_t count;
    const double *lambda = tensor(model, "lambda", &count);
    assert_int_equal(count, R);
    assert_true(summary.total_variance > lambda[0] && lambda[0] == strtod(info(model, "/eigenvalues/0"), NULL));
    assert_string_equal(info(model, "/method"), "kpca");
    assert_has(info(model, "/missing"), why);
    assert_has(info(model, ""), "\"missing\"");
    assert_has(info(model, "/capabilities"), "density"); /* what the model could do with its kernel */

    mercer_data *data;
    mercer_view out = x_view(context, &data);
    mercer_output output = {.struct_size = sizeof output};
    static const char *const operations[] = {"scores", "density", "residual", "t2", "gradient", "labels"};
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        mercer_recipe *what;
        MUST(mercer_recipe_create(&what, context, operations[i]));
        FAILS(MERCER_E_PLUGIN, why, mercer_model_output(model, what, data, 0, &output, &count));
        FAILS(MERCER_E_PLUGIN, why, mercer_model_transform(model, what, data, &out, 1, NULL));
        mercer_recipe_destroy(what);
    }
    FAILS(MERCER_E_PLUGIN, why, mercer_model_transform(model, NULL, data, &out, 1, NULL));
    out.rows = 1; /* one row takes the short path */
    mercer_data *row = new_data(context, x, 1, D);
    FAILS(MERCER_E_PLUGIN, why, mercer_model_transform(model, NULL, row, &out, 1, NULL));
    mercer_data_destroy(row), mercer_data_destroy(data);

    struct bytes again = written(model);
    assert_int_equal(again.count, bytes->count);
    assert_memory_equal(again.at, bytes->at, (size_t)again.count);
    free(again.at);
    size_t size;
    MUST(mercer_model_save(model, joined(folder, "again")));
    unsigned char *file = read_file(joined(folder, "again"), &size);
    assert_int_equal(size, bytes->count);
    assert_memory_equal(file, bytes->at, size);
    free(file);
}

/* Checks that the model in these bytes can be used and gives the scores of the fitted model. */
static void can_be_used(mercer_context *context, struct bytes *bytes) {
    mercer_model *model;
    MUST(read_back(&model, context, bytes, 0));
    static double fitted[N * R];
    memcpy(fitted, scores, sizeof fitted);
    mercer_data *data;
    mercer_view out = x_view(context, &data);
    MUST(mercer_model_transform(model, NULL, data, &out, 1, NULL));
    assert_memory_equal(scores, fitted, sizeof fitted);
    const char *text;
    FAILS(MERCER_E_NAME, "/missing", mercer_model_info(model, "/missing", &text));
    mercer_data_destroy(data), mercer_model_destroy(model);
}

static void a_plugin_that_is_not_installed(void **state) {
    (void)state;
    struct bytes bytes = model_with("aged", "3", NULL);
    mercer_context *context = context_with(NULL);
    mercer_model *model, *loaded, *made = NULL;
    MUST(read_back(&model, context, &bytes, 7));
    can_only_be_looked_at(context, model, &bytes,
                          "the kernel 'aged' is not installed: there is no kernel-aged.so in "
                          "/nonexistent/mercer/plugins, /");
    write_file(joined(folder, "model"), bytes.at, (size_t)bytes.count);
    MUST(mercer_model_load(&loaded, context, joined(folder, "model")));
    can_only_be_looked_at(context, loaded, &bytes, "kernel-aged.so");

    /* A model from tensors must be usable at once, so a missing kernel is an error here. */
    const char *names[] = {"C", "A", "b", "lambda", "nu", "w"};
    enum { TENSORS = sizeof names / sizeof *names };
    mercer_view views[TENSORS];
    for (int i = 0; i < TENSORS; i++) {
        views[i].struct_size = sizeof *views;
        MUST(mercer_model_tensor(model, names[i], &views[i]));
    }
    FAILS(MERCER_E_NAME, "unknown kernel 'aged'",
          mercer_model_from_tensors(&made, context, info(model, ""), names, views, TENSORS));

    /* Models that are read once the plugin is installed can be used. Those read before cannot. */
    MUST(mercer_context_add_plugins(context, plugins_of(1)));
    can_be_used(context, &bytes);
    can_only_be_looked_at(context, model, &bytes, "kernel-aged.so");
    MUST(mercer_model_from_tensors(&made, context, info(model, ""), names, views, TENSORS));
    assert_null(strstr(info(made, ""), "\"missing\""));
    mercer_model_destroy(made), mercer_model_destroy(loaded), mercer_model_destroy(model);
    mercer_context_destroy(context);
    free(bytes.at);
}

static void a_plugin_that_is_refused(void **state) {
    (void)state;
    struct bytes bytes = model_with("aged", "0.5", NULL);
    static const struct {
        const char *contents;
        mode_t mode;
        const char *why;
    } cases[] = {{"no plugin at all", 0644, "refused, it is not an ELF file"},
                 {NULL, 0646, "refused, everyone can write to the file"}};
    char *place = strdup(joined(folder, "refused"));
    mkdir(place, 0755);
    char *file = strdup(joined(place, "kernel-aged.so"));
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        if (cases[c].contents)
            write_file(file, cases[c].contents, strlen(cases[c].contents));
        else
            copy_file(joined(BROKEN_PLUGINS, "kernel-aged-1.so"), file, cases[c].mode);
        char why[5000];
        snprintf(why, sizeof why, "the kernel 'aged' cannot be used: %s: %s", file, cases[c].why);
        mercer_context *context = context_with(place);
        mercer_model *model;
        MUST(read_back(&model, context, &bytes, 0));
        can_only_be_looked_at(context, model, &bytes, why);
        mercer_model_destroy(model);
        assert_int_equal(chmod(file, 0644), 0);
        if (!cases[c].contents) can_be_used(context, &bytes); /* the file is now in order, and is loaded */
        mercer_context_destroy(context);
    }
    free(place), free(file), free(bytes.at);
}

static char logged[2000];
static void keep_log(void *user, int32_t level, const char *text) {
    (void)user;
    if (level >= 2) snprintf(logged, sizeof logged, "%s", text);
}

static void says_that_the_plugin_changed(mercer_context *context, struct bytes *bytes, int age) {
    mercer_model *model;
    const char *text;
    char wanted[5000];
    logged[0] = 0;
    MUST(mercer_context_set_log(context, keep_log, NULL));
    MUST(read_back(&model, context, bytes, 0));
    assert_has(info(model, "/requires"), "\"aged\"");
    assert_string_equal(info(model, "/requires/0/version"), "1.0");
    if (age == 1) {
        FAILS(MERCER_E_NAME, "/changed", mercer_model_info(model, "/changed", &text));
        assert_string_equal(logged, "");
    } else {
        snprintf(wanted, sizeof wanted,
                 "the model was fitted with the kernel 'aged', version \"1.0\", and %s/kernel-aged.so is version "
                 "\"%d.0\": its "
                 "values may differ",
                 plugins_of(age), age);
        assert_string_equal(info(model, "/changed"), wanted);
        assert_string_equal(logged, wanted);
    }
    struct bytes again = written(model); /* the plugin found here must not change what is written */
    assert_int_equal(again.count, bytes->count);
    assert_memory_equal(again.at, bytes->at, (size_t)again.count);
    free(again.at);
    mercer_model_destroy(model);
}

static void a_plugin_that_became_another(void **state) {
    (void)state;
    struct bytes bytes = model_with("aged", "3", NULL);
    static const char *const why[] = {
        [3] = "the kernel 'aged' has no parameter 'kernel.height'", [4] = "kernel.height = 3, must be > 0 and <= 2"};
    for (int age = 1; age <= 4; age++) {
        mercer_context *context = context_with(plugins_of(age));
        if (!why[age]) { /* this version has the model's parameters: the model works, and the change is reported */
            can_be_used(context, &bytes);
            says_that_the_plugin_changed(context, &bytes, age);
        } else {
            mercer_model *model;
            MUST(read_back(&model, context, &bytes, 0));
            char file[4200];
            snprintf(file, sizeof file,
                     "its parameters do not match those of %s/kernel-aged.so, version %d.0: ", plugins_of(age), age);
            assert_has(info(model, "/missing"), file);
            can_only_be_looked_at(context, model, &bytes, why[age]);
            mercer_model_destroy(model);
        }
        mercer_context_destroy(context);
    }
    free(bytes.at);
}

static int32_t ones(void *user, const mercer_view *a, const mercer_view *b, const mercer_view *k) {
    (void)user, (void)a, (void)b;
    for (int64_t i = 0; i < k->rows; i++)
        for (int64_t j = 0; j < k->cols; j++) ((double *)k->data)[i * k->row_stride + j * k->col_stride] = 1;
    return 0;
}

static void a_user_kernel_beside_it(void **state) {
    (void)state;
    const mercer_user_kernel user = {.struct_size = sizeof user, .flags = MERCER_PSD, .tile = ones};
    struct bytes bytes = model_with("aged[0-1] * gaussian + user", "2", &user);
    mercer_context *context = context_with(NULL);
    mercer_model *model, *bound = NULL;
    MUST(read_back(&model, context, &bytes, 0));
    can_only_be_looked_at(context, model, &bytes, "kernel-aged.so");
    assert_null(strstr(info(model, "/missing"), "gaussian"));
    FAILS(MERCER_E_PLUGIN, "kernel-aged.so", mercer_model_bind(&bound, model, &user));
    mercer_model_destroy(model);

    MUST(mercer_context_add_plugins(context, plugins_of(1)));
    MUST(read_back(&model, context, &bytes, 0));
    static double fitted[N * R];
    memcpy(fitted, scores, sizeof fitted);
    mercer_data *data;
    mercer_view out = x_view(context, &data);
    FAILS(MERCER_E_UNSUPPORTED, "mercer_model_bind", mercer_model_transform(model, NULL, data, &out, 1, NULL));
    MUST(mercer_model_bind(&bound, model, &user));
    MUST(mercer_model_transform(bound, NULL, data, &out, 1, NULL));
    assert_memory_equal(scores, fitted, sizeof fitted);
    mercer_data_destroy(data), mercer_model_destroy(bound), mercer_model_destroy(model);
    mercer_context_destroy(context);
    free(bytes.at);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plugin_that_is_not_installed),
        cmocka_unit_test(a_plugin_that_is_refused),
        cmocka_unit_test(a_plugin_that_became_another),
        cmocka_unit_test(a_user_kernel_beside_it),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
