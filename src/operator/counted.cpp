#include "counted.h"

#include <algorithm>
#include <cmath>

namespace mercer {

Counted::Counted(Run &run, const Operator &base, double start, double likely)
    : Operator(base.n(), base.f32()), base_(base), start_(start), likely_(std::max(likely, 1.0)) {
    rest(run);
}

template <class F>
void Counted::next(Run &run, int64_t width, bool f32, F &&body) const {
    const double from = share();
    passes_.push_back({width, f32});
    still_.reset();
    {
        Run::Span span(run, from, share());
        body();
    }
    rest(run);
}

void Counted::product(Run &run, bool rough, int64_t p, const Fill &q, const Take &y) const {
    next(run, p, rough || f32(), [&] { base_.product(run, rough, p, q, y); });
}

void Counted::dense(Run &run, double *a, int64_t lda) const {
    next(run, 0, f32(), [&] { base_.dense(run, a, lda); });
}

void Counted::row_squares(Run &run, const Squares &of, double *out) const {
    next(run, 1, f32(), [&] { base_.row_squares(run, of, out); });
}

double Counted::share() const {
    const double done = static_cast<double>(passes_.size()), before = std::min(done, likely_);
    return start_ + (1 - start_) * (filled * before / likely_ + (1 - filled) * (1 - std::pow(0.5, done - before)));
}

} // namespace mercer
