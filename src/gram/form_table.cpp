#include "forms.h"
#include "fused.h"

namespace mercer {

#define MERCER_TABLES(isa)                                                                                             \
    extern const FormTable<float> forms_f32_##isa;                                                                     \
    extern const FormTable<double> forms_f64_##isa;                                                                    \
    extern const FusedTable<float> fused_f32_##isa;                                                                    \
    extern const FusedTable<double> fused_f64_##isa;
MERCER_TABLES(portable)
#ifdef MERCER_SIMD
MERCER_TABLES(avx2)
MERCER_TABLES(avx512)
#define MERCER_BEST(name)                                                                                              \
    (best_isa() == Isa::avx512 ? name##_avx512 : best_isa() == Isa::avx2 ? name##_avx2 : name##_portable)
#else
#define MERCER_BEST(name) (name##_portable)
#endif

template <>
const FormTable<float> &form_table<float>() {
    return MERCER_BEST(forms_f32);
}
template <>
const FormTable<double> &form_table<double>() {
    return MERCER_BEST(forms_f64);
}
template <>
const FusedTable<float> &fused_table<float>() {
    return MERCER_BEST(fused_f32);
}
template <>
const FusedTable<double> &fused_table<double>() {
    return MERCER_BEST(fused_f64);
}

} // namespace mercer
