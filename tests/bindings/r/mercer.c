/* Calls libmercer from R by .Call; a package could start from this file.
 *
 * An R error must not jump over frames of libmercer, and a jump must not lose an object of
 * libmercer. So each object gets its owner, an external pointer with a finaliser, before it is
 * made, and each callback evaluates R under R_UnwindProtect. A jump (error, interrupt, restart) is
 * caught there, the callback returns 1, the call of libmercer frees its memory and returns, and
 * R_ContinueUnwind continues the same jump. */
#include <mercer/mercer.h>

#include <R.h>
#include <R_ext/Rdynload.h>
#include <Rinternals.h>
#include <setjmp.h>
#include <string.h>

static mercer_context *context;
static SEXP jump;       /* token of the jump that a callback caught; made once, because allocation can jump, too */
static Rboolean caught; /* whether there is such a jump */
static int kernels;     /* number of kernels that libmercer has not released */

static void stop_jump(void *at, Rboolean jumps) {
    if (jumps) longjmp(*(jmp_buf *)at, 1);
}

/* Runs body(data) in R during a call of libmercer. Returns 1 if R jumped out of it. */
static int32_t run_r(SEXP (*body)(void *), void *data) {
    jmp_buf at;
    if (setjmp(at)) return caught = TRUE;
    R_UnwindProtect(body, data, stop_jump, &at, jump);
    return 0;
}

static void check(int32_t status) {
    if (caught) {
        caught = FALSE;
        R_ContinueUnwind(jump);
    }
    if (status) Rf_error("%s", mercer_last_error());
}

static SEXP poll_r(void *unused) {
    (void)unused;
    R_CheckUserInterrupt();
    return R_NilValue;
}
static int32_t progress(void *user, const mercer_progress *told) {
    (void)told;
    return run_r(poll_r, user);
}

/* new_KIND makes the owner of an object: an external pointer whose finaliser destroys the object.
 * Its address is NULL until libmercer has made the object. It keeps the R object `keep` alive. */
#define HANDLE(kind)                                                                                                   \
    static void free_##kind(SEXP handle) {                                                                             \
        mercer_##kind##_destroy(R_ExternalPtrAddr(handle));                                                            \
        R_ClearExternalPtr(handle);                                                                                    \
    }                                                                                                                  \
    static SEXP new_##kind(SEXP keep) {                                                                                \
        SEXP handle = PROTECT(R_MakeExternalPtr(NULL, Rf_install("mercer_" #kind), keep));                             \
        R_RegisterCFinalizerEx(handle, free_##kind, TRUE);                                                             \
        UNPROTECT(1);                                                                                                  \
        return handle;                                                                                                 \
    }
HANDLE(data)
HANDLE(recipe)
HANDLE(model)

static mercer_view view_of(SEXP matrix) {
    if (!Rf_isReal(matrix) || !Rf_isMatrix(matrix)) Rf_error("not a matrix of doubles");
    int rows = Rf_nrows(matrix), cols = Rf_ncols(matrix);
    return (mercer_view){sizeof(mercer_view), MERCER_F64, 0, rows, cols, 1, rows, REAL(matrix)};
}

static SEXP data_of(SEXP matrix) {
    mercer_view view = view_of(matrix);
    SEXP handle = PROTECT(new_data(matrix));
    mercer_data *data;
    check(mercer_data_from_view(&data, context, &view));
    R_SetExternalPtrAddr(handle, data);
    UNPROTECT(1);
    return handle;
}

/* A tile of the kernel. R gets x and y as matrices, and the matrix that it returns is copied to
 * k. */
struct tile {
    SEXP function;
    const mercer_view *x, *y, *k;
};
static SEXP matrix_of(const mercer_view *view) {
    SEXP matrix = Rf_allocMatrix(REALSXP, (int)view->rows, (int)view->cols);
    for (int64_t i = 0; i < view->rows; ++i)
        for (int64_t j = 0; j < view->cols; ++j) {
            int64_t at = i * view->row_stride + j * view->col_stride;
            REAL(matrix)
            [j * view->rows + i] = view->dtype == MERCER_F64   ? ((double *)view->data)[at]
                                   : view->dtype == MERCER_F32 ? ((float *)view->data)[at]
                                                               : (double)((int64_t *)view->data)[at];
        }
    return matrix;
}
static SEXP tile_r(void *data) {
    struct tile *tile = data;
    SEXP x = PROTECT(matrix_of(tile->x)), y = PROTECT(matrix_of(tile->y));
    SEXP call = PROTECT(Rf_lang3(tile->function, x, y)), k = PROTECT(Rf_eval(call, R_BaseEnv));
    if (!Rf_isReal(k) || !Rf_isMatrix(k) || Rf_nrows(k) != tile->k->rows || Rf_ncols(k) != tile->k->cols)
        Rf_error("the kernel must give a matrix of %d x %d doubles", (int)tile->k->rows, (int)tile->k->cols);
    for (int64_t i = 0; i < tile->k->rows; ++i)
        for (int64_t j = 0; j < tile->k->cols; ++j) {
            int64_t at = i * tile->k->row_stride + j * tile->k->col_stride;
            double value = REAL(k)[j * tile->k->rows + i];
            if (tile->k->dtype == MERCER_F64)
                ((double *)tile->k->data)[at] = value;
            else
                ((float *)tile->k->data)[at] = (float)value;
        }
    UNPROTECT(4);
    return R_NilValue;
}
static int32_t tile(void *user, const mercer_view *x, const mercer_view *y, const mercer_view *k) {
    struct tile tile = {user, x, y, k};
    return run_r(tile_r, &tile);
}
static void release(void *user) {
    R_ReleaseObject(user);
    --kernels;
}

/* fit(x, method, names, values, function or NULL) */
static SEXP fit(SEXP x, SEXP method, SEXP names, SEXP values, SEXP function) {
    SEXP data = PROTECT(data_of(x)), recipe = PROTECT(new_recipe(R_NilValue)), model = PROTECT(new_model(R_NilValue));
    R_xlen_t count = XLENGTH(names);
    const char **name = (const char **)R_alloc(count, sizeof *name),
               **value = (const char **)R_alloc(count, sizeof *value);
    for (R_xlen_t i = 0; i < count; ++i) {
        name[i] = Rf_translateCharUTF8(STRING_ELT(names, i));
        value[i] = Rf_translateCharUTF8(STRING_ELT(values, i));
    }
    mercer_recipe *made;
    check(mercer_recipe_create(&made, context, CHAR(STRING_ELT(method, 0))));
    R_SetExternalPtrAddr(recipe, made);
    check(mercer_recipe_set_many(made, name, value, count));
    if (function != R_NilValue) {
        R_PreserveObject(function);
        ++kernels;
        int32_t status = mercer_recipe_set_kernel(
            made, &(mercer_user_kernel){sizeof(mercer_user_kernel), 0, 0, tile, function, release});
        if (status) release(function);
        check(status);
    }
    mercer_run run = {.struct_size = sizeof run, .progress = progress};
    mercer_model *fitted;
    int32_t status = mercer_model_fit(&fitted, made, R_ExternalPtrAddr(data), &run);
    R_SetExternalPtrAddr(model, fitted);
    check(status);
    UNPROTECT(3);
    return model;
}

static int32_t count_bytes(void *user, const void *bytes, int64_t count) {
    return (void)bytes, *(int64_t *)user += count, 0;
}
static int32_t copy_bytes(void *user, const void *bytes, int64_t count) {
    unsigned char **at = user;
    memcpy(*at, bytes, (size_t)count);
    return *at += count, 0;
}
static SEXP to_raw(SEXP model) {
    int64_t size = 0;
    check(mercer_model_write(R_ExternalPtrAddr(model), &(mercer_sink){sizeof(mercer_sink), count_bytes, &size}));
    SEXP raw = PROTECT(Rf_allocVector(RAWSXP, (R_xlen_t)size));
    unsigned char *at = RAW(raw);
    check(mercer_model_write(R_ExternalPtrAddr(model), &(mercer_sink){sizeof(mercer_sink), copy_bytes, &at}));
    UNPROTECT(1);
    return raw;
}

struct bytes {
    const unsigned char *at, *end;
};
static int32_t read_bytes(void *user, void *to, int64_t capacity, int64_t *count) {
    struct bytes *from = user;
    *count = from->end - from->at < capacity ? from->end - from->at : capacity;
    memcpy(to, from->at, (size_t)*count);
    return from->at += *count, 0;
}
static SEXP from_raw(SEXP raw) {
    SEXP handle = PROTECT(new_model(R_NilValue));
    struct bytes bytes = {RAW(raw), RAW(raw) + XLENGTH(raw)};
    mercer_model *model;
    check(mercer_model_read(&model, context, &(mercer_source){sizeof(mercer_source), read_bytes, &bytes}));
    R_SetExternalPtrAddr(handle, model);
    UNPROTECT(1);
    return handle;
}

static SEXP transform(SEXP model, SEXP x) {
    SEXP data = PROTECT(data_of(x));
    mercer_output out = {.struct_size = sizeof out};
    int64_t count;
    check(mercer_model_output(R_ExternalPtrAddr(model), NULL, R_ExternalPtrAddr(data), 0, &out, &count));
    if (out.dtype != MERCER_F64) Rf_error("the model's outputs are f32");
    SEXP scores = PROTECT(Rf_allocMatrix(REALSXP, (int)out.rows, (int)out.cols));
    mercer_view view = view_of(scores);
    mercer_run run = {.struct_size = sizeof run, .progress = progress};
    check(mercer_model_transform(R_ExternalPtrAddr(model), NULL, R_ExternalPtrAddr(data), &view, 1, &run));
    UNPROTECT(2);
    return scores;
}

static SEXP tensor(SEXP model, SEXP name) {
    mercer_view view = {.struct_size = sizeof view};
    check(mercer_model_tensor(R_ExternalPtrAddr(model), CHAR(STRING_ELT(name, 0)), &view));
    return matrix_of(&view);
}

static SEXP alive(void) { return Rf_ScalarInteger(kernels); }

void R_init_mercer(DllInfo *dll) {
    static const R_CallMethodDef calls[] = {{"fit", (DL_FUNC)fit, 5},
                                            {"transform", (DL_FUNC)transform, 2},
                                            {"tensor", (DL_FUNC)tensor, 2},
                                            {"to_raw", (DL_FUNC)to_raw, 1},
                                            {"from_raw", (DL_FUNC)from_raw, 1},
                                            {"alive", (DL_FUNC)alive, 0},
                                            {NULL, NULL, 0}};
    R_registerRoutines(dll, NULL, calls, NULL, NULL);
    R_useDynamicSymbols(dll, FALSE);
    R_PreserveObject(jump = R_MakeUnwindCont());
    check(mercer_context_create(&context));
}
