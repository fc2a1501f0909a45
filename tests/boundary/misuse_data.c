/* Invalid data: views, chunks, objects, sparse arrays, attachments, values and matrices. */
#include "misuse.h"

#include <math.h>

static mercer_view with(int64_t rows, int64_t cols, int64_t row_stride, int64_t col_stride) {
    return (mercer_view){sizeof(mercer_view), MERCER_F64, 0, rows, cols, row_stride, col_stride, f.x};
}

#define VIEW(argument, fault, code, saw, allowed, view)                                                                \
    NEW(data, mercer_data_from_view, argument, fault, code, saw, allowed, f.context, &(view))

void views(void **state) {
    (void)state;
    mercer_view size = with(N, D, D, 1), huge_size = size, type = size, ints = size, odd = size, padding = size;
    size.struct_size = 8, huge_size.struct_size = 1 << 20, type.dtype = 0, ints.dtype = MERCER_I64, odd.dtype = 99;
    padding.reserved = 1;
    mercer_view rows = with(-1, D, D, 1), cols = with(N, -2, D, 1), neither = with(N, D, 4, 2);
    mercer_view overlap = with(N, D, 1, 3), backwards = with(N, D, -2, 1), still = with(N, D, 0, 1);
    mercer_view many = with(INT64_MAX / 4, D, D, 1), square = with(INT64_C(1) << 32, INT64_C(1) << 32, 1, 0);
    mercer_view apart = with(3, 2, INT64_MAX / 4, 1);
    square.col_stride = INT64_C(1) << 32;
    VIEW("struct_size", "too small", MERCER_E_ARGUMENT, "struct_size = 8", "sizeof(mercer_view) = 56", size);
    VIEW("struct_size", "too large", MERCER_E_ARGUMENT, "1048576", "sizeof(mercer_view) = 56", huge_size);
    VIEW("dtype", "0", MERCER_E_ARGUMENT, "dtype = 0", "MERCER_F64", type);
    VIEW("dtype", "integers", MERCER_E_ARGUMENT, "dtype = 3", "MERCER_F32", ints);
    VIEW("dtype", "unknown", MERCER_E_ARGUMENT, "dtype = 99", "MERCER_F32", odd);
    VIEW("reserved", "not 0", MERCER_E_ARGUMENT, "reserved = 1", "must be 0", padding);
    VIEW("rows", "negative", MERCER_E_SHAPE, "-1 x 2", ">= 0", rows);
    VIEW("cols", "negative", MERCER_E_SHAPE, "6 x -2", ">= 0", cols);
    VIEW("strides", "neither is 1", MERCER_E_SHAPE, "4 and 2", "one must be 1", neither);
    VIEW("strides", "columns overlap", MERCER_E_SHAPE, "1 and 3", "at least the number of columns", overlap);
    VIEW("strides", "negative", MERCER_E_SHAPE, "-2 and 1", "at least the number of columns", backwards);
    VIEW("strides", "0", MERCER_E_SHAPE, "0 and 1", "at least the number of columns", still);
    VIEW("rows", "rows x cols x size overflow", MERCER_E_SHAPE, "2305843009213693951 x 2", "2^61", many);
    VIEW("cols", "rows x cols overflow", MERCER_E_SHAPE, "4294967296 x 4294967296", "2^61", square);
    VIEW("strides", "stride x rows overflow", MERCER_E_SHAPE, "2305843009213693951", "2^61", apart);
    finish_entries();
}

static int32_t no_rows(void *user, int64_t first, int64_t capacity, void *buffer, int64_t *rows) {
    (void)user, (void)first, (void)capacity, (void)buffer;
    *rows = 0;
    return 0;
}
static int32_t ones(void *user, const int64_t *i, const int64_t *j, int64_t count, double *values) {
    (void)user, (void)i, (void)j;
    for (int64_t k = 0; k < count; k++) values[k] = 1;
    return 0;
}

#define CHUNKS(argument, fault, code, saw, allowed, ...)                                                               \
    do {                                                                                                               \
        mercer_chunks c = {sizeof c, MERCER_F64, 0, 4, 2, no_rows, NULL, NULL};                                        \
        __VA_ARGS__;                                                                                                   \
        NEW(data, mercer_data_from_chunks, argument, fault, code, saw, allowed, f.context, &c);                        \
    } while (0)
#define OBJECTS(argument, fault, code, saw, allowed, ...)                                                              \
    do {                                                                                                               \
        mercer_objects o = {sizeof o, 4, MERCER_DISTANCE, 0, ones, NULL, NULL, NULL};                                  \
        __VA_ARGS__;                                                                                                   \
        NEW(data, mercer_data_from_objects, argument, fault, code, saw, allowed, f.context, &o);                       \
    } while (0)

void chunks_and_objects(void **state) {
    (void)state;
    CHUNKS("struct_size", "too small", MERCER_E_ARGUMENT, "struct_size = 16", "= 56", c.struct_size = 16);
    CHUNKS("dtype", "integers", MERCER_E_ARGUMENT, "dtype = 3", "MERCER_F32", c.dtype = MERCER_I64);
    CHUNKS("flags", "unknown", MERCER_E_ARGUMENT, "flags = 1", "MERCER_REWINDABLE", c.flags = MERCER_THREAD_SAFE);
    CHUNKS("rows", "negative", MERCER_E_SHAPE, "-2 x 2", "rows must be >= -1", c.rows = -2);
    CHUNKS("cols", "0", MERCER_E_SHAPE, "4 x 0", "cols >= 1", c.cols = 0);
    CHUNKS("rows", "rows x cols overflow", MERCER_E_SHAPE, "1099511627776", "2^61", c.rows = c.cols = INT64_C(1) << 40);

    OBJECTS("struct_size", "0", MERCER_E_ARGUMENT, "struct_size = 0", "= 56", o.struct_size = 0);
    OBJECTS("rows", "negative", MERCER_E_SHAPE, "rows = -1", "must be >= 0", o.rows = -1);
    OBJECTS("values", "unknown", MERCER_E_ARGUMENT, "values = 3", "MERCER_DISTANCE", o.values = 3);
    OBJECTS("flags", "unknown", MERCER_E_ARGUMENT, "flags = 64", "MERCER_PSD", o.flags = 64);

    const mercer_objects by_kernel = {sizeof by_kernel, 4, MERCER_KERNEL, 0, ones, NULL, NULL, NULL};
    mercer_data *objects;
    mercer_view out = doubles(f.out, 4, N);
    MUST(mercer_data_from_objects(&objects, f.context, &by_kernel));
    mercer_recipe *user = new_recipe(f.context, "kernel", "user", NULL), *scaled = new_recipe(f.context, NULL);
    mercer_recipe *lengths = new_recipe(f.context, "kernel", "user", "data.lengths", "2", NULL);
    MUST(mercer_recipe_set(scaled, "kernel", "user"));
    MUST(mercer_recipe_set(scaled, "data.scale", "standard"));
    NEW(model, mercer_model_fit, "data", "kernel values for a kernel of vectors", MERCER_E_UNSUPPORTED,
        "kernel = gaussian", "'user'", f.recipe, objects, NULL);
    NEW(model, mercer_model_fit, "data.scale", "of objects", MERCER_E_UNSUPPORTED, "data.scale", "no columns", scaled,
        objects, NULL);
    NEW(model, mercer_model_fit, "data.lengths", "of objects", MERCER_E_UNSUPPORTED, "data.lengths", "no columns",
        lengths, objects, NULL);
    NEW(model, mercer_model_fit, "kernel", "user without a function", MERCER_E_ARGUMENT, "kernel = user",
        "mercer_recipe_set_kernel", user, f.data, NULL);
    BAD(mercer_recipe_kernel, "y", "of objects", MERCER_E_UNSUPPORTED, "objects", "y must be NULL", user, objects,
        f.data, &out, NULL);
    mercer_recipe_destroy(user), mercer_recipe_destroy(scaled), mercer_recipe_destroy(lengths);
    mercer_data_destroy(objects);
    finish_entries();
}

#define SPARSE(argument, fault, code, saw, allowed, ...)                                                               \
    do {                                                                                                               \
        mercer_sparse s = {sizeof s, MERCER_CSR, MERCER_F64, MERCER_I64, 0, 2, 2, 3, offsets, columns, values};        \
        __VA_ARGS__;                                                                                                   \
        NEW(data, mercer_data_from_sparse, argument, fault, code, saw, allowed, f.context, &s);                        \
    } while (0)

void sparse(void **state) {
    (void)state;
    static const int64_t offsets[] = {0, 1, 3}, late[] = {1, 2, 3}, falls[] = {0, 4, 3}, ends[] = {0, 1, 2};
    static const int64_t columns[] = {0, 0, 1}, beyond[] = {0, 0, 2}, below[] = {0, -1, 1}, twice[] = {0, 1, 1};
    static const double values[] = {1, 2, 3}, bad[] = {1, 2, NAN}, endless[] = {-INFINITY, 2, 3};
    SPARSE("struct_size", "too small", MERCER_E_ARGUMENT, "struct_size = 64", "= 72", s.struct_size = 64);
    SPARSE("layout", "unknown", MERCER_E_ARGUMENT, "layout = 3", "MERCER_CSR", s.layout = 3);
    SPARSE("dtype", "integers", MERCER_E_ARGUMENT, "dtype = 4", "MERCER_F32", s.dtype = MERCER_I32);
    SPARSE("index_dtype", "floating", MERCER_E_ARGUMENT, "index_dtype = 2", "MERCER_I32", s.index_dtype = MERCER_F64);
    SPARSE("base", "2", MERCER_E_VALUE, "base = 2", "must be 0 or 1", s.base = 2);
    SPARSE("base", "1 for offsets from 0", MERCER_E_DATA, "first offset is 0", "base = 1", s.base = 1);
    SPARSE("rows", "negative", MERCER_E_SHAPE, "-1 x 2", ">= 0", s.rows = -1);
    SPARSE("rows", "overflow", MERCER_E_SHAPE, "1152921504606846976", "2^61", s.rows = INT64_C(1) << 60);
    SPARSE("cols", "0", MERCER_E_SHAPE, "2 x 0", "1 to 2147483647", s.cols = 0);
    SPARSE("cols", "beyond i32", MERCER_E_SHAPE, "2147483648", "1 to 2147483647", s.cols = INT64_C(1) << 31);
    SPARSE("count", "negative", MERCER_E_SHAPE, "-1 entries", ">= 0", s.count = -1);
    SPARSE("offsets", "begin above base", MERCER_E_DATA, "first offset is 1", "base = 0", s.offsets = late);
    SPARSE("offsets", "end below count", MERCER_E_DATA, "base is 2", "count = 3", s.offsets = ends);
    SPARSE("offsets", "descend", MERCER_E_DATA, "row 0 are 0 and 4", "ascend", s.offsets = falls);
    SPARSE("indices", "beyond the columns", MERCER_E_DATA, "column 2", "must be 0 to 1", s.indices = beyond);
    SPARSE("indices", "negative", MERCER_E_DATA, "column -1", "must be 0 to 1", s.indices = below);
    SPARSE("indices", "twice", MERCER_E_DATA, "row 1 has column 1 twice", "once at most", s.indices = twice);
    SPARSE("indices", "csc: beyond the rows", MERCER_E_DATA, "column 1 refers to row 2", "must be 0 to 1",
           s.layout = MERCER_CSC, s.indices = beyond);
    SPARSE("values", "NaN", MERCER_E_DATA, "row 1, column 1 is nan", "must be finite", s.values = bad);
    SPARSE("values", "infinite", MERCER_E_DATA, "row 0, column 0 is -inf", "must be finite", s.values = endless);

    const mercer_sparse good = {sizeof good, MERCER_CSR, MERCER_F64, MERCER_I64, 0, 2, 2, 3, offsets, columns, values};
    mercer_data *data;
    MUST(mercer_data_from_sparse(&data, f.context, &good));
    mercer_recipe *scaled = new_recipe(f.context, "data.scale", "minmax", NULL);
    NEW(model, mercer_model_fit, "data.scale", "of sparse data", MERCER_E_UNSUPPORTED, "data.scale", "sparse", scaled,
        data, NULL);
    mercer_recipe_destroy(scaled);
    mercer_data_destroy(data);
    finish_entries();
}

/* Arrays that cannot hold the rows of f.data, and objects, which have no rows to read. */
void arrays_to_read_into(void **state) {
    (void)state;
    const mercer_view narrow = doubles(f.out, N, 1), few = doubles(f.out, N - 1, D), same = doubles(f.x, N, D),
                      square = doubles(f.out, N, N), right = doubles(f.out, N, D);
    mercer_view ints = doubles(f.out, N, D), whole = doubles(f.out, N, D);
    ints.dtype = MERCER_I32, whole.dtype = MERCER_I64;
    mercer_data *objects = NULL;
    MUST(mercer_data_from_matrix(&objects, f.context, &square, MERCER_KERNEL));
    BAD(mercer_data_read, "out", "too narrow", MERCER_E_SHAPE, "6 x 1", "6 x 2", f.data, &narrow, NULL);
    BAD(mercer_data_read, "out", "too few rows", MERCER_E_SHAPE, "5 x 2", "6 x 2", f.data, &few, NULL);
    BAD(mercer_data_read, "out", "indices", MERCER_E_ARGUMENT, "dtype = 4", "MERCER_F64", f.data, &ints, NULL);
    BAD(mercer_data_read, "out", "the rows themselves", MERCER_E_ARGUMENT, "shares memory", "use separate memory",
        f.data, &same, NULL);
    BAD(mercer_data_read, "data", "objects", MERCER_E_UNSUPPORTED, "are objects", "columns", objects, &right, NULL);
    BAD(mercer_data_read, "data", "fractions", MERCER_E_DATA, "row 0, column 0", "must be a whole number", f.data,
        &whole, NULL);
    mercer_data_destroy(objects);
    finish_entries();
}

/* Adds an entry for a fit on f.x with this view attached. */
#define FIT_WITH(recipe, what, view, fault, code, saw, allowed)                                                        \
    do {                                                                                                               \
        const mercer_view view_ = (view);                                                                              \
        mercer_data *data_ = new_data(f.context, f.x, N, D);                                                           \
        MUST(mercer_data_attach(data_, what, &view_));                                                                 \
        NEW(model, mercer_model_fit, what, fault, code, saw, allowed, recipe, data_, NULL);                            \
        mercer_data_destroy(data_);                                                                                    \
    } while (0)

void attachments(void **state) {
    (void)state;
    static int64_t numbers[] = {0, 1, 2, 3, 4, 5}, far[] = {0, 6}, before[] = {-1, 2}, twice[] = {3, 1, 3};
    static double negative[] = {1, 1, -2, 1, 1, 1}, zero[N], nan[] = {1, 1, 1, NAN, 1, 1};
    static double endless[] = {1, INFINITY, 1, 1, 1, 1};
    const mercer_view two = doubles(f.x, N, 2), few = doubles(f.x, 4, 1), one = doubles(f.x, N, 1);
    const mercer_view ints = view_of(numbers, MERCER_I64, N, 1), none = view_of(numbers, MERCER_I64, 0, 1);
    const mercer_view short_ints = view_of(numbers, MERCER_I64, 5, 1);
    BAD(mercer_data_attach, "what", "unknown", MERCER_E_NAME, "'weight'", "'weights'", f.data, "weight", &one);
    BAD(mercer_data_attach, "weights", "two columns", MERCER_E_SHAPE, "6 x 2", "6 x 1", f.data, "weights", &two);
    BAD(mercer_data_attach, "weights", "too few", MERCER_E_SHAPE, "4 x 1", "6 x 1", f.data, "weights", &few);
    BAD(mercer_data_attach, "weights", "integers", MERCER_E_ARGUMENT, "dtype = 3", "MERCER_F64", f.data, "weights",
        &ints);
    BAD(mercer_data_attach, "labels", "too few", MERCER_E_SHAPE, "5 x 1", "6 x 1", f.data, "labels", &short_ints);
    BAD(mercer_data_attach, "labels", "floating", MERCER_E_ARGUMENT, "dtype = 2", "MERCER_I64", f.data, "labels", &one);
    BAD(mercer_data_attach, "landmarks", "none", MERCER_E_SHAPE, "0 rows", "must be >= 1", f.data, "landmarks", &none);

    mercer_recipe *given = new_recipe(f.context, "method", "subsampled", "reducer", "given", NULL);
    NEW(model, mercer_model_fit, "landmarks", "not attached", MERCER_E_VALUE, "reducer = given", "attach row numbers",
        given, f.data, NULL);
    FIT_WITH(given, "landmarks", view_of(far, MERCER_I64, 2, 1), "beyond the rows", MERCER_E_VALUE, "is row 6",
             "0 to 5");
    FIT_WITH(given, "landmarks", view_of(before, MERCER_I64, 2, 1), "negative", MERCER_E_VALUE, "is row -1", "0 to 5");
    FIT_WITH(given, "landmarks", view_of(twice, MERCER_I64, 3, 1), "twice", MERCER_E_VALUE, "row 3 is given twice",
             "once at most");
    FIT_WITH(given, "landmarks", view_of(numbers, MERCER_I64, 3, 2), "numbers in two columns", MERCER_E_SHAPE,
             "2 columns", "must be 1");
    FIT_WITH(given, "landmarks", doubles(f.x, 2, 3), "points of other columns", MERCER_E_SHAPE, "have 3 columns",
             "the data have 2");
    FIT_WITH(f.recipe, "weights", doubles(negative, N, 1), "negative", MERCER_E_DATA, "row 2 has -2", ">= 0");
    FIT_WITH(f.recipe, "weights", doubles(zero, N, 1), "all 0", MERCER_E_DATA, "sum to 0", "must be > 0");
    FIT_WITH(f.recipe, "weights", doubles(nan, N, 1), "NaN", MERCER_E_DATA, "row 3 has nan", "must be finite");
    FIT_WITH(f.recipe, "weights", doubles(endless, N, 1), "infinite", MERCER_E_DATA, "row 1 has inf", "must be finite");
    mercer_recipe_destroy(given);
    finish_entries();
}

void values_of_data(void **state) {
    (void)state;
    double nan[N * D], inf[N * D], negative[N * D], large[N * D];
    memcpy(nan, f.x, sizeof nan), memcpy(inf, f.x, sizeof inf), memcpy(negative, f.x, sizeof negative);
    memcpy(large, f.x, sizeof large);
    nan[5] = NAN, inf[2] = -INFINITY, negative[0] = -3, large[3] = 1e39;
    mercer_data *with_nan = new_data(f.context, nan, N, D), *with_inf = new_data(f.context, inf, N, D);
    mercer_data *no_row = new_data(f.context, f.x, 0, D), *no_column = new_data(f.context, f.x, N, 0);
    mercer_data *below = new_data(f.context, negative, N, D), *too_large = new_data(f.context, large, N, D);
    mercer_recipe *chi2 = new_recipe(f.context, "kernel", "chi2", NULL);
    mercer_recipe *single = new_recipe(f.context, "kernel", "polynomial", "data.dtype", "f32", NULL);
    mercer_view out = doubles(f.out, N, R), square = doubles(f.out, N, N);
    mercer_forecast forecast = {.struct_size = sizeof forecast};
    NEW(model, mercer_model_fit, "data", "NaN", MERCER_E_DATA, "row 2, column 1 is NaN", "must be finite", f.recipe,
        with_nan, NULL);
    NEW(model, mercer_model_fit, "data", "infinite", MERCER_E_DATA, "row 1, column 0 is inf", "must be finite",
        f.recipe, with_inf, NULL);
    NEW(model, mercer_model_fit, "data", "no rows", MERCER_E_DATA, "0 rows", "must be >= 1", f.recipe, no_row, NULL);
    NEW(model, mercer_model_fit, "data", "no columns", MERCER_E_DATA, "0 columns", "must be >= 1", f.recipe, no_column,
        NULL);
    NEW(model, mercer_model_fit, "data", "outside the kernel's domain", MERCER_E_DATA, "row 0, column 0 is -3",
        "values >= 0", chi2, below, NULL);
    NEW(model, mercer_model_fit, "data", "values beyond f32", MERCER_E_DATA, "entries up to 1e+39",
        "overflow f32 (try data.dtype = f64)", single, too_large, NULL);
    BAD(mercer_model_transform, "data", "NaN", MERCER_E_DATA, "row 2, column 1 is NaN", "must be finite", f.model, NULL,
        with_nan, &out, 1, NULL);
    BAD(mercer_model_transform, "data", "infinite", MERCER_E_DATA, "row 1, column 0 is inf", "must be finite", f.model,
        NULL, with_inf, &out, 1, NULL);
    BAD(mercer_recipe_kernel, "x", "NaN", MERCER_E_DATA, "row 2, column 1 is NaN", "must be finite", f.recipe, with_nan,
        NULL, &square, NULL);
    BAD(mercer_recipe_kernel, "y", "infinite", MERCER_E_DATA, "row 1, column 0 is inf", "must be finite", f.recipe,
        f.data, with_inf, &square, NULL);
    BAD(mercer_recipe_forecast, "data", "no rows", MERCER_E_DATA, "0 rows", "must be >= 1", f.recipe, no_row, NULL,
        &forecast);
    mercer_data_destroy(with_nan), mercer_data_destroy(with_inf), mercer_data_destroy(below);
    mercer_data_destroy(no_row), mercer_data_destroy(no_column);
    mercer_data_destroy(too_large);
    mercer_recipe_destroy(chi2), mercer_recipe_destroy(single);
    finish_entries();
}

#define MATRIX(fault, code, saw, allowed, recipe, view, kind)                                                          \
    do {                                                                                                               \
        mercer_data *data_ = NULL;                                                                                     \
        MUST(mercer_data_from_matrix(&data_, f.context, &(view), (kind)));                                             \
        NEW(model, mercer_model_fit, "a matrix", fault, code, saw, allowed, recipe, data_, NULL);                      \
        mercer_data_destroy(data_);                                                                                    \
    } while (0)

void matrices(void **state) {
    (void)state;
    double crooked[] = {0, 1, 2, 1, 0, 3, 2.5, 3, 0}, negative[] = {0, 1, 1, 0, 0, -1, 1, -1, 0};
    double apart[] = {0, 1, 1, 1, 0.5, 1, 1, 1, 0}, nan[] = {0, 1, 1, 1, 0, NAN, 1, NAN, 0};
    const mercer_view square = doubles(crooked, 3, 3), wide = doubles(crooked, 2, 3), below = doubles(negative, 3, 3);
    const mercer_view far = doubles(apart, 3, 3), holes = doubles(nan, 3, 3);
    const mercer_view ints = view_of(crooked, MERCER_I64, 3, 3);
    mercer_recipe *gaussian = new_recipe(f.context, "sigma", "1", NULL),
                  *user = new_recipe(f.context, "kernel", "user", NULL);
    NEW(data, mercer_data_from_matrix, "values", "unknown", MERCER_E_ARGUMENT, "values = 0", "MERCER_KERNEL", f.context,
        &square, 0);
    NEW(data, mercer_data_from_matrix, "dtype", "integers", MERCER_E_ARGUMENT, "dtype = 3", "MERCER_F64", f.context,
        &ints, MERCER_KERNEL);
    MATRIX("not symmetric", MERCER_E_DATA, "row 0, column 2 is 2, row 2, column 0 is 2.5", "symmetric", gaussian,
           square, MERCER_DISTANCE);
    MATRIX("not square", MERCER_E_SHAPE, "2 x 3", "square", user, wide, MERCER_KERNEL);
    MATRIX("negative distance", MERCER_E_DATA, "-1 for the pair (1, 2)", ">= 0", gaussian, below, MERCER_DISTANCE);
    MATRIX("distance to itself", MERCER_E_DATA, "0.5 as the distance of row 1", "must be 0", gaussian, far,
           MERCER_DISTANCE);
    MATRIX("NaN", MERCER_E_DATA, "nan for the pair (1, 2)", "must be finite", user, holes, MERCER_KERNEL);
    MATRIX("kernel values for a kernel of vectors", MERCER_E_UNSUPPORTED, "kernel = gaussian", "'user'", gaussian, far,
           MERCER_KERNEL);
    MATRIX("distances for kernel 'user'", MERCER_E_UNSUPPORTED, "kernel = user", "need", user, far, MERCER_DISTANCE);
    mercer_recipe_destroy(gaussian), mercer_recipe_destroy(user);
    finish_entries();
}
