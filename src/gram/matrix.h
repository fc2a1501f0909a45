// Objects known by a matrix of their distances or kernel values, in the caller's memory.
#pragma once
#include "source.h"

namespace mercer {

class MatrixSource : public ObjectSource {
  public:
    // values = MERCER_DISTANCE or MERCER_KERNEL. Kernel values are taken to be positive semi-definite: solvers and pivoted
    // Cholesky say where they are not.
    MatrixSource(const mercer_view &view, int32_t values);
    int64_t columns() const { return view_.cols; }
    // E_SHAPE, or E_DATA with the first pair, where this cannot be fitted on: it must be square, symmetric but for rounding,
    // and finite; distances are >= 0, and 0 on the diagonal.
    void check_fit(Run &run) const;

  private:
    static int32_t look_up(void *self, const int64_t *i, const int64_t *j, int64_t count, double *values);
    double entry(int64_t i, int64_t j) const;
    mercer_view view_;
};

} // namespace mercer
