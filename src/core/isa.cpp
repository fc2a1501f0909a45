#include "vmath.h"

#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace mercer {

extern const VectorMath vmath_portable;
#ifdef MERCER_SIMD
extern const VectorMath vmath_avx2, vmath_avx512;
#endif

namespace {

Isa detect() {
#ifdef MERCER_SIMD
    Isa best = Isa::portable;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
        best = Isa::avx2;
    if (best == Isa::avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        best = Isa::avx512;
    if (const char *asked = secure_getenv("MERCER_ISA"))
        for (Isa isa : {Isa::portable, Isa::avx2})
            if (isa < best && std::strcmp(asked, isa_name(isa)) == 0) return isa;
    return best;
#else
    return Isa::portable;
#endif
}

} // namespace

Isa best_isa() {
    static const Isa isa = detect();
    return isa;
}

const char *isa_name(Isa isa) { return isa == Isa::avx512 ? "avx512" : isa == Isa::avx2 ? "avx2" : "portable"; }

const VectorMath &vector_math() {
#ifdef MERCER_SIMD
    switch (best_isa()) {
    case Isa::avx512: return vmath_avx512;
    case Isa::avx2: return vmath_avx2;
    default: break;
    }
#endif
    return vmath_portable;
}

} // namespace mercer
