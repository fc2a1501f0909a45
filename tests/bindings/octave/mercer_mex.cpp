// Calls libmercer from Octave (and MATLAB) by MEX; a package could start from this file. It uses
// only the old C matrix API.
//
//     h = mercer_mex('fit', X, method, {name, value, ...}, function or [])      a model, uint64
//     Z = mercer_mex('transform', h, X)         mercer_mex('destroy', h)        n = mercer_mex('alive')
//     b = mercer_mex('write', h)                h = mercer_mex('read', b)       t = mercer_mex('tensor', h, name)
//
// An mx error must not jump over frames of libmercer, and no C++ object may be alive where such an
// error can occur. So all that a call holds is in one plain struct, which finish() frees. A kernel
// is a function [k, e] = function (x, y), which catches its own errors and returns them as e,
// because the trap of Octave's mexCallMATLABWithTrap loses their text. Octave's interrupt is a C++
// exception, which this trap does not catch, so catch (...) does. Errors and interrupts are thrown
// again when libmercer has returned.
#include <mercer/mercer.h>

#include <mex.h>

#include <exception>
#include <string.h>
#include <utility>

static mercer_context *context;
static int kernels; // number of kernels that libmercer has not released

static struct {
    mercer_data *data;
    mercer_recipe *recipe;
    mxArray *raised; // the MException that a callback has raised
} held;
static std::exception_ptr interrupt; // the interrupt that a callback has caught

template <class T>
static T sized(void) { // a struct whose struct_size is set, and whose other fields are 0
    T t;
    memset(&t, 0, sizeof t);
    t.struct_size = sizeof t;
    return t;
}

// Frees what the call holds, and then raises the error of the call, if there is one.
static void finish(int32_t status) {
    mercer_data_destroy(held.data);
    mercer_recipe_destroy(held.recipe);
    mxArray *raised = held.raised;
    memset(&held, 0, sizeof held);
    if (interrupt) std::rethrow_exception(std::exchange(interrupt, nullptr));
    if (raised) mexCallMATLAB(0, NULL, 1, &raised, "rethrow");
    if (status) mexErrMsgIdAndTxt("mercer:error", "%s", mercer_last_error());
}

static void check(int32_t status) {
    if (status) finish(status);
}

// Calls the function `what` with the arguments `in` or, if there are none, evaluates the text
// `what`. This happens in a callback of libmercer; a non-zero result means that libmercer must
// stop. The function may call this file again, so `held` is saved and restored.
static int32_t trapped(int nout, mxArray **out, int nin, mxArray **in, const char *what) {
    const auto outer = held;
    memset(&held, 0, sizeof held);
    mxArray *raised = NULL;
    try {
        raised = nin ? mexCallMATLABWithTrap(nout, out, nin, in, what) : mexEvalStringWithTrap(what);
    } catch (...) {
        interrupt = std::current_exception();
    }
    held = outer;
    if (raised) held.raised = raised;
    return raised || interrupt;
}

// Octave checks for the interrupt key at the end of each iteration of a loop; this is the cheapest
// place where it does so.
static int32_t progress(void *, const mercer_progress *) { return trapped(0, NULL, 0, NULL, "while true, break, end"); }

static mercer_view view_of(const mxArray *a) {
    if (mxIsComplex(a) || mxIsSparse(a) || !(mxIsDouble(a) || mxIsSingle(a)))
        mexErrMsgIdAndTxt("mercer:argument", "data must be a full real matrix, double or single");
    int64_t rows = (int64_t)mxGetM(a), cols = (int64_t)mxGetN(a);
    return {sizeof(mercer_view), mxIsSingle(a) ? MERCER_F32 : MERCER_F64, 0, rows, cols, 1, rows, mxGetData(a)};
}

static mxArray *array_of(const mercer_view *v) { // a copy, stored by columns
    mxArray *a = mxCreateNumericMatrix((mwSize)v->rows, (mwSize)v->cols,
                                       v->dtype == MERCER_F32   ? mxSINGLE_CLASS
                                       : v->dtype == MERCER_F64 ? mxDOUBLE_CLASS
                                                                : mxINT64_CLASS,
                                       mxREAL);
    const size_t size = v->dtype == MERCER_F32 ? 4 : 8;
    char *to = (char *)mxGetData(a);
    for (int64_t j = 0; j < v->cols; ++j)
        for (int64_t i = 0; i < v->rows; ++i, to += size)
            memcpy(to, (const char *)v->data + (size_t)(i * v->row_stride + j * v->col_stride) * size, size);
    return a;
}

static int32_t tile(void *user, const mercer_view *x, const mercer_view *y, const mercer_view *k) {
    mxArray *in[3] = {(mxArray *)user, array_of(x), array_of(y)}, *out[2] = {NULL, NULL};
    int32_t stop = trapped(2, out, 3, in, "feval");
    const size_t size = k->dtype == MERCER_F32 ? 4 : 8;
    if (!stop && !mxIsEmpty(out[1])) {
        held.raised = out[1], out[1] = NULL;
        stop = 1;
    } else if (!stop && (mxGetM(out[0]) != (size_t)k->rows || mxGetN(out[0]) != (size_t)k->cols || mxIsSparse(out[0]) ||
                         mxIsComplex(out[0]) || !(size == 4 ? mxIsSingle(out[0]) : mxIsDouble(out[0])))) {
        mercer_set_error(
            "the kernel must give a full real matrix of (rows of x) x (rows of y), double or single as they are");
        stop = 1;
    }
    const char *from = stop ? NULL : (const char *)mxGetData(out[0]);
    for (int64_t j = 0; from && j < k->cols; ++j)
        for (int64_t i = 0; i < k->rows; ++i, from += size)
            memcpy((char *)k->data + (size_t)(i * k->row_stride + j * k->col_stride) * size, from, size);
    if (out[0]) mxDestroyArray(out[0]);
    if (out[1]) mxDestroyArray(out[1]);
    mxDestroyArray(in[1]);
    mxDestroyArray(in[2]);
    return stop;
}

static void release(void *user) {
    mxDestroyArray((mxArray *)user);
    --kernels;
}

static const char *text_of(const mxArray *a) { // Octave frees the text when the MEX call ends
    char *text = mxArrayToString(a);
    if (!text) mexErrMsgIdAndTxt("mercer:argument", "text expected");
    return text;
}

static mercer_model *&model_of(const mxArray *a) {
    if (!mxIsUint64(a) || mxGetNumberOfElements(a) != 1) mexErrMsgIdAndTxt("mercer:argument", "no model");
    return *(mercer_model **)mxGetData(a);
}

static mxArray *new_handle(void) { return mxCreateNumericMatrix(1, 1, mxUINT64_CLASS, mxREAL); }

static void fit(mxArray **out, const mxArray **in) {
    const mxArray *pairs = in[2];
    const size_t count = mxGetNumberOfElements(pairs) / 2;
    const char **names = (const char **)mxCalloc(2 * count + 1, sizeof *names), **values = names + count;
    for (size_t i = 0; i < count; ++i)
        names[i] = text_of(mxGetCell(pairs, 2 * i)), values[i] = text_of(mxGetCell(pairs, 2 * i + 1));
    const char *method = text_of(in[1]);
    mercer_view view = view_of(in[0]);
    *out = new_handle();
    check(mercer_data_from_view(&held.data, context, &view));
    check(mercer_recipe_create(&held.recipe, context, method));
    check(mercer_recipe_set_many(held.recipe, names, values, (int64_t)count));
    if (!mxIsEmpty(in[3])) {
        mxArray *function = mxDuplicateArray(in[3]);
        mexMakeArrayPersistent(function);
        ++kernels;
        mercer_user_kernel kernel = {sizeof kernel, 0, 0, tile, function, release};
        int32_t status = mercer_recipe_set_kernel(held.recipe, &kernel);
        if (status) release(function);
        check(status);
    }
    mercer_run run = sized<mercer_run>();
    run.progress = progress;
    finish(mercer_model_fit(&model_of(*out), held.recipe, held.data, &run));
}

static void transform(mxArray **out, const mxArray **in) {
    mercer_model *model = model_of(in[0]);
    mercer_view view = view_of(in[1]);
    mercer_output shape = sized<mercer_output>();
    int64_t count;
    check(mercer_data_from_view(&held.data, context, &view));
    check(mercer_model_output(model, NULL, held.data, 0, &shape, &count));
    *out = mxCreateNumericMatrix((mwSize)shape.rows, (mwSize)shape.cols,
                                 shape.dtype == MERCER_F32 ? mxSINGLE_CLASS : mxDOUBLE_CLASS, mxREAL);
    mercer_view scores = view_of(*out);
    mercer_run run = sized<mercer_run>();
    run.progress = progress;
    finish(mercer_model_transform(model, NULL, held.data, &scores, 1, &run));
}

struct bytes {
    char *at, *end;
};
static int32_t count_bytes(void *user, const void *, int64_t count) { return *(int64_t *)user += count, 0; }
static int32_t copy_bytes(void *user, const void *bytes, int64_t count) {
    memcpy(((struct bytes *)user)->at, bytes, (size_t)count);
    return ((struct bytes *)user)->at += count, 0;
}
static int32_t read_bytes(void *user, void *to, int64_t capacity, int64_t *count) {
    struct bytes *from = (struct bytes *)user;
    *count = from->end - from->at < capacity ? from->end - from->at : capacity;
    memcpy(to, from->at, (size_t)*count);
    return from->at += *count, 0;
}

static void write(mxArray **out, const mxArray **in) {
    int64_t size = 0;
    mercer_sink counter = {sizeof counter, count_bytes, &size};
    check(mercer_model_write(model_of(in[0]), &counter));
    *out = mxCreateNumericMatrix((mwSize)size, 1, mxUINT8_CLASS, mxREAL);
    struct bytes bytes = {(char *)mxGetData(*out), NULL};
    mercer_sink sink = {sizeof sink, copy_bytes, &bytes};
    finish(mercer_model_write(model_of(in[0]), &sink));
}

static void read(mxArray **out, const mxArray **in) {
    *out = new_handle();
    struct bytes bytes = {(char *)mxGetData(in[0]), (char *)mxGetData(in[0]) + mxGetNumberOfElements(in[0])};
    mercer_source source = {sizeof source, read_bytes, &bytes};
    finish(mercer_model_read(&model_of(*out), context, &source));
}

static void tensor(mxArray **out, const mxArray **in) {
    mercer_view view = sized<mercer_view>();
    check(mercer_model_tensor(model_of(in[0]), text_of(in[1]), &view));
    *out = array_of(&view);
}

static void destroy(mxArray **, const mxArray **in) { mercer_model_destroy(model_of(in[0])); }
static void alive(mxArray **out, const mxArray **) { *out = mxCreateDoubleScalar(kernels); }

void mexFunction(int, mxArray **out, int nin, const mxArray **in) {
    static const struct {
        const char *name;
        int nin;
        void (*run)(mxArray **, const mxArray **);
    } commands[] = {{"fit", 4, fit},       {"transform", 2, transform}, {"write", 1, write}, {"read", 1, read},
                    {"tensor", 2, tensor}, {"destroy", 1, destroy},     {"alive", 0, alive}};
    if (!context) {
        check(mercer_context_create(&context));
        mexLock(); // 'clear mex' must not unload this file, because models may outlive it
    }
    const char *name = nin > 0 ? text_of(in[0]) : "";
    for (const auto &command : commands)
        if (!strcmp(command.name, name) && command.nin == nin - 1) return command.run(out, in + 1);
    mexErrMsgIdAndTxt("mercer:argument", "no such command with %d arguments: '%s'", nin - 1, name);
}
