/* The table of misuses. Its rows are counted: at least 60, all different, at most 20 of them a null pointer. */
#include "misuse.h"

struct misuse f;

static struct {
    const char *rows[400];
    int count, nulls, wrong;
} table;

void row(int32_t code, const char *saw, const char *allowed, void **out, int32_t status, const char *call,
         const char *file, int line) {
    const char *text = mercer_last_error();
    for (int i = 0; i < table.count; i++)
        if (strcmp(table.rows[i], call) == 0) fail_msg("%s:%d: this row is there twice: %s", file, line, call);
    assert_true(table.count < 400);
    table.rows[table.count++] = call;
    table.nulls += strcmp(saw, "NULL") == 0;
    if (status == code && strstr(text, saw) && strstr(text, allowed) && !strchr(text, '\n') && (!out || !*out)) return;
    table.wrong++;
    print_error("%s:%d: %s\n  status %d (not %d), text '%s' (not '%s' and '%s')%s\n", file, line, call, (int)status,
                (int)code, text, saw, allowed, out && *out ? ", *out is not NULL" : "");
}

static int begin(void **state) {
    (void)state;
    double *values = noise(N * D);
    memcpy(f.x, values, sizeof f.x);
    free(values);
    f.context = new_context();
    f.data = new_data(f.context, f.x, N, D);
    f.recipe = new_recipe(f.context, "components", "2", NULL);
    MUST(mercer_recipe_create(&f.scores, f.context, "scores"));
    MUST(mercer_recipe_create(&f.density, f.context, "density"));
    MUST(mercer_recipe_create(&f.projected, f.context, "nystrom"));
    MUST(mercer_recipe_create(&f.automatic, f.context, "auto"));
    MUST(mercer_model_fit(&f.model, f.recipe, f.data, NULL));
    return 0;
}

static int end(void **state) {
    (void)state;
    mercer_model_destroy(f.model);
    mercer_recipe_destroy(f.automatic);
    mercer_recipe_destroy(f.projected);
    mercer_recipe_destroy(f.density);
    mercer_recipe_destroy(f.scores);
    mercer_recipe_destroy(f.recipe);
    mercer_data_destroy(f.data);
    mercer_context_destroy(f.context);
    return 0;
}

void finish_rows(void) {
    int wrong = table.wrong;
    table.wrong = 0;
    assert_int_equal(wrong, 0);
}

static void null_pointers(void **state) {
    (void)state;
    int64_t count = 0;
    mercer_view view = doubles(f.x, N, D), empty = doubles(NULL, N, D);
    const char *value = "1";
    mercer_chunks chunks = {.struct_size = sizeof chunks, .dtype = MERCER_F64, .rows = 3, .cols = 1};
    mercer_objects objects = {.struct_size = sizeof objects, .rows = 3, .values = MERCER_DISTANCE};
    mercer_sparse sparse = {sizeof sparse, MERCER_CSR, MERCER_F64, MERCER_I64, 0, 2, 2, 0, NULL, NULL, NULL};
    mercer_user_kernel kernel = {.struct_size = sizeof kernel};
    mercer_sink sink = {.struct_size = sizeof sink};
    mercer_source source = {.struct_size = sizeof source};
    BAD(MERCER_E_ARGUMENT, "NULL", "out", mercer_context_create(NULL));
    BAD(MERCER_E_ARGUMENT, "NULL", "context", mercer_context_add_plugins(NULL, "/tmp"));
    BAD(MERCER_E_ARGUMENT, "NULL", "folder", mercer_context_add_plugins(f.context, NULL));
    BAD(MERCER_E_ARGUMENT, "NULL", "what", mercer_context_count(f.context, NULL, &count));
    BAD(MERCER_E_ARGUMENT, "NULL", "count", mercer_context_count(f.context, "kernels", NULL));
    NEW(data, MERCER_E_ARGUMENT, "NULL", "context", mercer_data_from_view(&f.new_data, NULL, &view));
    NEW(data, MERCER_E_ARGUMENT, "NULL", "view", mercer_data_from_view(&f.new_data, f.context, NULL));
    NEW(data, MERCER_E_ARGUMENT, "NULL", "data", mercer_data_from_view(&f.new_data, f.context, &empty));
    NEW(data, MERCER_E_ARGUMENT, "NULL", "next", mercer_data_from_chunks(&f.new_data, f.context, &chunks));
    NEW(data, MERCER_E_ARGUMENT, "NULL", "offsets", mercer_data_from_sparse(&f.new_data, f.context, &sparse));
    NEW(data, MERCER_E_ARGUMENT, "NULL", "pairs", mercer_data_from_objects(&f.new_data, f.context, &objects));
    NEW(recipe, MERCER_E_ARGUMENT, "NULL", "name", mercer_recipe_create(&f.new_recipe, f.context, NULL));
    BAD(MERCER_E_ARGUMENT, "NULL", "value", mercer_recipe_set(f.recipe, "sigma", NULL));
    BAD(MERCER_E_ARGUMENT, "NULL", "names", mercer_recipe_set_many(f.recipe, NULL, &value, 1));
    NEW(model, MERCER_E_ARGUMENT, "NULL", "recipe", mercer_model_fit(&f.new_model, NULL, f.data, NULL));
    NEW(model, MERCER_E_ARGUMENT, "NULL", "data", mercer_model_fit(&f.new_model, f.recipe, NULL, NULL));
    BAD(MERCER_E_ARGUMENT, "NULL", "outs", mercer_model_transform(f.model, NULL, f.data, NULL, 1, NULL));
    BAD(MERCER_E_ARGUMENT, "NULL", "tile", mercer_recipe_set_kernel(f.recipe, &kernel));
    BAD(MERCER_E_ARGUMENT, "NULL", "write", mercer_model_write(f.model, &sink));
    NEW(model, MERCER_E_ARGUMENT, "NULL", "read", mercer_model_read(&f.new_model, f.context, &source));
    finish_rows();
}
static void the_table_is_as_long_as_promised(void **state) {
    (void)state;
    print_message("%d rows, %d of them a null pointer\n", table.count, table.nulls);
    assert_true(table.count >= 60);
    assert_true(table.nulls <= 20);
}

static void nothing_was_changed(void **state) {
    (void)state;
    mercer_view out = doubles(f.out, N, R);
    const char *value = NULL;
    MUST(mercer_recipe_get(f.recipe, "components", &value));
    assert_string_equal(value, "2");
    MUST(mercer_recipe_get(f.recipe, "kernel", &value));
    assert_string_equal(value, "gaussian");
    MUST(mercer_recipe_get(f.recipe, "sigma", &value));
    assert_string_equal(value, "");
    MUST(mercer_model_fit(&f.new_model, f.recipe, f.data, NULL));
    MUST(mercer_model_transform(f.new_model, NULL, f.data, &out, 1, NULL));
    mercer_model_destroy(f.new_model);
}
int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_pointers),
        cmocka_unit_test(names),
        cmocka_unit_test(parameters),
        cmocka_unit_test(indices_and_runs),
        cmocka_unit_test(views),
        cmocka_unit_test(chunks_and_objects),
        cmocka_unit_test(sparse),
        cmocka_unit_test(attachments),
        cmocka_unit_test(values_of_data),
        cmocka_unit_test(models),
        cmocka_unit_test(paths),
        cmocka_unit_test(data_files),
        cmocka_unit_test(matrices),
        cmocka_unit_test(nothing_was_changed),
        cmocka_unit_test(the_table_is_as_long_as_promised),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
