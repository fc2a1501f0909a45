/* kernel-aged.c - k(x, y) = height x.y, a sound kernel in four versions, of which AGE selects one:
 * 2 has one parameter more than 1, 3 has no `height`, and 4 has a narrower range of `height`. */
#include "broken.h"

typedef struct aged_params {
    double height, depth;
} aged_params;

static const mercer_param rows[] = {
#if AGE != 3
    MERCER_PARAM_REAL(aged_params, height, "1", "", MERCER_LO_OPEN, 0, AGE == 4 ? 2 : 1e300, "factor of x.y"),
#endif
#if AGE == 2 || AGE == 3
    MERCER_PARAM_REAL(aged_params, depth, "1", "", 0, -INFINITY, INFINITY, "without effect"),
#endif
};

static void map(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count) {
    (void)host;
    const double height = AGE == 3 ? 1 : ((const aged_params *)params)->height;
    MERCER_EACH(dtype, values, count, v, (real)(height * (double)v));
}

static const mercer_kernel_ops ops = {.struct_size = sizeof ops, .form = MERCER_DOT, .map = map, .facts = facts};

#define TEXT(age) #age ".0"
#define VERSION(age) TEXT(age)
MERCER_PLUGIN(MERCER_KIND_KERNEL, "aged", VERSION(AGE), "height x.y", "", rows, aged_params, ops)
