/* sigmoid.c - k(x, y) = tanh(gamma x.y + coef0)
 *
 * Vapnik, The Nature of Statistical Learning Theory (1995); scikit-learn's sigmoid_kernel;
 * gamma = 1/d unless set. It is not positive semidefinite in general (Lin & Lin, 2003): kernel PCA
 * reports the negative eigenvalues that it finds. Cost: an exp, a quotient and a polynomial per
 * value. Error of tanh z: 8 u relative (u: unit roundoff). For |z| >= 1/4, |tanh z| is computed as
 * (1 - e) / (1 + e) with e = exp(-2 |z|) < 0.61, where nothing cancels. For smaller |z|, ten terms
 * of the power series are summed. The remaining terms amount to less than u times the sum: the
 * radius of convergence is pi/2, so that each term is less than (1/4 / (pi/2))^2 < 0.026 times the
 * one before.
 */
#include <math.h>
#include <mercer/plugin.h>

typedef struct sigmoid {
    double gamma, coef0;
} sigmoid;

static const mercer_param rows[] = {
    MERCER_PARAM_REAL(sigmoid, gamma, "", "", MERCER_LO_OPEN | MERCER_HI_OPEN, 0, INFINITY,
                      "factor of x.y; unset: 1/d"),
    MERCER_PARAM_REAL(sigmoid, coef0, "1", "", MERCER_LO_OPEN | MERCER_HI_OPEN, -INFINITY, INFINITY, "added constant"),
};

static int32_t finish(const mercer_host *host, mercer_task *task, void *params, const mercer_kernel_input *input) {
    (void)host, (void)task;
    sigmoid *p = params;
    if (isnan(p->gamma)) p->gamma = 1 / (double)(input->d > 0 ? input->d : 1);
    return MERCER_OK;
}

enum { BATCH = 128 };
#define TANH(NAME, REAL, EXP)                                                                                          \
    static void NAME(const mercer_host *host, REAL *values, int64_t count) {                                           \
        static const REAL c[] = {(REAL)(-1. / 3),                                                                      \
                                 (REAL)(2. / 15),                                                                      \
                                 (REAL)(-17. / 315),                                                                   \
                                 (REAL)(62. / 2835),                                                                   \
                                 (REAL)(-1382. / 155925),                                                              \
                                 (REAL)(21844. / 6081075),                                                             \
                                 (REAL)(-929569. / 638512875),                                                         \
                                 (REAL)(6404582. / 10854718875.),                                                      \
                                 (REAL)(-443861162. / 1856156927625.)};                                                \
        REAL e[BATCH];                                                                                                 \
        for (int64_t at = 0; at < count; at += BATCH, values += BATCH) {                                               \
            const int64_t m = count - at < BATCH ? count - at : BATCH;                                                 \
            for (int64_t i = 0; i < m; i++) e[i] = values[i] < 0 ? 2 * values[i] : -2 * values[i];                     \
            host->EXP(e, m);                                                                                           \
            for (int64_t i = 0; i < m; i++) {                                                                          \
                const REAL z = values[i], s = z * z, far = (1 - e[i]) / (1 + e[i]);                                    \
                REAL sum = c[8];                                                                                       \
                for (int k = 7; k >= 0; k--) sum = sum * s + c[k];                                                     \
                const REAL near = z + z * (s * sum), side = z < 0 ? -far : far;                                        \
                values[i] = s < (REAL)(1. / 16) ? near : side;                                                         \
            }                                                                                                          \
        }                                                                                                              \
    }
TANH(tanh_f32, float, exp_f32)
TANH(tanh_f64, double, exp_f64)

static void base(const sigmoid *p, int32_t dtype, void *values, int64_t count) {
    mercer_scale(dtype, values, count, p->gamma);
    MERCER_EACH(dtype, values, count, v, v + (real)p->coef0);
}

static void map(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count) {
    base(params, dtype, values, count);
    if (dtype == MERCER_F32)
        tanh_f32(host, values, count);
    else
        tanh_f64(host, values, count);
}

/* The derivative with respect to v = x.y: gamma (1 - tanh^2 z) = gamma 4 e / (1 + e)^2, where
 * z = gamma v + coef0 and e = exp(-2 |z|). */
static void derivative(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count) {
    const sigmoid *p = params;
    base(p, dtype, values, count);
    MERCER_EACH(dtype, values, count, z, z < 0 ? 2 * z : -2 * z);
    mercer_exp(host, dtype, values, count);
    MERCER_EACH(dtype, values, count, e, 4 * e / ((1 + e) * (1 + e)));
    mercer_scale(dtype, values, count, p->gamma);
}

static void facts(const mercer_host *host, const void *params, int64_t d, mercer_kernel_facts *out) {
    (void)host, (void)params, (void)d;
    out->h = NAN;
    out->kappa = NAN;
    out->lo = -1;
    out->hi = 1;
    out->lipschitz = NAN;
    out->flags = 0;
}

static const mercer_kernel_ops ops = {
    .struct_size = sizeof(mercer_kernel_ops),
    .form = MERCER_DOT,
    .finish = finish,
    .map = map,
    .facts = facts,
    .derivative = derivative,
};

MERCER_PLUGIN(MERCER_KIND_KERNEL, "sigmoid", MERCER_VERSION, "tanh(gamma x.y + coef0), indefinite",
              "Vapnik, The Nature of Statistical Learning Theory (1995)", rows, sigmoid, ops)
