/* Chunks and objects from callbacks of the caller: the size of the chunks must not change the
 * results, failing callbacks and false counts must be reported, and `release` must be called once.
 * No callback contains an assertion, because cmocka leaves a failed test by longjmp, which must not
 * cross the library. */
#include "boundary.h"

#include <pthread.h>

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

/* ---- chunks ------------------------------------------------------------------------------------------------------ */

enum { CN = 700, CD = 3 };
struct chunks {
    double *x;
    int64_t rows, at_once; /* all rows, and the most that one call returns */
    int calls, released, fail_at, lie_at;
    int64_t lie;
    const char *text;
};

static int32_t next_rows(void *user, int64_t first, int64_t capacity, void *buffer, int64_t *rows) {
    struct chunks *c = user;
    c->calls++;
    if (c->calls == c->fail_at) {
        if (c->text) mercer_set_error(c->text);
        return -1;
    }
    int64_t count = c->rows - first;
    count = count < capacity ? count : capacity;
    count = count < c->at_once ? count : c->at_once;
    memcpy(buffer, c->x + first * CD, (size_t)count * CD * sizeof(double));
    *rows = c->calls == c->lie_at ? c->lie : count;
    return 0;
}
static void release_chunks(void *user) { ++((struct chunks *)user)->released; }

static mercer_data *chunk_data(struct chunks *chunks, int64_t rows, int32_t flags) {
    mercer_chunks given = {sizeof given, MERCER_F64, flags, rows, CD, next_rows, chunks, release_chunks};
    mercer_data *data = NULL;
    MUST(mercer_data_from_chunks(&data, context, &given));
    return data;
}

static void chunks_of_any_size_are_the_same_data(void **state) {
    (void)state;
    double *x = noise(CN * CD);
    static double expected[CN * 2], out[CN * 2];
    mercer_recipe *recipe = new_recipe(context, "components", "2", NULL);
    mercer_data *view_data = new_data(context, x, CN, CD);
    mercer_view first = doubles(expected, CN, 2), second = doubles(out, CN, 2);
    mercer_model *model;
    MUST(mercer_model_fit(&model, recipe, view_data, NULL));
    MUST(mercer_model_transform(model, NULL, view_data, &first, 1, NULL));
    mercer_model_destroy(model);
    static const int64_t sizes[] = {1, 7, 256, CN, 100000};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int known = 0; known < 2; known++) {
            struct chunks chunks = {.x = x, .rows = CN, .at_once = sizes[s]};
            mercer_data *data = chunk_data(&chunks, known ? CN : -1, MERCER_REWINDABLE);
            mercer_data_facts facts = {.struct_size = sizeof facts};
            MUST(mercer_data_inspect(data, &facts));
            assert_int_equal(facts.rows, known ? CN : -1);
            assert_int_equal(facts.cols, CD);
            assert_int_equal(facts.kind, MERCER_DENSE);
            MUST(mercer_model_fit(&model, recipe, data, NULL));
            MUST(mercer_model_transform(model, NULL, data, &second, 1, NULL)); /* reads the chunks a second time */
            assert_memory_equal(out, expected, sizeof out);
            mercer_model_destroy(model);
            assert_int_equal(chunks.released, 0);
            mercer_data_destroy(data);
            assert_int_equal(chunks.released, 1);
        }
    struct chunks once = {.x = x, .rows = CN, .at_once = 100};
    mercer_data *data = chunk_data(&once, CN, 0);
    MUST(mercer_model_fit(&model, recipe, data, NULL));
    mercer_model_destroy(model);
    FAILS(MERCER_E_DATA, "REWINDABLE", mercer_model_fit(&model, recipe, data, NULL));
    mercer_data_destroy(data);
    mercer_data_destroy(view_data);
    mercer_recipe_destroy(recipe);
    free(x);
}

static void chunk_callbacks_that_fail_or_lie(void **state) {
    (void)state;
    double *x = noise(CN * CD);
    mercer_recipe *recipe = new_recipe(context, "components", "2", NULL);
    static const struct {
        int fail_at, lie_at;
        int64_t lie, declared;
        const char *text;
        int32_t code;
        const char *part;
    } cases[] = {
        {1, 0, 0, CN, "no such table", MERCER_E_CALLBACK, "no such table"},
        {3, 0, 0, -1, "connection lost", MERCER_E_CALLBACK, "connection lost"},
        {2, 0, 0, CN, NULL, MERCER_E_CALLBACK, "chunk callback"},
        {0, 1, -1, CN, NULL, MERCER_E_CALLBACK, "returned -1 rows"},
        {0, 2, 1 << 20, CN, NULL, MERCER_E_CALLBACK, "returned 1048576 rows"},
        {0, 2, INT64_MAX, -1, NULL, MERCER_E_CALLBACK, "returned 9223372036854775807 rows"},
        {0, 2, INT64_MIN, -1, NULL, MERCER_E_CALLBACK, "returned -9223372036854775808 rows"},
        {0, 3, 0, CN, NULL, MERCER_E_DATA, "ended after 200 rows of 700"},
        {0, 1, 0, -1, NULL, MERCER_E_DATA, "0 rows"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct chunks chunks = {.x = x,
                                .rows = CN,
                                .at_once = 100,
                                .fail_at = cases[c].fail_at,
                                .text = cases[c].text,
                                .lie_at = cases[c].lie_at,
                                .lie = cases[c].lie};
        mercer_data *data = chunk_data(&chunks, cases[c].declared, MERCER_REWINDABLE);
        mercer_model *model = (void *)data;
        FAILS(cases[c].code, cases[c].part, mercer_model_fit(&model, recipe, data, NULL));
        assert_null(model);
        mercer_data_destroy(data);
        assert_int_equal(chunks.released, 1);
    }
    mercer_recipe_destroy(recipe);
    free(x);
}

/* ---- objects ----------------------------------------------------------------------------------------------------- */

struct objects {
    double *x;
    pthread_t owner;
    int calls, foreign, released, fail_at, fail_self;
};

static int32_t products(void *user, const int64_t *i, const int64_t *j, int64_t count, double *values) {
    struct objects *o = user;
    if (!pthread_equal(o->owner, pthread_self())) __atomic_add_fetch(&o->foreign, 1, __ATOMIC_SEQ_CST);
    if (__atomic_add_fetch(&o->calls, 1, __ATOMIC_SEQ_CST) == o->fail_at) {
        mercer_set_error("object 3 is gone");
        return 1;
    }
    for (int64_t p = 0; p < count; p++) {
        const double *a = o->x + i[p] * CD, *b = o->x + j[p] * CD;
        values[p] = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    }
    return 0;
}
static int32_t own_products(void *user, const int64_t *i, int64_t count, double *values) {
    struct objects *o = user;
    if (o->fail_self) {
        mercer_set_error("a query has no self");
        return 1;
    }
    return products(user, i, i, count, values);
}
static void release_objects(void *user) { ++((struct objects *)user)->released; }

static void objects_fail_and_are_released(void **state) {
    (void)state;
    double *x = noise(CN * CD);
    static double out[CN];
    mercer_recipe *recipe = new_recipe(context, "components", "2", "kernel", "user", NULL), *residual;
    MUST(mercer_recipe_create(&residual, context, "residual"));
    struct objects good = {.x = x, .owner = pthread_self()}, bad = good, queries = good;
    bad.fail_at = 4, queries.fail_self = 1;
    mercer_objects given = {sizeof given, CN,           MERCER_KERNEL, MERCER_PSD,
                            products,     own_products, &good,         release_objects};
    mercer_data *data, *failing, *asked;
    MUST(mercer_data_from_objects(&data, context, &given));
    given.user = &bad;
    MUST(mercer_data_from_objects(&failing, context, &given));
    given.user = &queries;
    MUST(mercer_data_from_objects(&asked, context, &given));
    mercer_run run = on_two_threads();
    mercer_model *model;
    FAILS(MERCER_E_CALLBACK, "object 3 is gone", mercer_model_fit(&model, recipe, failing, &run));
    MUST(mercer_model_fit(&model, recipe, data, &run));
    mercer_view view = doubles(out, CN, 1);
    MUST(mercer_model_transform(model, residual, data, &view, 1, &run));
    FAILS(MERCER_E_CALLBACK, "a query has no self", mercer_model_transform(model, residual, asked, &view, 1, &run));
    assert_int_equal(good.foreign, 0);
    assert_int_equal(good.released, 0);
    mercer_data_destroy(data), mercer_data_destroy(failing), mercer_data_destroy(asked);
    assert_int_equal(good.released, 1);
    assert_int_equal(bad.released, 1);
    mercer_model_destroy(model);
    mercer_recipe_destroy(residual);
    mercer_recipe_destroy(recipe);
    free(x);
}
int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_of_any_size_are_the_same_data),
        cmocka_unit_test(chunk_callbacks_that_fail_or_lie),
        cmocka_unit_test(objects_fail_and_are_released),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
