// Sums over the centres for panels of queries, which are processed in parallel: F = k(Q, C) W for a
// thin W, and any other sums that use each tile between queries and centres once. A tile stays in
// cache, and an n x m matrix never exists. For n queries, m centres and q columns of W, the cost is
// n m kernel values and 2 n m q flops. The memory is that of the panels of C, and of one panel and
// its sums per thread. Products are computed in the tile's type, and sums across tiles in f64.
#pragma once
#include "tile.h"

#include <functional>

namespace mercer {

// The matrix W (m x q, row-major, rows padded to `stride`: see thin.h) in the tile's type.
template <class T>
struct Weights {
    Weights(Run &run, int64_t rows, int64_t cols)
        : rows(rows), cols(cols), stride(padded_columns<T>(cols)), values(run.buffer<T>(rows, stride)) {
        values.zero();
    }
    void column(int64_t at, const double *from, double scale) {
        for (int64_t i = 0; i < rows; ++i) values[i * stride + at] = static_cast<T>(from[i] * scale);
    }
    // Copies a row-major matrix with `count` columns and no padding into as many columns of W, the
    // first of which is column `at`.
    void columns(int64_t at, const T *from, int64_t count) {
        for (int64_t i = 0; i < rows; ++i) std::copy_n(from + i * count, count, values.data() + i * stride + at);
    }
    int64_t rows, cols, stride;
    Buffer<T> values;
};

template <class T>
class RowSums {
  public:
    // tiles lie between queries and centres and must outlive this object. frequencies: the centres
    // are frequencies of random features, and W is multiplied with the cosine and the sine of the
    // tile's values instead of these values.
    RowSums(Run &run, const Tiles<T> &tiles, bool frequencies) : run_(run), tiles_(tiles), frequencies_(frequencies) {}

    // For each panel x of queries, on any thread: calls add(...) for each panel y of centres in
    // ascending order, and then done(...) once. add adds to the sums of x (x.rows x width,
    // row-major, initially zero), and done receives them.
    using Add = std::function<void(const Panel<T> &x, const Panel<T> &y, TileScratch<T> &scratch, double *sums)>;
    using Done = std::function<void(const Panel<T> &x, double *sums)>;
    void accumulate(int64_t width, const Add &add, const Done &done) const {
        accumulate(width, add, done, 0, tiles_.x().rows());
    }
    void accumulate(int64_t width, const Add &add, const Done &done, int64_t row0, int64_t rows) const;
    // Calls done(...) for each panel x of queries with the sums k(x, C) W (x.rows x w.stride).
    void evaluate(const Weights<T> &w, const Done &done) const { evaluate(w, done, 0, tiles_.x().rows()); }
    void evaluate(const Weights<T> &w, const Done &done, int64_t row0, int64_t rows) const;

  protected:
    Run &run_;

  private:
    void add(const Weights<T> &w, const Panel<T> &y, int64_t rows, T *values, T *product, double *sums) const;
    void add_turned(const Weights<T> &w, const Panel<T> &x, const Panel<T> &y, TileScratch<T> &scratch, T *product,
                    double *sums) const;
    void add_values(const Weights<T> &w, int64_t row0, int64_t m, int64_t n, const T *values, T *product,
                    double *sums) const;
    const Tiles<T> &tiles_;
    bool frequencies_;
};

} // namespace mercer
