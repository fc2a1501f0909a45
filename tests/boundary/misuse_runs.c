/* Run settings that are invalid, budgets that are too small, cancelled calls, checkpoints of
 * another fit, and callbacks that fail. */
#include "misuse.h"

#include <math.h>

static mercer_run running(mercer_run run) {
    run.struct_size = sizeof run;
    return run;
}
#define RUN(...) (&(mercer_run[]){running((mercer_run){__VA_ARGS__})}[0])

static int32_t stop(void *user, const mercer_progress *progress) {
    (void)user, (void)progress;
    return 7;
}

void runs(void **state) {
    (void)state;
    static const int32_t cancel = 3;
    const mercer_run sizes[] = {{.struct_size = 0}, {.struct_size = 5000}};
    mercer_forecast forecast = {.struct_size = sizeof forecast};
    mercer_view out = doubles(f.out, N, R), square = doubles(f.out, N, N);
    BAD(mercer_context_set_run, "threads", "negative", MERCER_E_VALUE, "threads = -1", "must be 0 to 1024", f.context,
        RUN(.threads = -1));
    BAD(mercer_context_set_run, "threads", "too many", MERCER_E_VALUE, "threads = 5000", "must be 0 to 1024", f.context,
        RUN(.threads = 5000));
    BAD(mercer_context_set_run, "memory", "negative", MERCER_E_VALUE, "memory = -5", "must be >= 0", f.context,
        RUN(.memory = -5));
    BAD(mercer_context_set_run, "struct_size", "0", MERCER_E_ARGUMENT, "struct_size = 0", "sizeof(mercer_run) = 56",
        f.context, &sizes[0]);
    NEW(model, mercer_model_fit, "run: struct_size", "too large", MERCER_E_ARGUMENT, "struct_size = 5000",
        "sizeof(mercer_run) = 56", f.recipe, f.data, &sizes[1]);
    NEW(model, mercer_model_fit, "run: threads", "too many", MERCER_E_VALUE, "threads = 1025", "must be 0 to 1024",
        f.recipe, f.data, RUN(.threads = 1025));
    BAD(mercer_model_transform, "run: threads", "negative", MERCER_E_VALUE, "threads = -2", "must be 0 to 1024",
        f.model, NULL, f.data, &out, 1, RUN(.threads = -2));
    BAD(mercer_recipe_forecast, "run: memory", "negative", MERCER_E_VALUE, "memory = -1", "must be >= 0", f.recipe,
        f.data, RUN(.memory = -1), &forecast);
    NEW(model, mercer_model_fit, "run: memory", "too little", MERCER_E_BUDGET, "need 0.", "memory budget is 0.001 MiB",
        f.recipe, f.data, RUN(.memory = 1000));
    BAD(mercer_recipe_forecast, "run: memory", "too little", MERCER_E_BUDGET, "need 0.", "memory budget is 0.001 MiB",
        f.recipe, f.data, RUN(.memory = 1000), &forecast);
    BAD(mercer_recipe_kernel, "run: memory", "too little", MERCER_E_BUDGET, "more bytes", "memory budget is 100",
        f.recipe, f.data, NULL, &square, RUN(.memory = 100));
    NEW(model, mercer_model_fit, "run: cancel", "set", MERCER_E_CANCELLED, "cancelled in stage",
        "the cancel flag is not 0", f.recipe, f.data, RUN(.cancel = &cancel));
    BAD(mercer_model_transform, "run: cancel", "set", MERCER_E_CANCELLED, "cancelled in stage",
        "the cancel flag is not 0", f.model, NULL, f.data, &out, 1, RUN(.cancel = &cancel));
    BAD(mercer_recipe_kernel, "run: cancel", "set", MERCER_E_CANCELLED, "cancelled in stage",
        "the cancel flag is not 0", f.recipe, f.data, NULL, &square, RUN(.cancel = &cancel));
    NEW(model, mercer_model_derive, "run: memory", "too little", MERCER_E_BUDGET, "'compress' needs",
        "memory budget is 0.001 MiB", f.compress, &f.model, 1, NULL, RUN(.memory = 1000));
    BAD(mercer_model_forecast, "run: memory", "too little", MERCER_E_BUDGET, "'compress' needs",
        "memory budget is 0.001 MiB", f.compress, &f.model, 1, NULL, RUN(.memory = 1000), &forecast);
    BAD(mercer_model_forecast, "run: memory", "negative", MERCER_E_VALUE, "memory = -1", "must be >= 0", f.compress,
        &f.model, 1, NULL, RUN(.memory = -1), &forecast);
    NEW(model, mercer_model_derive, "run: threads", "too many", MERCER_E_VALUE, "threads = 1025", "must be 0 to 1024",
        f.compress, &f.model, 1, NULL, RUN(.threads = 1025));
    NEW(model, mercer_model_derive, "run: cancel", "set", MERCER_E_CANCELLED, "cancelled in stage",
        "the cancel flag is not 0", f.compress, &f.model, 1, NULL, RUN(.cancel = &cancel));
    NEW(model, mercer_model_fit, "run: progress", "asks to stop", MERCER_E_CANCELLED, "cancelled in stage",
        "progress returned 7", f.recipe, f.data, RUN(.progress = stop));
    finish_entries();
}

/* Checkpoints of a fit whose solver iterates: only such a solver writes checkpoints. */
void checkpoints(void **state) {
    (void)state;
    enum { ROWS = 300 };
    char *folder = new_folder();
    double *x = noise(ROWS * D);
    mercer_data *data = new_data(f.context, x, ROWS, D);
    mercer_recipe *recipe = new_recipe(f.context, "solver", "block-krylov", "sigma", "1", "components", "3", NULL);
    mercer_recipe *other = new_recipe(f.context, "solver", "block-krylov", "sigma", "2", "components", "3", NULL);
    const char *path = joined(folder, "checkpoint"), *text = joined(folder, "text"), *model = joined(folder, "model");
    write_file(text, "no checkpoint at all, but long enough to be looked at as one", 60);
    MUST(mercer_model_save(f.model, model));
    MUST(mercer_model_fit(&f.new_model, recipe, data, RUN(.checkpoint = path)));
    mercer_model_destroy(f.new_model);
#define CHECKPOINT(fault, code, saw, allowed, recipe, path)                                                            \
    NEW(model, mercer_model_fit, "run: checkpoint", fault, code, saw, allowed, recipe, data, RUN(.checkpoint = path))
    CHECKPOINT("no such folder", MERCER_E_IO, "/nowhere/c", "No such file", recipe, "/nowhere/c");
    CHECKPOINT("a folder", MERCER_E_IO, folder, "directory", recipe, folder);
    CHECKPOINT("a full device", MERCER_E_IO, "/dev/full", "cannot write", recipe, "/dev/full");
    CHECKPOINT("text", MERCER_E_MODEL, "text", "header", recipe, text);
    CHECKPOINT("a model", MERCER_E_MODEL, "model", "is not a checkpoint", recipe, model);
    CHECKPOINT("of another recipe", MERCER_E_VALUE, "sigma = 1 in the checkpoint", "2 in this fit", other, path);
    mercer_recipe_destroy(recipe), mercer_recipe_destroy(other);
    mercer_data_destroy(data);
    free(x);
    remove_folder(folder);
    finish_entries();
}

/* ---- callbacks, which return the number that `user` points to */

static int32_t returns(const void *user) { return *(const int32_t *)user; }
static int32_t tile_returns(void *user, const mercer_view *x, const mercer_view *y, const mercer_view *k) {
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t j = 0; j < y->rows; j++) ((double *)k->data)[i * k->row_stride + j * k->col_stride] = NAN;
    return returns(user);
}
static int32_t rows_return(void *user, int64_t first, int64_t capacity, void *buffer, int64_t *rows) {
    (void)first, (void)buffer;
    *rows = capacity + 1;
    return returns(user);
}
static int32_t pairs_return(void *user, const int64_t *i, const int64_t *j, int64_t count, double *values) {
    for (int64_t k = 0; k < count; k++) values[k] = i[k] == j[k] ? 0 : -2;
    return returns(user);
}
static int32_t sink_returns(void *user, const void *bytes, int64_t count) {
    (void)bytes, (void)count;
    return returns(user);
}
static int32_t source_returns(void *user, void *bytes, int64_t capacity, int64_t *count) {
    (void)bytes;
    *count = capacity + 1;
    return returns(user);
}

#define FIT(argument, fault, code, saw, allowed, recipe, data)                                                         \
    NEW(model, mercer_model_fit, argument, fault, code, saw, allowed, recipe, data, NULL)

static void callbacks_of_fits(int32_t *fails, int32_t *lies) {
    mercer_recipe *user = new_recipe(f.context, "kernel", "user", NULL), *sigma = new_recipe(f.context, NULL);
    MUST(mercer_recipe_set(sigma, "sigma", "1"));
    for (int k = 0; k < 2; k++) {
        int32_t *what = k ? lies : fails;
        const mercer_user_kernel kernel = {sizeof kernel, 0, 0, tile_returns, what, NULL};
        const mercer_chunks rows = {sizeof rows, MERCER_F64, 0, 4, 2, rows_return, what, NULL};
        const mercer_objects pairs = {sizeof pairs, 4, MERCER_DISTANCE, 0, pairs_return, NULL, what, NULL};
        mercer_data *chunks, *objects;
        MUST(mercer_recipe_set_kernel(user, &kernel));
        MUST(mercer_data_from_chunks(&chunks, f.context, &rows));
        MUST(mercer_data_from_objects(&objects, f.context, &pairs));
        if (k == 0) {
            FIT("tile", "fails", MERCER_E_CALLBACK, "the user kernel returned 9", "must return 0", user, f.data);
            FIT("next", "fails", MERCER_E_CALLBACK, "the chunk callback returned 9", "must return 0", f.recipe, chunks);
            FIT("pairs", "fails", MERCER_E_CALLBACK, "the pairs callback returned 9", "must return 0", sigma, objects);
        } else {
            FIT("tile", "gives NaN", MERCER_E_CALLBACK, "the user kernel returned nan", "must be finite", user, f.data);
            FIT("next", "more rows than asked for", MERCER_E_CALLBACK, "5 rows", "must be 0 to 4", f.recipe, chunks);
            FIT("pairs", "a negative distance", MERCER_E_DATA, "-2 for the pair", ">= 0", sigma, objects);
        }
        mercer_data_destroy(chunks), mercer_data_destroy(objects);
    }
    mercer_recipe_destroy(user), mercer_recipe_destroy(sigma);
}

void callbacks(void **state) {
    (void)state;
    int32_t fails = 9, lies = 0;
    callbacks_of_fits(&fails, &lies);
    const mercer_sink sink = {sizeof sink, sink_returns, &fails}, no_sink = {8, sink_returns, &fails};
    const mercer_source source = {sizeof source, source_returns, &fails},
                        greedy = {sizeof source, source_returns, &lies};
    const mercer_source no_source = {1 << 20, source_returns, &fails};
    BAD(mercer_model_write, "write", "fails", MERCER_E_CALLBACK, "the sink returned 9", "must return 0", f.model,
        &sink);
    BAD(mercer_model_write, "struct_size", "too small", MERCER_E_ARGUMENT, "struct_size = 8", "= 24", f.model,
        &no_sink);
    NEW(model, mercer_model_read, "read", "fails", MERCER_E_CALLBACK, "the source returned 9", "must return 0",
        f.context, &source);
    NEW(model, mercer_model_read, "read", "more bytes than asked for", MERCER_E_CALLBACK, "returned 9 bytes",
        "must be 0 to 8", f.context, &greedy);
    NEW(model, mercer_model_read, "struct_size", "too large", MERCER_E_ARGUMENT, "struct_size = 1048576", "= 24",
        f.context, &no_source);
    finish_entries();
}
