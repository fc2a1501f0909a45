/* Rows as data: bindings build their help, flags and keywords from the rows, so every field must be
 * readable and must agree with what a recipe accepts. */
#include "temp_folder.h"

#include <math.h>
#include <stdbool.h>

static mercer_context *context;

static int begin(void **state) {
    (void)state;
    context = new_context();
    return 0;
}
static int end(void **state) {
    (void)state;
    mercer_context_destroy(context);
    return 0;
}

enum { MOST = 64 };
struct names {
    int64_t count;
    const char *name[MOST];
};
static struct names names_of(const char *what) {
    struct names names;
    MUST(mercer_context_count(context, what, &names.count));
    assert_in_range(names.count, 1, MOST);
    for (int64_t i = 0; i < names.count; i++) {
        mercer_entry entry = {.struct_size = sizeof entry};
        MUST(mercer_context_entry(context, what, i, &entry));
        names.name[i] = entry.name;
    }
    return names;
}

static bool is_choice(const char *choices, const char *text) {
    size_t length = strlen(text);
    for (const char *at = choices; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
        if (strncmp(at, text, length) == 0 && (at[length] == '|' || at[length] == '\0')) return true;
    return false;
}

static char *number(double value) {
    static char text[40];
    snprintf(text, sizeof text, "%.17g", value);
    return text;
}

/* Checks that a value just outside the range is refused and leaves the old value, and that the end
 * of a closed range is accepted. */
static void check_range(mercer_recipe *recipe, const mercer_row *row) {
    char before[200];
    snprintf(before, sizeof before, "%s", get(recipe, row->name));
    const double step = row->type == MERCER_INT ? 1 : 1e-3,
                 far = fabs(row->hi) > 1e15 ? 4 : step; /* 2^53 + 1 would round to 2^53 */
    const struct {
        double end, outside;
        int open;
    } ends[] = {{row->lo, row->lo - step, row->flags & MERCER_LO_OPEN},
                {row->hi, row->hi + far, row->flags & MERCER_HI_OPEN}};
    for (int e = 0; e < 2; e++) {
        if (isinf(ends[e].end)) {
            FAILS(MERCER_E_VALUE, row->name, mercer_recipe_set(recipe, row->name, e ? "inf" : "-inf"));
            continue;
        }
        FAILS(MERCER_E_VALUE, "must be",
              mercer_recipe_set(recipe, row->name, number(ends[e].open ? ends[e].end : ends[e].outside)));
        assert_non_null(strstr(mercer_last_error(), row->name));
        assert_string_equal(get(recipe, row->name), before);
        if (ends[e].open) continue;
        MUST(mercer_recipe_set(recipe, row->name, number(ends[e].end)));
        MUST(mercer_recipe_set(recipe, row->name, "")); /* "" restores the default */
        assert_string_equal(get(recipe, row->name), row->initial);
    }
    FAILS(MERCER_E_VALUE, row->name, mercer_recipe_set(recipe, row->name, "many"));
}

static void check_row(mercer_recipe *recipe, const mercer_row *row) {
    assert_true(row->name && row->name[0] && row->doc && row->doc[0]);
    assert_true(row->initial && row->choices && row->group);
    assert_false(strchr(row->doc, '\n'));
    assert_in_range(row->type, MERCER_REAL, MERCER_TEXT);
    if (row->flags & MERCER_PART) {
        assert_true(!row->initial[0] || !row->choices[0] || is_choice(row->choices, row->initial));
        return; /* setting a part would change the rows */
    }
    assert_string_equal(get(recipe, row->name), row->initial);
    if (row->initial[0]) {
        MUST(mercer_recipe_set(recipe, row->name, row->initial));
        assert_string_equal(get(recipe, row->name), row->initial);
    }
    MUST(mercer_recipe_set(recipe, row->name, ""));
    assert_string_equal(get(recipe, row->name), row->initial);
    if (row->type == MERCER_REAL || row->type == MERCER_INT) {
        assert_true(row->lo <= row->hi);
        check_range(recipe, row);
    } else if (row->type == MERCER_CHOICE) {
        assert_true(row->choices[0] && (!row->initial[0] || is_choice(row->choices, row->initial)));
        FAILS(MERCER_E_VALUE, "must be one of", mercer_recipe_set(recipe, row->name, "no-such-choice"));
        char choice[64];
        for (const char *at = row->choices; *at; at += strlen(choice), at += *at == '|') {
            sscanf(at, "%63[^|]", choice);
            MUST(mercer_recipe_set(recipe, row->name, choice));
            assert_string_equal(get(recipe, row->name), choice);
        }
        MUST(mercer_recipe_set(recipe, row->name, ""));
    } else if (row->type == MERCER_BOOL) {
        FAILS(MERCER_E_VALUE, "true or false", mercer_recipe_set(recipe, row->name, "yes"));
        MUST(mercer_recipe_set(recipe, row->name, "0"));
        assert_string_equal(get(recipe, row->name), "false");
        MUST(mercer_recipe_set(recipe, row->name, ""));
    }
}

static void every_row_of_every_combination(void **state) {
    (void)state;
    struct names methods = names_of("methods"), kernels = names_of("kernels"), reducers = names_of("reducers"),
                 solvers = names_of("solvers"), lifts = names_of("lifts");
    int64_t checked = 0, recipes = 0;
    for (int64_t m = 0; m < methods.count; m++)
        for (int64_t k = 0; k < kernels.count; k++)
            for (int64_t r = 0; r < reducers.count; r++)
                for (int64_t s = 0; s < solvers.count; s++)
                    for (int64_t l = 0; l < lifts.count; l++, recipes++) {
                        /* The method `auto` chooses the reducer and the lift. For other methods the
                         * solver is set only with the lift `weighted`. */
                        const bool chooses = strcmp(methods.name[m], "auto") == 0,
                                   solves = chooses || strcmp(lifts.name[l], "weighted") == 0;
                        const char *parts[] = {"kernel", solves ? "solver" : "lift", "lift", "reducer"};
                        const char *values[] = {kernels.name[k], solves ? solvers.name[s] : lifts.name[l],
                                                lifts.name[l], reducers.name[r]};
                        const int free = chooses ? 2 : 4;
                        mercer_recipe *recipe;
                        MUST(mercer_recipe_create(&recipe, context, methods.name[m]));
                        MUST(mercer_recipe_set_many(recipe, parts, values, free));
                        int64_t count = 0;
                        MUST(mercer_recipe_rows(recipe, &count));
                        assert_true(count > 10);
                        for (int64_t i = 0; i < count; i++, checked++) {
                            mercer_row row = {.struct_size = sizeof row};
                            MUST(mercer_recipe_row(recipe, i, &row));
                            check_row(recipe, &row);
                        }
                        for (int p = 0; p < free; p++) assert_string_equal(get(recipe, parts[p]), values[p]);
                        assert_string_equal(get(recipe, "method"), methods.name[m]);
                        mercer_recipe_destroy(recipe);
                    }
    print_message("%d rows of %d recipes\n", (int)checked, (int)recipes);
}

static void rows_of_parts_name_what_there_is(void **state) {
    (void)state;
    static const struct {
        const char *row, *registry;
    } parts[] = {{"method", "methods"},
                 {"kernel", "kernels"},
                 {"reducer", "reducers"},
                 {"lift", "lifts"},
                 {"solver", "solvers"}};
    mercer_recipe *recipe = new_recipe(context, NULL);
    int64_t count = 0;
    MUST(mercer_recipe_rows(recipe, &count));
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
        mercer_row row = {.struct_size = sizeof row}, found = row;
        for (int64_t i = 0; i < count; i++) {
            MUST(mercer_recipe_row(recipe, i, &row));
            if (strcmp(row.name, parts[p].row) == 0) found = row;
        }
        assert_non_null(found.name);
        assert_true(found.flags & MERCER_PART);
        struct names names = names_of(parts[p].registry);
        for (int64_t i = 0; i < names.count; i++) assert_true(is_choice(found.choices, names.name[i]));
    }
    mercer_recipe_destroy(recipe);
}

static void operations_have_rows_too(void **state) {
    (void)state;
    static const char *const registries[] = {"operations", "derivations"};
    for (size_t which = 0; which < sizeof registries / sizeof *registries; which++) {
        struct names operations = names_of(registries[which]);
        for (int64_t i = 0; i < operations.count; i++) {
            mercer_recipe *recipe;
            int64_t count = -1;
            MUST(mercer_recipe_create(&recipe, context, operations.name[i]));
            MUST(mercer_recipe_rows(recipe, &count));
            for (int64_t r = 0; r < count; r++) {
                mercer_row row = {.struct_size = sizeof row};
                MUST(mercer_recipe_row(recipe, r, &row));
                check_row(recipe, &row);
            }
            mercer_recipe_destroy(recipe);
        }
    }
}

/* Checks that `takes` says what an operation is computed from, and that it is empty in all other
 * registries. */
static void operations_say_what_they_take(void **state) {
    (void)state;
    static const char *const registries[] = {"operations", "derivations", "methods", "lifts", "statuses"};
    for (size_t which = 0; which < sizeof registries / sizeof *registries; which++) {
        struct names names = names_of(registries[which]);
        assert_true(names.count > 0);
        for (int64_t i = 0; i < names.count; i++) {
            mercer_entry entry = {.struct_size = sizeof entry};
            MUST(mercer_context_find(context, registries[which], names.name[i], &entry));
            assert_string_equal(entry.takes, which == 0 ? "rows" : "");
        }
    }
}

/* Checks the numbers of columns before and after the input map, for rows with three scalings and
 * for objects, which have 0 columns. */
static void models_say_what_goes_in_and_what_the_kernel_sees(void **state) {
    (void)state;
    double x[40 * 3], distances[16] = {0, 1, 2, 3, 1, 0, 1, 2, 2, 1, 0, 1, 3, 2, 1, 0};
    for (int i = 0; i < 120; i++) x[i] = (i * 37 % 101) / 50.0;
    mercer_view rows = doubles(x, 40, 3), square = doubles(distances, 4, 4);
    static const char *const scales[] = {"none", "standard", "minmax", NULL};
    for (int k = 0; k < 4; k++) {
        const char *scale = scales[k], *text = NULL;
        const int64_t columns = scale ? 3 : 0;
        mercer_data *data = NULL;
        if (scale)
            MUST(mercer_data_from_view(&data, context, &rows));
        else
            MUST(mercer_data_from_matrix(&data, context, &square, MERCER_DISTANCE));
        mercer_recipe *recipe = new_recipe(context, "sigma", "1", "components", "2", NULL);
        if (scale) MUST(mercer_recipe_set(recipe, "data.scale", scale));
        mercer_model *model = NULL;
        MUST(mercer_model_fit(&model, recipe, data, NULL));
        mercer_summary summary = {.struct_size = sizeof summary};
        MUST(mercer_model_summary(model, &summary));
        assert_int_equal(summary.d, columns);
        assert_int_equal(summary.d_mapped, columns);
        MUST(mercer_model_info(model, "/d", &text));
        assert_int_equal(atoi(text), columns);
        MUST(mercer_model_info(model, "/d_mapped", &text));
        assert_int_equal(atoi(text), columns);
        /* The struct of an older caller ends before d_mapped, which must stay as it is. */
        mercer_summary older = {.struct_size = sizeof older - sizeof(int64_t), .d_mapped = -7};
        MUST(mercer_model_summary(model, &older));
        assert_int_equal(older.d, columns);
        assert_int_equal(older.d_mapped, -7);
        mercer_model_destroy(model);
        mercer_recipe_destroy(recipe);
        mercer_data_destroy(data);
    }
}

/* Checks that each status has the number and the summary that it has in mercer.h, where the summary
 * is the comment after "NAME = number,". */
static void statuses_are_listed(void **state) {
    (void)state;
    int64_t count = 0;
    size_t size;
    char *header = (char *)read_file(MERCER_HEADER, &size), head[64], tail[256];
    header[size] = '\0';
    MUST(mercer_context_count(context, "statuses", &count));
    assert_int_equal(count, 16);
    for (int64_t i = 0; i < count; i++) {
        mercer_entry entry = {.struct_size = sizeof entry};
        MUST(mercer_context_entry(context, "statuses", i, &entry));
        assert_int_equal(entry.value, i);
        assert_int_equal(strncmp(entry.name, i ? "MERCER_E_" : "MERCER_OK", 9), 0);
        snprintf(head, sizeof head, "\n    %s = %d", entry.name, (int)i);
        snprintf(tail, sizeof tail, "/* %s */\n", entry.summary);
        const char *line = strstr(header, head), *comment = line ? strstr(line + 1, "/*") : NULL;
        if (!comment || strncmp(comment, tail, strlen(tail)) != 0)
            fail_msg("%s is '%s' in the library, not in mercer.h", entry.name, entry.summary);
    }
    free(header);
    assert_string_equal(mercer_version(), MERCER_VERSION " (abi 0)");
}

static void numbers_come_back_as_they_were_given(void **state) {
    (void)state;
    static const char *const texts[] = {"0.1",
                                        "1e-300",
                                        "5e-324",
                                        "1e+300",
                                        "1.7976931348623157e+308",
                                        "0.30000000000000004",
                                        "3",
                                        "123456789.125",
                                        "2.2250738585072014e-308",
                                        "6.02214076e+23"};
    mercer_recipe *recipe = new_recipe(context, NULL);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        MUST(mercer_recipe_set(recipe, "sigma", texts[i]));
        double value = strtod(texts[i], NULL);
        assert_true(strtod(get(recipe, "sigma"), NULL) == value);
        MUST(mercer_recipe_set_real(recipe, "sigma", value));
        assert_string_equal(get(recipe, "sigma"), texts[i]);
    }
    MUST(mercer_recipe_set(recipe, "sigma", "  2.50 ")); /* blanks and trailing zeros are removed */
    assert_string_equal(get(recipe, "sigma"), "2.5");
    MUST(mercer_recipe_set(recipe, "seed", "9007199254740992"));
    assert_string_equal(get(recipe, "seed"), "9007199254740992");
    MUST(mercer_recipe_set(recipe, "components", "1e3"));
    assert_string_equal(get(recipe, "components"), "1000");
    MUST(mercer_recipe_set_real(recipe, "components", 7));
    assert_string_equal(get(recipe, "components"), "7");
    MUST(mercer_recipe_set_real(recipe, "lift.centred", 0));
    assert_string_equal(get(recipe, "lift.centred"), "false");
    mercer_recipe_destroy(recipe);
}

static void older_callers_get_what_they_know(void **state) {
    (void)state;
    struct {
        mercer_row row;
        char guard[16];
    } small;
    memset(&small, 0x5a, sizeof small);
    small.row.struct_size = offsetof(mercer_row, choices);
    mercer_recipe *recipe = new_recipe(context, NULL);
    MUST(mercer_recipe_row(recipe, 0, &small.row));
    assert_int_equal(small.row.struct_size, offsetof(mercer_row, choices));
    assert_string_equal(small.row.name, "method");
    for (size_t i = offsetof(mercer_row, choices); i < sizeof small; i++) assert_int_equal(((char *)&small)[i], 0x5a);
    mercer_run old = {
        .struct_size = offsetof(mercer_run, progress), .threads = 1, .progress = (void *)1, .cancel = (void *)1};
    double *x = noise(60);
    mercer_data *data = new_data(context, x, 20, 3);
    mercer_model *model;
    MUST(mercer_model_fit(&model, recipe, data, &old)); /* fields beyond struct_size are read as 0 */
    mercer_model_destroy(model);
    mercer_data_destroy(data);
    mercer_recipe_destroy(recipe);
    free(x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_of_every_combination),
        cmocka_unit_test(rows_of_parts_name_what_there_is),
        cmocka_unit_test(operations_have_rows_too),
        cmocka_unit_test(operations_say_what_they_take),
        cmocka_unit_test(models_say_what_goes_in_and_what_the_kernel_sees),
        cmocka_unit_test(statuses_are_listed),
        cmocka_unit_test(numbers_come_back_as_they_were_given),
        cmocka_unit_test(older_callers_get_what_they_know),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
