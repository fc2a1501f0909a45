// Rows:  R_i = sqrt(w_i) (k(x_i, X) S U - l_i V sqrt(theta)),  since L^T S U = V sqrt(theta): a strip of s rows against all
// panels of the data, one thin product each; cost s n kernel values and 2 s n p flops, memory n p in the tile's type. Pairs:
// 64 x 64 tiles of which the diagonal is used.
//
// eta: L comes from a factor in the tile's type, whose rounding leaves E + eta positive only; 0.03 to 0.3 u |L|^2 were seen
// (tests/unit/test_certify_coverage), u |L|^2 is allowed.
#include "evidence.h"

#include "../core/threads.h"

#include <cmath>

namespace mercer {

int64_t pairs_at_once(const Expression &kernel, bool objects) { return objects || kernel.has_user() ? 1 : strip_rows; }
double pair_values(const Expression &kernel, const Source &source) {
    constexpr int64_t count = Evidence<double>::pairs;
    const int64_t edge = pairs_at_once(kernel, source.kind() == Source::Kind::objects), rest = count % edge;
    return static_cast<double>((count - rest) * edge + rest * rest);
}

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
    constexpr int64_t count = pairs;
    const int64_t n = span_.n(), edge = pairs_at_once(kernel_, points_.objects() != nullptr);
    Buffer<double> share = run_.buffer<double>(n), x = run_.buffer<double>(count);
    for (int64_t i = 0; i < n; ++i) share[i] = diagonal_[i] + eta_;
    const Lottery lottery(run_, n, share.data());
    Buffer<int64_t> first = run_.buffer<int64_t>(count), second = run_.buffer<int64_t>(count);
    parallel_for(run_, (count + tile_rows - 1) / tile_rows, [&](int64_t block) {
        for (int64_t k = block * tile_rows; k < std::min(count, (block + 1) * tile_rows); ++k) {
            first[k] = lottery.draw(random_.uniform(4 * look_ + 1, k));
            second[k] = lottery.draw(random_.uniform(4 * look_ + 2, k));
        }
    });
    Points<T> xs = points_.only(first.data(), count), ys = points_.only(second.data(), count);
    const Tiles<T> tiles(kernel_, xs, ys);
    auto some = [&](int64_t block) {
        const int64_t at = block * edge, rows = std::min(edge, count - at), m = span_.rank();
        TileScratch<T> scratch = tiles.scratch(run_);
        tiles.compute(xs.load(run_, at, rows), ys.load(run_, at, rows), scratch);
        Buffer<T> li = run_.buffer<T>(rows, m), lj = run_.buffer<T>(rows, m);
        span_.gather(run_, first.data() + at, rows, li.data());
        span_.gather(run_, second.data() + at, rows, lj.data());
        for (int64_t k = 0; k < rows; ++k) {
            const int64_t i = first[at + k], j = second[at + k];
            const double entry =
                static_cast<double>(scratch.tile[k * tile_rows + k]) - dot(li.data() + k * m, lj.data() + k * m, m);
            x[at + k] = pair_share(entry * std::sqrt(weight(i) * weight(j)), i == j, diagonal_[i], diagonal_[j], eta_);
        }
    };
    parallel_for(run_, (count + edge - 1) / edge, some, tiles.serial());
    evaluations_ += count / edge * edge * edge + (count % edge) * (count % edge);
    return frobenius_bound(spectrum(1).total(), x.data(), count, failure);
}

template <class T>
void Evidence<T>::prepare(int64_t p) {
    const int64_t n = span_.n(), pp = padded_columns<T>(p), blocks = blocks_of(n);
    rows_ = std::make_unique<Rows>();
    Rows &to = *rows_;
    to.p = p;
    to.u = Block(run_, n, p, false);
    directions(run_, span_, projection_, weights_, columns(to.u));
    to.law = std::make_unique<RowLaw>(run_, n, diagonal(), eta_, p, to.u.column(0), n);
    to.su = std::move(run_.buffer<T>(n, pp).zero());
    Points<T> ys = points_;
    ys.lean();
    if (blocks * ys.held_bytes() <= run_.budget()->left() / 2) to.panels.resize(static_cast<size_t>(blocks));
    auto block = [&](int64_t b) {
        for (int64_t i = b * tile_rows; i < std::min(n, (b + 1) * tile_rows); ++i)
            for (int64_t j = 0; j < p; ++j)
                to.su[i * pp + j] = static_cast<T>(std::sqrt(weight(i)) * to.u.column(j)[i]);
        if (!to.panels.empty()) to.panels[static_cast<size_t>(b)] = ys.load(run_, b);
    };
    parallel_for(run_, blocks, block, Tiles<T>(kernel_, ys, ys).serial());
}

// r_i <- sqrt(w_i) (r_i - l_i V sqrt(theta)) for the rows drawn.
template <class T>
void Evidence<T>::subtract_projection(const int64_t *drawn, int64_t count, double *r) const {
    const int64_t m = span_.rank(), p = rows_->p, pp = padded_columns<T>(p);
    Buffer<T> gathered = run_.buffer<T>(count, m);
    span_.gather(run_, drawn, count, gathered.data());
    Buffer<double> l = run_.buffer<double>(count, m), product = run_.buffer<double>(count, p);
    std::copy(gathered.begin(), gathered.end(), l.begin());
    gemm('T', 'N', p, count, m, 1.0, projection_.v.data(), m, l.data(), m, 0.0, product.data(), p);
    for (int64_t k = 0; k < count; ++k)
        for (int64_t j = 0; j < p; ++j)
            r[k * pp + j] = std::sqrt(weight(drawn[k])) *
                            (r[k * pp + j] - product[k * p + j] * std::sqrt(projection_.theta[static_cast<size_t>(j)]));
}

template <class T>
RowMoments Evidence<T>::rows(int64_t p, int64_t s) {
    if (!rows_ || rows_->p != p) prepare(p);
    Rows &own = *rows_;
    const int64_t n = span_.n(), pp = padded_columns<T>(p), blocks = blocks_of(n);
    Buffer<int64_t> drawn = run_.buffer<int64_t>(s);
    for (int64_t k = 0; k < s; ++k) drawn[k] = own.law->draw(random_.uniform(4 * look_, own.drawn + k));
    own.drawn += s;
    Points<T> xs = points_.only(drawn.data(), s), ys = points_;
    xs.lean();
    ys.lean();
    const Tiles<T> tiles(kernel_, xs, ys);
    Buffer<double> r = run_.buffer<double>(s, pp);
    auto strip_of = [&](int64_t t) {
        const int64_t at = t * strip_rows, rows = std::min(strip_rows, s - at);
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
        subtract_projection(drawn.data() + at, rows, out);
    };
    parallel_for(run_, (s + strip_rows - 1) / strip_rows, strip_of, tiles.serial());
    run_.progress(1);
    evaluations_ += s * n;
    RowSample sample(*own.law, p, eta_);
    std::vector<double> ui(static_cast<size_t>(p));
    for (int64_t k = 0; k < s; ++k) {
        const int64_t i = drawn[k];
        for (int64_t j = 0; j < p; ++j) ui[static_cast<size_t>(j)] = own.u.column(j)[i];
        sample.add(r.data() + k * pp, ui.data(), diagonal_[i], own.law->probability(i));
    }
    return sample.moments();
}

template class Evidence<float>;
template class Evidence<double>;

} // namespace mercer
