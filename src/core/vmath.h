// Vector mathematics, compiled once per instruction set (vmath.cpp) and chosen at run time.
#pragma once
#include <cstdint>

namespace mercer {

struct VectorMath {
    // Replace values by their exponentials, accurate to about 1 ulp over the whole range. NaN stays
    // NaN, and results below the smallest normal number are 0.
    void (*exp_f32)(float *values, int64_t count);
    void (*exp_f64)(double *values, int64_t count);
    // Finds the products that reach a level. Bit j % 64 of bits[i * words + j / 64], i < rows, j <
    // count, is set if s = add[j] + sum_k x[r * d + k] y[k * ldy + j], r = row[i], is not below
    // level[r]; NaN counts as not below. The error of s is at most (d + 1) u (|add| + sum |x y|).
    // The columns of y and the entries of add are read up to the next multiple of 32 after count,
    // so both must be padded. In the last word of a row, the bits from count on are 0.
    void (*reach)(int64_t rows, const int64_t *row, int64_t d, const float *x, const float *level, int64_t count,
                  const float *y, int64_t ldy, const float *add, uint64_t *bits, int64_t words);
};

// The instruction sets for which vector code is compiled. best_isa() returns the best one that this
// processor has and this build contains; tests set the environment variable MERCER_ISA to a lower
// one ("portable", "avx2"). vector_math() returns the functions for it; call it once per array, not
// once per value.
enum class Isa { portable, avx2, avx512 };
Isa best_isa();
const char *isa_name(Isa isa);
const VectorMath &vector_math();

// Defines a table of functions that is compiled once per instruction set, each time under another
// name.
#define MERCER_ISA_TABLE(Table, name, value)                                                                           \
    extern const Table MERCER_ISA_NAME(name);                                                                          \
    const Table MERCER_ISA_NAME(name) = value

} // namespace mercer
