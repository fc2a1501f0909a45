// Vector mathematics, compiled once per instruction set (vmath.cpp), chosen at run time.
#pragma once
#include <cstdint>

namespace mercer {

// In place. About 1 ulp over the whole range; NaN stays NaN, results below the smallest normal number are 0.
struct VectorMath {
    void (*exp_f32)(float *values, int64_t count);
    void (*exp_f64)(double *values, int64_t count);
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
