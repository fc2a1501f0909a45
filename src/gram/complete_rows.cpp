#include "complete_rows.h"

#include "../core/run.h"
#include "../core/threads.h"

#include <algorithm>
#include <cmath>

namespace mercer {
namespace {

class CompleteRows : public Source {
  public:
    CompleteRows(std::shared_ptr<const Source> all, Buffer<int64_t> numbers, int64_t count)
        : Source(Kind::dense, count, all->cols(), all->dtype()), all_(std::move(all)), numbers_(std::move(numbers)) {}

    void fill(int64_t row0, int64_t count, float *out) const override { gather(row0, count, out); }
    void fill(int64_t row0, int64_t count, double *out) const override { gather(row0, count, out); }
    std::string place(int64_t row, int64_t column) const override { return all_->place(numbers_[row], column); }
    int64_t given_rows() const override { return all_->given_rows(); }
    int64_t number(int64_t row) const override { return all_->number(numbers_[row]); }
    int64_t loaded_bytes() const override { return all_->loaded_bytes() + numbers_.bytes(); }
    int64_t stored_bytes() const override { return all_->stored_bytes(); }
    int64_t window_bytes(int64_t count) const override { return all_->window_bytes(count); }

  private:
    template <class T>
    void gather(int64_t row0, int64_t count, T *out) const {
        each_run(numbers_.data() + row0, count,
                 [&](int64_t i, int64_t first, int64_t rows) { all_->fill(first, rows, out + i * cols()); });
    }
    std::shared_ptr<const Source> all_;
    Buffer<int64_t> numbers_;
};

// Sets complete[i] to 1 for each row without NaN, to 0 for the others.
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

std::shared_ptr<const Source> complete_rows(Run &run, std::shared_ptr<const Source> source) {
    if (source->kind() != Source::Kind::dense || source->is_finite()) return source;
    const int64_t n = source->rows(), d = source->cols(),
                  slab = std::clamp<int64_t>((int64_t{1} << 17) / std::max<int64_t>(d, 1), 1, 1024);
    Buffer<unsigned char> complete = run.buffer<unsigned char>(n);
    Pool<Buffer<double>> pool(
        [&] { return std::unique_ptr<Buffer<double>>(new Buffer<double>(run.buffer<double>(slab, d))); });
    parallel_for(run, (n + slab - 1) / slab, [&](int64_t s) {
        auto window = pool.take();
        scan(*source, s * slab, std::min(slab, n - s * slab), window->data(), complete.data());
    });
    const int64_t count = std::count(complete.begin(), complete.end(), 1);
    if (count == n) return source;
    Buffer<int64_t> numbers = run.buffer<int64_t>(count);
    for (int64_t i = 0, at = 0; i < n; ++i)
        if (complete[i]) numbers[at++] = i;
    return std::make_shared<CompleteRows>(std::move(source), std::move(numbers), count);
}

} // namespace mercer
