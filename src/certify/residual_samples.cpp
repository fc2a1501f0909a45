// Rows of E U: R_i = sqrt(w_i) (k(x_i, X) S U - l_i V sqrt(theta)), because
// L^T S U = V sqrt(theta). The kernel values between a strip of sampled rows and each panel of the
// data are multiplied with the panel's rows of S U. Cost of s rows: s n kernel values and 2 s n p
// flops; memory n p in the tile's type. Pairs: only the diagonal of each tile is used. All entries:
// n^2 / 2 kernel values and n^2 m flops.
//
// eta: L comes from a factor in the tile's type, so with rounding only E + eta >= 0 is guaranteed.
// Rounding of 0.03 to 0.3 u |L|^2 was measured (tests/unit/test_certify_coverage); u |L|^2 is
// allowed.
//
// How rounding of the factor changes theta: let B be the columns of the identity that belong to the
// landmarks, K_B = K B, and L_B = B^T L. Rows of L solve L L_B^T = K_B + D with a rounding error
// |D| <= e u |L| |L_B|^T entry by entry, because substitution is backward stable and kernel values
// are accurate to a few u. Applying K >= 0 to x - B Y^T x with Y = L L_B^-1 gives
//   x^T K x >= x^T L L^T x - 2 x^T D Y^T x + x^T Y B^T D Y^T x      for every x.
// The constant e = 2 counts one error of the kernel value and one of the substitution; the errors
// of many terms form a random walk (measured: 0.1 to 1.4 u |L| |L_B|^T). For a Ritz vector u_j, the
// product Y^T u_j is a_j = sqrt(theta_j) L_B^-T v_j, the coefficients of the model. They are large
// if landmarks are nearly dependent, and only then is the loss greater than e u theta_1. It follows
// that, with g_i^2 = sum_{j <= i} ||L_B|^T |a_j||^2 (>= theta_1),
//   lambda_i >= theta_i - e u (2 |L| g_i + g_i^2).
#include "residual_samples.h"

#include "../core/slabs.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>

namespace mercer {
namespace {

// The number of terms that are summed in the tile's type before their sum is added to a total in
// f64.
constexpr int64_t row_depth = 64;

// The number of kernel values in tiles on and to the right of the diagonal.
double upper_values(int64_t n) {
    double out = 0;
    for (int64_t row0 = 0; row0 < n; row0 += tile_rows)
        out += static_cast<double>(std::min(tile_rows, n - row0)) * static_cast<double>(n - row0);
    return out;
}

} // namespace

int64_t pairs_at_once(const Expression &kernel, bool objects) {
    if (objects || kernel.has_user()) return 1;
    int64_t edge = strip_rows;
    // A kernel value that comes from a matrix product costs little compared with loading its rows,
    // so large tiles are faster, although only their diagonal is used. A value of a pairwise form
    // or of a block kernel costs more, so smaller tiles are faster.
    for (const Leaf &leaf : kernel.leaves)
        edge = std::min(edge, leaf.form == MERCER_BLOCK ? 4 : leaf.form > MERCER_SQDIST ? 16 : strip_rows);
    return edge;
}
double norm_values(const Expression &kernel, const Source &source, bool all) {
    constexpr int64_t count = Evidence<double>::pairs;
    if (all || Evidence<double>::takes_all(source.rows())) return upper_values(source.rows());
    const int64_t edge = pairs_at_once(kernel, source.kind() == Source::Kind::objects), rest = count % edge;
    return static_cast<double>((count - rest) * edge + rest * rest);
}

double norm_gathers(int64_t n, bool all) {
    if (!all && !Evidence<double>::takes_all(n)) return 2.0 * Evidence<double>::pairs;
    return upper_values(n) / tile_rows + static_cast<double>(n);
}

int64_t norm_bytes(int64_t n, int64_t m, int64_t size, bool all) {
    if (!all && !Evidence<double>::takes_all(n)) return 2 * strip_rows * m * size;
    return tile_rows * (m * (size + 16) + 8 * tile_rows);
}

int64_t drawn_bytes(const Source &source, int64_t count) {
    return source.costs_calls() ? count * source.cols() * (source.dtype() == MERCER_F32 ? 4 : 8) : 0;
}

int64_t drawn_at_once(const Run &run, const Source &source, int64_t count, int64_t each, int64_t step) {
    const int64_t bytes = drawn_bytes(source, each);
    if (bytes == 0) return count;
    return std::clamp(run.budget()->limit() / 8 / bytes / step * step, std::min(step, count), count);
}

template <class T>
Evidence<T>::Evidence(Run &run, const Expression &kernel, const Points<T> &rows, const SpanRows<T> &span,
                      const Projection &projection, const double *weights, const Random &random, int64_t attempt)
    : run_(run), kernel_(kernel), points_(rows), span_(span), projection_(projection), weights_(weights),
      random_(random), attempt_(attempt) {
    if (weights) diagonal_ = run.buffer<double>(span.n());
    double total = 0;
    for (int64_t i = 0; i < span.n(); ++i) {
        if (weights) diagonal_[i] = weight(i) * projection.residual[static_cast<size_t>(i)];
        total += weight(i);
    }
    constexpr double u = unit_roundoff(sizeof(T) == 4);
    eta_ = u * (projection.theta[0] + total * projection.mean_square());
    rounding_ = factor_rounding();
}

template <class T>
std::vector<double> Evidence<T>::factor_rounding() const {
    constexpr double u = unit_roundoff(sizeof(T) == 4), e = 2;
    const int64_t p = known(), m = span_.rank();
    Buffer<double> triangle = span_.triangle(run_), a = run_.buffer<double>(p, m), g = run_.buffer<double>(p, m);
    for (int64_t k = 0; k < m; ++k)
        for (int64_t j = 0; j < p; ++j)
            a[j + k * p] =
                projection_.v[k + j * m] * std::sqrt(std::max(projection_.theta[static_cast<size_t>(j)], 0.0));
    trsm('N', p, m, triangle.data(), m, a.data(), p);
    for (double &entry : triangle) entry = std::fabs(entry);
    for (double &entry : a) entry = std::fabs(entry);
    gemm('N', 'N', p, m, m, 1.0, a.data(), p, triangle.data(), m, 0.0, g.data(), p);
    std::vector<double> out;
    double square = 0;
    for (int64_t j = 0; j < p; ++j) {
        for (int64_t k = 0; k < m; ++k) square += g[j + k * p] * g[j + k * p];
        out.push_back(e * u * (2 * std::sqrt(eta_ / u * square) + square));
    }
    return out;
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
    out.sums = projection_.sums;
    out.rounding.assign(rounding_.begin(), rounding_.begin() + p);
    return out;
}

// Returns rows row0 ... row0 + count - 1 of L in f64, row-major.
template <class T>
Buffer<double> Evidence<T>::rows_of_factor(int64_t row0, int64_t count) const {
    Buffer<T> gathered = run_.buffer<T>(count, span_.rank());
    Buffer<double> out = run_.buffer<double>(count, span_.rank());
    int64_t numbers[tile_rows];
    for (int64_t k = 0; k < count; ++k) numbers[k] = row0 + k;
    span_.gather(run_, numbers, count, gathered.data());
    std::copy(gathered.begin(), gathered.end(), out.begin());
    return out;
}

// Computes |E + eta|_F from the tiles on and to the right of the diagonal. Entries are squared in
// units of the trace, because their own squares may overflow f64.
template <class T>
Norm Evidence<T>::norm_of_all() {
    const double unit = spectrum(1).total();
    if (!(unit > 0)) return {};
    const int64_t n = span_.n(), m = span_.rank(), blocks = blocks_of(n);
    Points<T> xs = points_, ys = points_;
    xs.lean();
    ys.lean();
    const Tiles<T> tiles(kernel_, xs, ys);
    std::vector<double> sums(static_cast<size_t>(blocks));
    std::vector<unsigned char> impossible(sums.size());
    auto slab = [&](int64_t b) {
        const Panel<T> x = xs.load(run_, b);
        TileScratch<T> scratch = tiles.scratch(run_);
        const Buffer<double> lx = rows_of_factor(x.row0, x.rows);
        Buffer<double> product = run_.buffer<double>(tile_rows, tile_rows);
        for (int64_t c = b; c < blocks; ++c) {
            if (run_.stopped(0)) return;
            const Panel<T> y = ys.load(run_, c);
            const Buffer<double> ly = rows_of_factor(y.row0, y.rows);
            tiles.compute(x, y, scratch);
            gemm('T', 'N', y.rows, x.rows, m, 1.0, ly.data(), m, lx.data(), m, 0.0, product.data(), tile_rows);
            double sum = 0;
            for (int64_t i = 0; i < x.rows; ++i)
                for (int64_t j = 0; j < y.rows; ++j) {
                    const int64_t k = i * tile_rows + j, row = x.row0 + i, col = y.row0 + j;
                    const double entry = (static_cast<double>(scratch.tile[k]) - product[k]) / unit,
                                 weighed = entry * std::sqrt(weight(row) * weight(col)),
                                 e = weighed + (row == col ? eta_ / unit : 0);
                    sum += e * e;
                    if (is_impossible(unit * weighed, row, col)) impossible[static_cast<size_t>(b)] = 1;
                }
            sums[static_cast<size_t>(b)] += c == b ? sum : 2 * sum;
        }
    };
    parallel_for(run_, blocks, slab, tiles.serial());
    run_.progress(1);
    evaluations_ += static_cast<int64_t>(upper_values(n));
    const double value = unit * std::sqrt(std::accumulate(sums.begin(), sums.end(), 0.0));
    return {value, 0, {value, 0}, std::find(impossible.begin(), impossible.end(), 1) != impossible.end()};
}

template <class T>
Norm Evidence<T>::norm(double failure, bool all) {
    constexpr int64_t count = pairs;
    const int64_t n = span_.n(), edge = pairs_at_once(kernel_, points_.objects() != nullptr);
    if (all || takes_all(n)) return norm_of_all();
    Buffer<double> share = run_.buffer<double>(n), x = run_.buffer<double>(count);
    for (int64_t i = 0; i < n; ++i) share[i] = diagonal()[i] + eta_;
    const WeightedDraw draws(std::move(share));
    Buffer<int64_t> first = run_.buffer<int64_t>(count), second = run_.buffer<int64_t>(count);
    parallel_for(run_, (count + tile_rows - 1) / tile_rows, [&](int64_t block) {
        for (int64_t k = block * tile_rows; k < std::min(count, (block + 1) * tile_rows); ++k) {
            first[k] = draws.draw(random_.uniform(4 * attempt_ + 1, k));
            second[k] = draws.draw(random_.uniform(4 * attempt_ + 2, k));
        }
    });
    std::atomic<bool> impossible{false};
    auto sample = [&](int64_t first_pair, int64_t some) {
        Points<T> xs = points_.gathered(run_, first.data() + first_pair, some),
                  ys = points_.gathered(run_, second.data() + first_pair, some);
        const Tiles<T> tiles(kernel_, xs, ys);
        // Scratch is reused, because allocating it for each tile would cost more than the values.
        Pool<TileScratch<T>> pool(
            [&] { return std::unique_ptr<TileScratch<T>>(new TileScratch<T>(tiles.scratch(run_))); });
        auto block_of = [&](int64_t block) {
            const int64_t at = block * edge, rows = std::min(edge, some - at), m = span_.rank(), pair = first_pair + at;
            const auto stored = pool.take();
            TileScratch<T> &scratch = *stored;
            scratch.by_differences = false;
            tiles.compute(xs.load(run_, at, rows), ys.load(run_, at, rows), scratch);
            Buffer<T> li = run_.buffer<T>(rows, m), lj = run_.buffer<T>(rows, m);
            span_.gather(run_, xs, at, first.data() + pair, rows, li.data());
            span_.gather(run_, ys, at, second.data() + pair, rows, lj.data());
            for (int64_t k = 0; k < rows; ++k) {
                const int64_t i = first[pair + k], j = second[pair + k];
                const double entry =
                    static_cast<double>(scratch.tile[k * tile_rows + k]) - dot(li.data() + k * m, lj.data() + k * m, m);
                const double weighed = entry * std::sqrt(weight(i) * weight(j));
                x[pair + k] = pair_share(weighed, i == j, diagonal()[i], diagonal()[j], eta_);
                if (is_impossible(weighed, i, j)) impossible = true;
            }
        };
        parallel_for(run_, (some + edge - 1) / edge, block_of, tiles.serial());
        return true;
    };
    for_windows(run_, count, drawn_at_once(run_, points_.source(), count, 2, edge), sample);
    evaluations_ += count / edge * edge * edge + (count % edge) * (count % edge);
    const double total = spectrum(1).total();
    return {frobenius_bound(total, x.data(), count, failure), failure, estimate_frobenius(total, x.data(), count),
            impossible};
}

template <class T>
void Evidence<T>::prepare(int64_t p) {
    const int64_t n = span_.n(), pp = padded_columns<T>(p), blocks = blocks_of(n);
    rows_ = std::make_unique<RowWork>();
    RowWork &to = *rows_;
    to.p = p;
    to.u = Block(run_, n, p, false);
    directions(run_, span_, projection_, weights_, columns(to.u));
    to.law = std::make_unique<RowLaw>(run_, n, diagonal(), eta_, p, to.u.column(0), n);
    to.su = std::move(run_.buffer<T>(n, pp).zero());
    Points<T> ys = points_;
    ys.lean();
    if (blocks * ys.stored_bytes() <= run_.budget()->left() / 2) to.panels.resize(static_cast<size_t>(blocks));
    auto block = [&](int64_t b) {
        for (int64_t i = b * tile_rows; i < std::min(n, (b + 1) * tile_rows); ++i)
            for (int64_t j = 0; j < p; ++j)
                to.su[i * pp + j] = static_cast<T>(std::sqrt(weight(i)) * to.u.column(j)[i]);
        if (!to.panels.empty()) to.panels[static_cast<size_t>(b)] = ys.load(run_, b);
    };
    parallel_for(run_, blocks, block, Tiles<T>(kernel_, ys, ys).serial());
}

// r_i <- sqrt(w_i) (r_i - l_i V sqrt(theta)) for the drawn rows, rows row0 ... row0 + count of xs.
template <class T>
void Evidence<T>::subtract_projection(const Points<T> &xs, int64_t row0, const int64_t *drawn, int64_t count,
                                      double *r) const {
    const int64_t m = span_.rank(), p = rows_->p, pp = padded_columns<T>(p);
    Buffer<T> gathered = run_.buffer<T>(count, m);
    span_.gather(run_, xs, row0, drawn, count, gathered.data());
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
    RowWork &own = *rows_;
    const int64_t n = span_.n(), pp = padded_columns<T>(p), blocks = blocks_of(n);
    const bool all = s >= n;
    s = std::min(s, n);
    Buffer<int64_t> drawn = run_.buffer<int64_t>(s);
    for (int64_t k = 0; k < s; ++k) drawn[k] = all ? k : own.law->draw(random_.uniform(4 * attempt_, own.drawn + k));
    own.drawn += s;
    Points<T> xs = points_.gathered(run_, drawn.data(), s), ys = points_;
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
            for (int64_t c = 0; c < y.rows; c += row_depth) {
                thin_table<T>().product(rows, pp, std::min(row_depth, y.rows - c), scratch.tile.data() + c, tile_rows,
                                        1, own.su.data() + (b * tile_rows + c) * pp, pp, product.data(), pp, false);
                for (int64_t k = 0; k < rows * pp; ++k) out[k] += static_cast<double>(product[k]);
            }
        }
        subtract_projection(xs, at, drawn.data() + at, rows, out);
    };
    parallel_for(run_, (s + strip_rows - 1) / strip_rows, strip_of, tiles.serial());
    run_.progress(1);
    evaluations_ += s * n;
    RowSample sample(*own.law, p, eta_);
    std::vector<double> ui(static_cast<size_t>(p));
    for (int64_t k = 0; k < s; ++k) {
        const int64_t i = drawn[k];
        for (int64_t j = 0; j < p; ++j) ui[static_cast<size_t>(j)] = own.u.column(j)[i];
        const double probability = all ? 1 / static_cast<double>(n) : own.law->probability(i);
        sample.add(r.data() + k * pp, ui.data(), diagonal()[i], probability);
    }
    RowMoments out = sample.moments();
    out.all = all;
    // The bound is linear in row_depth, because the roundings of equal terms may all have the same
    // sign.
    out.sums = row_depth / 2.0 * eta_;
    return out;
}

template class Evidence<float>;
template class Evidence<double>;

} // namespace mercer
