#include "source.h"

#include "../core/run.h"
#include "../core/structs.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstring>

namespace mercer {

mercer_view read_view(const char *what, const mercer_view *view, unsigned dtypes) {
    need(view, what);
    if (view->struct_size < static_cast<int64_t>(sizeof(mercer_view)) || view->struct_size > 4096)
        fail(MERCER_E_ARGUMENT, "%s: struct_size = %" PRId64 ", must be sizeof(mercer_view) = %zu", what,
             view->struct_size, sizeof(mercer_view));
    if (view->dtype < 1 || view->dtype > 31 || !(dtypes >> view->dtype & 1u))
        fail(MERCER_E_ARGUMENT, "%s: dtype = %d, must be%s%s%s", what, view->dtype,
             dtypes >> MERCER_F32 & 1 ? " MERCER_F32" : "", dtypes >> MERCER_F64 & 1 ? " MERCER_F64" : "",
             dtypes >> MERCER_I64 & 1 ? " MERCER_I64" : "");
    if (view->reserved != 0) fail(MERCER_E_ARGUMENT, "%s: reserved = %d, must be 0", what, view->reserved);
    if (view->rows < 0 || view->cols < 0)
        fail(MERCER_E_SHAPE, "%s: %" PRId64 " x %" PRId64 ", sizes must be >= 0", what, view->rows, view->cols);
    mercer_view out = *view;
    if (out.rows == 0 || out.cols == 0) out.row_stride = out.cols, out.col_stride = 1;
    bool by_row = out.col_stride == 1 && (out.row_stride >= out.cols || out.rows <= 1);
    bool by_col = out.row_stride == 1 && (out.col_stride >= out.rows || out.cols <= 1);
    if (!by_row && !by_col)
        fail(MERCER_E_SHAPE,
             "%s: strides %" PRId64 " and %" PRId64 " of %" PRId64 " x %" PRId64
             ", one must be 1 and the other at least the number of columns (row-major) or rows",
             what, out.row_stride, out.col_stride, out.rows, out.cols);
    checked_bytes(what, std::max<int64_t>(out.rows, 1), std::max<int64_t>(out.cols, 1), 8);
    const int64_t lines = by_row ? out.rows : out.cols;
    if (lines > 1) checked_bytes(what, lines, by_row ? out.row_stride : out.col_stride, 8);
    if (!out.data && out.rows * out.cols > 0) fail(MERCER_E_ARGUMENT, "%s: data is NULL, must not be NULL", what);
    return out;
}

namespace {

// The memory of a view: `count` lines of `bytes` bytes; consecutive lines start `step` bytes apart.
struct Lines {
    explicit Lines(const mercer_view &view) : begin(reinterpret_cast<intptr_t>(view.data)) {
        const int64_t size = view.dtype == MERCER_F32 || view.dtype == MERCER_I32 ? 4 : 8;
        const bool by_row = view.col_stride == 1 && (view.row_stride >= view.cols || view.rows <= 1);
        count = by_row ? view.rows : view.cols;
        bytes = (by_row ? view.cols : view.rows) * size;
        step = count > 1 ? (by_row ? view.row_stride : view.col_stride) * size : bytes;
        if (!view.data || bytes == 0) count = 0;
    }
    intptr_t end() const { return begin + (count - 1) * step + bytes; }
    // True if some line and [from, to) have a byte in common. In this case the first line that ends
    // after `from` has one in common with it, so only this line is tested.
    bool meet(intptr_t from, intptr_t to) const {
        const int64_t before = from - begin - bytes, line = before < 0 ? 0 : before / step + 1;
        return line < count && begin + line * step < to;
    }
    intptr_t begin;
    int64_t count, bytes, step;
};

} // namespace

bool overlap(const mercer_view &a, const mercer_view &b) {
    const Lines one(a), other(b);
    if (one.count == 0 || other.count == 0 || one.end() <= other.begin || other.end() <= one.begin) return false;
    const Lines &fewer = one.count <= other.count ? one : other, &more = one.count <= other.count ? other : one;
    for (int64_t i = 0; i < fewer.count; ++i)
        if (const intptr_t line = fewer.begin + i * fewer.step; more.meet(line, line + fewer.bytes)) return true;
    return false;
}

void check_apart(const char *what, const mercer_view &out, const char *input, const Source &data) {
    if (const mercer_view *in = data.borrowed(); in && overlap(out, *in))
        fail(MERCER_E_ARGUMENT, "%s shares memory with %s, which is read while %s is written: use separate memory",
             what, input, what);
}

namespace {

class ViewSource : public Source {
  public:
    explicit ViewSource(const mercer_view &view) : Source(Kind::dense, view.rows, view.cols, view.dtype), view_(view) {}
    const mercer_view *borrowed() const override { return &view_; }
    void fill(int64_t row0, int64_t count, float *out) const override { copy(row0, count, out); }
    void fill(int64_t row0, int64_t count, double *out) const override { copy(row0, count, out); }

  private:
    template <class To>
    void copy(int64_t row0, int64_t count, To *out) const {
        if (dtype() == MERCER_F32)
            gather(static_cast<const float *>(view_.data), row0, count, out);
        else
            gather(static_cast<const double *>(view_.data), row0, count, out);
    }
    template <class From, class To>
    void gather(const From *from, int64_t row0, int64_t count, To *out) const {
        const int64_t d = cols();
        if (view_.col_stride == 1)
            for (int64_t i = 0; i < count; ++i) std::copy_n(from + (row0 + i) * view_.row_stride, d, out + i * d);
        else
            for (int64_t k = 0; k < d; ++k) {
                const From *column = from + k * view_.col_stride + row0 * view_.row_stride;
                for (int64_t i = 0; i < count; ++i) out[i * d + k] = static_cast<To>(column[i]);
            }
    }
    mercer_view view_;
};

template <class T>
class ArraySource : public Source {
  public:
    ArraySource(Buffer<T> values, int64_t rows, int64_t cols, int64_t before)
        : Source(Kind::dense, rows, cols, sizeof(T) == 4 ? MERCER_F32 : MERCER_F64), values_(std::move(values)),
          before_(before) {}
    std::string place(int64_t row, int64_t column) const override { return Source::place(before_ + row, column); }
    int64_t loaded_bytes() const override { return values_.bytes(); }
    void fill(int64_t row0, int64_t count, float *out) const override { copy(row0, count, out); }
    void fill(int64_t row0, int64_t count, double *out) const override { copy(row0, count, out); }

  private:
    template <class To>
    void copy(int64_t row0, int64_t count, To *out) const {
        std::copy_n(values_.data() + row0 * cols(), count * cols(), out);
    }
    Buffer<T> values_;
    int64_t before_;
};

} // namespace

std::shared_ptr<Source> make_view_source(const mercer_view &view) { return std::make_shared<ViewSource>(view); }
template <class T>
std::shared_ptr<Source> make_array_source(Buffer<T> values, int64_t rows, int64_t cols, int64_t before) {
    return std::make_shared<ArraySource<T>>(std::move(values), rows, cols, before);
}
template std::shared_ptr<Source> make_array_source(Buffer<float>, int64_t, int64_t, int64_t);
template std::shared_ptr<Source> make_array_source(Buffer<double>, int64_t, int64_t, int64_t);

// ---- sparse

namespace {

struct Entry {
    int32_t column;
    double value;
};

// Reads the caller's index and value arrays, whatever their types.
class SparseReader {
  public:
    explicit SparseReader(const mercer_sparse &sparse) : s_(sparse) {}
    // Negative values become -1, so that subtracting the base cannot overflow and the result stays
    // out of range.
    int64_t offset(int64_t i) const { return std::max(index(s_.offsets, i), int64_t{-1}) - s_.base; }
    int64_t minor(int64_t k) const { return std::max(index(s_.indices, k), int64_t{-1}) - s_.base; }
    double value(int64_t k) const {
        return s_.dtype == MERCER_F32 ? static_cast<double>(static_cast<const float *>(s_.values)[k])
                                      : static_cast<const double *>(s_.values)[k];
    }

  private:
    int64_t index(const void *from, int64_t k) const {
        return s_.index_dtype == MERCER_I32 ? int64_t{static_cast<const int32_t *>(from)[k]}
                                            : static_cast<const int64_t *>(from)[k];
    }
    const mercer_sparse &s_;
};

} // namespace

SparseSource::SparseSource(const mercer_sparse &s) : Source(Kind::sparse, s.rows, s.cols, s.dtype) {
    be_finite(); // the loops below check the values
    const bool csr = s.layout == MERCER_CSR;
    const int64_t majors = csr ? s.rows : s.cols, minors = csr ? s.cols : s.rows;
    const char *major = csr ? "row" : "column", *minor = csr ? "column" : "row";
    SparseReader reader(s);
    if (reader.offset(0) != 0)
        fail(MERCER_E_DATA, "sparse: the first offset is %" PRId64 ", must be base = %d", reader.offset(0) + s.base,
             s.base);
    if (reader.offset(majors) != s.count)
        fail(MERCER_E_DATA, "sparse: the last offset minus base is %" PRId64 ", must be count = %" PRId64,
             reader.offset(majors), s.count);
    Buffer<int64_t> offsets(s.rows + 1);
    offsets.zero();
    for (int64_t i = 0; i < majors; ++i) {
        int64_t from = reader.offset(i), to = reader.offset(i + 1);
        if (to < from || to > s.count)
            fail(MERCER_E_DATA,
                 "sparse: the offsets of %s %" PRId64 " are %" PRId64 " and %" PRId64 ", must ascend up to count",
                 major, i, from + s.base, to + s.base);
        for (int64_t k = from; k < to; ++k) {
            int64_t j = reader.minor(k);
            if (j < 0 || j >= minors)
                fail(MERCER_E_DATA, "sparse: %s %" PRId64 " refers to %s %" PRId64 ", must be 0 to %" PRId64, major, i,
                     minor, j, minors - 1);
            if (!std::isfinite(reader.value(k)))
                fail(MERCER_E_DATA, "row %" PRId64 ", column %" PRId64 " is %g, must be finite", csr ? i : j,
                     csr ? j : i, reader.value(k));
            ++offsets[(csr ? i : j) + 1];
        }
    }
    for (int64_t i = 0; i < s.rows; ++i) offsets[i + 1] += offsets[i];
    Buffer<Entry> entries(s.count);
    Buffer<int64_t> next(s.rows);
    std::copy_n(offsets.data(), s.rows, next.data());
    for (int64_t i = 0; i < majors; ++i)
        for (int64_t k = reader.offset(i); k < reader.offset(i + 1); ++k) {
            int64_t j = reader.minor(k), row = csr ? i : j, column = csr ? j : i;
            entries[next[row]++] = {static_cast<int32_t>(column), reader.value(k)};
        }
    columns_ = Buffer<int32_t>(s.count);
    values_ = Buffer<double>(s.count);
    for (int64_t i = 0; i < s.rows; ++i) {
        Entry *from = entries.data() + offsets[i], *to = entries.data() + offsets[i + 1];
        std::sort(from, to, [](const Entry &a, const Entry &b) { return a.column < b.column; });
        for (Entry *e = from; e != to; ++e) {
            if (e != from && e[-1].column == e->column)
                fail(MERCER_E_DATA, "sparse: row %" PRId64 " has column %d twice, must be once at most", i, e->column);
            columns_[e - entries.data()] = e->column;
            values_[e - entries.data()] = e->value;
        }
    }
    offsets_ = std::move(offsets);
}

SparseSource::SparseSource(int64_t cols, Buffer<int64_t> offsets, Buffer<int32_t> columns, Buffer<double> values,
                           int32_t dtype)
    : Source(Kind::sparse, offsets.size() - 1, cols, dtype), offsets_(std::move(offsets)), columns_(std::move(columns)),
      values_(std::move(values)) {}

template <class T>
void SparseSource::spread(int64_t row0, int64_t count, T *out) const {
    std::fill_n(out, count * cols(), T(0));
    for (int64_t i = 0; i < count; ++i)
        for (int64_t k = offsets_[row0 + i]; k < offsets_[row0 + i + 1]; ++k)
            out[i * cols() + columns_[k]] = static_cast<T>(values_[k]);
}

template void SparseSource::spread(int64_t, int64_t, float *) const;
template void SparseSource::spread(int64_t, int64_t, double *) const;

// ---- objects

ObjectSource::ObjectSource(const mercer_objects &objects, const char *origin)
    : Source(Kind::objects, objects.rows, 0, MERCER_F64), objects_(objects), origin_(origin) {}
ObjectSource::ObjectSource(std::shared_ptr<const ObjectSource> all, const int64_t *some, int64_t count)
    : Source(Kind::objects, count, 0, all->dtype()), objects_(all->objects_), origin_(all->origin_),
      all_(std::move(all)), some_(some, some + count) {}
ObjectSource::~ObjectSource() {
    if (owned() && objects_.release) objects_.release(objects_.user);
}

namespace {
CountedVector<int64_t> numbers_of(const CountedVector<int64_t> &some, const int64_t *i, int64_t count) {
    CountedVector<int64_t> out;
    for (int64_t k = 0; k < count; ++k) out.push_back(some[static_cast<size_t>(i[k])]);
    return out;
}
} // namespace

void ObjectSource::given(const int64_t *i, const int64_t *j, int64_t count, double *values) const {
    if (all_) return all_->given(numbers_of(some_, i, count).data(), numbers_of(some_, j, count).data(), count, values);
    call_back("the pairs callback", [&] { return objects_.pairs(objects_.user, i, j, count, values); });
    for (int64_t k = 0; k < count; ++k)
        if (!std::isfinite(is_distance() ? values[k] * values[k] : values[k]) || (is_distance() && values[k] < 0))
            pair_is_wrong(values[k], i[k], j[k]);
}

void ObjectSource::pairs(const int64_t *i, const int64_t *j, int64_t count, double *values) const {
    given(i, j, count, values);
    for (int64_t k = 0; is_distance() && k < count; ++k) values[k] *= values[k];
}

void ObjectSource::pair_is_wrong(double value, int64_t i, int64_t j) const {
    fail(MERCER_E_DATA, "%s %g for the pair (%" PRId64 ", %" PRId64 "), must be finite%s", origin_, value, i, j,
         !is_distance()                       ? ""
         : std::isfinite(value) && value >= 0 ? ", and so must its square"
                                              : " and >= 0");
}

void ObjectSource::self(const int64_t *i, int64_t count, bool queries, double *values) const {
    if (all_) return all_->self(numbers_of(some_, i, count).data(), count, queries, values);
    if (is_distance()) {
        std::fill_n(values, count, 0.0);
    } else if (objects_.self) {
        call_back("the self callback", [&] { return objects_.self(objects_.user, i, count, values); });
    } else if (queries) {
        fail(MERCER_E_UNSUPPORTED, "this needs k(q, q) of the queries, but their objects have no self callback");
    } else {
        pairs(i, i, count, values);
    }
}

void ObjectSource::fill(int64_t, int64_t, float *) const { fail(MERCER_E_UNSUPPORTED, "objects have no columns"); }
void ObjectSource::fill(int64_t, int64_t, double *) const { fail(MERCER_E_UNSUPPORTED, "objects have no columns"); }

} // namespace mercer
