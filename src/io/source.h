// The interface of all sources of rows. The sources that read files are in this folder; those of
// arrays, chunks, sparse rows and objects are in gram/source.h. A Source is immutable and read by
// many threads at once. It gives n x d numbers in windows, sparse rows, or objects that are known
// only by the kernel values or distances of pairs.
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
    // Makes this source release the caller's user pointer, if there is one, when it is destroyed.
    void own() { owned_ = true; }

    Kind kind() const { return kind_; }
    int64_t rows() const { return rows_; } // -1: not known before load()
    int64_t cols() const { return cols_; } // 0 for objects
    int32_t dtype() const { return dtype_; }

    // Returns nullptr if this source can be read any number of times. Otherwise (a chunk callback)
    // returns a source that can be: it has its rows in memory, or it reads them by windows in as
    // many passes as are needed. Runs on the calling thread; the result must not outlive the run.
    virtual std::shared_ptr<const Source> load(Run &) const { return nullptr; }
    // True if this source itself can be read any number of times, false if only the result of
    // load() can be.
    virtual bool at_will() const { return true; }
    // True if only the thread that called load() may read rows, and should read them in order:
    // reading rows that lie before the window in memory begins a new pass over all rows. Loops over
    // such rows are serial and ascending, and single rows are read together (gather).
    virtual bool in_passes() const { return false; }
    // True if reading a single row is costly, because it is a call of the caller's function or may
    // begin a pass. Rows that lie far apart are then copied to memory, many with one gather().
    virtual bool costs_calls() const { return in_passes(); }

    // Writes rows row0 ... row0 + count - 1 to out, row-major; sparse rows include their zeros.
    // Fails with E_DATA at the first NaN or Inf; the message says where it is.
    void read(int64_t row0, int64_t count, float *out) const { fill(row0, count, out), check(row0, count, out); }
    void read(int64_t row0, int64_t count, double *out) const { fill(row0, count, out), check(row0, count, out); }
    // Does the same as read() without the check for NaN and Inf.
    virtual void fill(int64_t row0, int64_t count, float *out) const = 0;
    virtual void fill(int64_t row0, int64_t count, double *out) const = 0;
    // Writes the rows with these numbers, which may be in any order and may repeat, to out. One
    // pass at most is made over a source that is read in passes.
    void gather(const int64_t *numbers, int64_t count, float *out) const { gather_checked(numbers, count, out); }
    void gather(const int64_t *numbers, int64_t count, double *out) const { gather_checked(numbers, count, out); }
    // Does the same as gather() without the check for NaN and Inf.
    virtual void pick(const int64_t *numbers, int64_t count, float *out) const { pick_runs(numbers, count, out); }
    virtual void pick(const int64_t *numbers, int64_t count, double *out) const { pick_runs(numbers, count, out); }
    // Throws E_DATA with the position of this entry in the caller's data and what is wrong with it.
    [[noreturn]] void refuse(int64_t row, int64_t column, const char *what) const;
    // "row 4, column 1", numbered as in the caller's data; for a text file, the line.
    virtual std::string place(int64_t row, int64_t column) const;
    bool is_finite() const { return finite_; } // true if the rows are known to contain no NaN and no Inf

    // The memory of the caller from which rows are read and which outputs must not overlap; nullptr
    // if there is none or it is unknown.
    virtual const mercer_view *borrowed() const { return nullptr; }

    // If this source has only some rows of the caller's data (gram/subset.h), given_rows() is the
    // number of all rows of these data, and number(i) the number that row i has there.
    virtual int64_t given_rows() const { return rows_; }
    virtual int64_t number(int64_t row) const { return row; }

    // Bytes that load() will take from the budget of the call for which this thread works. For the
    // result of load(): bytes that load() has taken.
    virtual int64_t loaded_bytes() const { return 0; }

    // Bytes that this source holds outside of any budget, because it was created before the call.
    virtual int64_t stored_bytes() const { return 0; }

    // Bytes that one reader needs, in addition to its output, for a window of count rows.
    virtual int64_t window_bytes(int64_t) const { return 0; }

  protected:
    Source(Kind kind, int64_t rows, int64_t cols, int32_t dtype)
        : kind_(kind), rows_(rows), cols_(cols), dtype_(dtype) {}

    bool owned() const { return owned_; }
    void be_finite() { finite_ = true; }
    void be_named(std::string name) { name_ = std::move(name); } // names the file in messages
    const std::string &name() const { return name_; }

  private:
    template <class T>
    void check(int64_t row0, int64_t count, const T *values) const;
    [[noreturn]] void refuse_value(int64_t row, int64_t column, double value) const;
    template <class T>
    void pick_runs(const int64_t *numbers, int64_t count, T *out) const;
    template <class T>
    void gather_checked(const int64_t *numbers, int64_t count, T *out) const;

    Kind kind_;
    int64_t rows_, cols_;
    int32_t dtype_;
    bool owned_ = false, finite_ = false;
    std::string name_;
};

// Returns the position of the first NaN or Inf; rows * cols if there is none.
template <class T>
int64_t find_not_finite(int64_t rows, int64_t cols, const T *values);

// Calls body(i, first, count) for each run of consecutive numbers index[i] = first, first + 1 ...,
// so that the rows of a run can be read at once.
template <class Body>
void each_run(const int64_t *index, int64_t rows, Body &&body) {
    for (int64_t i = 0, count = 1; i < rows; i += count) {
        for (count = 1; i + count < rows && index[i + count] == index[i] + count;) ++count;
        body(i, index[i], count);
    }
}

} // namespace mercer
