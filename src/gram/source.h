// Sources that are no files: arrays of the caller, chunks from a callback, sparse rows, and objects known by pairs only.
#pragma once
#include "../io/source.h"

namespace mercer {

// Compressed sparse rows, base 0, columns ascending in each row; values in the type they were given in.
class SparseSource : public Source {
  public:
    // Checks everything and copies; csc is turned into csr.
    explicit SparseSource(const mercer_sparse &sparse);
    SparseSource(int64_t cols, Buffer<int64_t> offsets, Buffer<int32_t> columns, Buffer<double> values, int32_t dtype);

    const int64_t *offsets() const { return offsets_.data(); }
    const int32_t *columns() const { return columns_.data(); }
    int64_t count() const { return columns_.size(); }
    int64_t held_bytes() const override { return offsets_.bytes() + columns_.bytes() + values_.bytes(); }
    double value(int64_t entry) const { return values_[entry]; }
    void fill(int64_t row0, int64_t count, float *out) const override { spread(row0, count, out); }
    void fill(int64_t row0, int64_t count, double *out) const override { spread(row0, count, out); }

  private:
    template <class T>
    void spread(int64_t row0, int64_t count, T *out) const;
    Buffer<int64_t> offsets_;
    Buffer<int32_t> columns_;
    Buffer<double> values_; // exact for f32 too
};

// Objects: values between pairs, by the caller's callback.
class ObjectSource : public Source {
  public:
    // origin: the source of the values, for messages.
    explicit ObjectSource(const mercer_objects &objects, const char *origin = "the pairs callback returned");
    // A selection of the objects of another source, numbered from 0.
    ObjectSource(std::shared_ptr<const ObjectSource> all, const int64_t *some, int64_t count);
    ~ObjectSource() override;
    bool is_distance() const { return objects_.values == MERCER_DISTANCE; }
    bool thread_safe() const { return objects_.flags & MERCER_THREAD_SAFE; }
    bool psd() const { return objects_.flags & MERCER_PSD; }
    // The values as supplied, checked.
    void given(const int64_t *i, const int64_t *j, int64_t count, double *values) const;
    // Distances are squared here. queries: i counts queries, whose own value is then only known to self.
    void pairs(const int64_t *i, const int64_t *j, int64_t count, double *values) const;
    void self(const int64_t *i, int64_t count, bool queries, double *values) const;
    void fill(int64_t, int64_t, float *) const override;
    void fill(int64_t, int64_t, double *) const override;

  protected:
    [[noreturn]] void pair_is_wrong(double value, int64_t i, int64_t j) const;

  private:
    mercer_objects objects_;
    const char *origin_;
    std::shared_ptr<const ObjectSource> all_; // nullptr: these are all
    CountedVector<int64_t> some_;
};

std::shared_ptr<Source> make_view_source(const mercer_view &view);
std::shared_ptr<Source> make_chunk_source(const mercer_chunks &chunks);

// rows x cols numbers in memory, owned.
template <class T>
std::shared_ptr<Source> make_array_source(Buffer<T> values, int64_t rows, int64_t cols);

// Checks a view and widens it to the present struct. dtypes: a bit set of 1 << MERCER_F32 ...; what: its name in messages.
mercer_view read_view(const char *what, const mercer_view *view, unsigned dtypes);

// True if some byte belongs to entries of both views. Exact for all strides: separate columns of one array do not overlap. If the
// two memory ranges intersect, it costs a division for each line of the view that has fewer.
bool overlap(const mercer_view &a, const mercer_view &b);

// E_ARGUMENT if an output, named `what`, shares memory with the rows of data, named `input`, that are read.
void check_apart(const char *what, const mercer_view &out, const char *input, const Source &data);

} // namespace mercer
