/* Data that cannot be: views, chunks, objects, sparse arrays, what is attached, and values. */
#include "misuse.h"

#include <math.h>

static mercer_view with(int64_t rows, int64_t cols, int64_t row_stride, int64_t col_stride) {
    return (mercer_view){sizeof(mercer_view), MERCER_F64, 0, rows, cols, row_stride, col_stride, f.x};
}
void views(void **state) {
    (void)state;
    mercer_view size = with(N, D, D, 1), huge_size = size, type = size, ints = size, odd = size;
    size.struct_size = 8, huge_size.struct_size = 1 << 20, type.dtype = 0, ints.dtype = MERCER_I64, odd.dtype = 99;
    mercer_view rows = with(-1, D, D, 1), cols = with(N, -2, D, 1), neither = with(N, D, 4, 2);
    mercer_view overlap = with(N, D, 1, 3), backwards = with(N, D, -2, 1), many = with(INT64_MAX / 4, D, D, 1);
    mercer_view wide = with(3, 2, INT64_MAX / 4, 1);
    NEW(data, MERCER_E_ARGUMENT, "struct_size = 8", "56", mercer_data_from_view(&f.new_data, f.context, &size));
    NEW(data, MERCER_E_ARGUMENT, "1048576", "56", mercer_data_from_view(&f.new_data, f.context, &huge_size));
    NEW(data, MERCER_E_ARGUMENT, "dtype = 0", "MERCER_F64", mercer_data_from_view(&f.new_data, f.context, &type));
    NEW(data, MERCER_E_ARGUMENT, "dtype = 3", "MERCER_F32", mercer_data_from_view(&f.new_data, f.context, &ints));
    NEW(data, MERCER_E_ARGUMENT, "dtype = 99", "MERCER_F32", mercer_data_from_view(&f.new_data, f.context, &odd));
    NEW(data, MERCER_E_SHAPE, "-1 x 2", ">= 0", mercer_data_from_view(&f.new_data, f.context, &rows));
    NEW(data, MERCER_E_SHAPE, "6 x -2", ">= 0", mercer_data_from_view(&f.new_data, f.context, &cols));
    NEW(data, MERCER_E_SHAPE, "4 and 2", "one must be 1", mercer_data_from_view(&f.new_data, f.context, &neither));
    NEW(data, MERCER_E_SHAPE, "1 and 3", "at least that side", mercer_data_from_view(&f.new_data, f.context, &overlap));
    NEW(data, MERCER_E_SHAPE, "-2 and 1", "at least that side",
        mercer_data_from_view(&f.new_data, f.context, &backwards));
    NEW(data, MERCER_E_SHAPE, "2305843009213693951", "", mercer_data_from_view(&f.new_data, f.context, &many));
    NEW(data, MERCER_E_SHAPE, "2305843009213693951", "", mercer_data_from_view(&f.new_data, f.context, &wide));
    finish_rows();
}

static int32_t no_rows(void *user, int64_t first, int64_t capacity, void *buffer, int64_t *rows) {
    (void)user, (void)first, (void)capacity, (void)buffer;
    *rows = 0;
    return 0;
}
static int32_t no_pairs(void *user, const int64_t *i, const int64_t *j, int64_t count, double *values) {
    (void)user, (void)i, (void)j;
    for (int64_t k = 0; k < count; k++) values[k] = 1;
    return 0;
}

void chunks_and_objects(void **state) {
    (void)state;
    const mercer_chunks good = {sizeof good, MERCER_F64, 0, 4, 2, no_rows, NULL, NULL};
    mercer_chunks size = good, type = good, flags = good, rows = good, cols = good, many = good;
    size.struct_size = 16, type.dtype = MERCER_I64, flags.flags = 1, rows.rows = -2, cols.cols = 0;
    many.rows = many.cols = INT64_C(1) << 40;
    NEW(data, MERCER_E_ARGUMENT, "struct_size = 16", "56", mercer_data_from_chunks(&f.new_data, f.context, &size));
    NEW(data, MERCER_E_ARGUMENT, "dtype = 3", "MERCER_F32", mercer_data_from_chunks(&f.new_data, f.context, &type));
    NEW(data, MERCER_E_ARGUMENT, "flags = 1", "REWINDABLE", mercer_data_from_chunks(&f.new_data, f.context, &flags));
    NEW(data, MERCER_E_SHAPE, "-2 x 2", ">= -1", mercer_data_from_chunks(&f.new_data, f.context, &rows));
    NEW(data, MERCER_E_SHAPE, "4 x 0", ">= 1", mercer_data_from_chunks(&f.new_data, f.context, &cols));
    NEW(data, MERCER_E_SHAPE, "1099511627776", "", mercer_data_from_chunks(&f.new_data, f.context, &many));

    const mercer_objects known = {sizeof known, 4, MERCER_DISTANCE, 0, no_pairs, NULL, NULL, NULL};
    mercer_objects few = known, values = known, bits = known, kernel = known;
    few.rows = -1, values.values = 3, bits.flags = 64, kernel.values = MERCER_KERNEL;
    NEW(data, MERCER_E_SHAPE, "rows = -1", ">= 0", mercer_data_from_objects(&f.new_data, f.context, &few));
    NEW(data, MERCER_E_ARGUMENT, "values = 3", "MERCER_DISTANCE",
        mercer_data_from_objects(&f.new_data, f.context, &values));
    NEW(data, MERCER_E_ARGUMENT, "flags = 64", "unknown", mercer_data_from_objects(&f.new_data, f.context, &bits));

    mercer_data *objects;
    MUST(mercer_data_from_objects(&objects, f.context, &kernel));
    NEW(model, MERCER_E_UNSUPPORTED, "gaussian", "'user'", mercer_model_fit(&f.new_model, f.recipe, objects, NULL));
    mercer_recipe *scaled = new_recipe(f.context, "kernel", "user", "data.scale", "standard", NULL);
    NEW(model, MERCER_E_UNSUPPORTED, "data.scale", "no columns", mercer_model_fit(&f.new_model, scaled, objects, NULL));
    NEW(model, MERCER_E_ARGUMENT, "user", "mercer_recipe_set_kernel",
        mercer_model_fit(&f.new_model, scaled, f.data, NULL));
    mercer_recipe_destroy(scaled);
    mercer_data_destroy(objects);
    finish_rows();
}

void sparse(void **state) {
    (void)state;
    static const int64_t offsets[] = {0, 1, 3}, late[] = {1, 2, 3}, falls[] = {0, 4, 3}, ends[] = {0, 1, 2};
    static const int64_t columns[] = {0, 0, 1}, beyond[] = {0, 0, 2}, below[] = {0, -1, 1}, twice[] = {0, 1, 1};
    static const double values[] = {1, 2, 3}, bad[] = {1, 2, NAN};
    const mercer_sparse good = {sizeof good, MERCER_CSR, MERCER_F64, MERCER_I64, 0, 2, 2, 3, offsets, columns, values};
    mercer_sparse size = good, layout = good, type = good, index = good, base = good, cols = good, wide = good,
                  count = good;
    size.struct_size = 64, layout.layout = 3, type.dtype = MERCER_I32, index.index_dtype = MERCER_F64, base.base = 2;
    cols.cols = 0, wide.cols = INT64_C(1) << 31, count.count = -1;
    NEW(data, MERCER_E_ARGUMENT, "struct_size = 64", "72", mercer_data_from_sparse(&f.new_data, f.context, &size));
    NEW(data, MERCER_E_ARGUMENT, "layout = 3", "MERCER_CSR", mercer_data_from_sparse(&f.new_data, f.context, &layout));
    NEW(data, MERCER_E_ARGUMENT, "dtype = 4", "MERCER_F32", mercer_data_from_sparse(&f.new_data, f.context, &type));
    NEW(data, MERCER_E_ARGUMENT, "index_dtype = 2", "MERCER_I32",
        mercer_data_from_sparse(&f.new_data, f.context, &index));
    NEW(data, MERCER_E_VALUE, "base = 2", "0 or 1", mercer_data_from_sparse(&f.new_data, f.context, &base));
    NEW(data, MERCER_E_SHAPE, "2 x 0", "1 to", mercer_data_from_sparse(&f.new_data, f.context, &cols));
    NEW(data, MERCER_E_SHAPE, "2147483648", "2147483647", mercer_data_from_sparse(&f.new_data, f.context, &wide));
    NEW(data, MERCER_E_SHAPE, "-1 entries", ">= 0", mercer_data_from_sparse(&f.new_data, f.context, &count));

    mercer_sparse first = good, last = good, order = good, outside = good, negative = good, repeated = good, nan = good;
    first.offsets = late, last.offsets = ends, order.offsets = falls, outside.indices = beyond,
    negative.indices = below;
    repeated.indices = twice, nan.values = bad;
    NEW(data, MERCER_E_DATA, "first offset is 1", "base", mercer_data_from_sparse(&f.new_data, f.context, &first));
    NEW(data, MERCER_E_DATA, "is 2", "3", mercer_data_from_sparse(&f.new_data, f.context, &last));
    NEW(data, MERCER_E_DATA, "row 0", "ascend", mercer_data_from_sparse(&f.new_data, f.context, &order));
    NEW(data, MERCER_E_DATA, "column 2", "0 to 1", mercer_data_from_sparse(&f.new_data, f.context, &outside));
    NEW(data, MERCER_E_DATA, "column -1", "0 to 1", mercer_data_from_sparse(&f.new_data, f.context, &negative));
    NEW(data, MERCER_E_DATA, "row 1", "column 1 twice", mercer_data_from_sparse(&f.new_data, f.context, &repeated));
    NEW(data, MERCER_E_DATA, "row 1, column 1", "finite", mercer_data_from_sparse(&f.new_data, f.context, &nan));

    mercer_data *data;
    MUST(mercer_data_from_sparse(&data, f.context, &good));
    mercer_recipe *scaled = new_recipe(f.context, "data.scale", "minmax", NULL);
    NEW(model, MERCER_E_UNSUPPORTED, "data.scale", "sparse", mercer_model_fit(&f.new_model, scaled, data, NULL));
    mercer_recipe_destroy(scaled);
    mercer_data_destroy(data);
    finish_rows();
}

static mercer_data *attached(const char *what, mercer_view view) {
    mercer_data *data = new_data(f.context, f.x, N, D);
    MUST(mercer_data_attach(data, what, &view));
    return data;
}

void attachments(void **state) {
    (void)state;
    static int64_t numbers[] = {0, 1, 2, 3, 4, 5}, far[] = {0, 6}, before[] = {-1, 2};
    static double negative[] = {1, 1, -2, 1, 1, 1}, zero[N], nan[] = {1, 1, 1, NAN, 1, 1};
    mercer_view two = doubles(f.x, N, 2), few = doubles(f.x, 4, 1), ints = view_of(numbers, MERCER_I64, N, 1);
    mercer_view none = view_of(numbers, MERCER_I64, 0, 1);
    BAD(MERCER_E_SHAPE, "6 x 2", "6 x 1", mercer_data_attach(f.data, "weights", &two));
    BAD(MERCER_E_SHAPE, "4 x 1", "6 x 1", mercer_data_attach(f.data, "weights", &few));
    BAD(MERCER_E_ARGUMENT, "dtype = 3", "MERCER_F64", mercer_data_attach(f.data, "weights", &ints));
    BAD(MERCER_E_SHAPE, "landmarks", "none", mercer_data_attach(f.data, "landmarks", &none));

    mercer_data *minus = attached("weights", doubles(negative, N, 1)),
                *empty = attached("weights", doubles(zero, N, 1));
    mercer_data *hole = attached("weights", doubles(nan, N, 1));
    NEW(model, MERCER_E_DATA, "row 2 has -2", ">= 0", mercer_model_fit(&f.new_model, f.recipe, minus, NULL));
    NEW(model, MERCER_E_DATA, "sum is 0", "> 0", mercer_model_fit(&f.new_model, f.recipe, empty, NULL));
    NEW(model, MERCER_E_DATA, "row 3 has nan", "finite", mercer_model_fit(&f.new_model, f.recipe, hole, NULL));
    mercer_data_destroy(minus), mercer_data_destroy(empty), mercer_data_destroy(hole);

    mercer_recipe *given = new_recipe(f.context, "method", "subsampled", "reducer", "given", NULL);
    mercer_data *high = attached("landmarks", view_of(far, MERCER_I64, 2, 1));
    mercer_data *low = attached("landmarks", view_of(before, MERCER_I64, 2, 1));
    mercer_data *points = attached("landmarks", doubles(f.x, 2, 3));
    NEW(model, MERCER_E_VALUE, "6", "0 to 5", mercer_model_fit(&f.new_model, given, high, NULL));
    NEW(model, MERCER_E_VALUE, "-1", "0 to 5", mercer_model_fit(&f.new_model, given, low, NULL));
    NEW(model, MERCER_E_SHAPE, "3", "2", mercer_model_fit(&f.new_model, given, points, NULL));
    NEW(model, MERCER_E_VALUE, "landmarks", "given", mercer_model_fit(&f.new_model, given, f.data, NULL));
    mercer_data_destroy(high), mercer_data_destroy(low), mercer_data_destroy(points);
    mercer_recipe_destroy(given);
    finish_rows();
}

void values_of_data(void **state) {
    (void)state;
    double nan[N * D], inf[N * D], negative[N * D];
    memcpy(nan, f.x, sizeof nan), memcpy(inf, f.x, sizeof inf), memcpy(negative, f.x, sizeof negative);
    nan[5] = NAN, inf[2] = -INFINITY, negative[0] = -3;
    mercer_data *with_nan = new_data(f.context, nan, N, D), *with_inf = new_data(f.context, inf, N, D);
    mercer_data *no_row = new_data(f.context, f.x, 0, D), *no_column = new_data(f.context, f.x, N, 0);
    mercer_data *below = new_data(f.context, negative, N, D);
    mercer_recipe *chi2 = new_recipe(f.context, "kernel", "chi2", NULL),
                  *column = new_recipe(f.context, "kernel", "gaussian[7]", NULL);
    mercer_view out = doubles(f.out, N, R);
    NEW(model, MERCER_E_DATA, "row 2, column 1 is NaN", "finite",
        mercer_model_fit(&f.new_model, f.recipe, with_nan, NULL));
    NEW(model, MERCER_E_DATA, "row 1, column 0 is", "finite", mercer_model_fit(&f.new_model, f.recipe, with_inf, NULL));
    BAD(MERCER_E_DATA, "row 2, column 1 is NaN", "finite",
        mercer_model_transform(f.model, NULL, with_nan, &out, 1, NULL));
    NEW(model, MERCER_E_DATA, "no rows", "", mercer_model_fit(&f.new_model, f.recipe, no_row, NULL));
    NEW(model, MERCER_E_DATA, "no columns", "", mercer_model_fit(&f.new_model, f.recipe, no_column, NULL));
    NEW(model, MERCER_E_DATA, "-3", ">= 0", mercer_model_fit(&f.new_model, chi2, below, NULL));
    NEW(model, MERCER_E_VALUE, "column 7", "2", mercer_model_fit(&f.new_model, column, f.data, NULL));
    mercer_data_destroy(with_nan), mercer_data_destroy(with_inf), mercer_data_destroy(no_row),
        mercer_data_destroy(no_column);
    mercer_data_destroy(below);
    mercer_recipe_destroy(chi2), mercer_recipe_destroy(column);
    finish_rows();
}
