/* polynomial.c - k(x, y) = (gamma x.y + coef0)^degree
 *
 * Poggio, Biological Cybernetics 19 (1975); for kernel PCA Schoelkopf, Smola & Mueller, Neural
 * Computation 10 (1998). It is scikit-learn's polynomial_kernel; gamma = 1/d unless set. Cost:
 * log2(degree) to 2 log2(degree) products per value in addition to the dot product. Positive
 * semidefinite for coef0 >= 0, because it is then a sum of powers of x.y with weights >= 0. Error:
 * relative degree (e + 2 u) + 2 log2(degree) u, where u is the unit roundoff and e is the relative
 * error of the base gamma x.y + coef0.
 */
#include <math.h>
#include <mercer/plugin.h>

typedef struct polynomial {
    double gamma, coef0;
    int64_t degree;
} polynomial;

static const mercer_param rows[] = {
    MERCER_PARAM_REAL(polynomial, gamma, "", "", MERCER_LO_OPEN | MERCER_HI_OPEN, 0, INFINITY,
                      "factor of x.y; unset: 1/d"),
    MERCER_PARAM_REAL(polynomial, coef0, "1", "", MERCER_LO_OPEN | MERCER_HI_OPEN, -INFINITY, INFINITY,
                      "added constant; 0 keeps only the highest power"),
    MERCER_PARAM_INT(polynomial, degree, "3", "", 0, 1, 64, "power"),
};

static int32_t finish(const mercer_host *host, mercer_task *task, void *params, const mercer_kernel_input *input) {
    (void)host, (void)task;
    polynomial *p = params;
    if (isnan(p->gamma)) p->gamma = 1 / (double)(input->d > 0 ? input->d : 1);
    return MERCER_OK;
}

/* Replaces values by values^n by repeated squaring, in batches that stay in the innermost cache. */
enum { BATCH = 128 };
#define POWER(NAME, REAL)                                                                                              \
    static void NAME(REAL *values, int64_t count, int64_t n) {                                                         \
        REAL power[BATCH];                                                                                             \
        for (int64_t at = 0; at < count; at += BATCH, values += BATCH) {                                               \
            const int64_t m = count - at < BATCH ? count - at : BATCH;                                                 \
            for (int64_t i = 0; i < m; i++) power[i] = 1;                                                              \
            for (int64_t bits = n; bits > 0; bits >>= 1) {                                                             \
                if (bits & 1)                                                                                          \
                    for (int64_t i = 0; i < m; i++) power[i] *= values[i];                                             \
                for (int64_t i = 0; bits > 1 && i < m; i++) values[i] *= values[i];                                    \
            }                                                                                                          \
            for (int64_t i = 0; i < m; i++) values[i] = power[i];                                                      \
        }                                                                                                              \
    }
POWER(power_f32, float)
POWER(power_f64, double)

static void power_of_base(const polynomial *p, int32_t dtype, void *values, int64_t count, int64_t n) {
    mercer_scale(dtype, values, count, p->gamma);
    MERCER_EACH(dtype, values, count, v, v + (real)p->coef0);
    if (dtype == MERCER_F32)
        power_f32(values, count, n);
    else
        power_f64(values, count, n);
}

static void map(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count) {
    (void)host;
    const polynomial *p = params;
    power_of_base(p, dtype, values, count, p->degree);
}

static void derivative(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count) {
    (void)host;
    const polynomial *p = params;
    if (p->degree == 1) /* the derivative is the same for all values, but NaN stays NaN */
        MERCER_EACH(dtype, values, count, v, v != v ? v : 1);
    else
        power_of_base(p, dtype, values, count, p->degree - 1);
    mercer_scale(dtype, values, count, p->gamma * (double)p->degree);
}

static void facts(const mercer_host *host, const void *params, int64_t d, mercer_kernel_facts *out) {
    (void)host, (void)d;
    const polynomial *p = params;
    out->h = NAN;
    out->kappa = NAN;
    out->lo = p->degree % 2 ? -INFINITY : 0;
    out->hi = INFINITY;
    out->lipschitz = NAN;
    out->flags = p->coef0 >= 0 ? MERCER_PSD : 0;
}

static const mercer_kernel_ops ops = {
    .struct_size = sizeof(mercer_kernel_ops),
    .form = MERCER_DOT,
    .finish = finish,
    .map = map,
    .facts = facts,
    .derivative = derivative,
};

MERCER_PLUGIN(MERCER_KIND_KERNEL, "polynomial", MERCER_VERSION, "(gamma x.y + coef0)^degree",
              "Schoelkopf, Smola & Mueller, Neural Computation 10 (1998)", rows, polynomial, ops)
