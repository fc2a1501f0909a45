// Rows:  R_i = sqrt(w_i) (k(x_i, X) S U - l_i V sqrt(theta)),  since L^T S U = V sqrt(theta): a strip of s rows against all
// panels of the data, one thin product each; cost s n kernel values and 2 s n p flops, memory n p in the tile's type. Pairs:
// 64 x 64 tiles of which the diagonal is used, which is cheaper than pairs one by one.
//
// eta: L comes from a factor in the tile's type, whose rounding leaves E + eta positive only; 0.03 to 0.3 u |L|^2 were seen
// (tests/unit/test_certify_coverage), u |L|^2 is allowed.
#include "evidence.h"

#include "../core/threads.h"

#include <cmath>

namespace mercer {

template <class T>
Evidence<T>::Evidence(Run &run, const Expression &kernel, const Points<T> &rows, const SpanRows<T> &span,
                      const Projection &projection, const double *weights, const Random &random, int64_t look)
    : run_(run), kernel_(kernel), points_(rows), span_(span), projection_(projection), weights_(weights),
      random_(random), look_(look), diagonal_(run.buffer<double>(span.n())) {
    double mean_square = 0, total = 0;
    for (double value : projection.mean) mean_square += value * value;
    for (int64_t i = 0; i < span.n(); ++i) {
        diagonal_[i] = weight(i) * projection.residual[static_cast<size_t>(i)];
        total += weight(i);
    }
    constexpr double u = sizeof(T) == 4 ? 0x1p-24 : 0x1p-53;
    eta_ = u * (projection.theta[0] + total * mean_square);
}

template <class T>
RitzSpectrum Evidence<T>::spectrum(int64_t p) const {
    RitzSpectrum out;
    out.theta.assign(projection_.theta.begin(), projection_.theta.begin() + p);
    out.next = p < projection_.count() ? projection_.theta[static_cast<size_t>(p)]
               : p < span_.rank()      ? out.theta.back()
                                       : 0;
    out.n = span_.n();
    out.trace = projection_.left;
    out.eta = eta_;
    return out;
}

template <class T>
double Evidence<T>::norm(double failure) {
    constexpr int64_t count = pairs, edge = strip_rows;
    const int64_t n = span_.n();
    Buffer<double> share = run_.buffer<double>(n), x = run_.buffer<double>(count);
    for (int64_t i = 0; i < n; ++i) share[i] = diagonal_[i] + eta_;
    const Lottery lottery(run_, n, share.data());
    Buffer<int64_t> first = run_.buffer<int64_t>(count), second = run_.buffer<int64_t>(count);
    for (int64_t k = 0; k < count; ++k) {
        first[k] = lottery.draw(random_.uniform(4 * look_ + 1, k));
        second[k] = lottery.draw(random_.uniform(4 * look_ + 2, k));
    }
    Points<T> xs = points_.only(first.data(), count), ys = points_.only(second.data(), count);
    const Tiles<T> tiles(kernel_, xs, ys);
    auto some = [&](int64_t block) {
        const int64_t at = block * edge, rows = std::min(edge, count - at), m = span_.rank();
        TileScratch<T> scratch = tiles.scratch(run_);
        tiles.compute(xs.load(run_, at, rows), ys.load(run_, at, rows), scratch);
        Buffer<T> made_i, made_j;
        for (int64_t k = 0; k < rows; ++k) {
            const int64_t i = first[at + k], j = second[at + k];
            int64_t stride = 0;
            const T *li = span_.rows(run_, i, 1, made_i, stride), *lj = span_.rows(run_, j, 1, made_j, stride);
            double entry = static_cast<double>(scratch.tile[k * tile_rows + k]);
            for (int64_t c = 0; c < m; ++c) entry -= static_cast<double>(li[c]) * static_cast<double>(lj[c]);
            entry *= std::sqrt(weight(i) * weight(j));
            x[at + k] = pair_share(entry, i == j, diagonal_[i], diagonal_[j], eta_);
        }
    };
    parallel_for(run_, (count + edge - 1) / edge, some, tiles.serial());
    evaluations_ += count;
    return frobenius_bound(spectrum(1).total(), x.data(), count, failure);
}

template <class T>
void Evidence<T>::prepare(int64_t p) {
    const int64_t n = span_.n(), pp = padded_columns<T>(p), blocks = blocks_of(n);
    rows_ = std::make_unique<Rows>();
    Rows &to = *rows_;
    to.p = p;
    to.u = directions(run_, span_, projection_, weights_, p);
    to.law = std::make_unique<RowLaw>(run_, n, diagonal(), eta_, p, to.u.data(), n);
    to.sample = std::make_unique<RowSample>(*to.law, p, eta_);
    to.su = std::move(run_.buffer<T>(n, pp).zero());
    Points<T> ys = points_;
    ys.lean();
    if (blocks * ys.held_bytes() <= run_.budget()->left() / 2) to.panels.resize(static_cast<size_t>(blocks));
    auto block = [&](int64_t b) {
        for (int64_t i = b * tile_rows; i < std::min(n, (b + 1) * tile_rows); ++i)
            for (int64_t j = 0; j < p; ++j) to.su[i * pp + j] = static_cast<T>(std::sqrt(weight(i)) * to.u[i + j * n]);
        if (!to.panels.empty()) to.panels[static_cast<size_t>(b)] = ys.load(run_, b);
    };
    parallel_for(run_, blocks, block, Tiles<T>(kernel_, ys, ys).serial());
}

template <class T>
RowMoments Evidence<T>::rows(int64_t p, int64_t s) {
    if (!rows_ || rows_->p != p) prepare(p);
    Rows &own = *rows_;
    const int64_t n = span_.n(), m = span_.rank(), pp = padded_columns<T>(p), blocks = blocks_of(n);
    const int64_t count = std::max<int64_t>(s - own.done, 0);
    Buffer<int64_t> drawn = run_.buffer<int64_t>(count);
    for (int64_t k = 0; k < count; ++k) drawn[k] = own.law->draw(random_.uniform(4 * look_, own.done + k));
    Points<T> xs = points_.only(drawn.data(), count), ys = points_;
    xs.lean();
    ys.lean();
    const Tiles<T> tiles(kernel_, xs, ys);
    Buffer<double> r = run_.buffer<double>(count, pp);
    auto strip_of = [&](int64_t t) {
        const int64_t at = t * strip_rows, rows = std::min(strip_rows, count - at);
        double *out = r.data() + at * pp;
        std::fill_n(out, rows * pp, 0.0);
        TileScratch<T> scratch = tiles.scratch(run_);
        Buffer<T> product = run_.buffer<T>(rows, pp);
        const Panel<T> x = xs.load(run_, at, rows);
        for (int64_t b = 0; b < blocks; ++b) {
            if (run_.stopped(0)) return;
            Panel<T> loaded;
            if (own.panels.empty()) loaded = ys.load(run_, b);
            const Panel<T> &y = own.panels.empty() ? loaded : own.panels[static_cast<size_t>(b)];
            tiles.compute(x, y, scratch);
            thin_table<T>().product(rows, pp, y.rows, scratch.tile.data(), tile_rows, 1,
                                    own.su.data() + b * tile_rows * pp, pp, product.data(), pp, false);
            for (int64_t k = 0; k < rows * pp; ++k) out[k] += static_cast<double>(product[k]);
        }
        Buffer<T> made;
        for (int64_t k = 0; k < rows; ++k) { // minus l_i V sqrt(theta)
            const int64_t i = drawn[at + k];
            int64_t stride = 0;
            const T *l = span_.rows(run_, i, 1, made, stride);
            for (int64_t j = 0; j < p; ++j) {
                double sum = 0;
                for (int64_t c = 0; c < m; ++c) sum += static_cast<double>(l[c]) * projection_.v[c + j * m];
                out[k * pp + j] = std::sqrt(weight(i)) *
                                  (out[k * pp + j] - sum * std::sqrt(projection_.theta[static_cast<size_t>(j)]));
            }
        }
    };
    parallel_for(run_, (count + strip_rows - 1) / strip_rows, strip_of, tiles.serial());
    run_.progress(1);
    evaluations_ += count * n;
    std::vector<double> ui(static_cast<size_t>(p));
    for (int64_t k = 0; k < count; ++k) {
        const int64_t i = drawn[k];
        for (int64_t j = 0; j < p; ++j) ui[static_cast<size_t>(j)] = own.u[i + j * n];
        own.sample->add(r.data() + k * pp, ui.data(), diagonal_[i], own.law->probability(i));
    }
    own.done += count;
    return own.sample->moments();
}

template class Evidence<float>;
template class Evidence<double>;

} // namespace mercer
