// Vector mathematics, compiled once per instruction set (vmath.cpp), chosen at run time.
#pragma once
#include <cstdint>

namespace mercer {

struct VectorMath {
    // In place. About 1 ulp over the whole range; NaN stays NaN, results below the smallest normal number are 0.
    void (*exp_f32)(float *values, int64_t count);
    void (*exp_f64)(double *values, int64_t count);
    // Which products reach a level: bit j % 64 of bits[i * words + j / 64], i < rows, j < count, says that s = add[j] + sum_k
    // x[r * d + k] y[k * ldy + j], r = row[i], is not below level[r]; NaN is not. s errs by (d + 1) u (|add| + sum |x y|) at
    // most. Columns up to the next multiple of 32 are read; of the last word the bits from count on are 0.
    void (*reach)(int64_t rows, const int64_t *row, int64_t d, const float *x, const float *level, int64_t count,
                  const float *y, int64_t ldy, const float *add, uint64_t *bits, int64_t words);
};

// The best instruction set that this processor has and this build contains: "avx512", "avx2" or "portable". The variable
// MERCER_ISA names a lower one (tests). Fetch once per call, not per value.
enum class Isa { portable, avx2, avx512 };
Isa best_isa();
const char *isa_name(Isa isa);
const VectorMath &vector_math();

// Defines a table of functions that is compiled once per instruction set, each time under another name.
#define MERCER_ISA_TABLE(Table, name, value)                                                                           \
    extern const Table MERCER_ISA_NAME(name);                                                                          \
    const Table MERCER_ISA_NAME(name) = value

} // namespace mercer
