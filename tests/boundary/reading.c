/* Checks that mercer_data_read returns the rows of the data, whatever form they were given in, and
 * that mercer_row_check accepts the same values as mercer_recipe_set and refuses others with the
 * same messages. */
#include "temp_folder.h"

#include <math.h>

enum { RN = 301, RD = 4 };

static mercer_context *context;
static char *folder;
static double *x;

static int begin(void **state) {
    (void)state;
    context = new_context();
    folder = new_folder();
    x = noise(RN * RD);
    for (int i = 0; i < RN * RD; i++) x[i] = (float)x[i]; /* exact in both types */
    return 0;
}
static int end(void **state) {
    (void)state;
    free(x);
    remove_folder(folder);
    mercer_context_destroy(context);
    return 0;
}

/* Reads the data into arrays of both types and orders, with a gap after each line, and compares
 * each entry with x. The gaps must keep their contents. */
static void check_is_x(mercer_data *data) {
    for (int f32 = 0; f32 < 2; f32++)
        for (int by_columns = 0; by_columns < 2; by_columns++) {
            static double f64[(RN + 3) * (RD + 3)];
            static float single[(RN + 3) * (RD + 3)];
            for (int i = 0; i < (RN + 3) * (RD + 3); i++) f64[i] = 77, single[i] = 77;
            const int64_t line = by_columns ? RN + 3 : RD + 3;
            mercer_view out = view_of(f32 ? (void *)single : (void *)f64, f32 ? MERCER_F32 : MERCER_F64, RN, RD);
            out.row_stride = by_columns ? 1 : line;
            out.col_stride = by_columns ? line : 1;
            MUST(mercer_data_read(data, &out, NULL));
            for (int64_t i = 0; i < (by_columns ? RD : RN); i++)
                for (int64_t j = 0; j < line; j++) {
                    const int64_t row = by_columns ? j : i, col = by_columns ? i : j;
                    const double got = f32 ? (double)single[i * line + j] : f64[i * line + j];
                    assert_true(got == (row < RN && col < RD ? x[row * RD + col] : 77));
                }
        }
}

static void from_views(void **state) {
    (void)state;
    static float single[RN * RD];
    static double by_columns[RN * RD];
    for (int i = 0; i < RN; i++)
        for (int j = 0; j < RD; j++) single[i * RD + j] = (float)x[i * RD + j], by_columns[j * RN + i] = x[i * RD + j];
    const mercer_view views[] = {doubles(x, RN, RD),
                                 view_of(single, MERCER_F32, RN, RD),
                                 {sizeof(mercer_view), MERCER_F64, 0, RN, RD, 1, RN, by_columns}};
    for (size_t k = 0; k < sizeof views / sizeof *views; k++) {
        mercer_data *data = NULL;
        MUST(mercer_data_from_view(&data, context, &views[k]));
        check_is_x(data);
        mercer_data_destroy(data);
    }
}

static void from_sparse(void **state) {
    (void)state;
    static int64_t offsets[RN + 1], indices[RN];
    static double values[RN], out[RN * RD];
    for (int i = 0; i < RN; i++) offsets[i + 1] = i + 1, indices[i] = i % RD, values[i] = x[i];
    mercer_sparse sparse = {.struct_size = sizeof sparse,
                            .layout = MERCER_CSR,
                            .dtype = MERCER_F64,
                            .index_dtype = MERCER_I64,
                            .rows = RN,
                            .cols = RD,
                            .count = RN,
                            .offsets = offsets,
                            .indices = indices,
                            .values = values};
    mercer_data *data = NULL;
    MUST(mercer_data_from_sparse(&data, context, &sparse));
    const mercer_view view = doubles(out, RN, RD);
    MUST(mercer_data_read(data, &view, NULL));
    for (int i = 0; i < RN; i++)
        for (int j = 0; j < RD; j++) assert_true(out[i * RD + j] == (j == i % RD ? x[i] : 0));
    mercer_data_destroy(data);
}

static int32_t next(void *user, int64_t first, int64_t capacity, void *buffer, int64_t *rows) {
    (void)user;
    *rows = capacity < RN - first ? capacity : RN - first;
    memcpy(buffer, x + first * RD, (size_t)(*rows * RD) * sizeof *x);
    return 0;
}

static void from_chunks(void **state) {
    (void)state;
    for (int known = 0; known < 2; known++) {
        const mercer_chunks chunks = {.struct_size = sizeof chunks,
                                      .dtype = MERCER_F64,
                                      .flags = MERCER_REWINDABLE,
                                      .rows = known ? RN : -1,
                                      .cols = RD,
                                      .next = next};
        mercer_data *data = NULL;
        MUST(mercer_data_from_chunks(&data, context, &chunks));
        check_is_x(data);
        mercer_data_destroy(data);
    }
}

static mercer_data *data_in(const char *name, const void *bytes, size_t count, const mercer_file *options) {
    mercer_data *data = NULL;
    write_file(joined(folder, name), bytes, count);
    MUST(mercer_data_from_file(&data, context, joined(folder, name), options));
    return data;
}

/* A .npy file of 3 x 1 entries of `size` bytes. */
static mercer_data *npy(const char *descr, const void *values, size_t size) {
    char file[128 + 24];
    const int header = snprintf(file + 10, 118, "{'descr': '%s', 'fortran_order': False, 'shape': (3, 1), }", descr);
    memcpy(file, "\x93NUMPY\1\0\x76\0", 10);
    memset(file + 10 + header, ' ', (size_t)(118 - header));
    file[127] = '\n';
    memcpy(file + 128, values, 3 * size);
    return data_in("three.npy", file, 128 + 3 * size, NULL);
}

static void from_npy_files(void **state) {
    (void)state;
    static const int64_t wide[] = {-3, (int64_t)1 << 53, 0}, beyond[] = {1, ((int64_t)1 << 53) + 2, 0};
    static const uint8_t narrow[] = {0, 255, 7};
    static const double real[] = {1, -2, 0.5}, whole[] = {1, -2, 1e15};
    static const struct {
        const char *descr;
        const void *values;
        size_t size;
        int32_t integers;
        int64_t expected[3];
        const char *refused; /* part of the message, or NULL if not refused */
    } files[] = {{"<i8", wide, 8, 1, {-3, (int64_t)1 << 53, 0}, NULL},
                 {"<i8", beyond, 8, 1, {0}, "row 1, column 0"},
                 {"|u1", narrow, 1, 1, {0, 255, 7}, NULL},
                 {"<f8", whole, 8, 0, {1, -2, 1000000000000000}, NULL},
                 {"<f8", real, 8, 0, {0}, "row 2, column 0"}};
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        mercer_data *data = npy(files[k].descr, files[k].values, files[k].size);
        mercer_data_facts facts = {.struct_size = sizeof facts};
        MUST(mercer_data_inspect(data, &facts));
        assert_int_equal(facts.integers, files[k].integers);
        int64_t out[3];
        const mercer_view view = view_of(out, MERCER_I64, 3, 1);
        if (files[k].refused) {
            FAILS(MERCER_E_DATA, files[k].refused, mercer_data_read(data, &view, NULL));
        } else {
            MUST(mercer_data_read(data, &view, NULL));
            assert_memory_equal(out, files[k].expected, sizeof out);
        }
        mercer_data_destroy(data);
    }
}

/* A missing value is read as NaN into floats, and reading it into integers is refused. If a label is
 * a number or missing, the facts contain the values of the labels in addition to their texts. */
static void from_csv(void **state) {
    (void)state;
    static const char text[] = "a,b,kind\n1,2,x\n3,NA,\n5,6,2.5\n7,8,x\n";
    const mercer_file options = {.struct_size = sizeof options, .labels = "kind"};
    mercer_data *data = data_in("rows.csv", text, sizeof text - 1, &options);
    double out[8];
    int64_t whole[8];
    const mercer_view view = doubles(out, 4, 2), ints = view_of(whole, MERCER_I64, 4, 2);
    MUST(mercer_data_read(data, &view, NULL));
    for (int k = 0; k < 8; k++) assert_true(k == 3 ? isnan(out[k]) : out[k] == k + 1);
    FAILS(MERCER_E_DATA, "line 3", mercer_data_read(data, &ints, NULL));
    mercer_data_facts facts = {.struct_size = sizeof facts};
    MUST(mercer_data_inspect(data, &facts));
    assert_int_equal(facts.integers, 0);
    assert_string_equal(
        facts.names, "{\"columns\":[\"a\",\"b\"],\"labels\":[\"x\",\"\",\"2.5\"],\"label_values\":[\"x\",null,2.5]}");
    mercer_data_destroy(data);
    static const char classes[] = "a,kind\n1,x\n2,y\n";
    data = data_in("classes.csv", classes, sizeof classes - 1, &options);
    MUST(mercer_data_inspect(data, &facts));
    assert_string_equal(facts.names, "{\"columns\":[\"a\"],\"labels\":[\"x\",\"y\"]}");
    mercer_data_destroy(data);
}

/* Checks that the run of the call is used, or that of the context if the call gives NULL. */
static void runs(void **state) {
    (void)state;
    static float single[RN * RD];
    for (int i = 0; i < RN * RD; i++) single[i] = (float)x[i];
    const mercer_view given = view_of(single, MERCER_F32, RN, RD);
    static double out[RN * RD];
    const mercer_view view = doubles(out, RN, RD);
    const int32_t stop = 1;
    const mercer_run small = {.struct_size = sizeof small, .memory = 1000},
                     cancelled = {.struct_size = sizeof cancelled, .cancel = &stop};
    mercer_context *own = new_context();
    mercer_data *data = NULL;
    MUST(mercer_data_from_view(&data, own, &given));
    FAILS(MERCER_E_BUDGET, "1000", mercer_data_read(data, &view, &small));
    FAILS(MERCER_E_CANCELLED, "", mercer_data_read(data, &view, &cancelled));
    MUST(mercer_data_read(data, &view, NULL));
    FAILS(MERCER_E_ARGUMENT, "out is NULL", mercer_data_read(data, NULL, NULL));
    FAILS(MERCER_E_ARGUMENT, "data is NULL", mercer_data_read(NULL, &view, NULL));
    mercer_data_destroy(data);
    MUST(mercer_context_set_run(own, &small));
    MUST(mercer_data_from_view(&data, own, &given));
    FAILS(MERCER_E_BUDGET, "1000", mercer_data_read(data, &view, NULL));
    mercer_data_destroy(data);
    mercer_context_destroy(own);
}

/* Compares mercer_row_check with mercer_recipe_set for all rows of all methods. Parts and texts are
 * left out, because the recipe alone can judge their values. */
static void row_checks(void **state) {
    (void)state;
    static const char *const values[] = {"0",
                                         "1",
                                         "-1",
                                         "0.5",
                                         "2",
                                         "1e3",
                                         "1e300",
                                         "10.0",
                                         "nan",
                                         "inf",
                                         "x",
                                         "5x",
                                         "true",
                                         "fals",
                                         "none",
                                         "standrad",
                                         "medin",
                                         "9007199254740993",
                                         "99999999999999999999",
                                         "1 2"};
    int64_t methods, checked = 0, refused = 0;
    MUST(mercer_context_count(context, "methods", &methods));
    for (int64_t k = 0; k < methods; k++) {
        mercer_entry method = {.struct_size = sizeof method};
        MUST(mercer_context_entry(context, "methods", k, &method));
        mercer_recipe *shown = NULL;
        MUST(mercer_recipe_create(&shown, context, method.name));
        int64_t count;
        MUST(mercer_recipe_rows(shown, &count));
        for (int64_t r = 0; r < count; r++) {
            mercer_row row = {.struct_size = sizeof row};
            MUST(mercer_recipe_row(shown, r, &row));
            if (row.flags & MERCER_PART || row.type == MERCER_TEXT) continue;
            for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
                mercer_recipe *recipe = NULL;
                MUST(mercer_recipe_create(&recipe, context, method.name));
                const int32_t set = mercer_recipe_set(recipe, row.name, values[v]);
                char text[1024];
                snprintf(text, sizeof text, "%s", mercer_last_error());
                const int32_t judged = mercer_row_check(&row, values[v]);
                /* If the number of components is a share such as 0.5, mercer_recipe_set answers with
                 * another text, which suggests output.variance. */
                if (set && !strstr(text, "did you mean output.variance"))
                    assert_string_equal(text, mercer_last_error());
                assert_int_equal(judged, set);
                mercer_recipe_destroy(recipe);
                checked++, refused += set != MERCER_OK;
            }
        }
        mercer_recipe_destroy(shown);
    }
    assert_true(checked > 2000 && refused > 1000 && refused < checked);
}

/* Rows that the caller defines, and that no recipe has. */
static void own_rows(void **state) {
    (void)state;
    const mercer_row kind = {
        .struct_size = sizeof kind, .name = "--kind", .type = MERCER_CHOICE, .choices = "scree|scatter"};
    const mercer_row width = {
        .struct_size = sizeof width, .name = "--width", .type = MERCER_REAL, .lo = 300, .hi = 4000};
    const mercer_row nameless = {.struct_size = sizeof nameless, .type = MERCER_REAL};
    FAILS(MERCER_E_ARGUMENT, "row is NULL", mercer_row_check(NULL, "1"));
    FAILS(MERCER_E_ARGUMENT, "row: name is NULL", mercer_row_check(&nameless, "1"));
    FAILS(MERCER_E_ARGUMENT, "value is NULL", mercer_row_check(&kind, NULL));
    MUST(mercer_row_check(&kind, "scree"));
    FAILS(MERCER_E_VALUE, "--kind = scre, must be one of scree, scatter: did you mean 'scree'?",
          mercer_row_check(&kind, "scre"));
    FAILS(MERCER_E_VALUE, "--kind = , must be one of scree, scatter", mercer_row_check(&kind, ""));
    FAILS(MERCER_E_VALUE, "--kind = scree , must be one of", mercer_row_check(&kind, "scree "));
    MUST(mercer_row_check(&width, "300"));
    FAILS(MERCER_E_VALUE, "--width = 3, must be >= 300 and <= 4000", mercer_row_check(&width, "3"));
    FAILS(MERCER_E_VALUE, "--width =  is not a finite number", mercer_row_check(&width, ""));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(from_views),     cmocka_unit_test(from_sparse), cmocka_unit_test(from_chunks),
        cmocka_unit_test(from_npy_files), cmocka_unit_test(from_csv),    cmocka_unit_test(runs),
        cmocka_unit_test(row_checks),     cmocka_unit_test(own_rows),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
