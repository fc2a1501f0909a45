/* Recipes: short names of rows, rows that a change of a part resets, rows that exist for a method,
 * and many settings at once. */
#include "boundary.h"

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

static void names_may_be_short(void **state) {
    (void)state;
    mercer_recipe *recipe = new_recipe(context, NULL);
    MUST(mercer_recipe_set(recipe, "components", "3"));
    assert_string_equal(get(recipe, "output.components"), "3");
    MUST(mercer_recipe_set(recipe, "max-passes", "9")); /* '-' and '_' are equivalent */
    assert_string_equal(get(recipe, "solver.max_passes"), "9");
    assert_string_equal(get(recipe, "solver.max-passes"), "9");
    MUST(mercer_recipe_set(recipe, "reducer", "given"));
    MUST(mercer_recipe_set(recipe, "kernel", "gaussian[0] + laplacian[1] * linear"));
    FAILS(MERCER_E_NAME, "'kernel.1.sigma'", mercer_recipe_set(recipe, "sigma", "1"));
    assert_non_null(strstr(mercer_last_error(), "'kernel.2.sigma'"));
    assert_non_null(strstr(mercer_last_error(), "ambiguous"));
    FAILS(MERCER_E_NAME, "kernel.1.sigma",
          mercer_recipe_set(recipe, "kernel.sigma", "1")); /* two of the kernels have a sigma */
    MUST(mercer_recipe_set(recipe, "kernel.2.sigma", "4"));
    assert_string_equal(get(recipe, "kernel.1.sigma"), "");
    assert_string_equal(get(recipe, "kernel.2.sigma"), "4");
    MUST(mercer_recipe_set(recipe, "norm", "l1")); /* only the second kernel has a norm */
    assert_string_equal(get(recipe, "kernel.2.norm"), "l1");
    mercer_recipe_destroy(recipe);
}

static void aliases_stand_for_names(void **state) {
    (void)state;
    mercer_recipe *recipe = new_recipe(context, "kernel", "rbf", NULL);
    assert_string_equal(get(recipe, "kernel"), "gaussian");
    MUST(mercer_recipe_set(recipe, "kernel", "0.5 rbf[0-2,4] + linear"));
    assert_string_equal(get(recipe, "kernel"), "0.5 gaussian[0-2,4] + linear");
    mercer_recipe_destroy(recipe);
}

static void changing_a_part_resets_its_rows(void **state) {
    (void)state;
    mercer_recipe *recipe =
        new_recipe(context, "sigma", "3", "reducer", "uniform", "reducer.m", "7", "components", "2", NULL);
    MUST(mercer_recipe_set(recipe, "kernel", "laplacian"));
    assert_string_equal(get(recipe, "sigma"), "");
    assert_string_equal(get(recipe, "reducer.m"), "7");
    MUST(mercer_recipe_set(recipe, "reducer", "greedy"));
    assert_string_not_equal(get(recipe, "reducer.m"), "7");
    assert_string_equal(get(recipe, "components"), "2"); /* this row belongs to no part */
    MUST(mercer_recipe_set(recipe, "method", "subsampled"));
    assert_string_equal(get(recipe, "reducer"), "uniform");
    assert_string_equal(get(recipe, "kernel"), "gaussian");
    MUST(mercer_recipe_set(recipe, "reducer", ""));
    assert_string_equal(get(recipe, "reducer"), "uniform"); /* "" restores the default of the method */
    mercer_recipe_destroy(recipe);
}

static bool has_row(mercer_recipe *recipe, const char *name) {
    int64_t count = 0;
    MUST(mercer_recipe_rows(recipe, &count));
    for (int64_t i = 0; i < count; i++) {
        mercer_row row = {.struct_size = sizeof row};
        MUST(mercer_recipe_row(recipe, i, &row));
        if (strcmp(row.name, name) == 0) return true;
    }
    return false;
}

/* A row is listed, readable and settable exactly where it has an effect. */
static void rows_belong_to_where_they_have_an_effect(void **state) {
    (void)state;
    static const struct {
        const char *method, *lift, *has[6], *has_not[8];
    } cases[] = {
        {"kpca", "", {"solver", "solver.tol", "gram.storage"}, {"accuracy", "report.delta", "report.certificates"}},
        {"kpca", "projected", {"report.delta", "report.rows"}, {"accuracy", "solver", "solver.tol", "gram.storage"}},
        {"nystrom", "", {"reducer.m", "report.delta", "lift"}, {"accuracy", "solver.strict", "solver.max_passes"}},
        {"nystrom",
         "weighted",
         {"solver.tol", "reducer.m", "report.certificates"},
         {"accuracy", "lift.alpha", "orthonormal"}},
        {"diffusion",
         "",
         {"lift.alpha", "lift.time", "solver", "output.threshold"},
         {"lift.centred", "lift.clusters", "lift.ritz", "output.variance", "report.bootstrap", "report.delta"}},
        {"ncut", "", {"lift.alpha", "lift.clusters"}, {"lift.time", "lift.centred"}},
        {"auto",
         "",
         {"accuracy", "report.delta", "solver", "solver.strict", "gram.storage"},
         {"reducer", "lift", "solver.tol", "report.certificates", "report.rows"}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        mercer_recipe *recipe = new_recipe(context, "method", cases[c].method, NULL);
        if (cases[c].lift[0]) MUST(mercer_recipe_set(recipe, "lift", cases[c].lift));
        const char *value;
        for (const char *const *name = cases[c].has; *name; name++) assert_true(has_row(recipe, *name));
        for (const char *const *name = cases[c].has_not; *name; name++) {
            assert_false(has_row(recipe, *name));
            FAILS(MERCER_E_NAME, "applies to", mercer_recipe_get(recipe, *name, &value));
            FAILS(MERCER_E_NAME, "applies to", mercer_recipe_set(recipe, *name, "1"));
        }
        mercer_recipe_destroy(recipe);
    }
    mercer_recipe *recipe = new_recipe(context, "solver", "dense", "solver.tol", "0.5", "lift.centred", "false", NULL);
    MUST(mercer_recipe_set(recipe, "lift", "projected"));
    MUST(mercer_recipe_set(recipe, "report.rows", "50"));
    MUST(mercer_recipe_set(recipe, "lift", "weighted"));
    assert_string_equal(get(recipe, "solver"), "auto");
    assert_string_equal(get(recipe, "solver.tol"), "");
    assert_string_equal(get(recipe, "lift.centred"), "true");
    MUST(mercer_recipe_set(recipe, "lift", "projected"));
    assert_string_equal(get(recipe, "report.rows"), "0");
    mercer_recipe_destroy(recipe);
}

/* A model stores exactly the rows of its recipe, and a model text with other parameters must load
 * as well. */
static void models_store_the_rows_of_their_recipe(void **state) {
    (void)state;
    static const char *const methods[] = {"kpca", "nystrom", "auto"};
    double *x = noise(80);
    mercer_data *data = new_data(context, x, 40, 2);
    for (int m = 0; m < 3; m++) {
        mercer_recipe *recipe = new_recipe(context, "method", methods[m], "components", "2", "sigma", "1", NULL);
        mercer_model *model, *older;
        const char *value;
        MUST(mercer_model_fit(&model, recipe, data, NULL));
        assert_int_equal(mercer_model_info(model, "/parameters/accuracy", &value) == MERCER_OK, m == 2);
        assert_int_equal(mercer_model_info(model, "/parameters/report.delta", &value) == MERCER_OK, m != 0);
        assert_int_equal(mercer_model_info(model, "/parameters/gram.storage", &value) == MERCER_OK, m != 1);
        mercer_view views[] = {{.struct_size = sizeof *views}, {.struct_size = sizeof *views}};
        const char *const names[] = {"C", "A"};
        for (int t = 0; t < 2; t++) MUST(mercer_model_tensor(model, names[t], &views[t]));
        static const char with_others[] =
            "{\"kernel\":\"gaussian\",\"parameters\":{\"kernel.sigma\":1,\"accuracy\":0.5,\"gone\":1}}";
        MUST(mercer_model_from_tensors(&older, context, with_others, names, views, 2));
        mercer_model_destroy(older), mercer_model_destroy(model);
        mercer_recipe_destroy(recipe);
    }
    mercer_data_destroy(data);
    free(x);
}

static void many_at_once_in_any_order_all_or_none(void **state) {
    (void)state;
    static const char *const names[] = {"kernel.sigma", "reducer.m", "reducer", "kernel", "seed", "method"};
    static const char *const values[] = {"2", "40", "greedy", "laplacian", "5", "subsampled"};
    enum { COUNT = sizeof names / sizeof *names };
    for (int turn = 0; turn < COUNT; turn++) {
        const char *n[COUNT], *v[COUNT];
        for (int i = 0; i < COUNT; i++) n[i] = names[(i + turn) % COUNT], v[i] = values[(i + turn) % COUNT];
        mercer_recipe *recipe = new_recipe(context, NULL);
        MUST(mercer_recipe_set_many(recipe, n, v, COUNT));
        for (int i = 0; i < COUNT; i++) assert_string_equal(get(recipe, names[i]), values[i]);
        for (int bad = 0; bad < COUNT; bad++) { /* one value is wrong, so no value may be taken */
            const char *changed[COUNT] = {"9", "99", "uniform", "chi2", "9", "kpca"};
            const char *m[COUNT];
            memcpy(m, names, sizeof m);
            changed[3] = "gaussian";
            changed[bad] = "no such value";
            assert_int_not_equal(mercer_recipe_set_many(recipe, m, changed, COUNT), MERCER_OK);
            for (int i = 0; i < COUNT; i++) assert_string_equal(get(recipe, names[i]), values[i]);
        }
        mercer_recipe_destroy(recipe);
    }
    mercer_recipe *recipe = new_recipe(context, "sigma", "3", NULL);
    const char *name = "gamma", *value = "1", *both[] = {"sigma", "gamma"}, *swap[] = {"", "1"};
    FAILS(MERCER_E_VALUE, "only one", mercer_recipe_set_many(recipe, &name, &value, 1));
    assert_string_equal(get(recipe, "sigma"), "3");
    MUST(mercer_recipe_set_many(recipe, both, swap, 2));
    assert_string_equal(get(recipe, "gamma"), "1");
    assert_string_equal(get(recipe, "sigma"), "");
    MUST(mercer_recipe_set_many(recipe, NULL, NULL, 0));
    mercer_recipe_destroy(recipe);
}
int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_may_be_short),
        cmocka_unit_test(aliases_stand_for_names),
        cmocka_unit_test(changing_a_part_resets_its_rows),
        cmocka_unit_test(rows_belong_to_where_they_have_an_effect),
        cmocka_unit_test(models_store_the_rows_of_their_recipe),
        cmocka_unit_test(many_at_once_in_any_order_all_or_none),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
