/* Checks that tensors and JSON texts from an untrusted source are refused unless they form a valid
 * model. */
#include "boundary.h"

#include <math.h>

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

enum { M = 4, COLS = 2, COMPONENTS = 2 };
static double centres[M * COLS] = {0, 1, 2, 3, 4, 5, 6, 7}, coefficients[64], ones[64];
static int64_t whole[64];

struct given {
    const char *names[8];
    mercer_view views[8];
    int64_t count;
};
static struct given sound(void) {
    struct given g = {{"C", "A"}, {doubles(centres, M, COLS), doubles(coefficients, M, COMPONENTS)}, 2};
    for (int i = 0; i < 64; i++) coefficients[i] = 0.25 * i, ones[i] = 1;
    return g;
}
static struct given plus(struct given g, const char *name, mercer_view view) {
    g.names[g.count] = name;
    g.views[g.count++] = view;
    return g;
}
static struct given instead(mercer_view centre_view, mercer_view a) {
    struct given g = sound();
    g.views[0] = centre_view, g.views[1] = a;
    return g;
}

/* `accepted` counts the cases that were not refused as they should be. A test tries all its cases
 * before it fails. */
static int accepted;
#define REFUSED(part, json, given) refused((part), (json), (given), __LINE__)
static void refused(const char *part, const char *json, struct given g, int line) {
    mercer_model *model = (void *)&g;
    int32_t status = mercer_model_from_tensors(&model, context, json, g.names, g.views, g.count);
    if (status == MERCER_E_MODEL && strstr(mercer_last_error(), part) && !model) return;
    accepted++;
    print_error("hostile_tensors.c:%d: %.150s\n  status %d, '%.200s', not '%s'%s\n", line, json, (int)status,
                status ? mercer_last_error() : "", part, status && model ? ", *out is not NULL" : "");
    if (status == MERCER_OK) mercer_model_destroy(model);
}
static void all_were_refused(void) {
    int count = accepted;
    accepted = 0;
    assert_int_equal(count, 0);
}

static const char linear[] = "{\"kernel\": \"linear\"}";

static void what_is_sound_is_taken(void **state) {
    (void)state;
    struct given g = plus(plus(sound(), "lambda", doubles(ones, COMPONENTS, 1)), "w", doubles(ones, M, 1));
    static const char *const texts[] = {
        "{\"kernel\": \"linear\"}",
        "{\"kernel\": \"gaussian\", \"parameters\": {\"kernel.sigma\": 2}}",
        "{\"kernel\": \"rbf[1]\", \"parameters\": {\"kernel.gamma\": \"0.5\"}, \"n\": 9, \"total_variance\": 3}",
        "{\"kernel\": \"linear\", \"capabilities\": [\"density\"], \"outcome\": [\"rank_reached\"]}",
        "{\"kernel\": \"linear\", \"something\": {\"else\": []}}",
    };
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        mercer_model *model;
        MUST(mercer_model_from_tensors(&model, context, texts[t], g.names, g.views, g.count));
        mercer_model_destroy(model);
    }
    /* With column-major arrays and a linear kernel the result is f(x) = x^T C^T A. */
    double turned[M * COMPONENTS], out[COMPONENTS], point[] = {1, 10};
    for (int i = 0; i < M; i++)
        for (int j = 0; j < COMPONENTS; j++) turned[j * M + i] = coefficients[i * COMPONENTS + j];
    g = sound();
    g.views[1] = (mercer_view){sizeof(mercer_view), MERCER_F64, 0, M, COMPONENTS, 1, M, turned};
    mercer_model *model;
    MUST(mercer_model_from_tensors(&model, context, linear, g.names, g.views, g.count));
    mercer_data *data = new_data(context, point, 1, COLS);
    mercer_view view = doubles(out, 1, COMPONENTS);
    MUST(mercer_model_transform(model, NULL, data, &view, 1, NULL));
    for (int j = 0; j < COMPONENTS; j++) {
        double expected = 0;
        for (int i = 0; i < M; i++)
            expected += (centres[i * COLS] + 10 * centres[i * COLS + 1]) * coefficients[i * COMPONENTS + j];
        assert_true(fabs(out[j] - expected) <= 1e-12 * fabs(expected));
    }
    mercer_data_destroy(data);
    mercer_model_destroy(model);
}

static void hostile_texts(void **state) {
    (void)state;
    static const struct {
        const char *json, *part;
    } cases[] = {
        {"", "JSON"},
        {"{", "JSON"},
        {"{\"kernel\": \"linear\"} x", "JSON"},
        {"{\"kernel\": 1e999}", "JSON"},
        {"{\"kernel\": \"\xff\xfe\"}", "JSON"},
        {"[]", "object"},
        {"null", "object"},
        {"\"linear\"", "object"},
        {"{}", "'kernel'"},
        {"{\"kernel\": 7}", "'kernel'"},
        {"{\"kernel\": null}", "'kernel'"},
        {"{\"kernel\": [\"linear\"]}", "'kernel'"},
        {"{\"kernel\": \"\"}", "name"},
        {"{\"kernel\": \"../../tmp/evil\"}", "expected"},
        {"{\"kernel\": \"/tmp/kernel-evil.so\"}", "name"},
        {"{\"kernel\": \"linear[5]\"}", "column 5"},
        {"{\"kernel\": \"linear[0-\"}", "column"},
        {"{\"kernel\": \"linear\", \"format\": 2}", "format"},
        {"{\"kernel\": \"linear\", \"format\": \"1\"}", "'format'"},
        {"{\"kernel\": \"linear\", \"requires\": [\"telepathy\"]}", "telepathy"},
        {"{\"kernel\": \"linear\", \"requires\": \"telepathy\"}", "telepathy"},
        {"{\"kernel\": \"linear\", \"requires\": {\"a\": 1}}", "requires"},
        {"{\"kernel\": \"linear\", \"n\": -1}", "'n'"},
        {"{\"kernel\": \"linear\", \"n\": 0}", "n = 0"},
        {"{\"kernel\": \"linear\", \"n\": 1e300}", "'n'"},
        {"{\"kernel\": \"linear\", \"n\": \"4\"}", "'n'"},
        {"{\"kernel\": \"linear\", \"n\": [4]}", "'n'"},
        {"{\"kernel\": \"linear\", \"total_variance\": \"big\"}", "'total_variance'"},
        {"{\"kernel\": \"linear\", \"total_variance\": {\"value\": []}}", "'value'"},
        {"{\"kernel\": \"linear\", \"mean_square\": \"0\"}", "'mean_square'"},
        {"{\"kernel\": \"linear\", \"capabilities\": [\"flight\"]}", "flight"},
        {"{\"kernel\": \"linear\", \"capabilities\": [1]}", "capability"},
        {"{\"kernel\": \"linear\", \"capabilities\": 3}", "capability"},
        {"{\"kernel\": \"linear\", \"outcome\": {\"x\": \"y\"}}", "outcome"},
        {"{\"kernel\": \"linear\", \"capabilities\": [\"mean\"]}", "'nu'"},
        {"{\"kernel\": \"linear\", \"capabilities\": [\"density\"]}", "'w'"},
        {"{\"kernel\": \"linear\", \"capabilities\": [\"residual\"]}", "orthonormal"},
        {"{\"kernel\": \"gaussian\"}", "bandwidth"},
        {"{\"kernel\": \"gaussian\", \"parameters\": {\"kernel.sigma\": -1}}", "sigma = -1"},
        {"{\"kernel\": \"gaussian\", \"parameters\": {\"kernel.sigma\": \"wide\"}}", "sigma = wide"},
        {"{\"kernel\": \"gaussian\", \"parameters\": {\"kernel.sigma\": null}}", "sigma"},
        {"{\"kernel\": \"gaussian\", \"parameters\": {\"kernel.sigma\": [1]}}", "sigma"},
        {"{\"kernel\": \"gaussian\", \"parameters\": {\"kernel.sigma\": {\"x\": 1}}}", "sigma"},
        {"{\"kernel\": \"gaussian\", \"parameters\": {\"kernel.sigma\": 1, \"kernel.gamma\": 1}}", "only one"},
        {"{\"kernel\": \"gaussian\", \"parameters\": [1, 2]}", ""},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) REFUSED(cases[c].part, cases[c].json, sound());
    all_were_refused();
}

static void long_texts(void **state) {
    (void)state;
    enum { DEEP = 200000 };
    char *text = malloc(2 * DEEP + 100);
    memset(text, '[', DEEP);
    memset(text + DEEP, ']', DEEP);
    text[2 * DEEP] = '\0';
    REFUSED("nested too deeply", text, sound());
    text[DEEP] = '\0';
    REFUSED("", text, sound());
    strcpy(text, "{\"kernel\": \"linear");
    memset(text + strlen(text), ' ', DEEP);
    strcpy(text + DEEP, " evil\"}");
    REFUSED("", text, sound());
    char *at = text + sprintf(text, "{\"kernel\": \"linear");
    for (int i = 0; i < 20000; i++) at += sprintf(at, " + linear");
    strcpy(at, "[9]\"}");
    REFUSED("", text, sound());
    free(text);
    all_were_refused();

    struct given g = sound();
    mercer_model *model = (void *)&g;
    FAILS(MERCER_E_NAME, "'linaer'",
          mercer_model_from_tensors(&model, context, "{\"kernel\": \"linaer\"}", g.names, g.views, 2));
    assert_null(model);
}

static void hostile_tensors(void **state) {
    (void)state;
    const mercer_view c = doubles(centres, M, COLS), a = doubles(coefficients, M, COMPONENTS);
    double nan[M * COMPONENTS] = {0};
    nan[3] = NAN;
    struct given none = sound(), only_c = sound(), only_a = sound(), twice = plus(sound(), "A", a);
    none.count = 0, only_c.count = 1, only_a.count = 1, only_a.names[0] = "A", only_a.views[0] = a;
    REFUSED("'A'", linear, none);
    REFUSED("'A'", linear, only_c);
    REFUSED("one of the tensors", linear, only_a);
    REFUSED("twice", linear, twice);
    REFUSED("'A'", linear, instead(c, doubles(coefficients, M + 1, COMPONENTS)));
    REFUSED("i64", linear, instead(c, view_of(whole, MERCER_I64, M, COMPONENTS)));
    REFUSED("type", linear, instead(c, view_of(coefficients, MERCER_F32, M, COMPONENTS)));
    REFUSED("type", linear, instead(view_of(whole, MERCER_I64, M, COLS), a));
    REFUSED("not finite", linear, instead(c, doubles(nan, M, COMPONENTS)));
    REFUSED("not finite", linear, instead(doubles(nan, M, COLS), a));
    REFUSED("", linear, instead(doubles(centres, 0, COLS), a));
    REFUSED("one of the tensors", linear, plus(sound(), "frequencies", c));
    REFUSED("'lambda'", linear, plus(sound(), "lambda", doubles(ones, COMPONENTS + 1, 1)));
    REFUSED("'lambda'", linear, plus(sound(), "lambda", doubles(ones, 1, COMPONENTS)));
    REFUSED("'lambda'", linear, plus(sound(), "lambda", view_of(ones, MERCER_F32, COMPONENTS, 1)));
    REFUSED("'b'", linear, plus(sound(), "b", doubles(ones, 1, 1)));
    REFUSED("'nu'", linear, plus(sound(), "nu", doubles(ones, M - 1, 1)));
    REFUSED("'w'", linear, plus(sound(), "w", doubles(ones, M, 2)));
    REFUSED("'v'", linear, plus(sound(), "v", view_of(whole, MERCER_I64, M, 1)));
    REFUSED("'labels'", linear, plus(sound(), "labels", view_of(whole, MERCER_I64, M - 1, 1)));
    REFUSED("'labels'", linear, plus(sound(), "labels", view_of(whole, MERCER_I64, M, 1))); /* without clusters */
    REFUSED("'clusters'", linear, plus(sound(), "clusters", doubles(ones, 2, 1)));
    REFUSED("'clusters'", linear, plus(sound(), "clusters", doubles(ones, 1, COMPONENTS + 3)));
    REFUSED("'clusters'", linear, plus(sound(), "clusters", view_of(whole, MERCER_I64, 2, 2)));
    REFUSED("'clusters'", "{\"kernel\": \"linear\", \"capabilities\": [\"labels\"]}", sound());
    REFUSED("must be given together", linear, plus(sound(), "T.scale", doubles(ones, COLS, 1)));
    REFUSED("'T.shift'", linear,
            plus(plus(sound(), "T.scale", doubles(ones, COLS, 1)), "T.shift", doubles(ones, COLS + 1, 1)));
    REFUSED("'shift.1'", linear, plus(sound(), "shift.1", doubles(ones, COLS, 1))); /* linear kernels take no shift */

    static const char gaussian[] = "{\"kernel\": \"gaussian\", \"parameters\": {\"kernel.sigma\": 1}}";
    REFUSED("'shift.1'", gaussian, plus(sound(), "shift.1", doubles(ones, COLS + 1, 1)));
    REFUSED("'shift.1'", gaussian, plus(sound(), "shift.1", view_of(ones, MERCER_F32, COLS, 1)));
    REFUSED("'shift.1'", gaussian, plus(sound(), "shift.1", doubles(ones, 1, COLS))); /* must be one column */
    all_were_refused();
}

/* Centres for which kernel values cannot be computed must be refused, as a fit refuses such data.
 * Most of them are finite and have the right shape. */
static void hostile_centres(void **state) {
    (void)state;
    static const char gaussian[] = "{\"kernel\": \"gaussian\", \"parameters\": {\"kernel.sigma\": 1}}",
                      chi2[] = "{\"kernel\": \"chi2\"}", part[] = "{\"kernel\": \"chi2[1]\"}",
                      poly[] = "{\"kernel\": \"polynomial\"}";
    const mercer_view a = doubles(coefficients, M, COMPONENTS);
    double far[M * COLS] = {1, 2, 3, 4}, signs[M * COLS] = {1, 2, -3, 4};
    for (int sign = -1; sign <= 1; sign += 2) {
        far[3] = sign * 1e308;
        REFUSED("overflow f64", linear, instead(doubles(far, M, COLS), a));
        REFUSED("overflow f64", gaussian, instead(doubles(far, M, COLS), a));
        REFUSED("overflow f64", poly, instead(doubles(far, M, COLS), a));
    }
    far[3] = 1e155; /* the square of 1e155 overflows f64 */
    REFUSED("overflow f64", linear, instead(doubles(far, M, COLS), a));
    far[3] = 2;
    double shift[COLS] = {-1e308, 0};
    REFUSED("overflow f64", gaussian, plus(instead(doubles(far, M, COLS), a), "shift.1", doubles(shift, COLS, 1)));
    REFUSED("column 0 has -3", chi2, instead(doubles(signs, M, COLS), a));
    float single[M * COLS] = {1, 2, 3, 4}, weights[M * COMPONENTS] = {1};
    single[5] = 1e20f;
    REFUSED("overflow f32", linear,
            instead(view_of(single, MERCER_F32, M, COLS), view_of(weights, MERCER_F32, M, COMPONENTS)));
    REFUSED("0 columns, must be >= 1", gaussian, instead(doubles(centres, M, 0), a));
    REFUSED("0 columns, must be >= 1", gaussian, instead(doubles(centres, M, 0), doubles(coefficients, M, 0)));
    struct given waves = instead(doubles(centres, M, 0), doubles(coefficients, 2 * M, COMPONENTS));
    waves.names[0] = "frequencies";
    REFUSED("0 columns, must be >= 1", gaussian, waves);
    all_were_refused();

    /* The negative entry is in column 0, which the kernel does not use, so it must be accepted. */
    struct given g = instead(doubles(signs, M, COLS), a);
    mercer_model *model;
    MUST(mercer_model_from_tensors(&model, context, part, g.names, g.views, g.count));
    mercer_model_destroy(model);
    far[3] = 1e150;
    g = instead(doubles(far, M, COLS), a);
    MUST(mercer_model_from_tensors(&model, context, linear, g.names, g.views, g.count));
    mercer_model_destroy(model);
}

static struct given sparse_set(mercer_view values, mercer_view column_view, mercer_view offset_view) {
    struct given g = {{"A", "C.values", "C.columns", "C.offsets"},
                      {doubles(coefficients, M, COMPONENTS), values, column_view, offset_view},
                      4};
    return g;
}

/* Checks that sparse centres are refused if their shape, offsets or columns are inconsistent, and
 * that numbers of objects are refused unless they are 0 to n - 1. */
static void hostile_sets_of_centres(void **state) {
    (void)state;
    static int64_t starts[] = {0, 1, 2, 3, 3}, at[] = {0, 1, 1}, beyond[] = {0, 1, 7}, below[] = {0, -1, 1};
    static int64_t falling[] = {0, 3, 2, 3, 3}, far[] = {0, 1, 2, INT64_C(1) << 60}, minus[] = {0, 1, -2, 3};
    static int64_t wrapped[] = {0, 1, (INT64_C(1) << 32) + 1}, negative[] = {0, 1, (INT64_C(1) << 31) + 1};
    static const char two[] = "{\"kernel\": \"linear\", \"d\": 2}", none[] = "{\"kernel\": \"linear\"}";
    static const char wide[] = "{\"kernel\": \"linear\", \"d\": 8589934592}",
                      odd[] = "{\"kernel\": \"linear\", \"d\": \"2\"}";
    const mercer_view values = doubles(ones, 3, 1), indices = view_of(at, MERCER_I64, 3, 1);
    const mercer_view first = view_of(starts, MERCER_I64, M + 1, 1);
    struct given good = sparse_set(values, indices, first);
    mercer_model *model;
    MUST(mercer_model_from_tensors(&model, context, two, good.names, good.views, good.count));
    mercer_model_destroy(model);

    REFUSED("C.values", none, good); /* without d the number of columns is unknown */
    REFUSED("'d'", odd, good);
    REFUSED("C.values", two, sparse_set(values, view_of(beyond, MERCER_I64, 3, 1), first));
    REFUSED("C.values", two, sparse_set(values, view_of(below, MERCER_I64, 3, 1), first));
    REFUSED("C.values", two, sparse_set(values, indices, view_of(falling, MERCER_I64, M + 1, 1)));
    REFUSED("C.values", two, sparse_set(values, indices, view_of(starts, MERCER_I64, 0, 1)));
    REFUSED("C.values", two, sparse_set(values, doubles(ones, 3, 1), first));
    REFUSED("C.values", two, sparse_set(doubles(ones, 2, 1), indices, first));
    REFUSED("", wide,
            sparse_set(values, view_of(wrapped, MERCER_I64, 3, 1), first)); /* column numbers must fit in 32 bits */
    REFUSED("", wide, sparse_set(values, view_of(negative, MERCER_I64, 3, 1), first));
    struct given missing = good;
    missing.count = 3;
    REFUSED("do not match", two, missing);
    /* Views with 0 columns have no entries, even if they declare 2^20 rows. */
    REFUSED("", two, sparse_set(doubles(NULL, 1 << 20, 0), view_of(NULL, MERCER_I64, 1 << 20, 0), first));
    REFUSED("", two, sparse_set(values, indices, view_of(NULL, MERCER_I64, 1 << 20, 0)));
    static int64_t many[] = {0, 0, 0, 0, 1 << 20};
    REFUSED("", two,
            sparse_set(doubles(NULL, 1 << 20, 0), view_of(NULL, MERCER_I64, 1 << 20, 0),
                       view_of(many, MERCER_I64, M + 1, 1)));

    static const char user[] = "{\"kernel\": \"user\", \"n\": 10}";
    struct given objects = {
        {"indices", "A"}, {view_of(starts, MERCER_I64, M, 1), doubles(coefficients, M, COMPONENTS)}, 2};
    MUST(mercer_model_from_tensors(&model, context, user, objects.names, objects.views, 2));
    mercer_model_destroy(model);
    objects.views[0].data = minus;
    REFUSED("is -2, must be 0 to 9", user, objects);
    objects.views[0].data = far; /* the caller's callback would be called with this number */
    REFUSED("'indices'", user, objects);
    objects.views[0] = doubles(ones, M, 1);
    REFUSED("i64", user, objects);
    objects.views[0] = view_of(NULL, MERCER_I64, 1 << 20, 0);
    objects.views[1] = doubles(NULL, 1 << 20, 0);
    REFUSED("", user, objects);
    all_were_refused();
}

/* A tensor name that the file format cannot store must be refused when the model is made. */
static void odd_names_of_tensors(void **state) {
    (void)state;
    static const char *const odd[] = {"", "a b", "a\"b", "__metadata__", "line\nbreak", "back\\slash"};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        struct given g = plus(sound(), odd[i], doubles(ones, 1, 1));
        REFUSED("", linear, g);
    }
    all_were_refused();
}
int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_sound_is_taken),
        cmocka_unit_test(hostile_texts),
        cmocka_unit_test(long_texts),
        cmocka_unit_test(hostile_tensors),
        cmocka_unit_test(hostile_centres),
        cmocka_unit_test(hostile_sets_of_centres),
        cmocka_unit_test(odd_names_of_tensors),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
