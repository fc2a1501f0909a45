// Objects that are known by a matrix of their distances or kernel values, which lies in the
// caller's memory or is read from a file.
#pragma once
#include "source.h"

namespace mercer {

class MatrixSource : public ObjectSource {
  public:
    // values: MERCER_DISTANCE or MERCER_KERNEL. A kernel matrix is assumed to be positive
    // semi-definite; solvers and pivoted Cholesky detect a matrix that is not.
    MatrixSource(const mercer_view &view, int32_t values);
    // Reads the rows of another source into memory and uses them as the matrix.
    static std::shared_ptr<MatrixSource> from_rows(Run &run, const Source &rows, int32_t values);
    int64_t stored_bytes() const override { return stored_.bytes(); }
    const mercer_view *borrowed() const override { return stored_.empty() ? &view_ : nullptr; }
    int64_t columns() const { return view_.cols; }
    // Fails unless the matrix can be fitted on: it must be square (E_SHAPE), and finite and
    // symmetric up to rounding (E_DATA; the message names the first bad pair). Distances must be >=
    // 0, and 0 on the diagonal.
    void check_fit(Run &run) const;

  private:
    static int32_t look_up(void *self, const int64_t *i, const int64_t *j, int64_t count, double *values);
    double entry(int64_t i, int64_t j) const;
    template <class T>
    static std::shared_ptr<MatrixSource> read_whole(Run &run, const Source &rows, int32_t values);
    mercer_view view_;
    Buffer<unsigned char> stored_; // the memory of view_ if this object owns it; empty if the caller does
};

} // namespace mercer
