#include "forms.h"
#include "fused.h"
#include "thin.h"

namespace mercer {

#ifdef MERCER_SIMD
#define MERCER_TABLE(function, Table, T, name)                                                                         \
    extern const Table<T> name##_portable, name##_avx2, name##_avx512;                                                 \
    template <>                                                                                                        \
    const Table<T> &function<T>() {                                                                                    \
        const Isa isa = best_isa();                                                                                    \
        return isa == Isa::avx512 ? name##_avx512 : isa == Isa::avx2 ? name##_avx2 : name##_portable;                  \
    }
#else
#define MERCER_TABLE(function, Table, T, name)                                                                         \
    extern const Table<T> name##_portable;                                                                             \
    template <>                                                                                                        \
    const Table<T> &function<T>() {                                                                                    \
        return name##_portable;                                                                                        \
    }
#endif

MERCER_TABLE(form_table, FormTable, float, forms_f32)
MERCER_TABLE(form_table, FormTable, double, forms_f64)
MERCER_TABLE(fused_table, FusedTable, float, fused_f32)
MERCER_TABLE(fused_table, FusedTable, double, fused_f64)
MERCER_TABLE(thin_table, ThinTable, float, thin_f32)
MERCER_TABLE(thin_table, ThinTable, double, thin_f64)

} // namespace mercer
