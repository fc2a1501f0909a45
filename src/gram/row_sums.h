// Sums over the centres, on row panels of queries in parallel: F = k(Q, C) W for a thin W, and what else needs every tile
// between a panel of queries and the centres once. A tile lives in cache, an n x m matrix never exists. Cost n m (kernel
// value + 2 q flops), q = columns of W; memory: the panels of C, and one panel and its sums a thread. Products are in the
// tile's type, sums across tiles f64.
#pragma once
#include "tile.h"

#include <functional>

namespace mercer {

// W (m x q, row-major, rows padded to `stride`: see thin.h) in the tile's type.
template <class T>
struct Weights {
    Weights(Run &run, int64_t rows, int64_t cols)
        : rows(rows), cols(cols), stride(padded_columns<T>(cols)), values(run.buffer<T>(rows, stride)) {
        values.zero();
    }
    void column(int64_t at, const double *from, double scale) {
        for (int64_t i = 0; i < rows; ++i) values[i * stride + at] = static_cast<T>(from[i] * scale);
    }
    // count columns of a row-major matrix that has no others.
    void columns(int64_t at, const T *from, int64_t count) {
        for (int64_t i = 0; i < rows; ++i) std::copy_n(from + i * count, count, values.data() + i * stride + at);
    }
    int64_t rows, cols, stride;
    Buffer<T> values;
};

template <class T>
class RowSums {
  public:
    // tiles: between queries and centres; must outlive it. frequencies: features are cos and sin of their values.
    RowSums(Run &run, const Tiles<T> &tiles, bool frequencies) : run_(run), tiles_(tiles), frequencies_(frequencies) {}

    // For every panel x of queries, on any thread: add(...) for each panel y of centres in ascending order, then done(...)
    // with what was added up: sums, x.rows x width, row-major, zeros at first.
    using Add = std::function<void(const Panel<T> &x, const Panel<T> &y, TileScratch<T> &scratch, double *sums)>;
    using Done = std::function<void(const Panel<T> &x, double *sums)>;
    void accumulate(int64_t width, const Add &add, const Done &done) const {
        accumulate(width, add, done, 0, tiles_.x().rows());
    }
    void accumulate(int64_t width, const Add &add, const Done &done, int64_t row0, int64_t rows) const;
    // The same for sums = k(x, C) W: x.rows x w.stride.
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
