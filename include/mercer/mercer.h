/* mercer.h - kernel PCA and its reduced, greedy and sampled relatives on large data. The whole user API, C11.
 *
 * Every method ends in one immutable object, the model:   f(x) = A^T k_C(T x) / g(x) - b
 *
 *     mercer_context *ctx;  mercer_data *data;  mercer_recipe *recipe;  mercer_model *model;
 *     mercer_context_create(&ctx);
 *     mercer_data_from_view(&data, ctx, &view);            // rows are observations
 *     mercer_recipe_create(&recipe, ctx, "kpca");
 *     mercer_recipe_set(recipe, "kernel.sigma", "5");
 *     mercer_model_fit(&model, recipe, data, NULL);
 *     mercer_model_transform(model, NULL, data, &scores, 1, NULL);
 *
 * Conventions, which hold for every function unless its comment says otherwise:
 * - Status. What can fail returns an int32_t: 0 (MERCER_OK) or one of the MERCER_E_ codes. After a failure no object was
 *   made, no argument changed, *out is NULL, and mercer_last_error() tells this thread why in one line. Any function may
 *   answer MERCER_E_ARGUMENT, MERCER_E_SHAPE (of a view), MERCER_E_MEMORY and MERCER_E_INTERNAL; one that takes a mercer_run
 *   also MERCER_E_BUDGET, MERCER_E_CANCELLED and MERCER_E_CALLBACK, and MERCER_E_DATA and MERCER_E_IO if it reads data. What
 *   else it may answer stands at the function.
 * - Ownership. The out-pointer of a constructor comes first and is the caller's to destroy; _destroy(NULL) is legal.
 *   Text and arrays handed out are borrowed, never written, and live as long as the comment says (of a model: until the
 *   caller's own reference is destroyed). Arguments are copied before the call returns, but for the arrays of
 *   mercer_data_from_view and mercer_data_attach and for the user pointers of callbacks, which must live until the handle
 *   is destroyed. release, where a struct has it, is called once, when the last handle that uses the struct is gone, on
 *   that thread; never if the call that took the struct failed.
 * - Threads. Each context, data and recipe handle belongs to one thread at a time, by itself: handles of one context may
 *   be used, and destroyed, by different threads at once, in any order. A model belongs to all: any number of threads may
 *   use it at once, and any thread may destroy its own reference; but a model whose user kernel is not MERCER_THREAD_SAFE
 *   belongs to one thread at a time. After fork() the child may use all handles, on one thread.
 * - Callbacks run on the thread that called the function, unless they are declared MERCER_THREAD_SAFE. They return 0, or
 *   any other value to stop the call with MERCER_E_CALLBACK; the text is what this very callback gave to mercer_set_error,
 *   if it did. What they receive lives for that call. They must not unwind (no longjmp, no exception). Inside a callback
 *   any function may be called on handles that the running call does not use, and on any model.
 * - Structs open with struct_size = sizeof of the struct as the caller was compiled, outputs too; nothing beyond it is read
 *   or written, and missing fields count as 0. In an array of structs, elements lie struct_size of the first apart, all
 *   alike. Structs only ever grow at the end. Padding is explicit and must be 0. Text is UTF-8; sizes are int64_t; rows
 *   and columns count from 0, in error texts too.
 */
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

/* One code per kind of fault; the text of mercer_last_error tells the cases apart. Numbers are never reused. The same list is
 * the registry "statuses" of mercer_context_entry, and `mercer methods statuses` in a shell. */
enum {
    MERCER_OK = 0,            /* done; a model's outcome says what it has met */
    MERCER_E_ARGUMENT = 1,    /* a null pointer or handle, a struct_size that cannot be, a flag that does not exist */
    MERCER_E_SHAPE = 2,       /* sizes or strides that do not fit, or whose product overflows */
    MERCER_E_VALUE = 3,       /* a parameter outside its range, or parameters that exclude each other */
    MERCER_E_NAME = 4,        /* an unknown method, part, parameter, tensor ...: the text says the nearest known */
    MERCER_E_DATA = 5,        /* NaN or Inf in the data, values outside the kernel's domain or type, a damaged file */
    MERCER_E_MODEL = 6,       /* a damaged or inconsistent model file or set of tensors */
    MERCER_E_PLUGIN = 7,      /* a plugin is missing, was refused, or broke its contract */
    MERCER_E_UNSUPPORTED = 8, /* the combination, or this model, has no such operation */
    MERCER_E_NUMERICAL = 9,   /* not converged under solver.strict, or a non-finite result */
    MERCER_E_MEMORY = 10,     /* an allocation failed */
    MERCER_E_BUDGET = 11,     /* would need more than the memory budget: the text says how much */
    MERCER_E_CANCELLED = 12,  /* the progress callback or the cancel flag asked to stop */
    MERCER_E_CALLBACK = 13,   /* a callback of the caller returned an error */
    MERCER_E_IO = 14,         /* the operating system refused to open, read, write or rename */
    MERCER_E_INTERNAL = 15    /* a defect of this library: please report it */
};

/* Text: "0.1.0 (abi 0)". Static. */
MERCER_API const char *mercer_version(void);

/* This thread's last failure, one line; "" before the first. Borrowed until its next one; success and destructors leave it. */
MERCER_API const char *mercer_last_error(void);

/* For callbacks, on the thread they run on: the text of the failure if this callback returns non-zero. Copied, up to 1023
 * bytes. A MERCER_THREAD_SAFE callback has no other way to say what went wrong. */
MERCER_API void mercer_set_error(const char *text);

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* Types of entries: IEEE numbers, and integers with a sign. */
enum { MERCER_F32 = 1, MERCER_F64 = 2, MERCER_I64 = 3, MERCER_I32 = 4 }; /* i32: sparse indices only */

/* A matrix in the caller's memory; strides count elements, and do not matter where there are none. One of the two is 1
 * (of a row-major matrix col_stride, of a column-major one row_stride); a vector is one column. Only outputs are written. An
 * output must not share memory with the rows that the same call reads (MERCER_E_ARGUMENT); disjoint columns of one array do not. */
typedef struct mercer_view {
    int64_t struct_size;
    int32_t dtype;
    int32_t reserved;
    int64_t rows, cols;
    int64_t row_stride, col_stride;
    void *data;
} mercer_view;

/* Flags, of callbacks and of kernels. */
enum {
    MERCER_THREAD_SAFE = 1, /* may be called by any thread, by several at once */
    MERCER_PSD = 2,         /* the kernel's Gram matrices have no negative eigenvalue */
    MERCER_REWINDABLE = 4,  /* chunks: may be read again from row 0 */
    MERCER_RADIAL = 8,      /* the kernel is a function of |x - y| */
    MERCER_NONNEGATIVE = 16 /* the kernel's domain is x >= 0 */
};

/* What a long call reports: monotone, on the calling thread, at most ten times a second and (but for one dense
 * factorisation) at least every 0.2 s, so that it can poll for interrupts. */
typedef struct mercer_progress {
    int64_t struct_size;
    const char *stage; /* read, reduce, gram, solve, certify, lift ... */
    double fraction;   /* of the whole call, 0 to 1 */
    double elapsed;    /* seconds */
    double remaining;  /* seconds, likely; < 0: nothing can be said yet */
} mercer_progress;

/* How a long call runs: never part of a recipe, never changes a bit of the result; but memory does where it decides how much
 * of an approximation is held: a factor that is made again equals the held one to rounding, method `auto` grows its factor no
 * further than fits, and an open number of components ends where memory does. NULL, and every 0 inside, mean the context's
 * setting. cancel is read atomically and answered within 0.2 s, but for one dense factorisation; while a callback of the
 * caller runs, when it returns. Pointers live for the call. */
typedef struct mercer_run {
    int64_t struct_size;
    int64_t threads; /* 0: all cores this process may use (cores and memory are looked up once a second at most) */
    int64_t memory;  /* budget in bytes for all that the library allocates; 0: 60 % of what is available */
    int32_t (*progress)(void *user, const mercer_progress *progress); /* non-zero stops: MERCER_E_CANCELLED */
    void *user;
    const int32_t *cancel; /* set to non-zero by any thread or signal handler to stop */
    /* A fit whose solver iterates writes to this file what it needs to go on, after its first cycle and then as often as takes
     * a tenth of the time; NULL: nowhere. A file that is there is resumed: the model is the same to the bit, its report has the
     * passes of both runs. Refused where recipe, kernel, rows or weights are others (E_VALUE, the text says which), where it
     * is damaged (E_MODEL), and before any work where it cannot be written to (E_IO). A write that fails later is a warning in
     * the log: the file stays as it was, the fit goes on. It stays when the fit ends, for the model may yet be lost, or want
     * more passes: remove it once the model is safe. Other calls, and fits that end in no such solver, leave it alone. */
    const char *checkpoint;
} mercer_run;

/* ---- context ----------------------------------------------------------------------------------------------------- */

/* The four handles: where plugins are looked for, and settings; rows; a method and its parameters; what a fit gives. */
typedef struct mercer_context mercer_context;
typedef struct mercer_data mercer_data;
typedef struct mercer_recipe mercer_recipe;
typedef struct mercer_model mercer_model;

/* A new context; making it opens no plugin and starts no thread. It may be destroyed before what was made of it. */
MERCER_API int32_t mercer_context_create(mercer_context **out);
MERCER_API void mercer_context_destroy(mercer_context *context);

/* Adds an absolute folder (or MERCER_E_VALUE) in which plugins are looked for, before MERCER_PLUGIN_PATH and the installed
 * ones. One that is not there or not to be trusted is passed over. Two different plugins of a name: none is taken. */
MERCER_API int32_t mercer_context_add_plugins(mercer_context *context, const char *folder);

/* Receives log lines (level 0 = debug, 1 = note, 2 = warning), on the thread whose call is running. NULL: none. */
MERCER_API int32_t mercer_context_set_log(mercer_context *context,
                                          void (*log)(void *user, int32_t level, const char *text), void *user);

/* What a NULL run, or a 0 in one, means from now on. Copied; a recipe copies it, and the log, when it is made, so what they
 * point to must live as long as both; a model copies threads and memory only. MERCER_E_VALUE: one is out of range. */
MERCER_API int32_t mercer_context_set_run(mercer_context *context, const mercer_run *run);

/* An entry of a registry. what = "methods" | "operations" (outputs of a model) | "derivations" (a model of models) |
 * "kernels" | "reducers" | "lifts" | "solvers" | "statuses" | "build" (of the library: name, and in summary its BLAS,
 * instruction set, threads ...) | "folders" (in which plugins are looked for, in that order; summary says what is there) |
 * "files" (in them; "found", "the same as ...", "refused, ..."). Texts live until the context is destroyed. */
typedef struct mercer_entry {
    int64_t struct_size;
    const char *name;
    const char *aliases;   /* separated by blanks */
    const char *summary;   /* one line */
    const char *reference; /* paper, equation */
    const char *path;      /* the plugin's file, "" when built in */
    int64_t value;         /* a status' number; plugins in a folder */
    const char *version;   /* of a plugin */
} mercer_entry;

/* How many entries a registry has, and the one with that index, from 0 on. Counting and listing open no plugin: summary,
 * reference and version of one are "" until it has been loaded by name. MERCER_E_NAME: no such registry; E_VALUE: index. */
MERCER_API int32_t mercer_context_count(mercer_context *context, const char *what, int64_t *count);
MERCER_API int32_t mercer_context_entry(mercer_context *context, const char *what, int64_t index, mercer_entry *out);

/* The entry of that name or alias; a plugin is loaded for it. MERCER_E_NAME: there is none, the text says the nearest;
 * MERCER_E_PLUGIN: it is refused, the text says why. */
MERCER_API int32_t mercer_context_find(mercer_context *context, const char *what, const char *name, mercer_entry *out);

/* Loads a plugin and runs the conformance suite of its kind on it, in this process. name = "kernel-gaussian" or an
 * absolute path. Every check is logged, as "check: TITLE" (level 0) before and "pass: TITLE" after it; the first that fails
 * is the error: MERCER_E_PLUGIN. `mercer plugin-check` does this in a process of its own. */
MERCER_API int32_t mercer_plugin_check(mercer_context *context, const char *name);

/* ---- data -------------------------------------------------------------------------------------------------------- */

/* n observations, to fit on or to transform. Values are checked when they are read: NaN or Inf is MERCER_E_DATA with the
 * first row and column (NaN: unless data.missing = rows). All constructors take a context for its log and settings only. */

/* Rows in the caller's memory: f32 or f64, row- or column-major, borrowed until mercer_data_destroy. */
MERCER_API int32_t mercer_data_from_view(mercer_data **out, mercer_context *context, const mercer_view *view);

/* A file: .npy (v1 to v3, both orders; u1 i1 u2 i2 become f32, i4 u4 i8 u8 f64; f4, f8, b1), read by windows that count in
 * the budget, never mapped, and to stay unchanged until mercer_data_destroy; or CSV, read whole into f64. What is read whole
 * is read before this returns, as the context's run says (memory, progress, cancel). options NULL: all is found out. A column
 * is named by its name, or by its number from 0; what a model was fitted on, mercer_model_info tells at /columns. Missing
 * values: "", NA, NaN, nan, null, ?. MERCER_E_IO: it cannot be read; MERCER_E_DATA: damaged, pickled, of a type that is not
 * read; MERCER_E_NAME: no such column; MERCER_E_UNSUPPORTED: columns, labels, weights or ids of an npy file. Pipes are read
 * whole. */
enum { MERCER_NPY = 1, MERCER_CSV = 2 };
typedef struct mercer_file {
    int64_t struct_size;
    int32_t format; /* 0: MERCER_NPY if named *.npy or begun as one, else MERCER_CSV; all else but values is for CSV */
    int32_t separator;   /* ',' ';' '\t' ' ' '|'; 0: that of the first four which parts the first lines alike */
    int32_t header;      /* 1: the first line has names; -1: it has not; 0: it has where there is no number in it */
    int32_t values;      /* 0: rows of columns; MERCER_DISTANCE or MERCER_KERNEL: as from_matrix below, read whole */
    const char *labels;  /* a column: text becomes 0, 1 ... in order of appearance, whole numbers stay; NULL: none */
    const char *weights; /* a column, numbers >= 0; NULL: none */
    const char *columns; /* separated by commas ("a name", quoted, may have one); NULL: all others that hold numbers */
    const char *ids;     /* a column that names the rows, kept as text (mercer_data_facts); NULL: none */
} mercer_file;
MERCER_API int32_t mercer_data_from_file(mercer_data **out, mercer_context *context, const char *path,
                                         const mercer_file *options);

/* Rows by callback; without MERCER_REWINDABLE they serve one call, with it first_row = 0 may come again. next writes up to
 * capacity rows, row-major, beginning with row first_row, and says how many in *rows; 0 rows is the end. */
typedef struct mercer_chunks {
    int64_t struct_size;
    int32_t dtype; /* MERCER_F32 or MERCER_F64 */
    int32_t flags; /* MERCER_REWINDABLE */
    int64_t rows;  /* -1: not known before the end */
    int64_t cols;
    int32_t (*next)(void *user, int64_t first_row, int64_t capacity, void *buffer, int64_t *rows);
    void *user;
    void (*release)(void *user); /* or NULL */
} mercer_chunks;
MERCER_API int32_t mercer_data_from_chunks(mercer_data **out, mercer_context *context, const mercer_chunks *chunks);

/* Compressed sparse rows or columns, copied. Order inside a row is free; MERCER_E_DATA: an entry twice, or outside. */
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

/* Objects known only by pairs: fills values[k] for the pairs (i[k], j[k]), k < count. For data to fit on, i and j are
 * both rows of it; for queries, i is a query and j a row of the data the model was fitted on. A distance serves every
 * kernel of form sqdist; kernel values go with the kernel "user", for which no function is then needed. A fit asks for each
 * unordered pair once (pairs within blocks of 256 rows in both orders) if it stores the kernel matrix (see
 * mercer_recipe_forecast), else once a pass, and for a sample of at most 100 rows before that if a bandwidth is asked for. A
 * forecast asks for pairs among at most 100 rows. */
enum { MERCER_DISTANCE = 1, MERCER_KERNEL = 2 };
typedef struct mercer_objects {
    int64_t struct_size;
    int64_t rows;
    int32_t values; /* MERCER_DISTANCE or MERCER_KERNEL */
    int32_t flags;  /* MERCER_THREAD_SAFE, MERCER_PSD */
    int32_t (*pairs)(void *user, const int64_t *i, const int64_t *j, int64_t count, double *values);
    /* k(i, i); NULL: pairs(i, i) where i is a row of the fitted data, and not available for queries; distances: 0 */
    int32_t (*self)(void *user, const int64_t *i, int64_t count, double *values);
    void *user;
    void (*release)(void *user);
} mercer_objects;
MERCER_API int32_t mercer_data_from_objects(mercer_data **out, mercer_context *context, const mercer_objects *objects);

/* Objects known by a matrix, borrowed until mercer_data_destroy; values = MERCER_DISTANCE or MERCER_KERNEL (with the kernel
 * "user", as above). To fit on: n x n, symmetric. Queries: a row each, with n columns, or m in the order of the model's
 * "indices". Kernel values are taken to be positive semi-definite: a fit that finds they are not says so. */
MERCER_API int32_t mercer_data_from_matrix(mercer_data **out, mercer_context *context, const mercer_view *view,
                                           int32_t values);

/* Adds a column to the data, borrowed: what = "weights" (rows x 1, f32 or f64, >= 0, some > 0: a weight of 2 is a row
 * given twice), "landmarks" (i64 row numbers from 0, or rows of points; for the reducer "given") or "labels" (rows x 1, i64;
 * for pictures and for those who ask mercer_data_inspect, no fit looks at them). MERCER_E_NAME: what is none of them. */
MERCER_API int32_t mercer_data_attach(mercer_data *data, const char *what, const mercer_view *view);

/* What is known of the data; what is borrowed lives until mercer_data_destroy. */
enum { MERCER_DENSE = 1, MERCER_SPARSE = 2, MERCER_OBJECTS = 3 };
typedef struct mercer_data_facts {
    int64_t struct_size;
    int64_t rows; /* -1: not known before they are read */
    int64_t cols; /* 0: objects */
    int32_t dtype;
    int32_t kind;
    mercer_view labels; /* rows x 1, i64, borrowed; data NULL: there are none */
    const char
        *names;      /* JSON {"columns": [...], "labels": [text of label 0, 1 ...]}, [] for none; with ids, also "ids":
                           their column's name; borrowed */
    const char *ids; /* the rows' texts one after the other, each ended by a zero byte; NULL: none; borrowed */
} mercer_data_facts;
MERCER_API int32_t mercer_data_inspect(const mercer_data *data, mercer_data_facts *out);
MERCER_API void mercer_data_destroy(mercer_data *data);

/* ---- recipe ------------------------------------------------------------------------------------------------------ */

/* A method, operation or derivation (see mercer_context_entry) with its parameters; each is checked as it is set.
 * MERCER_E_NAME: there is none of that name. */
MERCER_API int32_t mercer_recipe_create(mercer_recipe **out, mercer_context *context, const char *name);
MERCER_API void mercer_recipe_destroy(mercer_recipe *recipe);

/* Sets one parameter, named part.name ("kernel.sigma", "reducer.m", "seed") or by a short name where that is unique in
 * the recipe ("sigma"); '-' and '_' are the same. A part ("kernel", "reducer", "lift", "solver") is a parameter as
 * well: changing it resets its rows. A recipe has only the parameters that have an effect in it: MERCER_E_NAME says where
 * another one belongs, or which is nearest; MERCER_E_VALUE what is allowed. Numbers as text round-trip; "" means unset. */
MERCER_API int32_t mercer_recipe_set(mercer_recipe *recipe, const char *name, const char *value);
MERCER_API int32_t mercer_recipe_set_real(mercer_recipe *recipe, const char *name, double value);

/* Sets many, names of parts first whatever their order, all or none. */
MERCER_API int32_t mercer_recipe_set_many(mercer_recipe *recipe, const char *const *names, const char *const *values,
                                          int64_t count);

/* The value as text, "" when unset; borrowed until the recipe changes or is destroyed. MERCER_E_NAME as above. */
MERCER_API int32_t mercer_recipe_get(mercer_recipe *recipe, const char *name, const char **value);

/* The parameters of a recipe as it now is: help, flags, keywords and documentation are made of these rows. Texts live
 * until a part of the recipe changes or it is destroyed. MERCER_E_VALUE: there is no row of that index, from 0 on. */
enum { MERCER_REAL = 1, MERCER_INT = 2, MERCER_BOOL = 3, MERCER_CHOICE = 4, MERCER_TEXT = 5 };
enum {
    MERCER_LO_OPEN = 1, /* lo itself is not allowed */
    MERCER_HI_OPEN = 2,
    MERCER_SHORT = 4, /* may be named without its part even where that is not unique */
    MERCER_PART = 8,  /* a choice of part; changing it changes the rows that follow */
    MERCER_AUTO = 16  /* the value 0 (or unset) means: chosen by the library */
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
    double lo, hi; /* -inf, inf where there is no end */
} mercer_row;
MERCER_API int32_t mercer_recipe_rows(mercer_recipe *recipe, int64_t *count);
MERCER_API int32_t mercer_recipe_row(mercer_recipe *recipe, int64_t index, mercer_row *out);

/* The function behind the leaf "user" of the kernel expression (which becomes "user" if it has none): k(x_i, y_j) for
 * all rows of x and y, both row-major and of the dtype of k. Views live for the call. Copied into the recipe; release
 * is called when the last recipe or model that uses it is gone, on that thread. A model that is written keeps the name
 * only: see mercer_model_bind. */
typedef struct mercer_user_kernel {
    int64_t struct_size;
    int32_t flags; /* MERCER_THREAD_SAFE, MERCER_PSD */
    int32_t reserved;
    /* x and y: the leaf's columns after the input map, sparse rows with their zeros; every k is to be written. */
    int32_t (*tile)(void *user, const mercer_view *x, const mercer_view *y, const mercer_view *k);
    void *user;
    void (*release)(void *user);
} mercer_user_kernel;
MERCER_API int32_t mercer_recipe_set_kernel(mercer_recipe *recipe, const mercer_user_kernel *kernel);

/* What a fit will need, before it is done: what is likely, and what is never exceeded. Where the two are equal the
 * shape decides, and the figure is right to 10 %. A budget of bytes.most is enough; MERCER_E_BUDGET where the fit
 * will be refused. Data may be larger than the budget, but a model holds its centres, which of an exact one are all
 * rows: "nystrom", "auto" and the reducer "rpcholesky" keep fewer ("auto" no fewer than 32, and a factor of so many
 * columns in memory). Where the number of components is open, bytes.most is for as many as the budget holds. What is
 * likely depends on the spectrum: the forecast reads up to 400 rows spread over the data and estimates it from them,
 * in about 0.1 s at most; flops.likely is then right within a factor of 3, as a rule. It reads no rows of a chunk
 * callback; of a user kernel or objects it asks for pairs among at most 100 rows and at most a hundredth of all
 * pairs. */
typedef struct mercer_figure {
    double likely;
    double most;
} mercer_figure;
typedef struct mercer_forecast {
    int64_t struct_size;
    mercer_figure bytes; /* most at one time, the model included, BLAS's own buffers not */
    mercer_figure kernel_evaluations;
    mercer_figure passes; /* times that the kernel matrix of the centres is computed; 0: a projection on them */
    mercer_figure flops;  /* of kernel values (2 d each), products, factors and factorisations */
    double dense_seconds; /* the longest part that cannot be cancelled, about */
    int32_t streams;      /* 1: kernel values are recomputed in each pass, 0: stored */
    int32_t reserved;
    const char *road; /* how it will be done and why; borrowed until the recipe is asked again or destroyed */
    double seconds;   /* likely, of the whole fit, at the speed that was measured in this process; it decides nothing */
    int64_t rows;     /* that were looked at; 0: the shape alone was judged */
    double look_seconds; /* that looking took */
} mercer_forecast;
MERCER_API int32_t mercer_recipe_forecast(mercer_recipe *recipe, mercer_data *data, const mercer_run *run,
                                          mercer_forecast *out);

/* The kernel matrix of the recipe's kernel: k(x_i, y_j) into out (rows of x) x (rows of y), or, with y NULL, k(x_i, x_j).
 * In out's type; map and bandwidth are those of a fit on x. Entries of rows that data.missing leaves out are NaN. */
MERCER_API int32_t mercer_recipe_kernel(mercer_recipe *recipe, mercer_data *x, mercer_data *y, const mercer_view *out,
                                        const mercer_run *run);

/* ---- model ------------------------------------------------------------------------------------------------------- */

/* Things that a usable model may have met. */
enum {
    MERCER_RANK_REACHED = 1, /* fewer components than asked for: no more are above rounding, which in f64 is less */
    MERCER_INDEFINITE = 2,   /* the kernel matrix has negative eigenvalues; they were left out */
    /* Less than was asked for (the report says how much; 4 is kept): residuals above solver.tol; accuracy of `auto` not proved,
     * or a share of variance or threshold not reached, as the memory budget holds no more. An error under solver.strict. */
    MERCER_NOT_CONVERGED = 8
};

/* What a model can do; an operation that needs more is MERCER_E_UNSUPPORTED. */
enum {
    MERCER_CAN_ORTHONORMAL = 1, /* A^T k(C, C) A = I: the components are an orthonormal basis */
    MERCER_CAN_MEAN = 2,        /* nu: the feature mean */
    MERCER_CAN_MERGE = 4,
    MERCER_CAN_DENSITY = 8,   /* w^T k_C(x) / n */
    MERCER_CAN_RESIDUAL = 16, /* distance to the components in feature space */
    MERCER_CAN_SHARE = 32, /* may be used by several threads at once: no user kernel that is not MERCER_THREAD_SAFE */
    MERCER_CAN_GRADIENT = 64, /* df/dx: rows are dense, and every leaf of the kernel has a derivative */
    MERCER_CAN_LABELS = 128   /* clusters */
};

/* Fits; data may be destroyed afterwards. The recipe is copied. Also MERCER_E_VALUE and MERCER_E_UNSUPPORTED: parameters that
 * do not go with these data; MERCER_E_NUMERICAL: not converged under solver.strict; MERCER_E_PLUGIN. */
MERCER_API int32_t mercer_model_fit(mercer_model **out, mercer_recipe *recipe, mercer_data *data,
                                    const mercer_run *run);

/* One more reference to the same model, for another owner, who destroys it. */
MERCER_API int32_t mercer_model_retain(mercer_model *model);
MERCER_API void mercer_model_destroy(mercer_model *model);

/* An output operation (what = a recipe of an entry of "operations" with its options, NULL = scores) on data, into count
 * arrays of the caller, each with the shape and dtype that mercer_model_output says (f64 is accepted where that is f32; one
 * stride is 1; more columns are legal and stay as they are; data NULL: not wanted). mercer_model_output fills *out for 0 <=
 * index < *count; its texts are static. A recipe of several, made as "scores,t2,residual", has the outputs of each in this
 * order; the data are read once for all of them, and the kernel is evaluated once (once more for gradient).
 *
 *   scores    n x r    f(x); whiten = true: f_j(x) / sqrt(lambda_j)
 *   density   n x 1    w^T k_C(x) / n
 *   residual  n x 1    |phi(x) - mean|^2 - |f(x)|^2, the squared distance to the components (SPE)
 *   t2        n x 1    sum f_j(x)^2 / lambda_j (Hotelling)
 *   gradient  n x r d  df_j/dx_c in column j d + c, x as it is given (before the input map)
 *   labels    n x 1    of clusters, i64 from 0 on, by falling weight; -1 where scores are NaN
 * What is unusual is above a limit: mercer_model_info(model, "/limits/residual/p95", ...), include/README.md.
 * MERCER_E_UNSUPPORTED: the model lacks the capability; MERCER_E_VALUE: no output of that index. */
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

/* A new model of count others: operation = a recipe of an entry of "derivations". compress, of 1 model: on fewer centres,
 * which its reducer chooses and on whose span components and mean are projected; the report's /compressed says what that
 * loses. data: the objects fitted on where centres are objects, else NULL. E_UNSUPPORTED: not for such a model. */
MERCER_API int32_t mercer_model_derive(mercer_model **out, mercer_recipe *operation, mercer_model *const *models,
                                       int64_t count, mercer_data *data, const mercer_run *run);

/* The numbers that every caller wants of a model. */
typedef struct mercer_summary {
    int64_t struct_size;
    int64_t n, d, m, r; /* rows fitted on, their columns (0: objects), centres, components */
    int32_t dtype;      /* of tiles, centres and outputs */
    uint32_t outcome;   /* MERCER_RANK_REACHED ... */
    uint32_t capabilities;
    int32_t reserved;
    double total_variance;
} mercer_summary;
MERCER_API int32_t mercer_model_summary(mercer_model *model, mercer_summary *out);

/* Everything else that is known of a model (include/README.md names the fields): path "" = all of it as JSON, else one
 * value by JSON pointer, "/timings/total" or "/eigenvalues/0", as plain text; an object or array as JSON. MERCER_E_NAME
 * where there is none. Borrowed from the model. */
MERCER_API int32_t mercer_model_info(mercer_model *model, const char *path, const char **text);

/* One array of the model, C order, borrowed from it: C (or indices, frequencies; sparse: C.values, C.columns, C.offsets), A, b,
 * nu, lambda, w, v, labels, clusters, T.shift, T.scale, shift.1 ... MERCER_E_NAME where the model has none of that name. */
MERCER_API int32_t mercer_model_tensor(mercer_model *model, const char *name, mercer_view *out);

/* A model from arrays, copied: json as mercer_model_info writes it, of which only "kernel" is needed ("parameters", "n",
 * "method", "capabilities", "total_variance" have defaults); tensors at least a centre set and A. Checked like a file:
 * MERCER_E_MODEL. */
MERCER_API int32_t mercer_model_from_tensors(mercer_model **out, mercer_context *context, const char *json,
                                             const char *const *names, const mercer_view *tensors, int64_t count);

/* Files are safetensors: see include/README.md. save replaces path atomically: the old file or the new one, never less. A model
 * whose kernel cannot be computed here, because a plugin is missing, refused, or of a version that does not take the model's
 * parameters, is loaded all the same, to be looked at: what needs no kernel works (summary, info, tensor, save, write), all else
 * is MERCER_E_PLUGIN, it has no capability, info at "/missing" says what it wants. from_tensors makes none. Of a plugin that is
 * of another version than it was, so that values may differ, "/changed" and the log tell. */
MERCER_API int32_t mercer_model_save(mercer_model *model, const char *path);
MERCER_API int32_t mercer_model_load(mercer_model **out, mercer_context *context, const char *path);

/* The same bytes through callbacks, in order, the same ones each time. read fills up to capacity bytes and says how many; 0
 * is the end; no byte beyond the model's last is asked for. */
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

/* The same model with its user kernel given back, after mercer_model_load. MERCER_E_UNSUPPORTED: it has no leaf "user". */
MERCER_API int32_t mercer_model_bind(mercer_model **out, mercer_model *model, const mercer_user_kernel *kernel);

#ifdef __cplusplus
}
#endif
#endif
