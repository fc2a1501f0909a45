// Orthonormalisation is SVQB (Stathopoulos and Wu 2002). With D = diag(|x_j|) and
// X^T X = D V diag(s) V^T D, the columns X D^-1 V s^-1/2 are orthonormal up to errors of
// u cond(X)^2, where u is the unit roundoff. A second round, in which the condition number is near
// 1, reduces these errors to u. Unlike Cholesky-QR, the method reveals dependent columns by small s
// and drops them. Each round first projects on the complement of Q, because the division by small
// norms amplifies components along Q. Cost: a round takes 2 products with Q and 2 with X, which is
// 4 n p (q + p) flops; 2 rounds suffice as a rule, and there are never more than 4.
#include "tall.h"

#include "threads.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace mercer {
namespace {

// slab_rows is the number of rows of one parallel task. If columns must be converted to f64, a task
// converts chunk_rows rows at a time, so that the copies stay in cache.
constexpr int64_t slab_rows = 4096, chunk_rows = 512;

int64_t slabs_of(int64_t n) { return (n + slab_rows - 1) / slab_rows; }

// Rows of some columns in f64, column-major.
struct Strip {
    double *data;
    int64_t ld;
};

// Gives each running task a copy in f64 of some rows of the columns x. Columns of f64 blocks need
// no copies and are used in place, unless `always` is set.
class Copies {
  public:
    Copies(Run &run, Columns x, bool always = false)
        : x_(x), needed_(always || x.block->f32()), pool_([&run, x] {
              return std::unique_ptr<Buffer<double>>(new Buffer<double>(run.buffer<double>(chunk_rows, x.count)));
          }) {}
    bool needed() const { return needed_; }
    using Handle = Pool<Buffer<double>>::Handle;
    Handle take() {
        return needed_ ? pool_.take() : Handle(nullptr, [](Buffer<double> *) {});
    }
    Strip place(Handle &copy, int64_t row0) const {
        return needed_ ? Strip{copy->data(), chunk_rows} : Strip{x_.block->column(x_.first) + row0, x_.block->n()};
    }
    Strip read(Handle &copy, int64_t row0, int64_t rows) const {
        Strip out = place(copy, row0);
        for (int64_t j = 0; needed_ && j < x_.count; ++j)
            x_.block->read(x_.first + j, row0, rows, out.data + j * out.ld);
        return out;
    }
    void write(Handle &copy, int64_t row0, int64_t rows) const {
        for (int64_t j = 0; needed_ && j < x_.count; ++j)
            x_.block->write(x_.first + j, row0, rows, copy->data() + j * chunk_rows);
    }

  private:
    Columns x_;
    bool needed_;
    Pool<Buffer<double>> pool_;
};

void use(Columns x) {
    if (x.count > 0) x.block->use(x.first, x.count);
}

// Calls body(slab, row0, rows) for the rows of each slab in ascending order, at most `step` rows at
// a time. The slabs are the parallel tasks.
template <class Body>
void for_slabs(Run &run, int64_t n, int64_t step, Body &&body) {
    parallel_for(run, slabs_of(n), [&](int64_t slab) {
        const int64_t end = std::min(n, (slab + 1) * slab_rows);
        for (int64_t row0 = slab * slab_rows; row0 < end; row0 += step) body(slab, row0, std::min(step, end - row0));
    });
}

} // namespace

void tall_dot(Run &run, Columns a, Columns b, double *c, int64_t ldc) {
    const int64_t n = a.block->n(), p = a.count, q = b.count, slabs = slabs_of(n);
    if (p == 0 || q == 0) return;
    use(a), use(b);
    Buffer<double> parts = run.buffer<double>(p * q, std::max<int64_t>(slabs, 1));
    Copies as(run, a), bs(run, b);
    for_slabs(run, n, as.needed() || bs.needed() ? chunk_rows : slab_rows, [&](int64_t s, int64_t row0, int64_t rows) {
        Copies::Handle ha = as.take(), hb = bs.take();
        const Strip x = as.read(ha, row0, rows), y = bs.read(hb, row0, rows);
        gemm('T', 'N', p, q, rows, 1.0, x.data, x.ld, y.data, y.ld, row0 % slab_rows == 0 ? 0.0 : 1.0,
             parts.data() + s * p * q, p);
    });
    for (int64_t j = 0; j < q; ++j)
        for (int64_t i = 0; i < p; ++i) {
            double sum = 0;
            for (int64_t s = 0; s < slabs; ++s) sum += parts[s * p * q + j * p + i];
            c[i + j * ldc] = sum;
        }
}

void tall_times(Run &run, Columns a, const double *s, int64_t lds, double beta, Columns y) {
    if (y.count == 0) return;
    use(a), use(y);
    Copies as(run, a, overlap(a, y)), ys(run, y);
    const int64_t step = as.needed() || ys.needed() ? chunk_rows : slab_rows;
    for_slabs(run, y.block->n(), step, [&](int64_t, int64_t row0, int64_t rows) {
        Copies::Handle ha = as.take(), hy = ys.take();
        const Strip x = as.read(ha, row0, rows), to = beta == 0 ? ys.place(hy, row0) : ys.read(hy, row0, rows);
        gemm('N', 'N', rows, y.count, a.count, 1.0, x.data, x.ld, s, lds, beta, to.data, to.ld);
        ys.write(hy, row0, rows);
    });
}

void tall_copy(Run &run, Columns from, Columns to) {
    use(from), use(to);
    Copies copies(run, from, true);
    for_slabs(run, from.block->n(), chunk_rows, [&](int64_t, int64_t row0, int64_t rows) {
        Copies::Handle hold = copies.take();
        const Strip x = copies.read(hold, row0, rows);
        for (int64_t j = 0; j < to.count; ++j) to.block->write(to.first + j, row0, rows, x.data + j * x.ld);
    });
}

void tall_norms(Run &run, Columns x, double *out) {
    use(x);
    const int64_t n = x.block->n(), slabs = slabs_of(n);
    Buffer<double> parts = std::move(run.buffer<double>(slabs, x.count).zero());
    Copies copies(run, x);
    for_slabs(run, n, chunk_rows, [&](int64_t s, int64_t row0, int64_t rows) {
        Copies::Handle hold = copies.take();
        const Strip from = copies.read(hold, row0, rows);
        for (int64_t j = 0; j < x.count; ++j) {
            double sum = 0;
            for (int64_t i = 0; i < rows; ++i) sum += from.data[i + j * from.ld] * from.data[i + j * from.ld];
            parts[s + j * slabs] += sum;
        }
    });
    for (int64_t j = 0; j < x.count; ++j) {
        double sum = 0;
        for (int64_t s = 0; s < slabs; ++s) sum += parts[s + j * slabs];
        out[j] = std::sqrt(sum);
    }
}

void tall_random(Run &run, Columns x, const Random &random, int64_t stream) {
    use(x);
    for_slabs(run, x.block->n(), chunk_rows, [&](int64_t, int64_t row0, int64_t rows) {
        double values[chunk_rows];
        for (int64_t j = 0; j < x.count; ++j) {
            for (int64_t i = 0; i < rows; ++i) values[i] = random.uniform(row0 + i, stream + j) - 0.5;
            x.block->write(x.first + j, row0, rows, values);
        }
    });
}

namespace {

// The Gram matrix of the columns of x, scaled to unit diagonal.
struct ScaledGram {
    Buffer<double> values; // p x p; scaled
    Buffer<double> scale;  // 1 / |x_j|; 0 where x_j is lost
    bool shrunk = false;   // some column was mostly in the span of q
    double off = 0;        // the largest entry of |X^T X - 1|
};

// c: Q^T X before the projection, up to its sign; removed: the number of its rows, 0 if there is no
// Q. A column is lost if the projection left at most the share `lost` of its length.
ScaledGram scaled_gram(Run &run, Columns x, const Buffer<double> &c, int64_t removed, double lost) {
    const int64_t p = x.count;
    ScaledGram out{run.buffer<double>(p, p), run.buffer<double>(p)};
    Buffer<double> &gram = out.values, &scale = out.scale;
    tall_dot(run, x, x, gram.data(), p);
    for (int64_t j = 0; j < p; ++j) {
        const double norm = std::sqrt(gram[j + j * p]);
        double square = gram[j + j * p]; // squared length before projection: Q is orthonormal
        for (int64_t i = 0; i < removed; ++i) square += c[i + j * removed] * c[i + j * removed];
        scale[j] = norm > lost * std::sqrt(square) ? 1 / norm : 0;
        out.shrunk |= scale[j] == 0 || norm < 0.5 * std::sqrt(square);
    }
    for (int64_t j = 0; j < p; ++j)
        for (int64_t i = 0; i < p; ++i) {
            out.off = std::max(out.off, std::fabs(gram[i + j * p] - (i == j)));
            gram[i + j * p] = scale[i] > 0 && scale[j] > 0 ? gram[i + j * p] * scale[i] * scale[j] : 0;
        }
    return out;
}

} // namespace

int64_t orthonormalise(Run &run, Columns x, Columns q) {
    const bool f32 = x.count > 0 && x.block->f32();
    const double lost = f32 ? 1e-6 : 1e-13, off_limit = f32 ? 4 * 0x1p-24 : 1e-14;
    constexpr int rounds = 4;
    for (int round = 0; round < rounds && x.count > 0; ++round) {
        const int64_t p = x.count;
        Buffer<double> c = std::move(run.buffer<double>(std::max<int64_t>(q.count, 1), p).zero());
        if (q.count > 0) {
            tall_dot(run, q, x, c.data(), q.count);
            for (double &value : c) value = -value;
            tall_times(run, q, c.data(), q.count, 1.0, x);
        }
        ScaledGram gram = scaled_gram(run, x, c, q.count, lost);
        if (round > 0 && !gram.shrunk && gram.off < off_limit) break;
        Buffer<double> vectors = run.buffer<double>(p, p), values = run.buffer<double>(p);
        eigh_top(p, gram.values.data(), p, p, values.data(), vectors.data(), p);
        const double least = std::max(1e-14 * static_cast<double>(p), f32 ? 1e-12 : 0) * values[0];
        int64_t kept = 0;
        while (kept < p && values[kept] > least) ++kept;
        for (int64_t j = 0; j < kept; ++j)
            for (int64_t i = 0; i < p; ++i) vectors[i + j * p] *= gram.scale[i] / std::sqrt(values[j]);
        const Columns left{x.block, x.first, kept};
        tall_times(run, x, vectors.data(), p, 0.0, left);
        x.count = kept;
    }
    return x.count;
}

} // namespace mercer
