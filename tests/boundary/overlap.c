/* Checks that outputs are refused if they share memory with inputs, and only then. Views with
 * random strides lie in one small array, and the test marks their cells to find out whether they
 * overlap. */
#include "boundary.h"

enum { CELLS = 96, ROWS_MOST = 6, TRIES = 4000 };

struct layout {
    int64_t at, rows, cols, row_stride, col_stride;
};

static uint64_t random_state = 12345;
static int64_t below(int64_t n) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((random_state >> 33) % (uint64_t)n);
}

/* A random place in the array for rows x cols cells, by rows or by columns, with gaps. */
static struct layout random_layout(int64_t rows, int64_t cols) {
    for (;;) {
        const int by_row = (int)below(2);
        const int64_t step = (by_row ? cols : rows) + below(8);
        const struct layout out = {below(CELLS), rows, cols, by_row ? step : 1, by_row ? 1 : step};
        if (out.at + (rows - 1) * out.row_stride + (cols - 1) * out.col_stride < CELLS) return out;
    }
}

static void mark(const struct layout *layout, int64_t cols, unsigned char bit, unsigned char *cells) {
    for (int64_t i = 0; i < layout->rows; i++)
        for (int64_t j = 0; j < cols; j++) cells[layout->at + i * layout->row_stride + j * layout->col_stride] |= bit;
}

static int meet(const struct layout *a, int64_t a_cols, const struct layout *b, int64_t b_cols) {
    unsigned char cells[CELLS] = {0};
    mark(a, a_cols, 1, cells), mark(b, b_cols, 2, cells);
    for (int k = 0; k < CELLS; k++)
        if (cells[k] == 3) return 1;
    return 0;
}

static mercer_view view_in(double *array, const struct layout *layout) {
    mercer_view view = doubles(array + layout->at, layout->rows, layout->cols);
    view.row_stride = layout->row_stride, view.col_stride = layout->col_stride;
    return view;
}

/* Checks that the call is refused if the views overlap (`expected`) and succeeds otherwise, and
 * that a refused call has written nothing. */
static void judge(const char *what, int32_t status, int expected, const double *array, const double *before) {
    if (status != (expected ? MERCER_E_ARGUMENT : MERCER_OK) ||
        (expected && !strstr(mercer_last_error(), "shares memory")))
        fail_msg("%s: status %d, views that %s: %s", what, (int)status, expected ? "share memory" : "are apart",
                 mercer_last_error());
    if (expected) assert_memory_equal(array, before, CELLS * sizeof *array);
}

static mercer_model *fitted(mercer_context *context, mercer_data *data, const char *components) {
    mercer_recipe *recipe = recipe_of(context, "kpca", components);
    mercer_model *model = NULL;
    MUST(mercer_model_fit(&model, recipe, data, NULL));
    mercer_recipe_destroy(recipe);
    return model;
}

/* A model of two components, its training rows, and the contents of the array before each call
 * (`fresh`). */
enum { D = 3, R = 2, TRAINED = 20 };
struct trained {
    mercer_context *context;
    double *train, *fresh;
    mercer_data *rows;
    mercer_model *model;
};

static struct trained trained_model(void) {
    struct trained own = {new_context(), noise(TRAINED * D), noise(CELLS), NULL, NULL};
    own.rows = new_data(own.context, own.train, TRAINED, D);
    own.model = fitted(own.context, own.rows, "2");
    return own;
}

static void release(struct trained *own) {
    mercer_model_destroy(own->model), mercer_data_destroy(own->rows), mercer_context_destroy(own->context);
    free(own->train), free(own->fresh);
}

/* The output may have more columns than there are scores. The extra columns are not written, so
 * they may overlap the input. */
static void scores(void **state) {
    (void)state;
    struct trained own = trained_model();
    double array[CELLS];
    int met = 0;
    for (int k = 0; k < TRIES; k++) {
        memcpy(array, own.fresh, sizeof array);
        const int64_t n = 1 + below(ROWS_MOST);
        const struct layout in = random_layout(n, D), out = random_layout(n, R + below(3));
        const mercer_view given = view_in(array, &in), wanted = view_in(array, &out);
        mercer_data *data = NULL;
        MUST(mercer_data_from_view(&data, own.context, &given));
        const int expected = meet(&in, D, &out, R);
        met += expected;
        judge("transform", mercer_model_transform(own.model, NULL, data, &wanted, 1, NULL), expected, array, own.fresh);
        mercer_data_destroy(data);
    }
    assert_in_range(met, TRIES / 10, TRIES * 9 / 10);
    release(&own);
}

/* Two outputs of one call must not overlap either. */
static void outputs(void **state) {
    (void)state;
    struct trained own = trained_model();
    double array[CELLS];
    mercer_recipe *both = NULL;
    MUST(mercer_recipe_create(&both, own.context, "scores,t2"));
    int met = 0;
    for (int k = 0; k < TRIES; k++) {
        memcpy(array, own.fresh, sizeof array);
        const int64_t n = 1 + below(ROWS_MOST);
        const struct layout scores = random_layout(n, R + below(3)), t2 = random_layout(n, 1 + below(2));
        const mercer_view wanted[2] = {view_in(array, &scores), view_in(array, &t2)};
        mercer_data *data = new_data(own.context, own.train, n, D);
        const int expected = meet(&scores, R, &t2, 1);
        met += expected;
        judge("transform", mercer_model_transform(own.model, both, data, wanted, 2, NULL), expected, array, own.fresh);
        mercer_data_destroy(data);
    }
    assert_in_range(met, TRIES / 20, TRIES * 9 / 10);
    mercer_recipe_destroy(both);
    release(&own);
}

/* The queries are rows of a distance matrix. */
static void matrices(void **state) {
    (void)state;
    enum { N = 4, R = 2 };
    mercer_context *context = new_context();
    double distances[N * N], *fresh = noise(CELLS), array[CELLS];
    for (int i = 0; i < N * N; i++) distances[i] = i / N == i % N ? 0 : 1 + (i / N + i % N) % 3;
    for (int i = 0; i < CELLS; i++) fresh[i] += 2;
    const mercer_view square = doubles(distances, N, N);
    mercer_data *objects = NULL;
    MUST(mercer_data_from_matrix(&objects, context, &square, MERCER_DISTANCE));
    mercer_model *model = fitted(context, objects, "2");
    for (int k = 0; k < TRIES; k++) {
        memcpy(array, fresh, sizeof array);
        const int64_t n = 1 + below(ROWS_MOST);
        const struct layout in = random_layout(n, N), out = random_layout(n, R);
        const mercer_view given = view_in(array, &in), wanted = view_in(array, &out);
        mercer_data *data = NULL;
        MUST(mercer_data_from_matrix(&data, context, &given, MERCER_DISTANCE));
        judge("transform", mercer_model_transform(model, NULL, data, &wanted, 1, NULL), meet(&in, N, &out, R), array,
              fresh);
        mercer_data_destroy(data);
    }
    mercer_model_destroy(model), mercer_data_destroy(objects), mercer_context_destroy(context);
    free(fresh);
}

static void kernel_matrices(void **state) {
    (void)state;
    enum { D = 2 };
    mercer_context *context = new_context();
    mercer_recipe *recipe = recipe_of(context, "kpca", "2");
    double *fresh = noise(CELLS), array[CELLS];
    for (int k = 0; k < TRIES; k++) {
        memcpy(array, fresh, sizeof array);
        const int64_t n = 1 + below(4), m = 1 + below(4);
        const struct layout x = random_layout(n, D), y = random_layout(m, D), k_xy = random_layout(n, m);
        const mercer_view views[] = {view_in(array, &x), view_in(array, &y)}, out = view_in(array, &k_xy);
        mercer_data *data[2] = {NULL, NULL};
        for (int v = 0; v < 2; v++) MUST(mercer_data_from_view(&data[v], context, &views[v]));
        judge("kernel", mercer_recipe_kernel(recipe, data[0], data[1], &out, NULL),
              meet(&x, D, &k_xy, m) || meet(&y, D, &k_xy, m), array, fresh);
        mercer_data_destroy(data[0]), mercer_data_destroy(data[1]);
    }
    mercer_recipe_destroy(recipe), mercer_context_destroy(context);
    free(fresh);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores),
        cmocka_unit_test(outputs),
        cmocka_unit_test(matrices),
        cmocka_unit_test(kernel_matrices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
