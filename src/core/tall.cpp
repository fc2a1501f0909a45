// Orthonormalisation is SVQB (Stathopoulos and Wu 2002): with D = diag(|x_j|) and X^T X = D V diag(s) V^T D, the columns
// X D^-1 V s^-1/2 are orthonormal to u cond(X)^2; a second round, whose condition is near 1, brings that to u. Unlike
// Cholesky-QR it sees dependent columns as small s and drops them. Each round first projects on the complement of Q, since
// the division by small norms brings components along Q back. Cost: 2 n p (q + p) flops in each product, 2 rounds
// as a rule, never more than 4.
#include "tall.h"

#include "threads.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace mercer {
namespace {

constexpr int64_t slab_rows = 4096;

int64_t slabs_of(int64_t n) { return (n + slab_rows - 1) / slab_rows; }

} // namespace

void tall_dot(Run &run, int64_t n, int64_t p, const double *a, int64_t lda, int64_t q, const double *b, int64_t ldb,
              double *c, int64_t ldc) {
    const int64_t slabs = slabs_of(n);
    Buffer<double> parts = run.buffer<double>(p * q, std::max<int64_t>(slabs, 1));
    parallel_for(run, slabs, [&](int64_t s) {
        int64_t row0 = s * slab_rows, rows = std::min(slab_rows, n - row0);
        gemm('T', 'N', p, q, rows, 1.0, a + row0, lda, b + row0, ldb, 0.0, parts.data() + s * p * q, p);
    });
    for (int64_t j = 0; j < q; ++j)
        for (int64_t i = 0; i < p; ++i) {
            double sum = 0;
            for (int64_t s = 0; s < slabs; ++s) sum += parts[s * p * q + j * p + i];
            c[i + j * ldc] = sum;
        }
}

void tall_times(Run &run, int64_t n, int64_t p, const double *a, int64_t lda, int64_t q, const double *s, int64_t lds,
                double beta, double *y, int64_t ldy) {
    parallel_for(run, slabs_of(n), [&](int64_t slab) {
        int64_t row0 = slab * slab_rows, rows = std::min(slab_rows, n - row0);
        gemm('N', 'N', rows, q, p, 1.0, a + row0, lda, s, lds, beta, y + row0, ldy);
    });
}

namespace {

std::vector<double> column_norms(Run &run, int64_t n, int64_t p, const double *x, int64_t ldx) {
    const int64_t slabs = slabs_of(n);
    std::vector<double> parts(static_cast<size_t>(slabs * p)), norms(static_cast<size_t>(p));
    parallel_for(run, slabs, [&](int64_t s) {
        int64_t row0 = s * slab_rows, rows = std::min(slab_rows, n - row0);
        for (int64_t j = 0; j < p; ++j) {
            double sum = 0;
            for (int64_t i = 0; i < rows; ++i) sum += x[row0 + i + j * ldx] * x[row0 + i + j * ldx];
            parts[static_cast<size_t>(s * p + j)] = sum;
        }
    });
    for (int64_t j = 0; j < p; ++j) {
        double sum = 0;
        for (int64_t s = 0; s < slabs; ++s) sum += parts[static_cast<size_t>(s * p + j)];
        norms[static_cast<size_t>(j)] = std::sqrt(sum);
    }
    return norms;
}

// X <- X M for a small p x kept matrix M, slab by slab through a copy.
void multiply_in_place(Run &run, int64_t n, int64_t p, double *x, int64_t ldx, int64_t kept, const double *m) {
    Buffer<double> copy = run.buffer<double>(n, p);
    for (int64_t j = 0; j < p; ++j) std::copy_n(x + j * ldx, n, copy.data() + j * n);
    tall_times(run, n, p, copy.data(), n, kept, m, p, 0.0, x, ldx);
}

} // namespace

int64_t orthonormalise(Run &run, int64_t n, int64_t p, double *x, int64_t ldx, int64_t q, const double *against,
                       int64_t lda) {
    constexpr double lost = 1e-13, smallest = 1e-26; // of a length, and of its square
    constexpr int rounds = 4;
    for (int round = 0; round < rounds && p > 0; ++round) {
        std::vector<double> before = column_norms(run, n, p, x, ldx);
        if (q > 0) {
            Buffer<double> c = run.buffer<double>(q, p);
            tall_dot(run, n, q, against, lda, p, x, ldx, c.data(), q);
            for (double &value : c) value = -value;
            tall_times(run, n, q, against, lda, p, c.data(), q, 1.0, x, ldx);
        }
        std::vector<double> norms = column_norms(run, n, p, x, ldx);
        bool shrunk = false;
        int64_t left = 0;
        for (int64_t j = 0; j < p; ++j) {
            size_t at = static_cast<size_t>(j);
            if (!(norms[at] > lost * before[at])) continue;
            shrunk |= norms[at] < 0.5 * before[at];
            double scale = 1 / norms[at];
            for (int64_t i = 0; i < n; ++i) x[i + left * ldx] = x[i + j * ldx] * scale;
            ++left;
        }
        p = left;
        if (p == 0) break;
        Buffer<double> gram = run.buffer<double>(p, p), vectors = run.buffer<double>(p, p),
                       values = run.buffer<double>(p);
        tall_dot(run, n, p, x, ldx, p, x, ldx, gram.data(), p);
        double off = 0;
        for (int64_t j = 0; j < p; ++j)
            for (int64_t i = 0; i < p; ++i) off = std::max(off, std::fabs(gram[i + j * p] - (i == j)));
        if (round > 0 && !shrunk && off < 1e-14) break;
        eigh_top(p, gram.data(), p, p, values.data(), vectors.data(), p);
        int64_t kept = 0;
        while (kept < p && values[kept] > smallest * values[0] &&
               values[kept] > 1e-14 * static_cast<double>(p) * values[0])
            ++kept;
        for (int64_t j = 0; j < kept; ++j)
            for (int64_t i = 0; i < p; ++i) vectors[i + j * p] /= std::sqrt(values[j]);
        multiply_in_place(run, n, p, x, ldx, kept, vectors.data());
        p = kept;
    }
    return p;
}

} // namespace mercer
