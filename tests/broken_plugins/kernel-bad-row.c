/* kernel-bad-row.c - must be refused: the default of sigma lies outside its own range. */
#include <math.h>
#include <mercer/plugin.h>

typedef struct bad_row {
    double sigma;
} bad_row;

static const mercer_param rows[] = {
    MERCER_PARAM_REAL(bad_row, sigma, "-1", "", MERCER_LO_OPEN, 0, INFINITY, "width, > 0"),
};

static void facts(const mercer_host *host, const void *params, int64_t d, mercer_kernel_facts *out) {
    (void)host, (void)params, (void)d;
    out->kappa = 1;
}

static const mercer_kernel_ops ops = {.struct_size = sizeof(mercer_kernel_ops), .form = MERCER_DOT, .facts = facts};

MERCER_PLUGIN(MERCER_KIND_KERNEL, "bad-row", MERCER_VERSION, "sigma = -1 by default, but > 0 by range", "", rows,
              bad_row, ops)
