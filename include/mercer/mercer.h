/* mercer.h - kernel PCA and its reduced, greedy and sampled relatives on large data. The complete user API, C11.
 *
 * Every method returns one immutable object, the model:   f(x) = A^T k_C(T x) / g(x) - b
 *
 * The input map T shifts and scales the columns of the row x. k_C holds the kernel values between T x and the m
 * centres C. A (m x r) holds the coefficients of the r components, b is an offset, and g is a denominator, which is 1
 * for most methods.
 *
 *     mercer_context *ctx;  mercer_data *data;  mercer_recipe *recipe;  mercer_model *model;
 *     mercer_context_create(&ctx);
 *     mercer_data_from_view(&data, ctx, &view);            // rows are observations
 *     mercer_recipe_create(&recipe, ctx, "kpca");
 *     mercer_recipe_set(recipe, "kernel.sigma", "5");
 *     mercer_model_fit(&model, recipe, data, NULL);
 *     mercer_model_transform(model, NULL, data, &scores, 1, NULL);
 *
 * Conventions. They hold for every function unless its comment says otherwise:
 * - Status. A function that can fail returns an int32_t: 0 (MERCER_OK) or one of the MERCER_E_ codes. After a failure
 *   no object has been created, no argument has changed, *out is NULL, and mercer_last_error() gives the reason to this
 *   thread, in one line. Any function may return MERCER_E_ARGUMENT, MERCER_E_SHAPE (of a view), MERCER_E_MEMORY and
 *   MERCER_E_INTERNAL. A function that takes a mercer_run may also return MERCER_E_BUDGET, MERCER_E_CANCELLED and
 *   MERCER_E_CALLBACK, and, if it reads data, MERCER_E_DATA and MERCER_E_IO. The comment of a function lists its other
 *   codes.
 * - Ownership. The out-pointer of a constructor is its first argument, and the caller destroys the object;
 *   _destroy(NULL) is allowed. Text and arrays that a function hands out are borrowed and must not be written to. They
 *   live as long as the comment says; those of a model live until the caller destroys its own reference. Arguments are
 *   copied before the call returns, except the arrays of mercer_data_from_view, mercer_data_from_matrix and
 *   mercer_data_attach and the user pointers of callbacks: these must live until the handle is destroyed. If a struct
 *   has a function release, the library calls it once, when the last handle that uses the struct is destroyed, on the
 *   thread that destroys this handle; if the call that took the struct failed, it never calls release.
 * - Threads. Only one thread at a time may use a given context, data or recipe handle. This holds for each handle
 *   separately: different threads may use and destroy handles of one context at once, in any order. A model is shared:
 *   any number of threads may use it at once, and any thread may destroy its own reference. The exception is a model
 *   whose user kernel is not MERCER_THREAD_SAFE, which only one thread at a time may use. After fork() the child may
 *   use all handles, on one thread.
 * - Callbacks run on the thread that called the function, unless they are declared MERCER_THREAD_SAFE. They return 0,
 *   or any other value to stop the call with MERCER_E_CALLBACK; the error text is what the callback has passed to
 *   mercer_set_error, if anything. Their arguments are valid for that call only. They must not unwind (no longjmp, no
 *   exception). A callback may call any function on handles that the running call does not use, and on any model.
 * - Structs begin with struct_size = sizeof of the struct as the caller was compiled, in outputs too. The library reads
 *   and writes nothing beyond it and treats missing fields as 0. If struct_size ends inside a field, the bytes of this
 *   field beyond the end are taken as 0. In an array of structs all elements have the struct_size of the first, which
 *   is also the distance between them. Structs only ever grow at the end. Padding is explicit and must be 0. Text is
 *   UTF-8; sizes are int64_t; rows and columns count from 0, in error texts too. */
#ifndef MERCER_MERCER_H
#define MERCER_MERCER_H

#include <stdint.h>

#if defined(__GNUC__) && !defined(MERCER_STATIC)
#define MERCER_API __attribute__((visibility("default")))
#else
#define MERCER_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define MERCER_VERSION "0.1.0"
#define MERCER_ABI 0 /* 0: may still change; from 1 on it only grows */

/* ---- status ------------------------------------------------------------------------------------------------------ */

/* One code per kind of error; the text of mercer_last_error distinguishes the cases. Numbers are never reused. The
 * registry "statuses" of mercer_context_entry has the same list, and `mercer methods statuses` prints it. */
enum {
    MERCER_OK = 0,            /* success; the model's report may hold warnings */
    MERCER_E_ARGUMENT = 1,    /* a null pointer or handle, an invalid struct_size, an unknown flag */
    MERCER_E_SHAPE = 2,       /* sizes or strides that do not match, or whose product overflows */
    MERCER_E_VALUE = 3,       /* a parameter outside its range, or parameters that exclude each other */
    MERCER_E_NAME = 4,        /* an unknown name; the message suggests the nearest known one */
    MERCER_E_DATA = 5,        /* NaN or Inf in the data, values invalid for the kernel or type, a damaged file */
    MERCER_E_MODEL = 6,       /* a damaged or inconsistent model file or set of tensors */
    MERCER_E_PLUGIN = 7,      /* a plugin is missing, was refused, or broke its contract */
    MERCER_E_UNSUPPORTED = 8, /* the combination, or this model, does not support the operation */
    MERCER_E_NUMERICAL = 9,   /* not converged under solver.strict, or a non-finite result */
    MERCER_E_MEMORY = 10,     /* an allocation failed */
    MERCER_E_BUDGET = 11,     /* the memory budget is too small; the message says how much is needed */
    MERCER_E_CANCELLED = 12,  /* stopped by the progress callback or the cancel flag */
    MERCER_E_CALLBACK = 13,   /* one of your callbacks returned an error */
    MERCER_E_IO = 14,         /* the operating system could not open, read, write or rename a file */
    MERCER_E_INTERNAL = 15    /* a defect in this library: please report it */
};

/* Text: "0.1.0 (abi 0)". Static. */
MERCER_API const char *mercer_version(void);

/* The last failure on this thread, one line; "" before the first. Borrowed until the next failure on this thread;
 * successful calls and destructors leave it unchanged. */
MERCER_API const char *mercer_last_error(void);

/* A callback calls this function on its own thread, to set the error text that is reported if the callback returns
 * non-zero. The text is copied, up to 1023 bytes. A MERCER_THREAD_SAFE callback has no other way to report the reason
 * for a failure. */
MERCER_API void mercer_set_error(const char *text);

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* Types of entries: IEEE floating point and signed integers. */
enum { MERCER_F32 = 1, MERCER_F64 = 2, MERCER_I64 = 3, MERCER_I32 = 4 }; /* i32: sparse indices only */

/* A matrix in the caller's memory. Strides count elements and are ignored if the matrix is empty. One of the two
 * strides is 1: col_stride if the matrix is row-major, row_stride if it is column-major. A vector is one column. The
 * library writes to outputs only. An output must not share memory with the rows that the same call reads, nor with
 * another output (MERCER_E_ARGUMENT); disjoint columns of one array do not share memory. */
typedef struct mercer_view {
    int64_t struct_size;
    int32_t dtype;
    int32_t reserved;
    int64_t rows, cols;
    int64_t row_stride, col_stride;
    void *data;
} mercer_view;

/* Flags of callbacks and of kernels. */
enum {
    MERCER_THREAD_SAFE = 1, /* any thread may call it, several at once */
    MERCER_PSD = 2,         /* the kernel's Gram matrices have no negative eigenvalue */
    MERCER_REWINDABLE = 4,  /* chunks: may be read again, from row 0 on */
    MERCER_RADIAL = 8,      /* the kernel is a function of |x - y| */
    MERCER_NONNEGATIVE = 16 /* the kernel's domain is x >= 0 */
};

/* Progress of a long call. It never decreases and is reported on the calling thread, at most ten times a second and at
 * least every 0.2 s (except during one dense factorisation), so that the callback can poll for interrupts. */
typedef struct mercer_progress {
    int64_t struct_size;
    const char *stage; /* read, reduce, gram, solve, certify, lift ... */
    double fraction;   /* of the whole call, 0 to 1 */
    double elapsed;    /* seconds */
    double remaining;  /* estimate in seconds; < 0: no estimate yet */
} mercer_progress;

/* How a long call runs. A run is never part of a recipe and never changes a bit of the result, with one exception:
 * memory may limit how much of an approximation is kept. A factor that is recomputed for lack of memory equals a stored
 * one up to rounding, the method `auto` stops growing its factor at the size that fits, and an open number of
 * components is limited by memory. NULL, and every field that is 0, mean the context's setting. cancel is read
 * atomically, and the call then stops within 0.2 s, with two exceptions: one dense factorisation is completed first,
 * and a callback of the caller that is running returns first. Pointers must be valid for the duration of the call. */
typedef struct mercer_run {
    int64_t struct_size;
    int64_t threads; /* 0: all cores this process may use (cores and memory are queried once a second at most) */
    int64_t memory;  /* budget in bytes for all that the library allocates; 0: 60 % of what is available */
    int32_t (*progress)(void *user, const mercer_progress *progress); /* non-zero stops: MERCER_E_CANCELLED */
    void *user;
    const int32_t *cancel; /* any thread or signal handler sets it to non-zero to stop the call */
    /* The checkpoint file; there is none if this field is NULL here and in the context. If the solver of a fit
     * iterates, the fit saves its state there after its first cycle, and then at intervals that keep the time for
     * writing near a tenth. If the file exists, the fit resumes from it: the model is bit-identical, and its report
     * lists the passes of both runs. The fit is refused if recipe, kernel, rows or weights differ (MERCER_E_VALUE, the
     * text names the difference; objects and user kernels are asked for up to 4096 values, which must be the same to
     * the bit), if the file is damaged (MERCER_E_MODEL) and, before any work, if it cannot be written to (MERCER_E_IO).
     * If a later write fails, the log gets a warning, the file keeps its previous state, and the fit continues. The
     * file remains when the fit ends, because the model could be lost or need more passes: remove it once the model is
     * saved. Fits without such a solver do not touch it. */
    const char *checkpoint;
} mercer_run;

/* ---- context ----------------------------------------------------------------------------------------------------- */

/* The four handles. A context holds settings and the folders to search for plugins; data are rows; a recipe is a method
 * with its parameters; a model is the result of a fit. */
typedef struct mercer_context mercer_context;
typedef struct mercer_data mercer_data;
typedef struct mercer_recipe mercer_recipe;
typedef struct mercer_model mercer_model;

/* Creates a context, without opening a plugin or starting a thread. It may be destroyed before the objects that were
 * made from it. */
MERCER_API int32_t mercer_context_create(mercer_context **out);
MERCER_API void mercer_context_destroy(mercer_context *context);

/* Adds a folder to the plugin search path, before MERCER_PLUGIN_PATH and the installed folders. The path must be
 * absolute (else MERCER_E_VALUE). A folder that does not exist or is not trusted is skipped. If two different plugins
 * have the same name, neither is used. */
MERCER_API int32_t mercer_context_add_plugins(mercer_context *context, const char *folder);

/* Sets the function that receives log lines (level 0 = debug, 1 = note, 2 = warning), on the thread whose call is
 * running. NULL: none. */
MERCER_API int32_t mercer_context_set_log(mercer_context *context,
                                          void (*log)(void *user, int32_t level, const char *text), void *user);

/* Sets the run that later calls use in place of a NULL run, and whose fields they use in place of fields that are 0.
 * The struct is copied. A recipe copies the run and the log function when it is created, so the objects that these
 * point to must outlive the context and its recipes; data and models copy threads and memory only. MERCER_E_VALUE: a
 * field is out of range. */
MERCER_API int32_t mercer_context_set_run(mercer_context *context, const mercer_run *run);

/* An entry of a registry. what = "methods" | "operations" (outputs of a model) | "derivations" (make a model from
 * models) | "kernels" | "reducers" | "lifts" | "solvers" | "statuses" | "build" (properties of the library: name, with
 * the value in summary: its BLAS, instruction set, threads ...) | "folders" (searched for plugins, in that order;
 * summary says what each contains) | "files" (in these folders; summary is "found", "the same as ...", "not the same as
 * ...", "refused, ..." or "ignored, ..."). Texts live until the context is destroyed. */
typedef struct mercer_entry {
    int64_t struct_size;
    const char *name;
    const char *aliases;   /* separated by blanks */
    const char *summary;   /* one line */
    const char *reference; /* paper, equation */
    const char *path;      /* the plugin's file, "" if built in */
    int64_t value;         /* number of a status; number of plugins in a folder */
    const char *version;   /* of a plugin */
    const char *takes;     /* input of an operation: "rows" (d columns), "scores" or "kernel rows" (k(x, C)); else "" */
} mercer_entry;

/* The number of entries of a registry, and the entry with a given index, from 0 on. Counting and listing open no
 * plugin: summary, reference and version of a plugin are "" until it has been loaded by name. MERCER_E_NAME: there is
 * no such registry; MERCER_E_VALUE: the index is out of range. */
MERCER_API int32_t mercer_context_count(mercer_context *context, const char *what, int64_t *count);
MERCER_API int32_t mercer_context_entry(mercer_context *context, const char *what, int64_t index, mercer_entry *out);

/* The entry with this name or alias; a plugin is loaded to fill it. MERCER_E_NAME: there is none, and the text suggests
 * the nearest; MERCER_E_PLUGIN: the plugin is refused, and the text gives the reason. */
MERCER_API int32_t mercer_context_find(mercer_context *context, const char *what, const char *name, mercer_entry *out);

/* Loads a plugin and runs the conformance suite for its kind on it, in this process. name = "kernel-gaussian" or an
 * absolute path. Every check is logged (level 0), as "check: TITLE" before it runs and "pass: TITLE" after it has
 * passed, or as "not present: TITLE", "not claimed: TITLE" or "not possible: TITLE" if the plugin has nothing to check;
 * the first check that fails is the error: MERCER_E_PLUGIN. `mercer plugin-check` runs the suite in a separate
 * process. */
MERCER_API int32_t mercer_plugin_check(mercer_context *context, const char *name);

/* ---- data -------------------------------------------------------------------------------------------------------- */

/* n observations, to fit on or to transform. Values are checked when they are read: NaN or Inf is MERCER_E_DATA, with
 * the first row and column that has one (NaN is accepted if data.missing = rows). The constructors use the context for
 * its log and settings only. */

/* Rows in the caller's memory: f32 or f64, row- or column-major, borrowed until mercer_data_destroy. */
MERCER_API int32_t mercer_data_from_view(mercer_data **out, mercer_context *context, const mercer_view *view);

/* Rows in a file, .npy or CSV. A .npy file (v1 to v3, both orders; u1 i1 u2 i2 become f32, i4 u4 i8 u8 become f64; f4,
 * f8, b1) is read in windows that count towards the budget; it is never mapped and must not change until
 * mercer_data_destroy. CSV is read whole, into f64; pipes are read whole too. Whatever is read whole is read before
 * this function returns, under the context's run (memory, progress, cancel). options NULL: everything is detected. All
 * fields of options except format and values apply to CSV only. A column is specified by its name or by its number from
 * 0; the path /columns of mercer_model_info lists the columns that a model was fitted on. Missing values: "", NA, NaN,
 * nan, null, NULL, ?, N/A, n/a, #N/A, None.
 *
 * MERCER_E_IO: the file cannot be read; MERCER_E_DATA: it is damaged, pickled, or of a type that is not supported;
 * MERCER_E_NAME: there is no such column; MERCER_E_UNSUPPORTED: columns, labels, weights or ids were given for a .npy
 * file. */
enum { MERCER_NPY = 1, MERCER_CSV = 2 };
typedef struct mercer_file {
    int64_t struct_size;
    int32_t format;    /* 0: MERCER_NPY if the name (*.npy) or the contents say so, otherwise MERCER_CSV */
    int32_t separator; /* ',' ';' '\t' ' ' '|'; 0: the one of the first four that gives all lines equally many fields */
    int32_t header; /* 1: the first line has names; -1: it has none; 0: it has names if its fields are text or empty */
    int32_t values; /* 0: rows of columns; MERCER_DISTANCE or MERCER_KERNEL: as from_matrix below, read whole */
    const char *labels;  /* a column: text becomes 0, 1 ... in order of appearance, whole numbers stay; NULL: none */
    const char *weights; /* a column, numbers >= 0; NULL: none */
    const char *columns; /* separated by commas ("a,b" in quotes is one name); NULL: all other columns of numbers */
    const char *ids;     /* a column that names the rows, kept as text (mercer_data_facts); NULL: none */
} mercer_file;
MERCER_API int32_t mercer_data_from_file(mercer_data **out, mercer_context *context, const char *path,
                                         const mercer_file *options);

/* Rows by callback. next writes up to capacity rows, row-major, starting with row first_row, and stores their number
 * in *rows; 0 rows is the end. flags says in which order rows are requested:
 *
 *   0                              from row 0 to the end, once: the data can be used in one call only, which has all
 *                                  rows in memory (they count towards the budget)
 *   MERCER_REWINDABLE              from row 0 on, in order, any number of times. Rows that take more than a quarter of
 *                                  the budget are read by windows of at most 8 MiB, in as many passes as the call
 *                                  needs, and the work on them is done by the calling thread alone
 *   the same | MERCER_THREAD_SAFE  rows that take more than a quarter of the budget: in any order, by all threads
 *
 * A callback that is read again must give the same rows each time; this is not checked. */
typedef struct mercer_chunks {
    int64_t struct_size;
    int32_t dtype; /* MERCER_F32 or MERCER_F64 */
    int32_t flags; /* 0, MERCER_REWINDABLE or MERCER_REWINDABLE | MERCER_THREAD_SAFE */
    int64_t rows;  /* -1: not known before the end */
    int64_t cols;
    int32_t (*next)(void *user, int64_t first_row, int64_t capacity, void *buffer, int64_t *rows);
    void *user;
    void (*release)(void *user); /* or NULL */
} mercer_chunks;
MERCER_API int32_t mercer_data_from_chunks(mercer_data **out, mercer_context *context, const mercer_chunks *chunks);

/* Compressed sparse rows or columns, copied. Entries of a row may be in any order; MERCER_E_DATA: an entry appears
 * twice, or lies outside the matrix. */
enum { MERCER_CSR = 1, MERCER_CSC = 2 };
typedef struct mercer_sparse {
    int64_t struct_size;
    int32_t layout;
    int32_t dtype;       /* of values: MERCER_F32 or MERCER_F64 */
    int32_t index_dtype; /* of offsets and indices: MERCER_I32 or MERCER_I64 */
    int32_t base;        /* 0 or 1 */
    int64_t rows, cols, count;
    const void *offsets; /* rows + 1 (csr) or cols + 1 (csc) */
    const void *indices; /* count */
    const void *values;  /* count */
} mercer_sparse;
MERCER_API int32_t mercer_data_from_sparse(mercer_data **out, mercer_context *context, const mercer_sparse *sparse);

/* Objects given by their pairs: the callback fills values[k] for the pairs (i[k], j[k]), k < count. In data to fit on,
 * i and j are both rows of these data; in queries, i is a query and j a row of the data that the model was fitted on.
 * Distances work with every kernel of form sqdist; kernel values work with the kernel "user", which then needs no
 * function. A fit that stores the kernel matrix (see mercer_recipe_forecast) requests each unordered pair once (pairs
 * within blocks of 256 rows in both orders); other fits request it once per pass. If a bandwidth rule is used, the fit
 * first requests the pairs of a sample of at most 100 rows. A forecast requests pairs among at most 100 rows. */
enum { MERCER_DISTANCE = 1, MERCER_KERNEL = 2 };
typedef struct mercer_objects {
    int64_t struct_size;
    int64_t rows;
    int32_t values; /* MERCER_DISTANCE or MERCER_KERNEL */
    int32_t flags;  /* MERCER_THREAD_SAFE, MERCER_PSD */
    int32_t (*pairs)(void *user, const int64_t *i, const int64_t *j, int64_t count, double *values);
    /* Fills values with k(i, i). It is never called for distances, because these are 0. NULL: pairs is called with
     * j = i for rows of the fitted data, and operations that need k(i, i) of queries are MERCER_E_UNSUPPORTED. */
    int32_t (*self)(void *user, const int64_t *i, int64_t count, double *values);
    void *user;
    void (*release)(void *user);
} mercer_objects;
MERCER_API int32_t mercer_data_from_objects(mercer_data **out, mercer_context *context, const mercer_objects *objects);

/* Objects given by a matrix, borrowed until mercer_data_destroy; values = MERCER_DISTANCE or MERCER_KERNEL (with the
 * kernel "user", as above). To fit on: n x n, symmetric. Queries: one row per query, with n columns, or with m columns
 * in the order of the model's "indices". Kernel values are assumed to be positive semi-definite; a fit that finds that
 * they are not reports it. */
MERCER_API int32_t mercer_data_from_matrix(mercer_data **out, mercer_context *context, const mercer_view *view,
                                           int32_t values);

/* Attaches an array to the data, borrowed. what = "weights" (rows x 1, f32 or f64, >= 0, some > 0: a row of weight 2
 * counts as if it were there twice), "landmarks" (i64 row numbers from 0, or rows of points; for the reducer "given")
 * or "labels" (rows x 1, i64; for pictures and for callers of mercer_data_inspect, ignored by a fit). MERCER_E_NAME:
 * what has another value. */
MERCER_API int32_t mercer_data_attach(mercer_data *data, const char *what, const mercer_view *view);

/* Properties of the data; borrowed texts and arrays live until mercer_data_destroy. */
enum { MERCER_DENSE = 1, MERCER_SPARSE = 2, MERCER_OBJECTS = 3 };
typedef struct mercer_data_facts {
    int64_t struct_size;
    int64_t rows; /* -1: not known before they are read */
    int64_t cols; /* 0: objects */
    int32_t dtype;
    int32_t kind;
    mercer_view labels; /* rows x 1, i64, borrowed; data NULL: none */
    /* JSON {"columns": [...], "labels": [text of label 0, 1 ...]}, [] for none; borrowed. With ids, also "ids": the
     * name of their column. If a label is a number or a missing value, also "label_values": one entry for each label,
     * which is a number, null for a missing value, or the text again. */
    const char *names;
    const char *ids;  /* texts of the rows in order, each terminated by a zero byte; NULL: none; borrowed */
    int32_t integers; /* 1: a .npy file of integers, which mercer_data_read can write as i64 */
    int32_t reserved;
} mercer_data_facts;
MERCER_API int32_t mercer_data_inspect(const mercer_data *data, mercer_data_facts *out);

/* Writes all rows, as they were given, to an array of the caller: rows x cols, f32, f64 or i64; sparse rows are written
 * with their zeros. Values are not checked, and a missing one is NaN; for i64, all of them must be whole numbers from
 * -2^53 to 2^53 (else MERCER_E_DATA). MERCER_E_UNSUPPORTED: the data are objects, which have no columns. */
MERCER_API int32_t mercer_data_read(mercer_data *data, const mercer_view *out, const mercer_run *run);
MERCER_API void mercer_data_destroy(mercer_data *data);

/* ---- recipe ------------------------------------------------------------------------------------------------------ */

/* A method, operation or derivation (see mercer_context_entry) with its parameters; each is checked when it is set.
 * MERCER_E_NAME: there is none of that name. */
MERCER_API int32_t mercer_recipe_create(mercer_recipe **out, mercer_context *context, const char *name);
MERCER_API void mercer_recipe_destroy(mercer_recipe *recipe);

/* Sets one parameter, named part.name ("kernel.sigma", "reducer.m", "seed"), or by its last part if that is unique in
 * the recipe ("sigma"); '-' and '_' are equivalent. A part ("kernel", "reducer", "lift", "solver") is a parameter too;
 * changing a part resets the parameters of this part. A recipe has only the parameters that have an effect in it. For
 * any other name, MERCER_E_NAME says where it belongs or which name is nearest; MERCER_E_VALUE says which values are
 * allowed. Numbers as text round-trip; "" means unset. */
MERCER_API int32_t mercer_recipe_set(mercer_recipe *recipe, const char *name, const char *value);
MERCER_API int32_t mercer_recipe_set_real(mercer_recipe *recipe, const char *name, double value);

/* Sets several parameters, all or none. Parts are set first, whatever the order of the names. */
MERCER_API int32_t mercer_recipe_set_many(mercer_recipe *recipe, const char *const *names, const char *const *values,
                                          int64_t count);

/* The value as text, "" if unset; borrowed until the recipe changes or is destroyed. MERCER_E_NAME as above. */
MERCER_API int32_t mercer_recipe_get(mercer_recipe *recipe, const char *name, const char **value);

/* The parameters that the recipe has now. Help, flags, keywords and documentation are generated from these rows. Texts
 * live until a part of the recipe changes or the recipe is destroyed. MERCER_E_VALUE: there is no row with that index
 * (from 0 on). */
enum { MERCER_REAL = 1, MERCER_INT = 2, MERCER_BOOL = 3, MERCER_CHOICE = 4, MERCER_TEXT = 5 };
enum {
    MERCER_LO_OPEN = 1, /* lo itself is not allowed */
    MERCER_HI_OPEN = 2,
    MERCER_SHORT = 4,   /* may be named without its part even if that is not unique */
    MERCER_PART = 8,    /* chooses a part, such as the kernel; changing it changes the rows that follow */
    MERCER_AUTO = 16,   /* the value 0 (or unset) means: chosen by the library */
    MERCER_CENTRES = 32 /* the number of centres that a reducer selects at most */
};
typedef struct mercer_row {
    int64_t struct_size;
    const char *name;    /* with its part: "kernel.sigma" */
    const char *doc;     /* one line */
    const char *initial; /* default as text, "" = unset */
    const char *choices; /* separated by '|', or "" */
    const char *group;   /* at most one row of a group may be set; "" = none */
    int32_t type;
    int32_t flags;
    double lo, hi; /* -inf, inf if unbounded */
} mercer_row;
MERCER_API int32_t mercer_recipe_rows(mercer_recipe *recipe, int64_t *count);
MERCER_API int32_t mercer_recipe_row(mercer_recipe *recipe, int64_t index, mercer_row *out);

/* Checks a value against a row that the caller has made, as mercer_recipe_set checks it against a row of the recipe.
 * Programs that have flags or keywords of their own can thus refuse a value in the same words. Only name, type,
 * choices, lo, hi and the flags MERCER_LO_OPEN and MERCER_HI_OPEN are used; the name may be any text, such as
 * "--width". "" is refused, which mercer_recipe_set takes as "the default". MERCER_E_VALUE: the value is not
 * allowed, the text says which are, and, for a misspelt choice, which one is nearest ("did you mean 'scatter'?"). */
MERCER_API int32_t mercer_row_check(const mercer_row *row, const char *value);

/* Sets the function that computes the leaf "user" of the kernel expression (an expression without this leaf is replaced
 * by "user"). It writes k(x_i, y_j) for all rows of x and y, both row-major and of the dtype of k. The views are valid
 * for the call only. The struct is copied into the recipe; release is called when the last recipe or model that uses it
 * is destroyed, on the thread that destroys it. A saved model stores the name only: see mercer_model_bind. */
typedef struct mercer_user_kernel {
    int64_t struct_size;
    int32_t flags; /* MERCER_THREAD_SAFE, MERCER_PSD */
    int32_t reserved;
    /* x and y: the leaf's columns after the input map, sparse rows with their zeros; every entry of k must be
     * written. */
    int32_t (*tile)(void *user, const mercer_view *x, const mercer_view *y, const mercer_view *k);
    void *user;
    void (*release)(void *user);
} mercer_user_kernel;
MERCER_API int32_t mercer_recipe_set_kernel(mercer_recipe *recipe, const mercer_user_kernel *kernel);

/* What a fit will need, before it starts: likely, and most, which is never exceeded. If the two are equal, the shape
 * alone determines the figure, which is accurate to 10 %. A budget of bytes.most is sufficient; MERCER_E_BUDGET: the
 * fit would be refused. Data may exceed the budget, but a model holds its centres, and those of an exact model are all
 * rows. "nystrom", "auto" and the reducer "rpcholesky" keep fewer ("auto" keeps at least 32, and a factor with that
 * many columns in memory). If the number of components is open, bytes.most is for as many as the budget holds.
 *
 * likely depends on the spectrum. The forecast estimates it from up to 400 rows spread over the data, in about 0.1 s at
 * most; flops.likely is then usually accurate to a factor of 3. It reads no rows of a chunk callback; for a user kernel
 * or objects it requests pairs among at most 100 rows, and at most a hundredth of all pairs. */
typedef struct mercer_figure {
    double likely;
    double most;
} mercer_figure;
typedef struct mercer_forecast {
    int64_t struct_size;
    mercer_figure bytes; /* peak, including the model, excluding the buffers of BLAS */
    mercer_figure kernel_evaluations;
    mercer_figure passes; /* times that the centres' kernel matrix is computed; 0: the fit projects onto the centres */
    mercer_figure flops;  /* of kernel values (2 d each), products, factors and factorisations */
    double dense_seconds; /* longest part that cannot be cancelled, approximately */
    int32_t streams;      /* 1: kernel values are recomputed in each pass, 0: stored */
    int32_t reserved;
    const char *strategy;  /* how the fit will run and why; borrowed until the recipe is forecast again or destroyed */
    double seconds;        /* likely, for the whole fit, at the speed measured in this process; decides nothing */
    int64_t rows;          /* rows that were read for the estimate; 0: the shape alone determines it */
    double sample_seconds; /* time that the reading and the estimate took */
} mercer_forecast;
MERCER_API int32_t mercer_recipe_forecast(mercer_recipe *recipe, mercer_data *data, const mercer_run *run,
                                          mercer_forecast *out);

/* The kernel matrix of the recipe's kernel: writes k(x_i, y_j) to out, (rows of x) x (rows of y), or k(x_i, x_j) if y
 * is NULL. The values are computed in the type of out, with the input map and the bandwidth of a fit on x. Entries of
 * rows that data.missing leaves out are NaN. */
MERCER_API int32_t mercer_recipe_kernel(mercer_recipe *recipe, mercer_data *x, mercer_data *y, const mercer_view *out,
                                        const mercer_run *run);

/* ---- model ------------------------------------------------------------------------------------------------------- */

/* Warnings attached to a usable model. */
enum {
    MERCER_RANK_REACHED = 1, /* fewer components than requested: the rest is below rounding (f64 resolves more) */
    MERCER_INDEFINITE = 2,   /* the kernel matrix has negative eigenvalues, which were dropped */
    /* The result falls short of the request (the report says by how much; 4 is reserved): residuals exceed solver.tol;
     * `auto` did not certify the accuracy; or a share of variance or a threshold was not reached because of the memory
     * budget. Under solver.strict this is an error. */
    MERCER_NOT_CONVERGED = 8
};

/* Capabilities of a model. An operation fails with MERCER_E_UNSUPPORTED if the model lacks a capability that it
 * needs. */
enum {
    MERCER_CAN_ORTHONORMAL = 1, /* A^T k(C, C) A = I: the components are an orthonormal basis */
    MERCER_CAN_MEAN = 2,        /* nu: the mean in feature space */
    MERCER_CAN_MERGE = 4,       /* what its components keep and lose is known, up to rounding: /ledger in the report */
    MERCER_CAN_DENSITY = 8,     /* w^T k_C(x) / n, where w are the weights of the centres, whose sum is n */
    MERCER_CAN_RESIDUAL = 16,   /* distance to the components in feature space */
    MERCER_CAN_SHARE = 32,      /* several threads may use it at once: no user kernel that is not MERCER_THREAD_SAFE */
    MERCER_CAN_GRADIENT = 64,   /* df/dx: rows are dense, every leaf has a derivative and is of form dot or sqdist */
    MERCER_CAN_LABELS = 128     /* clusters */
};

/* Fits a model. The data may be destroyed afterwards; the recipe is copied. Also MERCER_E_VALUE and
 * MERCER_E_UNSUPPORTED: parameters are incompatible with these data; MERCER_E_NUMERICAL: not converged under
 * solver.strict; MERCER_E_PLUGIN. */
MERCER_API int32_t mercer_model_fit(mercer_model **out, mercer_recipe *recipe, mercer_data *data,
                                    const mercer_run *run);

/* Adds a reference to the same model, for another owner, who destroys it. */
MERCER_API int32_t mercer_model_retain(mercer_model *model);
MERCER_API void mercer_model_destroy(mercer_model *model);

/* Computes an output operation (what = a recipe made from an entry of "operations", with its options; NULL = scores) on
 * data, into count arrays of the caller. Each array has the shape and dtype that mercer_model_output reports; f64 is
 * accepted in place of f32, one stride must be 1, and extra columns are allowed and remain unchanged. A view whose data
 * is NULL means that this output is not wanted. mercer_model_output fills *out for 0 <= index < *count; its texts are
 * static. A recipe of several operations, created as "scores,t2,residual", has the outputs of each in this order; the
 * data are read once for all of them, and the kernel is evaluated once (once more for gradient).
 *
 *   scores    n x r    f(x); whiten = true: f_j(x) / sqrt(lambda_j)
 *   density   n x 1    w^T k_C(x) / n
 *   residual  n x 1    |phi(x) - mean|^2 - |f(x)|^2, the squared distance to the components (SPE)
 *   t2        n x 1    sum f_j(x)^2 / lambda_j (Hotelling)
 *   gradient  n x r d  df_j/dx_c in column j d + c, with respect to x before the input map
 *   labels    n x 1    clusters, i64 from 0 on, in order of decreasing weight; -1 where scores are NaN
 *
 * If the model has the tensor scatter, its entries take the place of lambda_j. Unusual rows exceed a limit: see
 * mercer_model_info(model, "/limits/residual/p95", ...) and include/README.md.
 * MERCER_E_UNSUPPORTED: the model lacks the capability; MERCER_E_VALUE: no output has that index. */
typedef struct mercer_output {
    int64_t struct_size;
    const char *name;
    const char *doc;
    int64_t rows, cols;
    int32_t dtype;
    int32_t reserved;
} mercer_output;
MERCER_API int32_t mercer_model_output(mercer_model *model, mercer_recipe *what, mercer_data *data, int64_t index,
                                       mercer_output *out, int64_t *count);
MERCER_API int32_t mercer_model_transform(mercer_model *model, mercer_recipe *what, mercer_data *data,
                                          const mercer_view *outs, int64_t count, const mercer_run *run);

/* Makes a new model from count others: operation = a recipe made from an entry of "derivations". The derivation
 * compress takes one model, selects fewer centres with its reducer, and projects components and mean onto the span of
 * these; the report states the loss at /compressed. data: the objects that the models were fitted on if their centres
 * are objects, else NULL. MERCER_E_UNSUPPORTED: the operation does not apply to such a model. */
MERCER_API int32_t mercer_model_derive(mercer_model **out, mercer_recipe *operation, mercer_model *const *models,
                                       int64_t count, mercer_data *data, const mercer_run *run);

/* Forecasts what mercer_model_derive will need in addition to the models. Unlike mercer_recipe_forecast, this function
 * reads no rows: the forecast follows from the shapes of the models and the parameters alone. So likely can exceed what
 * happens, even if it equals most. passes and rows are 0.
 * MERCER_E_BUDGET: the derivation would be refused. */
MERCER_API int32_t mercer_model_forecast(mercer_recipe *operation, mercer_model *const *models, int64_t count,
                                         mercer_data *data, const mercer_run *run, mercer_forecast *out);

/* The main numbers of a model. */
typedef struct mercer_summary {
    int64_t struct_size;
    int64_t n, d, m, r; /* rows fitted on, columns that go into the input map (0: objects), centres, components */
    int32_t dtype;      /* of tiles, centres and outputs */
    uint32_t outcome;   /* MERCER_RANK_REACHED ... */
    uint32_t capabilities;
    int32_t reserved;
    double total_variance;
    int64_t d_mapped; /* columns that come out of the input map and that the kernel and C have (0: objects) */
} mercer_summary;
MERCER_API int32_t mercer_model_summary(mercer_model *model, mercer_summary *out);

/* Everything else about a model (include/README.md lists the fields). path "" returns all of it as JSON; any other path
 * is a JSON pointer, such as "/timings/total" or "/eigenvalues/0", to one value: as plain text, or as JSON if it is an
 * object or array. MERCER_E_NAME: there is no such value. Borrowed from the model. */
MERCER_API int32_t mercer_model_info(mercer_model *model, const char *path, const char **text);

/* One array of the model, C order, borrowed from it: C (or indices, frequencies; sparse: C.values, C.columns,
 * C.offsets), A, b, nu, lambda, w, v, labels, clusters, assignment, T.shift, T.scale, shift.1 ... MERCER_E_NAME: the
 * model has none of that name. */
MERCER_API int32_t mercer_model_tensor(mercer_model *model, const char *name, mercer_view *out);

/* Makes a model from arrays, which are copied. json has the format of mercer_model_info; only "kernel" is required
 * ("parameters", "n", "method", "capabilities", "total_variance" have defaults). tensors must include a set of centres
 * and A. Everything is checked as in a file; what is inconsistent is MERCER_E_MODEL. */
MERCER_API int32_t mercer_model_from_tensors(mercer_model **out, mercer_context *context, const char *json,
                                             const char *const *names, const mercer_view *tensors, int64_t count);

/* Files are safetensors: see include/README.md. save replaces path atomically: it holds either the complete old file or
 * the complete new one. A model is loaded even if its kernel cannot be computed here, because a plugin is missing, is
 * refused, or is of a version that does not accept the model's parameters. Functions that need no kernel then work
 * (summary, info, tensor, save, write), and all others fail with MERCER_E_PLUGIN; the model has no capability, and info
 * reports the reason at "/missing". mercer_model_from_tensors makes no such model. If a plugin is of another version
 * than at the time of the fit, so that values may differ, "/changed" and the log say so. A model whose user kernel is
 * not bound has no "/missing": functions that need the kernel are MERCER_E_UNSUPPORTED until mercer_model_bind gives it
 * back. */
MERCER_API int32_t mercer_model_save(mercer_model *model, const char *path);
MERCER_API int32_t mercer_model_load(mercer_model **out, mercer_context *context, const char *path);

/* These functions pass the bytes of such a file through callbacks, in order; a model has the same bytes each time. read
 * fills up to capacity bytes and stores their number in *count; 0 is the end. The library requests no byte beyond the
 * last one of the model. */
typedef struct mercer_sink {
    int64_t struct_size;
    int32_t (*write)(void *user, const void *bytes, int64_t count);
    void *user;
} mercer_sink;
typedef struct mercer_source {
    int64_t struct_size;
    int32_t (*read)(void *user, void *bytes, int64_t capacity, int64_t *count);
    void *user;
} mercer_source;
MERCER_API int32_t mercer_model_write(mercer_model *model, const mercer_sink *sink);
MERCER_API int32_t mercer_model_read(mercer_model **out, mercer_context *context, const mercer_source *source);

/* Makes the same model with its user kernel restored, after mercer_model_load. MERCER_E_UNSUPPORTED: the model has no
 * leaf "user". */
MERCER_API int32_t mercer_model_bind(mercer_model **out, mercer_model *model, const mercer_user_kernel *kernel);

#ifdef __cplusplus
}
#endif
#endif
