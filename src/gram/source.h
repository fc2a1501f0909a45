// Where rows come from. A Source is immutable and read by many threads at once: n x d numbers in windows, or sparse rows,
// or objects known by pairs only.
#pragma once
#include "../core/memory.h"

#include <memory>
#include <string>

namespace mercer {

class Run;

class Source {
  public:
    enum class Kind { dense, sparse, objects };
    virtual ~Source() = default;
    Source(const Source &) = delete;
    // From this call on, the caller's user pointer, if any, is released with this source.
    void own() { owned_ = true; }

    Kind kind() const { return kind_; }
    int64_t rows() const { return rows_; } // -1: not known before load()
    int64_t cols() const { return cols_; } // 0: objects
    int32_t dtype() const { return dtype_; }

    // Returns nullptr if this source can be read any number of times; else (a chunk callback) its rows in memory. Runs on the calling
    // thread.
    virtual std::shared_ptr<const Source> load(Run &) const { return nullptr; }
    virtual bool at_will() const { return true; } // false: only after load()

    // Rows row0 ... row0 + count, row-major, into out; sparse ones with their zeros. NaN and Inf are E_DATA with the first
    // row and column.
    void read(int64_t row0, int64_t count, float *out) const { fill(row0, count, out), check(row0, count, out); }
    void read(int64_t row0, int64_t count, double *out) const { fill(row0, count, out), check(row0, count, out); }
    // The same as they are.
    virtual void fill(int64_t row0, int64_t count, float *out) const = 0;
    virtual void fill(int64_t row0, int64_t count, double *out) const = 0;
    // Throws E_DATA with the place of this entry in the caller's data and a description of it.
    [[noreturn]] void refuse(int64_t row, int64_t column, const char *what) const;
    // "row 4, column 1", as the caller counts; of a text file its line.
    virtual std::string place(int64_t row, int64_t column) const;
    bool is_finite() const { return finite_; } // all values are finite by construction, or were checked

    // The caller's memory that rows are read from, which outputs must not overlap; nullptr if there is none or it is unknown.
    virtual const mercer_view *borrowed() const { return nullptr; }

    // Rows of the caller's data, of which these may be some (missing.h): how many, and the number of row i.
    virtual int64_t given_rows() const { return rows_; }
    virtual int64_t number(int64_t row) const { return row; }

    // Bytes that load() holds or will hold.
    virtual int64_t loaded_bytes() const { return 0; }

    // Bytes that this source holds outside of any budget, because it was created before the call.
    virtual int64_t held_bytes() const { return 0; }

    // Bytes that one reader needs, in addition to its output, for a window of count rows.
    virtual int64_t window_bytes(int64_t) const { return 0; }

  protected:
    Source(Kind kind, int64_t rows, int64_t cols, int32_t dtype)
        : kind_(kind), rows_(rows), cols_(cols), dtype_(dtype) {}

    bool owned() const { return owned_; }
    void be_finite() { finite_ = true; }
    void be_named(std::string name) { name_ = std::move(name); } // for messages
    const std::string &name() const { return name_; }

  private:
    template <class T>
    void check(int64_t row0, int64_t count, const T *values) const;

    Kind kind_;
    int64_t rows_, cols_;
    int32_t dtype_;
    bool owned_ = false, finite_ = false;
    std::string name_;
};

// The position of the first NaN or Inf; rows * cols if there is none.
template <class T>
int64_t find_not_finite(int64_t rows, int64_t cols, const T *values);

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

// Calls body(i, first, count) for each run of consecutive numbers index[i] = first ..., so that runs of rows are read at once.
template <class Body>
void each_run(const int64_t *index, int64_t rows, Body &&body) {
    for (int64_t i = 0, count = 1; i < rows; i += count) {
        for (count = 1; i + count < rows && index[i + count] == index[i] + count;) ++count;
        body(i, index[i], count);
    }
}

} // namespace mercer
