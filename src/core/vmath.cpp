// exp(x) = 2^n e^r with n = round(x log2 e) and |r| <= ln2 / 2. The reduction is that of Cody and
// Waite: ln2 is split into two parts, the first with trailing zeros, so that n * ln2_hi is exact.
// e^r is its Taylor polynomial, whose relative error is 4e-18 for degree 13 and 5e-9 for degree 7,
// below a tenth of an ulp each; rounding of the sum adds about 1 ulp. 2^n is applied as two
// factors, because 2^1024 alone would overflow although the result may still be finite. The code
// has no branches, so that compilers vectorise it, and is compiled without -ffast-math, which would
// lose NaN.
//
// reach takes 2 d flops per pair. It works on blocks of `rows` rows of x and `vectors` vectors of
// columns of y. The sums of a block start at the values of `add`, stay in registers and are
// compared with the level there, so that only one bit per pair is stored. The rows of x stay in the
// first-level cache while all columns of y are read.
//
// This file is compiled once for each instruction set. It must not use templates or inline
// functions of the standard library, because the linker keeps only one copy of each for all
// callers, and that could be the one compiled for AVX-512.
#include "vmath.h"

#include "lanes.h"

namespace mercer {
namespace {

template <class To, class From>
inline To bits(From from) {
    To to;
    static_assert(sizeof to == sizeof from);
    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}

inline double exp_one(double x) {
    constexpr double log2e = 1.4426950408889634, ln2_hi = 6.93147180369123816490e-01,
                     ln2_lo = 1.90821492927058770002e-10;
    constexpr double round = 0x1.8p52, lowest = -708.3964185322641, highest = 709.782712893384;
    constexpr double c[] = {
        1.0,        1.0,         1.0 / 2,      1.0 / 6,       1.0 / 24,       1.0 / 120,       1.0 / 720,
        1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};
    double clamped = x < lowest ? lowest : x > highest ? highest : x;
    double n = (clamped * log2e + round) - round;
    double r = (clamped - n * ln2_hi) - n * ln2_lo;
    double p = c[13];
    for (int k = 12; k >= 0; --k) p = p * r + c[k];
    double half = (n * 0.5 + round) - round;
    double first = bits<double>(bits<uint64_t>(half + (round + 1023)) << 52);
    double second = bits<double>(bits<uint64_t>((n - half) + (round + 1023)) << 52);
    double y = p * first * second;
    y = x < lowest ? 0.0 : y;
    return x > highest ? __builtin_inf() : y;
}

inline float exp_one(float x) {
    constexpr float log2e = 1.44269504f, ln2_hi = 6.93359375e-1f, ln2_lo = -2.12194440e-4f;
    constexpr float round = 0x1.8p23f, lowest = -87.33654f, highest = 88.722839f;
    constexpr float c[] = {1.0f, 1.0f, 1.0f / 2, 1.0f / 6, 1.0f / 24, 1.0f / 120, 1.0f / 720, 1.0f / 5040};
    float clamped = x < lowest ? lowest : x > highest ? highest : x;
    float n = (clamped * log2e + round) - round;
    float r = (clamped - n * ln2_hi) - n * ln2_lo;
    float p = c[7];
    for (int k = 6; k >= 0; --k) p = p * r + c[k];
    float half = (n * 0.5f + round) - round;
    float first = bits<float>(bits<uint32_t>(half + (round + 127)) << 23);
    float second = bits<float>(bits<uint32_t>((n - half) + (round + 127)) << 23);
    float y = p * first * second;
    y = x < lowest ? 0.0f : y;
    return x > highest ? __builtin_inff() : y;
}

template <class T>
void exp_all(T *values, int64_t count) {
    for (int64_t i = 0; i < count; ++i) values[i] = exp_one(values[i]);
}

#ifdef __AVX512F__
constexpr int rows = 8; // 16 sums and 2 vectors of y fit in 32 registers
#else
constexpr int rows = 4; // 8 sums and 2 vectors of y fit in 16 registers
#endif
constexpr int vectors = 2, lanes = width<float>;
// The number of columns of a block. It divides 32, because y is padded to a multiple of 32 columns.
constexpr int64_t step = vectors * lanes;

struct RowGroup {
    const float *x[rows];
    f32v level[rows];
};

// Compares each row of the group with the `step` columns at y. Bit j of found[i] becomes 1 if row i
// reaches its level with column j.
inline __attribute__((always_inline)) void block(const RowGroup &of, int64_t d, const float *y, int64_t ldy,
                                                 const float *add, uint64_t *found) {
    f32v sum[rows][vectors];
    MERCER_UNROLL
    for (int i = 0; i < rows; ++i) {
        MERCER_UNROLL
        for (int v = 0; v < vectors; ++v) sum[i][v] = load(add + v * lanes);
    }
    for (int64_t k = 0; k < d; ++k) {
        f32v column[vectors];
        MERCER_UNROLL
        for (int v = 0; v < vectors; ++v) column[v] = load(y + k * ldy + v * lanes);
        MERCER_UNROLL
        for (int i = 0; i < rows; ++i) {
            const f32v entry = splat(of.x[i][k]);
            MERCER_UNROLL
            for (int v = 0; v < vectors; ++v) sum[i][v] = fma(entry, column[v], sum[i][v]);
        }
    }
    MERCER_UNROLL
    for (int i = 0; i < rows; ++i) {
        found[i] = 0;
        MERCER_UNROLL
        for (int v = 0; v < vectors; ++v) found[i] |= uint64_t{not_below(sum[i][v], of.level[i])} << (v * lanes);
    }
}

void reach(int64_t m, const int64_t *row, int64_t d, const float *x, const float *level, int64_t count, const float *y,
           int64_t ldy, const float *add, uint64_t *bits, int64_t words) {
    for (int64_t i = 0; i < m; i += rows) {
        const int64_t here = m - i < rows ? m - i : rows;
        RowGroup of; // in the last group, the last row is repeated if rows are missing
        for (int64_t r = 0; r < rows; ++r) {
            const int64_t number = row[i + (r < here ? r : here - 1)];
            of.x[r] = x + number * d;
            of.level[r] = splat(level[number]);
        }
        for (int64_t j = 0; j < count; j += step) {
            uint64_t found[rows];
            block(of, d, y + j, ldy, add + j, found);
            const uint64_t real = count - j < 64 ? (uint64_t{1} << (count - j)) - 1 : ~uint64_t{0};
            for (int64_t r = 0; r < here; ++r) {
                uint64_t *word = bits + (i + r) * words + j / 64;
                *word = (j % 64 ? *word : 0) | (found[r] & real) << j % 64;
            }
        }
    }
}

constexpr VectorMath table = {exp_all<float>, exp_all<double>, reach};

} // namespace

MERCER_ISA_TABLE(VectorMath, vmath, table);

} // namespace mercer
