/* plugin.h - how to add a kernel, a reducer or a solver to libmercer; C11 or C++. A plugin includes nothing else from
 * the library, except that reducers by pivoted Cholesky may include pivots.h.
 *
 * A plugin is one shared module named KIND-NAME.so ("kernel-gaussian.so"). It exports one const symbol, mercer_plugin,
 * which MERCER_PLUGIN(...) defines at the end of its one source file. It links neither libmercer nor a BLAS: the host
 * passes a table of services to every operation. CONTRIBUTING.md shows a complete kernel.
 *
 * Rules. Operations are reentrant: parameters are const once finished, and there is no mutable static. No operation
 * unwinds (no exception, no longjmp), prints, exits, or changes signals or the floating-point mode. Operations that
 * return int32_t return a status of mercer.h. To refuse, write `return host->fail(task, MERCER_E_VALUE, "sigma = %g,
 * must be > 0", sigma)`; return a non-zero status of a service unchanged. Matrices named f64 are column-major; points
 * are row-major, of the tile's dtype. Structs begin with struct_size and only grow at the end; set the fields of a
 * struct that you receive one by one, never the whole struct. While MERCER_ABI is 0, a plugin must be built from the
 * same version as the library.
 *
 * Services marked [serial] are called from the operation itself, never from inside parallel() or the tile function of a
 * consumer. They and the operators are also the points where the processes of a parallel engine synchronise: an
 * operation must call them in an order and with sizes that depend only on its arguments and on what services returned.
 * Row numbers, columns and vectors always refer to all rows. */
#ifndef MERCER_PLUGIN_H
#define MERCER_PLUGIN_H

#include "mercer.h"
#include <float.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MERCER_PLUGIN_ABI MERCER_ABI

typedef struct mercer_host mercer_host;
typedef struct mercer_task mercer_task; /* one running operation: its memory, random numbers, messages and data */

/* ---- parameters -------------------------------------------------------------------------------------------------- */

/* A parameter row (mercer_row in mercer.h) and the offset of its value in the plugin's parameter struct. The value is a
 * double, an int64_t, an int32_t (a bool, or the index of a choice) or a const char *. Unset: NaN, INT64_MIN, -1, NULL.
 * The name has no part here: "sigma", not "kernel.sigma". */
typedef struct mercer_param {
    int64_t struct_size;
    int64_t offset;
    mercer_row row;
} mercer_param;

/* The field gives the row its name and its offset, and a field of the wrong type does not compile. initial is text
 * ("true" for bools), choices "a|b|c". */
#ifdef __cplusplus
#define MERCER_FIELD(type, params, field)                                                                              \
    ((int64_t)(offsetof(params, field) + 0 * sizeof(*(1 ? (type *)0 : &((params *)0)->field))))
#else
#define MERCER_FIELD(type, params, field)                                                                              \
    ((int64_t)(offsetof(params, field) + 0 * _Generic(&((params *)0)->field, type * : 1)))
#endif
#define MERCER_PARAM(ctype, rtype, params, field, initial, choices, group, flags, lo, hi, doc)                         \
    MERCER_PARAM_NAMED(#field, ctype, rtype, params, field, initial, choices, group, flags, lo, hi, doc)
/* For a field of a nested struct, whose row needs a name of its own. */
#define MERCER_PARAM_NAMED(name, ctype, rtype, params, field, initial, choices, group, flags, lo, hi, doc)             \
    {                                                                                                                  \
        sizeof(mercer_param), MERCER_FIELD(ctype, params, field), {                                                    \
            sizeof(mercer_row), name, doc, initial, choices, group, rtype, flags, lo, hi                               \
        }                                                                                                              \
    }
#define MERCER_PARAM_REAL(params, field, initial, group, flags, lo, hi, doc)                                           \
    MERCER_PARAM(double, MERCER_REAL, params, field, initial, "", group, flags, lo, hi, doc)
#define MERCER_PARAM_INT(params, field, initial, group, flags, lo, hi, doc)                                            \
    MERCER_PARAM(int64_t, MERCER_INT, params, field, initial, "", group, flags, lo, hi, doc)
#define MERCER_PARAM_BOOL(params, field, initial, group, flags, doc)                                                   \
    MERCER_PARAM(int32_t, MERCER_BOOL, params, field, initial, "", group, flags, 0, 1, doc)
#define MERCER_PARAM_CHOICE(params, field, initial, choices, group, flags, doc)                                        \
    MERCER_PARAM(int32_t, MERCER_CHOICE, params, field, initial, choices, group, flags, 0, 0, doc)
#define MERCER_PARAM_TEXT(params, field, initial, group, flags, doc)                                                   \
    MERCER_PARAM(const char *, MERCER_TEXT, params, field, initial, "", group, flags, 0, 0, doc)

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

/* The value that the core computes from a pair of rows before the kernel maps it. */
enum {
    MERCER_DOT = 1,     /* sum x y */
    MERCER_COSINE = 2,  /* sum x y / (|x| |y|), 0 where x or y is 0 */
    MERCER_SQDIST = 3,  /* sum (x - y)^2, never negative, exactly 0 for equal rows */
    MERCER_L1 = 4,      /* sum |x - y| */
    MERCER_CHI2 = 5,    /* sum (x - y)^2 / (x + y), 0/0 = 0; x, y >= 0 */
    MERCER_MIN = 6,     /* sum min(x, y) */
    MERCER_HAMMING = 7, /* number of unequal entries */
    MERCER_BLOCK = 8    /* nothing: the kernel computes whole tiles of rows */
};

typedef struct mercer_kernel_input {
    int64_t struct_size;
    int64_t d; /* columns the kernel sees; 0 for objects */
    /* The result, for these data, of the rule in the choice row "bandwidth" (median or mean of pairwise distances in
     * the kernel's form, or sqrt(d var)) if no other row of its group is set; else 0. */
    double bandwidth;
} mercer_kernel_input;

/* On entry h, kappa and lipschitz are NaN, lo and hi infinite, flags 0. */
typedef struct mercer_kernel_facts {
    int64_t struct_size;
    double h;         /* scale of a radial kernel: k is a function of |x - y| / h; NaN if there is none */
    double kappa;     /* k(x, x) if it is the same for all x, else NaN */
    double lo, hi;    /* all values lie in [lo, hi]; may be infinite */
    double lipschitz; /* largest |dk/dr| of a radial kernel, INFINITY if the slope is unbounded; else NaN */
    int32_t flags;    /* MERCER_PSD, MERCER_RADIAL, MERCER_NONNEGATIVE */
    int32_t reserved;
} mercer_kernel_facts;

typedef struct mercer_kernel_ops {
    int64_t struct_size;
    int32_t form;
    int32_t reserved;

    /* Optional: returns the form, for kernels whose form depends on parameters. */
    int32_t (*choose_form)(const void *params);

    /* Optional: checks combinations of parameters, converts input->bandwidth into the parameter that it determines, and
     * fills derived fields, which have no row. Parameters that were unset and that finish sets are stored in the model.
     * It is called once per fit or kernel matrix, and once when a model is made from stored parameters (bandwidth 0).
     * The host copies params byte by byte: they hold no pointers except TEXT. */
    int32_t (*finish)(const mercer_host *host, mercer_task *task, void *params, const mercer_kernel_input *input);

    /* Maps form values to kernel values, in place. The result for a value depends on that value alone, to the bit,
     * whatever its position; NaN stays NaN. Any count is allowed, and any thread may call map. dtype is MERCER_F32 or
     * MERCER_F64. NULL: the form is the kernel. */
    void (*map)(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count);

    /* For form MERCER_BLOCK only: writes k(x_i, y_j) for all rows of x and y; all views are row-major and of one dtype.
     * Any thread may call block. Of the services it may call only fail, alloc (freed when it returns) and those that
     * any thread may call. */
    int32_t (*block)(const mercer_host *host, mercer_task *task, const void *params, const mercer_view *x,
                     const mercer_view *y, const mercer_view *k);

    /* Fills in the facts for d columns. The host also asks about a very large d: if a radial kernel of form
     * MERCER_SQDIST is positive definite for every d, the magnitude of its derivative decreases with the form value
     * (Schoenberg 1938), and the core relies on that. */
    void (*facts)(const mercer_host *host, const void *params, int64_t d, mercer_kernel_facts *out);

    /* Optional, for kernels > 0: replaces each form value by log k, in place. Models with a denominator g need it for
     * rows far away from all centres. */
    void (*log_map)(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count);

    /* Optional: returns c if the map is v -> exp(c v), and 0 if these parameters give another map. The engine then
     * computes form and map in one step where it can; map remains the reference for these values. */
    double (*profile)(const void *params);

    /* Optional: replaces each form value by the derivative of map there, in place, under the same rules as map; at a
     * cusp it writes 0. NULL with a map: no derivative is known; NULL without a map: the derivative is 1. Models have
     * gradients if all leaves of their kernel have a derivative and are of form MERCER_DOT or MERCER_SQDIST. With a
     * derivative, squared distances of close rows are computed as accurately as the kernel values need, to 8 u kappa
     * (u: unit roundoff); the core calls derivative to find these rows, but seldom if the fact lipschitz is finite. */
    void (*derivative)(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count);
} mercer_kernel_ops;

/* ---- reducers ---------------------------------------------------------------------------------------------------- */

/* The problem as reducers and forecasts see it. */
typedef struct mercer_shape {
    int64_t struct_size;
    int64_t n, d;  /* rows, columns after the input map; d = 0: objects */
    int64_t r;     /* components requested */
    int32_t dtype; /* of tiles */
    int32_t form;  /* of the kernel; 0 if it is an expression of several leaves */
    int32_t flags; /* of the kernel: MERCER_PSD, MERCER_RADIAL */
    int32_t reserved;
    int64_t landmarks; /* number of landmarks given by the caller, 0 = none */
    double h, kappa;   /* of the kernel, as in mercer_kernel_facts; NaN in a forecast that does not know them */
} mercer_shape;

/* The costs of an operation, zeroed before the call. bytes counts the memory of the operation itself, of host->eigh and
 * of the states of visits, but not that of other services, of inputs and of results. Figures that the shape does not
 * determine are bounds; the likely figures are separate fields. */
typedef struct mercer_cost {
    int64_t struct_size;
    int64_t bytes;
    int64_t kernel_evaluations;
    int64_t passes;  /* solver: applications of the operator */
    int64_t columns; /* solver: of the widest application, not counting the first if first_columns > 0 */
    int64_t blocks;  /* solver: columns that it uses of all its blocks; bytes does not include them */
    /* reducer: most centres; n if the number is not known in advance. The host then judges the budget by the likely
     * figures, and plans again after reduce. */
    int64_t m;
    double flops;                    /* in addition to kernel values and applications */
    int64_t first_columns;           /* solver: of the first application, if these may be more than columns; else 0 */
    int64_t first_blocks;            /* solver: columns of its blocks in use during the first application */
    int64_t likely_passes, likely_m; /* 0: equal to the bound */
    double likely_evaluations;       /* 0: equal to the bound */
    int64_t likely_bytes;            /* 0: equal to the bound */
} mercer_cost;

/* What the lift needs in addition to the centres; NULL = not needed. To assignment (n) the reducer writes the number of
 * the centre assigned to each row. Centres are numbered from 0 in the order in which the reducer gives them; the weight
 * of a centre is that of its assigned rows. Every row needs a centre, also one of sample weight 0. (The host leaves out
 * centres of weight 0 and stores -1 for their rows.) */
typedef struct mercer_want {
    int64_t struct_size;
    int64_t *assignment;
} mercer_want;

enum {
    MERCER_NEEDS_VECTORS = 1, /* rows as numbers: refused for objects */
    MERCER_GIVES_POINTS = 2,  /* may give new points; without this flag only row numbers */
    MERCER_GIVES_ASSIGNMENT = 4
};

typedef struct mercer_reducer_ops {
    int64_t struct_size;
    int32_t flags;
    int32_t reserved;
    int32_t (*forecast)(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                        mercer_cost *out);

    /* Calls host->give for its centres, once or several times. want is never NULL. */
    int32_t (*reduce)(const mercer_host *host, mercer_task *task, const void *params, const mercer_shape *shape,
                      const mercer_want *want);
} mercer_reducer_ops;

/* ---- tiles ------------------------------------------------------------------------------------------------------- */

/* A tile of values between rows row0 ... of the data and rows col0 ... of y, which the visit selects: entry (i, j) is
 * values[i * stride + j]. The fields x and y are these rows after the input map, row-major with stride d, of the tile's
 * dtype. They are NULL if dense rows are not available (sparse data, objects): call host->rows instead. */
typedef struct mercer_tile {
    int64_t struct_size;
    int32_t dtype;
    int32_t reserved;
    int64_t row0, rows, col0, cols, stride;
    void *values; /* may be overwritten */
    const void *x, *y;
    int64_t d;
} mercer_tile;

/* A reduction over tiles. Rows of x are divided into slabs in a way that depends on the shape alone. Each slab has one
 * zeroed state of state_size bytes and receives its tiles in ascending order on one thread; states are combined on the
 * calling thread in ascending order of slabs. This needs no locks and gives bit-identical results for any number of
 * threads or processes (a state is plain bytes). Therefore tile only reads user and stores its results in its state,
 * and only combine writes user. At most 64 states exist at once. MERCER_VISIT_STOP is no error: if tile returns it,
 * this slab ends, and its combine still follows; if combine returns it, the visit ends. */
enum { MERCER_VISIT_STOP = -1 };
typedef struct mercer_consumer {
    int64_t struct_size;
    int64_t state_size;
    int64_t row_size; /* further bytes for each row of the slab: those of row i begin at state_size +
                        * (i - row0) row_size, row0 being that of the slab's first tile */
    void *user;
    int32_t (*tile)(void *user, void *state, const mercer_tile *tile);
    int32_t (*combine)(void *user, void *state, int64_t row0, int64_t rows); /* may be NULL */
} mercer_consumer;

/* Selects the tiles: x = rows row0 ... of the data, or of those in list; y = points (row-major, of the tile's dtype),
 * or the rows in index, or (both NULL) all rows. rows = 0: to the end. measure = 0 for kernel values, else a form over
 * all d columns (for objects given by distances: MERCER_SQDIST). Values are raw: no weights, no centring. */
typedef struct mercer_visit {
    int64_t struct_size;
    int64_t row0, rows;
    const void *points;
    const int64_t *index;
    int64_t count; /* of points or index */
    int32_t measure;
    int32_t reserved;
    /* Numbers of rows of the data; row0, rows and the tiles' row0 then count entries of this list. NULL: all rows. */
    const int64_t *list;
    int64_t listed; /* entries of list */
} mercer_visit;

/* ---- the kernel matrix as a whole -------------------------------------------------------------------------------- */

/* A = S H K H^T S, for reducers that need whole rows of the kernel matrix or products with it: for vectors and for
 * objects. With MERCER_GRAM_WEIGHTED S = diag(sqrt w), w being the sample weights (sum n); otherwise S = I and all w
 * are 1. With MERCER_GRAM_CENTRED H = I - e w^T / n, e being the vector of ones, so that row and column means of H K
 * H^T, weighted by w, are 0; otherwise H = I. Nothing of size n^2 is held in memory, except with MERCER_GRAM_STORED:
 * the values are then computed once and stored if that takes at most half of the budget. Stored and recomputed values
 * give the same bits.
 *
 * Products, the whole matrix and its diagonal are computed by op (apply, dense, diagonal). columns and row_squares are
 * [serial]. columns computes the columns index[0] ... index[count - 1] of A (n x count, ldo >= n) from n count kernel
 * values. row_squares computes the sums q_i = sum_j A_ij^2, in one pass over n^2 / 2 kernel values. Entries are centred
 * before they are squared, so that nothing cancels: if entries err by at most e, q_i errs by at most
 * 2 e sqrt(n q_i) + n e^2, and by n 2^-53 q_i more from the rounding of the sum. The first call that needs the mean of
 * the rows makes one more pass. */
enum { MERCER_GRAM_WEIGHTED = 1, MERCER_GRAM_CENTRED = 2, MERCER_GRAM_STORED = 4 };
struct mercer_operator; /* below, with the solvers */
typedef struct mercer_gram {
    int64_t struct_size;
    int64_t n;
    const struct mercer_operator *op;
    const void *self;
    int32_t (*columns)(const struct mercer_gram *gram, mercer_task *task, const int64_t *index, int64_t count,
                       double *out, int64_t ldo);
    int32_t (*row_squares)(const struct mercer_gram *gram, mercer_task *task, double *out); /* n */
    double distance;  /* upper bound of the spectral norm of A - S H K H^T S, rounding aside; 0: the values are exact,
                       * INFINITY: not known */
    int32_t positive; /* 1: A is known to be positive semi-definite, up to rounding */
    int32_t reserved;
} mercer_gram;

/* ---- pivoted Cholesky -------------------------------------------------------------------------------------------- */

/* K ~ L L^T, K positive semi-definite; R = K - L L^T is the residual. The rule scores candidates. The driver
 * (host->pivot_cholesky) keeps track of the remaining candidates (rows of sample weight 0, and rows whose residual is
 * rounding, are never candidates), breaks ties among scores >= (1 - 1e-10) max by the contents of the rows (for objects
 * and equal rows: the lowest row wins), draws random numbers, and never updates K. A rule that needs BOUND or SAMPLE
 * and has neither score nor update proceeds in blocks, with a few sweeps over the rows; any other rule proceeds column
 * by column. L is stored; in blocks, if L is not requested and exceeds the budget, each sweep recomputes it instead.
 * pivots.h has what else such a reducer needs: options, forecast and report. */
enum {
    MERCER_PIVOT_BOUND = 1,  /* the largest score is next; selecting a candidate raises the score of no other */
    MERCER_PIVOT_SAMPLE = 2, /* the next pivot is drawn with probability proportional to score times sample weight */
    MERCER_PIVOT_FULL = 3,   /* the largest score is next; scores may rise, and the rule may ask for entries of R */
    /* The largest score is next, and the score reads mercer_pivot_state.energy, of its own entry only. It must not fall
     * when the energy rises. The host keeps the energies, with bounds on their errors, by one pass over all kernel
     * values for each pivot, and decides by exact energies where the bounds leave a doubt. */
    MERCER_PIVOT_ENERGY = 4,
    MERCER_PIVOT_EXPANSION = 5 /* the same; the score also reads mercer_pivot_state.expansion */
};
/* How the host finds the pivots of rules that need energies. Only EXACT gives the pivots of the rule; the others cost
 * less. */
enum {
    MERCER_SELECT_AUTO = 0,      /* EXACT up to 2e10 products of kernel values (m n^2), else IN_FACTOR */
    MERCER_SELECT_EXACT = 1,     /* one pass over all kernel values for each pivot */
    MERCER_SELECT_IN_FACTOR = 2, /* in the span of `rank` random pivots, among these and 4096 random rows: no pass */
    MERCER_SELECT_ROWS = 3,      /* energies estimated from 256 random rows; the best 4 are computed exactly: no pass */
    MERCER_SELECT_SKETCH = 4,    /* energies estimated from 128 random combinations, the best 8 computed: one pass */
    MERCER_SELECT_QUANTILE = 5   /* the best of 59 random rows, one of the best 5 % with probability 95 %: no pass */
};
/* init or update may return this. It is no error: the selection ends with the pivots so far. */
enum { MERCER_PIVOT_STOP = -1 };
typedef struct mercer_pivot_state {
    int64_t struct_size;
    int64_t n, step;        /* step: the number of pivots so far */
    const double *residual; /* n: the diagonal of R */
    const double *weights;  /* n: sample weights; NULL: all of them are 1 */
    const int64_t *index;   /* step: the pivots, in order of selection */
    double mse;             /* the mean residual, as in mercer_pivots; in init the mean of k(x, x) */
    double least;           /* a row whose residual is at most this is no candidate */

    /* These are set for rules that need MERCER_PIVOT_FULL, otherwise NULL. Only init and update may call them, with the
     * state that they received. Entries of pivots, and of all rows whose residual is 0, are exactly 0 in R. The results
     * have the same bits for any number of threads. [serial]
     * columns: computes count columns of R, n x count, column-major, from n kernel values for each.
     * product: computes out = R v in one pass over all n^2 kernel values.
     * row_squares: computes out_j = sum_t weights_t R_jt^2 in one pass, with n^2 step flops; weights NULL: the sample
     * weights.
     * factor_rows: copies rows of L, count x step, row-major.
     * (host->columns computes columns of K itself.) */
    const void *self;
    int32_t (*columns)(const struct mercer_pivot_state *state, const int64_t *index, int64_t count, double *out,
                       int64_t ldo);
    int32_t (*product)(const struct mercer_pivot_state *state, const double *v, double *out);
    int32_t (*row_squares)(const struct mercer_pivot_state *state, const double *weights, double *out);
    int32_t (*factor_rows)(const struct mercer_pivot_state *state, const int64_t *index, int64_t count, double *out);

    /* For rules that need MERCER_PIVOT_ENERGY or MERCER_PIVOT_EXPANSION, otherwise NULL; n numbers each. score may be
     * called with a state that shows a selection of the rows, which are then numbered from 0.
     * energy: s_j = sum_t weights_t R_jt^2, in f64 and at most in error as the host needs it to choose.
     * expansion: 1 + sum_i |a_ij|, where the a_ij expand row j in the pivots: K_II a_j = k_I(x_j). */
    const double *energy;
    const double *expansion;
} mercer_pivot_state;
/* init is called before the first pivot and update after each one, on the calling thread; both may call services. score
 * is called for disjoint ranges, by any thread. A row whose score is below 0 or NaN is not a candidate in this step; if
 * no candidate is left for this reason, the selection ends. column: the new column of L. */
typedef struct mercer_pivot_rule {
    int64_t struct_size;
    int32_t needs;
    int32_t reserved;
    void *user;
    int32_t (*init)(void *user, const mercer_pivot_state *state); /* may be NULL */
    void (*score)(void *user, const mercer_pivot_state *state, int64_t first, int64_t count,
                  double *scores); /* NULL: the residual */
    int32_t (*update)(void *user, const mercer_pivot_state *state, int64_t pivot,
                      const double *column); /* may be NULL */
    /* For rules that need MERCER_PIVOT_ENERGY or MERCER_PIVOT_EXPANSION, which have a score and neither init nor
     * update. delta: rows whose residual is below this are no candidates. drop, 1: nor do they count in energies any
     * longer. */
    double delta;
    int32_t drop;
    int32_t reserved_too;
} mercer_pivot_rule;
/* The selection stops as soon as one of these conditions holds; a field that is 0 sets no condition. Means weight rows
 * by their sample weights. */
typedef struct mercer_pivot_stop {
    int64_t struct_size;
    int64_t m;      /* maximum number of pivots; at most n */
    double mse;     /* mean residual */
    double maxerr;  /* largest residual */
    double trace;   /* mean residual over mean k(x, x) */
    int32_t factor; /* 1: mercer_pivots.factor is requested */
    /* Read by pivot_cost only: what the rule needs; 0: MERCER_PIVOT_BOUND or MERCER_PIVOT_SAMPLE. For
     * MERCER_PIVOT_FULL the cost includes the memory of the rule's calls of columns, product and row_squares, but not
     * their passes. */
    int32_t needs;
    /* Of rules that need MERCER_PIVOT_ENERGY or MERCER_PIVOT_EXPANSION. selection: one of MERCER_SELECT_...; rank: for
     * MERCER_SELECT_IN_FACTOR, 0: 4 m. must, never: numbers of rows, separated by commas, or "landmarks" for the rows
     * that are given as landmarks; NULL or "": none. Rows in `must` are the first pivots, rows in `never` are none. */
    int32_t selection;
    int32_t reserved;
    int64_t rank;
    const char *must, *never;
} mercer_pivot_stop;
typedef struct mercer_pivots {
    int64_t struct_size;
    int64_t count;
    const int64_t *index; /* count, in order of selection; all arrays live until the operation returns */
    const double *factor; /* n x count, f64: L; NULL unless requested */
    int64_t factor_row_stride, factor_col_stride;
    const double *residual; /* n */
    double mse, trace;      /* residuals that remain, as in mercer_pivot_stop */
    int64_t sweeps;         /* number of sweeps over all rows */
    /* 1: the selection ended because the residuals that are left are rounding errors, not because it had m pivots, met
     * a condition to stop, or was ended by the rule. */
    int32_t rank_reached;
    int32_t reserved;
    /* Of rules that need MERCER_PIVOT_ENERGY or MERCER_PIVOT_EXPANSION, otherwise 0: passes over the kernel matrix,
     * those of them that computed all energies anew, and columns of R that were computed to decide between rows. */
    int64_t passes, refreshes, columns;
} mercer_pivots;

/* ---- solvers ----------------------------------------------------------------------------------------------------- */

/* Tall columns, with the n rows of an operator, are stored in blocks owned by the host, in f32 or f64 as the operator
 * says: sums are computed in f64, stored values are rounded. A range is a run of adjacent columns of a block. Solvers
 * process ranges through services (block, dot, times, ...) and see no row. */
typedef struct mercer_block mercer_block;
typedef struct mercer_range {
    mercer_block *block;
    int64_t first, count;
} mercer_range;

/* A symmetric n x n operator A. apply sets y = A q; y has as many columns as q and never overlaps it. [serial]
 * apply_rough is a cheaper apply with the rounding errors of f32 (about 1e-7 of the largest eigenvalue); NULL if there
 * is none. */
typedef struct mercer_operator {
    int64_t struct_size;
    int64_t n;
    int32_t dtype; /* of blocks */
    int32_t reserved;
    const void *self;
    int32_t (*apply)(const struct mercer_operator *op, mercer_task *task, mercer_range q, mercer_range y);
    int32_t (*apply_rough)(const struct mercer_operator *op, mercer_task *task, mercer_range q, mercer_range y);
    int32_t (*dense)(const struct mercer_operator *op, mercer_task *task, double *a, int64_t lda); /* both triangles */
    int32_t (*diagonal)(const struct mercer_operator *op, mercer_task *task, double *d);
} mercer_operator;

typedef struct mercer_eigen_request {
    int64_t struct_size;
    int64_t r;           /* 1 <= r <= n - locked.count */
    double tol;          /* residuals |A v - lambda v| <= tol |lambda_1| */
    int64_t max_passes;  /* calls of apply, rough or not; 0: the solver's own limit */
    int64_t start_count; /* number of columns of an initial guess, which need not be orthonormal; 0: no guess */
    /* Writes the first to.count <= start_count columns of the guess. The solver calls it at most once. */
    int32_t (*start)(void *user, mercer_range to);
    /* Orthonormal columns. Solve in the orthogonal complement of their span (P A P); the span need not be invariant. */
    mercer_range locked;
    /* May be NULL. The solver calls it after each cycle, and stops if it returns non-zero. */
    int32_t (*enough)(void *user, const double *values, int64_t count);
    void *user;
    int32_t rough; /* the operator has apply_rough */
    int32_t reserved;
    /* An upper bound of |A| before it was centred. A product rounds numbers of this size, so its error is a few unit
     * roundoffs times this size. 0: not known, as in every forecast. */
    double scale;
    /* A residual must also be at most this share of the smallest requested eigenvalue that is well above rounding;
     * otherwise the scores of that component would be noise (mercer_residual_limit). 0: no such demand. */
    double share;
} mercer_eigen_request;

/* The r algebraically largest eigenpairs, descending; the host provides the arrays, of the sizes stated, all zeroed. A
 * stop requested by enough counts as converged. */
typedef struct mercer_eigen_result {
    int64_t struct_size;
    double *values;       /* r */
    mercer_range vectors; /* r columns, orthonormal */
    double *residuals;    /* r: norms |A v - lambda v| */
    double most_negative; /* smallest Ritz value seen */
    int64_t applies;      /* columns of the operator's input, summed over all calls */
    int64_t passes;       /* calls of apply, rough or not; dense counts as one */
    int32_t converged;
    int32_t reserved;
} mercer_eigen_result;

enum {
    MERCER_USES_START = 1,  /* without this flag the host passes no start */
    MERCER_USES_ROUGH = 2,  /* without this flag the operator has no apply_rough */
    MERCER_KEEPS_STATE = 4, /* calls checkpoint and resume */
    MERCER_DIRECT = 8       /* decomposes the whole matrix: misses no eigenvalue above the last one that it returns */
};
typedef struct mercer_solver_ops {
    int64_t struct_size;
    int32_t flags;
    int32_t reserved;
    /* In this request, start and locked.block are NULL, but start_count and locked.count are set. */
    int32_t (*forecast)(const mercer_host *host, mercer_task *task, const void *params, int64_t n,
                        const mercer_eigen_request *request, mercer_cost *out);
    int32_t (*solve)(const mercer_host *host, mercer_task *task, const void *params, const mercer_operator *op,
                     const mercer_eigen_request *request, mercer_eigen_result *out);
} mercer_solver_ops;

/* ---- the host ---------------------------------------------------------------------------------------------------- */

struct mercer_host {
    int64_t struct_size;
    int32_t abi;
    int32_t reserved;

    /* Messages. fail records a text (printf-like) and returns code, on any thread. log drops lines from threads other
     * than the calling one. report stores a named, finite number in the model's report; the same name again replaces
     * the number. Two names of a reducer have a meaning: "epsilon" and "radius" promise that no row is farther than
     * this number from the centre to which it is assigned. Certificates rely on this promise. */
    int32_t (*fail)(mercer_task *task, int32_t code, const char *format, ...);
    void (*log)(mercer_task *task, int32_t level, const char *text);
    int32_t (*report)(mercer_task *task, const char *name, double value); /* [serial] */

    /* The cancel point: call it between steps. If it returns non-zero, return that status at once. [serial] */
    int32_t (*progress)(mercer_task *task, double fraction);

    /* Zeroed memory, 64-byte aligned, counted towards the budget, freed when the operation returns. NULL: return
     * MERCER_E_MEMORY; the host knows whether the budget was the cause. [serial] */
    void *(*alloc)(mercer_task *task, int64_t bytes);

    /* Uniform in [0, 1): a pure function of the recipe's seed, the stage of this operation, a and b. Any thread. */
    double (*uniform)(mercer_task *task, int64_t a, int64_t b);

    /* Calls body(user, index) for 0 <= index < count on the team of threads, in any order; returns the failing status
     * with the lowest index, or MERCER_E_CANCELLED. Nested calls run inline. */
    int32_t (*parallel)(mercer_task *task, int64_t count, int32_t (*body)(void *user, int64_t index), void *user);

    /* Vector mathematics, in place, accurate to about 1 ulp; NaN stays NaN; results below the smallest normal number
     * are 0. Any thread. */
    void (*exp_f32)(float *values, int64_t count);
    void (*exp_f64)(double *values, int64_t count);

    /* Detects near pairs without storing a product: bit j % 64 of bits[i * words + j / 64] is set if add[j] + sum_k
     * x[row[i] * d + k] y[k * ldy + j], i < rows, j < count, is not below level[row[i]] (NaN counts as not below). In
     * f32: sums err by at most (d + 1) 2^-24 (|add| + sum |x y|). Columns of y, and add, are read up to the next
     * multiple of 32. In the last word of a row the bits from count on are 0; further words remain unchanged. Any
     * thread. */
    void (*reach)(int64_t rows, const int64_t *row, int64_t d, const float *x, const float *level, int64_t count,
                  const float *y, int64_t ldy, const float *add, uint64_t *bits, int64_t words);

    /* Linear algebra on f64 matrices, column-major; trans is 'N' or 'T'. Sizes are checked. A call uses one thread, and
     * any thread may make it. gemm: C = alpha op(A) op(B) + beta C. */
    int32_t (*gemm)(mercer_task *task, char transa, char transb, int64_t m, int64_t n, int64_t k, double alpha,
                    const double *a, int64_t lda, const double *b, int64_t ldb, double beta, double *c, int64_t ldc);
    /* Replaces X by X op(L)^-1, L lower triangular n x n, X m x n. */
    int32_t (*trsm)(mercer_task *task, char trans, int64_t m, int64_t n, const double *l, int64_t ldl, double *x,
                    int64_t ldx);
    /* Factorises A = L L^T, lower triangle in place; *info = 0, or the order of the first minor that is not
     * positive. */
    int32_t (*potrf)(mercer_task *task, int64_t n, double *a, int64_t lda, int64_t *info);
    /* Computes the r largest eigenpairs of symmetric a (its lower triangle is read, both triangles are overwritten),
     * descending, vectors n x r. Temporary memory: 8 n (2 n + 12) bytes if r = n or if eigenvalues are equal up to
     * rounding, else 8 n (r + 80). */
    int32_t (*eigh)(mercer_task *task, int64_t n, double *a, int64_t lda, int64_t r, double *values, double *vectors,
                    int64_t ldv);

    /* Tall columns (mercer_range). Parallel, bit-identical for any number of threads. [serial]
     * block: allocates zeroed columns for an operator, freed when the operation returns; NULL as for alloc. Memory
     * counts from the first use of a column.
     * dot: computes C (a.count x b.count) = A^T B.
     * times: computes Y = beta Y + A S, S a.count x y.count; Y may overlap A.
     * copy: copies columns between ranges of the same number of columns, which may overlap.
     * norms: computes the lengths of the x.count columns.
     * random: writes uniform(row, stream + j) - 0.5 to the j-th column.
     * orthonormalise: makes the columns of x orthonormal up to rounding, and orthogonal to those of against, which are
     * orthonormal (count 0: there are none). *rank columns remain, in front.
     * get, put: copy whole columns out or in, as f64, column-major. */
    mercer_block *(*block)(mercer_task *task, const mercer_operator *op, int64_t columns);
    int32_t (*dot)(mercer_task *task, mercer_range a, mercer_range b, double *c, int64_t ldc);
    int32_t (*times)(mercer_task *task, mercer_range a, const double *s, int64_t lds, double beta, mercer_range y);
    int32_t (*copy)(mercer_task *task, mercer_range from, mercer_range to);
    int32_t (*norms)(mercer_task *task, mercer_range x, double *out);
    int32_t (*random)(mercer_task *task, mercer_range x, int64_t stream);
    int32_t (*orthonormalise)(mercer_task *task, mercer_range x, mercer_range against, int64_t *rank);
    int32_t (*get)(mercer_task *task, mercer_range x, double *out, int64_t ldo);
    int32_t (*put)(mercer_task *task, mercer_range x, const double *from, int64_t ldf);

    /* For solvers with long cycles. Call checkpoint after each cycle with all numbers and columns that the remaining
     * cycles depend on; the host decides where and when to write them. It is a cancel point. Call resume before
     * anything else: if an earlier run left a checkpoint, resume sets *found and fills numbers and columns from it.
     * ranges may be 0 if numbers state how many columns there are; a second call then requests them. [serial] */
    int32_t (*checkpoint)(mercer_task *task, const double *numbers, int64_t count, const mercer_range *columns,
                          int64_t ranges);
    int32_t (*resume)(mercer_task *task, double *numbers, int64_t count, const mercer_range *columns, int64_t ranges,
                      int32_t *found);

    /* These give a reducer its problem: tiles (visit), kernel values (columns, pairs), rows, sample weights, landmarks
     * and pivots. [serial] */
    int32_t (*visit)(mercer_task *task, const mercer_visit *visit, const mercer_consumer *consumer);
    int32_t (*columns)(mercer_task *task, const int64_t *index, int64_t count, double *out,
                       int64_t ldo); /* n x count */
    int32_t (*pairs)(mercer_task *task, const int64_t *i, const int64_t *j, int64_t count, double *out);
    int32_t (*rows)(mercer_task *task, const int64_t *index, int64_t count,
                    double *out);                       /* count x d, row-major, mapped */
    int32_t (*weights)(mercer_task *task, double *out); /* n: sample weights, sum n */
    int32_t (*landmarks)(mercer_task *task, const int64_t **index,
                         const void **points); /* one of the two, after the map */
    int32_t (*pivot_cholesky)(mercer_task *task, const mercer_pivot_rule *rule, const mercer_pivot_stop *stop,
                              mercer_pivots *out);
    /* Computes the cost of pivot_cholesky, for forecasts. The figures are bounds for any rule that selects m = stop->m
     * pivots; m must be <= shape->n. If L exceeds the budget, a rule that proceeds column by column is refused when it
     * runs. */
    int32_t (*pivot_cost)(mercer_task *task, const mercer_shape *shape, const mercer_pivot_stop *stop,
                          mercer_cost *out);

    /* Appends centres, which are copied: rows by number, each at most once, or points (of the tile's dtype, d columns).
     * If weights is NULL, rows get their sample weights, and points get equal weights. All calls must make the same
     * choices; the host scales all weights to sum n. [serial] */
    int32_t (*give)(mercer_task *task, int64_t count, const int64_t *index, const void *points, const double *weights);

    /* Replaces squared distances by kernel values, in place, if the kernel of the reducer's problem is radial
     * (shape->h). Any thread. */
    int32_t (*radial)(mercer_task *task, double *values, int64_t count);

    /* The nearest neighbour of each row among what a visit would present as y; vectors only, measure is ignored.
     * square: sum (x_k - y_k)^2, in double and in the order of the columns; number: its index in y. Both cover all rows
     * of the data and change only where a neighbour is nearer than square: initialise it to INFINITY. Ties go to the
     * lowest number. [serial] */
    int32_t (*nearest)(mercer_task *task, const mercer_visit *to, double *square, int64_t *number);

    /* The kernel matrix of a reducer's problem (mercer_gram); flags: MERCER_GRAM_... or 0. It lives until the operation
     * returns. A forecast has no data and is refused. [serial]
     * gram_cost, for forecasts: bytes bounds the memory of the matrix and of one of its calls with this many columns
     * (give 1 for row_squares). kernel_evaluations is the number of kernel values in one pass. passes says which passes
     * compute them: 1: only the first, because the values are then stored; 0: every pass. */
    int32_t (*gram)(mercer_task *task, int32_t flags, mercer_gram *out);
    int32_t (*gram_cost)(mercer_task *task, const mercer_shape *shape, int32_t flags, int64_t columns,
                         mercer_cost *out);
};

/* Helpers for the map of a kernel, which changes float or double values in place. mercer_scale multiplies them by
 * factor, which for float is first limited to the range of float, because 0 times infinity would be NaN. mercer_exp
 * replaces them by their exponentials. */
static inline void mercer_scale(int32_t dtype, void *values, int64_t count, double factor) {
    if (dtype == MERCER_F32) {
        float *v = (float *)values, f = factor > FLT_MAX ? FLT_MAX : factor < -FLT_MAX ? -FLT_MAX : (float)factor;
        for (int64_t i = 0; i < count; i++) v[i] *= f;
    } else {
        double *v = (double *)values;
        for (int64_t i = 0; i < count; i++) v[i] *= factor;
    }
}
static inline void mercer_exp(const mercer_host *host, int32_t dtype, void *values, int64_t count) {
    if (dtype == MERCER_F32)
        host->exp_f32((float *)values, count);
    else
        host->exp_f64((double *)values, count);
}

/* For maps: replaces each value v by expression, in place, in the values' own type, which expression may call
 * `real`. */
#define MERCER_EACH(dtype, values, count, v, expression)                                                               \
    do {                                                                                                               \
        if ((dtype) == MERCER_F32) {                                                                                   \
            typedef float real;                                                                                        \
            MERCER_EACH_REAL(values, count, v, expression)                                                             \
        } else {                                                                                                       \
            typedef double real;                                                                                       \
            MERCER_EACH_REAL(values, count, v, expression)                                                             \
        }                                                                                                              \
    } while (0)
#define MERCER_EACH_REAL(values, count, v, expression)                                                                 \
    real *mercer_values = (real *)(values);                                                                            \
    for (int64_t mercer_i = 0; mercer_i < (count); mercer_i++) {                                                       \
        const real v = mercer_values[mercer_i];                                                                        \
        mercer_values[mercer_i] = (expression);                                                                        \
    }

/* Entry k of values that are float or double. */
static inline double mercer_value(int32_t dtype, const void *values, int64_t k) {
    return dtype == MERCER_F32 ? (double)((const float *)values)[k] : ((const double *)values)[k];
}

/* Returns the bound that the residuals of a request must not exceed. values: the r current eigenvalues, descending;
 * rounding: the size of a residual that is due to rounding errors alone. An eigenvalue of at most 100 times `rounding`
 * does not tighten the bound, because residuals could not meet it. */
static inline double mercer_residual_limit(const mercer_eigen_request *request, const double *values, double rounding) {
    const double first = values[0] < 0 ? -values[0] : values[0];
    double limit = request->tol * first;
    int64_t last = request->r - 1;
    while (last > 0 && !(values[last] > 100 * rounding)) last--;
    if (request->share > 0 && values[last] > 100 * rounding && request->share * values[last] < limit)
        limit = request->share * values[last];
    return limit > rounding ? limit : rounding;
}

/* The effective width of a kernel with rows sigma and bandwidth: sigma if it is set, else the result of the bandwidth
 * rule, else (if all points are equal) 1. */
static inline double mercer_width(double sigma, const mercer_kernel_input *input) {
    return sigma == sigma ? sigma : input->bandwidth > 0 ? input->bandwidth : 1;
}

/* For lists of rows. mercer_ascending compares two rows for qsort. mercer_shuffle (Fisher & Yates) moves `drawn` of the
 * count entries, drawn at random, to the front in random order; it uses the random numbers (0, stream) to
 * (drawn - 1, stream). These numbers are below 1 - 2^-54 and count is below 2^53, so rounding lifts no product to count
 * - step. */
static inline int mercer_ascending(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}
static inline void mercer_shuffle(const mercer_host *host, mercer_task *task, int64_t stream, int64_t *row,
                                  int64_t count, int64_t drawn) {
    for (int64_t step = 0; step < drawn; step++) {
        const int64_t other = step + (int64_t)(host->uniform(task, step, stream) * (double)(count - step));
        const int64_t chosen = row[other];
        row[other] = row[step];
        row[step] = chosen;
    }
}

/* ---- the module -------------------------------------------------------------------------------------------------- */

enum { MERCER_KIND_KERNEL = 1, MERCER_KIND_REDUCER = 2, MERCER_KIND_SOLVER = 3 };

typedef struct mercer_module {
    int64_t struct_size;
    int32_t abi;
    int32_t kind;
    const char *header; /* MERCER_VERSION of the header it was built with */
    const char *name;   /* lower-case letters, digits and '-'; equal to the name in the file name */
    const char *version;
    const char *summary;
    const char *reference;
    const mercer_param *params;
    int64_t param_count;
    int64_t params_size; /* of the parameter struct; 0 = none */
    const void *ops;
} mercer_module;

#if defined(MERCER_BUILTIN) /* the same file, compiled into the library: -DMERCER_BUILTIN=kernel_gaussian */
#define MERCER_JOIN2(a, b) a##b
#define MERCER_JOIN(a, b) MERCER_JOIN2(a, b)
#define mercer_plugin MERCER_JOIN(mercer_plugin_, MERCER_BUILTIN)
#endif

extern MERCER_API const mercer_module mercer_plugin;

#define MERCER_PLUGIN(kind, name, version, summary, reference, param_array, params, ops)                               \
    const mercer_module mercer_plugin = {sizeof(mercer_module),                                                        \
                                         MERCER_PLUGIN_ABI,                                                            \
                                         kind,                                                                         \
                                         MERCER_VERSION,                                                               \
                                         name,                                                                         \
                                         version,                                                                      \
                                         summary,                                                                      \
                                         reference,                                                                    \
                                         param_array,                                                                  \
                                         (int64_t)(sizeof(param_array) / sizeof(mercer_param)),                        \
                                         sizeof(params),                                                               \
                                         &(ops)};
#define MERCER_PLUGIN_BARE(kind, name, version, summary, reference, ops) /* without parameters */                      \
    const mercer_module mercer_plugin = {sizeof(mercer_module),                                                        \
                                         MERCER_PLUGIN_ABI,                                                            \
                                         kind,                                                                         \
                                         MERCER_VERSION,                                                               \
                                         name,                                                                         \
                                         version,                                                                      \
                                         summary,                                                                      \
                                         reference,                                                                    \
                                         NULL,                                                                         \
                                         0,                                                                            \
                                         0,                                                                            \
                                         &(ops)};

#ifdef __cplusplus
}
#endif
#endif
