// Objects known by a matrix of their distances or kernel values, in the caller's memory or read from a file.
#pragma once
#include "source.h"

namespace mercer {

class MatrixSource : public ObjectSource {
  public:
    // values = MERCER_DISTANCE or MERCER_KERNEL. A kernel matrix is assumed to be positive semi-definite; solvers and
    // pivoted Cholesky detect if it is not.
    MatrixSource(const mercer_view &view, int32_t values);
    // From the rows of another source, read into memory.
    static std::shared_ptr<MatrixSource> from_rows(Run &run, const Source &rows, int32_t values);
    int64_t held_bytes() const override { return held_.bytes(); }
    const mercer_view *borrowed() const override { return held_.empty() ? &view_ : nullptr; }
    int64_t columns() const { return view_.cols; }
    // Checks that this can be fitted on: square (E_SHAPE), and finite and symmetric up to rounding (E_DATA, the message names the
    // first bad pair); distances must be >= 0, and 0 on the diagonal.
    void check_fit(Run &run) const;

  private:
    static int32_t look_up(void *self, const int64_t *i, const int64_t *j, int64_t count, double *values);
    double entry(int64_t i, int64_t j) const;
    template <class T>
    static std::shared_ptr<MatrixSource> read_whole(Run &run, const Source &rows, int32_t values);
    mercer_view view_;
    Buffer<unsigned char> held_; // memory of the view; empty if it is the caller's
};

} // namespace mercer
