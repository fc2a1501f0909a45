#include "subset.h"

#include "../core/run.h"
#include "../core/threads.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>

namespace mercer {
namespace {

// The numbers of a subset's rows: those of a list, or `first` and its successors.
struct Numbers {
    Buffer<int64_t> list; // empty: a range
    int64_t first = 0, count = 0;
    int64_t operator[](int64_t i) const { return list.empty() ? first + i : list[i]; }
};

// A source of any kind whose rows are some rows of another one.
template <class Base>
class Numbered : public Base {
  public:
    template <class... Arguments>
    Numbered(std::shared_ptr<const Source> all, Numbers &&numbers, Arguments &&...arguments)
        : Base(std::forward<Arguments>(arguments)...), all_(std::move(all)), numbers_(std::move(numbers)) {
        if (all_->is_finite()) this->be_finite();
    }
    std::string place(int64_t row, int64_t column) const override { return all_->place(numbers_[row], column); }
    int64_t given_rows() const override { return all_->given_rows(); }
    int64_t number(int64_t row) const override { return all_->number(numbers_[row]); }

  protected:
    const Source &all() const { return *all_; }
    const Numbers &numbers() const { return numbers_; }

  private:
    std::shared_ptr<const Source> all_;
    Numbers numbers_;
};

class DenseSubset : public Numbered<Source> {
  public:
    // counts_all: the run that uses the subset has also loaded all rows, so their memory counts in
    // its budget.
    DenseSubset(std::shared_ptr<const Source> all, Numbers numbers, bool counts_all)
        : Numbered<Source>(all, std::move(numbers), Kind::dense, numbers.count, all->cols(), all->dtype()),
          counts_all_(counts_all) {}
    bool in_passes() const override { return all().in_passes(); }
    bool costs_calls() const override { return all().costs_calls(); }
    void fill(int64_t row0, int64_t count, float *out) const override { copy(row0, count, out); }
    void fill(int64_t row0, int64_t count, double *out) const override { copy(row0, count, out); }
    void pick(const int64_t *rows, int64_t count, float *out) const override { pick_of_all(rows, count, out); }
    void pick(const int64_t *rows, int64_t count, double *out) const override { pick_of_all(rows, count, out); }
    const mercer_view *borrowed() const override { return all().borrowed(); }
    int64_t loaded_bytes() const override { return (counts_all_ ? all().loaded_bytes() : 0) + numbers().list.bytes(); }
    int64_t stored_bytes() const override { return counts_all_ ? all().stored_bytes() : 0; }
    int64_t window_bytes(int64_t count) const override { return all().window_bytes(count); }

  private:
    template <class T>
    void copy(int64_t row0, int64_t count, T *out) const {
        if (numbers().list.empty()) return all().fill(numbers().first + row0, count, out);
        each_run(numbers().list.data() + row0, count,
                 [&](int64_t i, int64_t first, int64_t rows) { all().fill(first, rows, out + i * cols()); });
    }
    template <class T>
    void pick_of_all(const int64_t *rows, int64_t count, T *out) const {
        std::vector<int64_t> of_all;
        for (int64_t k = 0; k < count; ++k) of_all.push_back(numbers()[rows[k]]);
        all().pick(of_all.data(), count, out);
    }
    bool counts_all_;
};

std::shared_ptr<const Source> sparse_subset(std::shared_ptr<const Source> source, Numbers numbers) {
    const auto &all = static_cast<const SparseSource &>(*source);
    Buffer<int64_t> offsets(numbers.count + 1);
    offsets[0] = 0;
    for (int64_t i = 0; i < numbers.count; ++i)
        offsets[i + 1] = offsets[i] + all.offsets()[numbers[i] + 1] - all.offsets()[numbers[i]];
    Buffer<int32_t> columns(offsets[numbers.count]);
    Buffer<double> values(offsets[numbers.count]);
    for (int64_t i = 0; i < numbers.count; ++i)
        for (int64_t k = offsets[i], from = all.offsets()[numbers[i]]; k < offsets[i + 1]; ++k, ++from)
            columns[k] = all.columns()[from], values[k] = all.value(from);
    return std::make_shared<Numbered<SparseSource>>(source, std::move(numbers), all.cols(), std::move(offsets),
                                                    std::move(columns), std::move(values), all.dtype());
}

std::shared_ptr<const Source> object_subset(const std::shared_ptr<const Source> &source, Numbers numbers) {
    std::vector<int64_t> some;
    for (int64_t i = 0; i < numbers.count; ++i) some.push_back(numbers[i]);
    const int64_t count = numbers.count;
    return std::make_shared<Numbered<ObjectSource>>(
        source, std::move(numbers), std::static_pointer_cast<const ObjectSource>(source), some.data(), count);
}

std::shared_ptr<const Source> subset_of(std::shared_ptr<const Source> source, Numbers numbers) {
    switch (source->kind()) {
    case Source::Kind::sparse: return sparse_subset(std::move(source), std::move(numbers));
    case Source::Kind::objects: return object_subset(source, std::move(numbers));
    default: return std::make_shared<DenseSubset>(std::move(source), std::move(numbers), false);
    }
}

template <class T>
std::shared_ptr<const Source> copy_of(Run &run, const Source &source, const int64_t *numbers, int64_t count) {
    Buffer<T> values = run.buffer<T>(count, source.cols());
    source.gather(numbers, count, values.data()); // a value that is not finite is reported with its row here
    return make_array_source(std::move(values), count, source.cols());
}

// Sets complete[i] to 1 for each row without NaN, to 0 for the others. Fails at the first Inf.
void scan(const Source &source, int64_t row0, int64_t rows, double *window, unsigned char *complete) {
    const int64_t d = source.cols();
    source.fill(row0, rows, window);
    for (int64_t i = 0; i < rows; ++i, window += d) {
        bool missing = false;
        for (int64_t k = find_not_finite(1, d, window); k < d; ++k) {
            missing |= std::isnan(window[k]);
            if (std::isinf(window[k])) source.refuse(row0 + i, k, "inf, must be finite");
        }
        complete[row0 + i] = !missing;
    }
}

} // namespace

std::shared_ptr<const Source> subset_of(std::shared_ptr<const Source> source, const int64_t *numbers, int64_t count) {
    Numbers own{Buffer<int64_t>(count), 0, count};
    for (int64_t k = 0; k < count; ++k) {
        own.list[k] = numbers[k];
        if (numbers[k] < 0 || numbers[k] >= source->rows() || (k > 0 && numbers[k] <= numbers[k - 1]))
            fail(MERCER_E_VALUE,
                 "subset: entry %" PRId64 " is row %" PRId64 ", must be 0 to %" PRId64 " and above its predecessor", k,
                 numbers[k], source->rows() - 1);
    }
    return subset_of(std::move(source), std::move(own));
}

std::shared_ptr<const Source> range_of(std::shared_ptr<const Source> source, int64_t first, int64_t count) {
    if (first < 0 || count < 0 || first > source->rows() - count)
        fail(MERCER_E_VALUE, "subset: rows %" PRId64 " to %" PRId64 ", must be within 0 to %" PRId64, first,
             first + count - 1, source->rows() - 1);
    return subset_of(std::move(source), Numbers{{}, first, count});
}

std::shared_ptr<const Source> rows_in_memory(Run &run, const Source &source, const int64_t *numbers, int64_t count) {
    return source.dtype() == MERCER_F32 ? copy_of<float>(run, source, numbers, count)
                                        : copy_of<double>(run, source, numbers, count);
}

std::shared_ptr<const Source> complete_rows(Run &run, std::shared_ptr<const Source> source) {
    if (source->kind() != Source::Kind::dense || source->is_finite()) return source;
    const int64_t n = source->rows(), d = source->cols(),
                  slab = std::clamp<int64_t>((int64_t{1} << 17) / std::max<int64_t>(d, 1), 1, 1024);
    Buffer<unsigned char> complete = run.buffer<unsigned char>(n);
    Pool<Buffer<double>> pool(
        [&] { return std::unique_ptr<Buffer<double>>(new Buffer<double>(run.buffer<double>(slab, d))); });
    parallel_for(
        run, (n + slab - 1) / slab,
        [&](int64_t s) {
            auto window = pool.take();
            scan(*source, s * slab, std::min(slab, n - s * slab), window->data(), complete.data());
        },
        source->in_passes());
    const int64_t count = std::count(complete.begin(), complete.end(), 1);
    if (count == n) return source;
    Buffer<int64_t> numbers = run.buffer<int64_t>(count);
    for (int64_t i = 0, at = 0; i < n; ++i)
        if (complete[i]) numbers[at++] = i;
    return std::make_shared<DenseSubset>(std::move(source), Numbers{std::move(numbers), 0, count}, true);
}

} // namespace mercer
