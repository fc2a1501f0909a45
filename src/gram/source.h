// Sources other than files and chunks (chunks.h): the caller's arrays, sparse rows, and objects
// that are known only by values between pairs.
#pragma once
#include "../io/source.h"

namespace mercer {

// Compressed sparse rows with base 0 and ascending columns in each row. dtype is the type in which
// the values were given.
class SparseSource : public Source {
  public:
    // Checks and copies the caller's arrays; converts CSC (sparse columns) to CSR.
    explicit SparseSource(const mercer_sparse &sparse);
    SparseSource(int64_t cols, Buffer<int64_t> offsets, Buffer<int32_t> columns, Buffer<double> values, int32_t dtype);

    const int64_t *offsets() const { return offsets_.data(); }
    const int32_t *columns() const { return columns_.data(); }
    int64_t count() const { return columns_.size(); }
    int64_t stored_bytes() const override { return offsets_.bytes() + columns_.bytes() + values_.bytes(); }
    double value(int64_t entry) const { return values_[entry]; }
    void fill(int64_t row0, int64_t count, float *out) const override { spread(row0, count, out); }
    void fill(int64_t row0, int64_t count, double *out) const override { spread(row0, count, out); }

  private:
    template <class T>
    void spread(int64_t row0, int64_t count, T *out) const;
    Buffer<int64_t> offsets_;
    Buffer<int32_t> columns_;
    Buffer<double> values_; // f64 holds f32 values exactly
};

// Objects: the caller's callback supplies the values between pairs.
class ObjectSource : public Source {
  public:
    // origin: what supplied the values, for messages.
    explicit ObjectSource(const mercer_objects &objects, const char *origin = "the pairs callback returned");
    // Selects some objects of another source and numbers them from 0.
    ObjectSource(std::shared_ptr<const ObjectSource> all, const int64_t *some, int64_t count);
    ~ObjectSource() override;
    bool is_distance() const { return objects_.values == MERCER_DISTANCE; }
    bool thread_safe() const { return objects_.flags & MERCER_THREAD_SAFE; }
    bool psd() const { return objects_.flags & MERCER_PSD; }
    // Writes the distances or kernel values of the pairs (i_k, j_k) as the callback gave them, and
    // checks them.
    void given(const int64_t *i, const int64_t *j, int64_t count, double *values) const;
    // pairs writes squared distances or kernel values of the pairs. self writes the same for each
    // object with itself. queries: the objects are queries. The kernel value of a query with itself
    // can only come from the callback `self`, because the callback `pairs` compares queries only
    // with rows of the fitted data.
    void pairs(const int64_t *i, const int64_t *j, int64_t count, double *values) const;
    void self(const int64_t *i, int64_t count, bool queries, double *values) const;
    void fill(int64_t, int64_t, float *) const override;
    void fill(int64_t, int64_t, double *) const override;

  protected:
    [[noreturn]] void pair_is_wrong(double value, int64_t i, int64_t j) const;

  private:
    mercer_objects objects_;
    const char *origin_;
    // If this source is a selection: the source of all objects, and the numbers of the selected
    // ones.
    std::shared_ptr<const ObjectSource> all_;
    CountedVector<int64_t> some_;
};

std::shared_ptr<Source> make_view_source(const mercer_view &view);

// Owns rows x cols numbers in memory. before: how many rows of the caller's data precede them, for
// messages.
template <class T>
std::shared_ptr<Source> make_array_source(Buffer<T> values, int64_t rows, int64_t cols, int64_t before = 0);

// Checks a view and returns a copy of it. dtypes: the permitted types, a bit set of 1 << MERCER_F32
// and so on; what: the name of the view in messages.
mercer_view read_view(const char *what, const mercer_view *view, unsigned dtypes);

// True if some byte belongs to entries of both views. The answer is exact for all strides: separate
// columns of one array do not overlap. If the two memory ranges intersect, the cost is one division
// for each line of the view with fewer lines.
bool overlap(const mercer_view &a, const mercer_view &b);

// Fails with E_ARGUMENT if an output, named `what`, shares memory with the rows of data, named
// `input`, which are read while it is written.
void check_apart(const char *what, const mercer_view &out, const char *input, const Source &data);

} // namespace mercer
