#include "forms.h"

namespace mercer {

extern const FormTable<float> forms_f32_portable;
extern const FormTable<double> forms_f64_portable;
#ifdef MERCER_SIMD
extern const FormTable<float> forms_f32_avx2, forms_f32_avx512;
extern const FormTable<double> forms_f64_avx2, forms_f64_avx512;

template <>
const FormTable<float> &form_table<float>() {
    Isa isa = best_isa();
    return isa == Isa::avx512 ? forms_f32_avx512 : isa == Isa::avx2 ? forms_f32_avx2 : forms_f32_portable;
}
template <>
const FormTable<double> &form_table<double>() {
    Isa isa = best_isa();
    return isa == Isa::avx512 ? forms_f64_avx512 : isa == Isa::avx2 ? forms_f64_avx2 : forms_f64_portable;
}
#else
template <>
const FormTable<float> &form_table<float>() {
    return forms_f32_portable;
}
template <>
const FormTable<double> &form_table<double>() {
    return forms_f64_portable;
}
#endif

} // namespace mercer
