/* The table of misuses must have at least 200 different entries, at most 50 of them for null
 * pointers, and at least one entry for each function of mercer.h that can fail. */
#include "misuse.h"

enum { FEWEST = 200, MOST_NULLS = 50, LONGEST_TEXT = 1023 };

struct misuse f;

static struct {
    struct entry entries[1000];
    int count, wrong;
} table;

static bool is_same(const struct entry *a, const struct entry *b) {
    return strcmp(a->function, b->function) == 0 && strcmp(a->argument, b->argument) == 0 &&
           strcmp(a->fault, b->fault) == 0;
}

static bool is_one_line(const char *text) {
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < ' ') return false;
    return *text && strlen(text) <= LONGEST_TEXT;
}

void add(struct entry entry, void **out, int32_t status) {
    const char *text = mercer_last_error();
    for (int i = 0; i < table.count; i++)
        if (is_same(&table.entries[i], &entry))
            fail_msg("%s:%d: %s, %s, %s is there already: %s:%d", entry.file, entry.line, entry.function,
                     entry.argument, entry.fault, table.entries[i].file, table.entries[i].line);
    assert_true(table.count < (int)(sizeof table.entries / sizeof *table.entries));
    table.entries[table.count++] = entry;
    if (status == entry.code && *entry.saw && *entry.allowed && strstr(text, entry.saw) &&
        strstr(text, entry.allowed) && is_one_line(text) && (!out || !*out))
        return;
    table.wrong++;
    print_error("%s:%d: %s, %s, %s\n  status %d (not %d), text '%s' (not '%s' and '%s')%s\n", entry.file, entry.line,
                entry.function, entry.argument, entry.fault, (int)status, (int)entry.code, text, entry.saw,
                entry.allowed, out && *out ? ", *out is not NULL" : "");
}

void finish_entries(void) {
    const int wrong = table.wrong;
    table.wrong = 0;
    assert_int_equal(wrong, 0);
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
    MUST(mercer_recipe_create(&f.compress, f.context, "compress"));
    MUST(mercer_recipe_set(f.compress, "m", "3"));
    MUST(mercer_model_fit(&f.model, f.recipe, f.data, NULL));
    return 0;
}

static int end(void **state) {
    (void)state;
    mercer_model_destroy(f.model);
    mercer_recipe_destroy(f.automatic);
    mercer_recipe_destroy(f.compress);
    mercer_recipe_destroy(f.projected);
    mercer_recipe_destroy(f.density);
    mercer_recipe_destroy(f.scores);
    mercer_recipe_destroy(f.recipe);
    mercer_data_destroy(f.data);
    mercer_context_destroy(f.context);
    return 0;
}

static void nothing_was_changed(void **state) {
    (void)state;
    mercer_view out = doubles(f.out, N, R);
    assert_string_equal(get(f.recipe, "components"), "2");
    assert_string_equal(get(f.recipe, "kernel"), "gaussian");
    assert_string_equal(get(f.recipe, "sigma"), "");
    MUST(mercer_model_fit(&f.new_model, f.recipe, f.data, NULL));
    MUST(mercer_model_transform(f.new_model, NULL, f.data, &out, 1, NULL));
    mercer_model_destroy(f.new_model);
}

static void the_table_is_as_long_as_promised(void **state) {
    (void)state;
    int nulls = 0;
    for (int i = 0; i < table.count; i++) nulls += strcmp(table.entries[i].fault, NULL_POINTER) == 0;
    print_message("%d different misuses, %d of them null pointers\n", table.count, nulls);
    assert_true(table.count >= FEWEST);
    assert_true(nulls <= MOST_NULLS);
}

static void every_function_that_can_fail_is_there(void **state) {
    (void)state;
    static const char opening[] = "MERCER_API int32_t ";
    size_t size;
    char *header = (char *)read_file(MERCER_HEADER, &size);
    header[size] = '\0';
    int functions = 0, missing = 0;
    for (char *at = header; (at = strstr(at, opening)); functions++) {
        at += sizeof opening - 1;
        at[strcspn(at, "(")] = '\0';
        bool found = false;
        for (int i = 0; i < table.count && !found; i++) found = strcmp(table.entries[i].function, at) == 0;
        if (!found) print_error("no misuse of %s\n", at), missing++;
        at += strlen(at) + 1;
    }
    free(header);
    print_message("of %d functions\n", functions);
    assert_true(functions > 30);
    assert_int_equal(missing, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_pointers),
        cmocka_unit_test(names),
        cmocka_unit_test(numbers),
        cmocka_unit_test(other_rows),
        cmocka_unit_test(kernel_expressions),
        cmocka_unit_test(indices_and_sizes),
        cmocka_unit_test(views),
        cmocka_unit_test(chunks_and_objects),
        cmocka_unit_test(sparse),
        cmocka_unit_test(arrays_to_read_into),
        cmocka_unit_test(attachments),
        cmocka_unit_test(values_of_data),
        cmocka_unit_test(matrices),
        cmocka_unit_test(paths),
        cmocka_unit_test(npy_files),
        cmocka_unit_test(csv_files),
        cmocka_unit_test(model_files),
        cmocka_unit_test(outputs),
        cmocka_unit_test(queries),
        cmocka_unit_test(capabilities),
        cmocka_unit_test(derivations),
        cmocka_unit_test(tensors),
        cmocka_unit_test(runs),
        cmocka_unit_test(checkpoints),
        cmocka_unit_test(callbacks),
        cmocka_unit_test(nothing_was_changed),
        cmocka_unit_test(the_table_is_as_long_as_promised),
        cmocka_unit_test(every_function_that_can_fail_is_there),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
