// Vectors of feature space that are given by centres and coefficients, v_l = Phi_C W_l (Schoelkopf
// et al. 1999, reduced sets), and what can be computed of them from kernel values alone:
//
//   inner products   V^T V = W^T k(C, C) W,   A^T B = W_A^T k(C_A, C_B) W_B
//   projection       K_BB = L L^T,  Z = L^-1 k(B, C) W,  P v_l = Phi_B L^-T Z_l,  <P v_l, P v_k> = Z_l . Z_k
//   polar factor     R = G^-1/2 with G = V^T V: among all orthonormal bases, V R is nearest to V
//
// L is computed with pivoting, and a centre in the span of the others gets no coordinate. The polar
// factor costs hardly any accuracy: if |v_l| = 1 and |P v_l|^2 = 1 - e, the squared distance of v_l
// to the final basis vector is e + e^2/4 + ..., of which e is lost by the projection already.
//
// Cost: inner products take |C|^2/2 kernel values and 2 |C|^2 q flops, or |C_A| |C_B| values for
// two expansions; a span of m centres takes m^2/2 values and m^3/3 flops, coordinates take m |C|
// values and m^2 q flops, and a polar factor takes 10 r^3 flops. Memory: |C| q, m q and 2 m^2
// numbers. Error of an inner product: u |W_l|_1 |W_k|_1 max k(c, c), where u is the unit roundoff
// of f64; coordinates add u times the condition of K_BB, which the pivots bound by 1e10.
#include "expansion_algebra.h"

#include "../operator/make_operator.h"

namespace mercer {

std::vector<double> inner_products(Run &run, const Expression &kernel, const FeatureVectors &vectors,
                                   int64_t &evaluations) {
    const Weights<double> &w = vectors.coefficients;
    const int64_t q = w.cols;
    std::vector<double> out(static_cast<size_t>(q * q));
    const std::unique_ptr<Operator> gram = make_operator(run, kernel, vectors.centres);
    gram->product(
        run, false, q,
        [&](int64_t row0, int64_t rows, double *to, int64_t stride) {
            for (int64_t i = 0; i < rows; ++i) std::copy_n(w.values.data() + (row0 + i) * w.stride, q, to + i * stride);
        },
        [&](double *y, int64_t stride) { // BLAS sees a row-major matrix as its transpose
            gemm('N', 'T', q, q, w.rows, 1.0, w.values.data(), w.stride, y, stride, 0.0, out.data(), q);
        });
    evaluations += gram->kernel_evaluations();
    return out;
}

Buffer<double> images(Run &run, const Expression &kernel, Points<double> x, const FeatureVectors &vectors,
                      int64_t &evaluations) {
    const Weights<double> &w = vectors.coefficients;
    Points<double> c = vectors.centres;
    x.lean();
    c.lean();
    const Tiles<double> tiles(kernel, x, c);
    Buffer<double> out = run.buffer<double>(x.rows(), w.cols);
    RowSums<double>(run, tiles, false).evaluate(w, [&](const Panel<double> &panel, double *row) {
        for (int64_t i = 0; i < panel.rows; ++i)
            std::copy_n(row + i * w.stride, w.cols, out.data() + (panel.row0 + i) * w.cols);
    });
    evaluations += x.rows() * c.rows();
    return out;
}

std::vector<double> inner_products(const Buffer<double> &images_of_a, const FeatureVectors &b) {
    const Weights<double> &w = b.coefficients;
    const int64_t rows = w.rows, q = rows > 0 ? images_of_a.size() / rows : 0;
    std::vector<double> out(static_cast<size_t>(q * w.cols));
    if (!out.empty())
        gemm('N', 'T', q, w.cols, rows, 1.0, images_of_a.data(), q, w.values.data(), w.stride, 0.0, out.data(), q);
    return out;
}

CentreSpan::CentreSpan(Run &run, const KernelRows &centres, bool f32, int64_t &evaluations)
    : basis_(basis_of<double>(run, centres)) {
    evaluations += basis_->evaluations();
    rank_ = basis_->count();
    for (int64_t k = 0; f32 && k < rank_; ++k)
        if (!(entry(k, k) * entry(k, k) > rounding_floor(true, k + 1) * entry(0, 0) * entry(0, 0))) rank_ = k;
    triangle_ = std::move(run.buffer<double>(rank_, rank_).zero());
    for (int64_t i = 0; i < rank_; ++i)
        for (int64_t j = 0; j <= i; ++j) triangle_[i + j * rank_] = entry(i, j);
}

Buffer<double> CentreSpan::coordinates(Run &run, const Buffer<double> &images, int64_t q) const {
    Buffer<double> out = run.buffer<double>(q, rank_);
    for (int64_t k = 0; k < rank_; ++k) std::copy_n(images.data() + index()[k] * q, q, out.data() + k * q);
    trsm('T', q, rank_, triangle_.data(), rank_, out.data(), q);
    return out;
}

int64_t CentreSpan::bytes(int64_t m, const Run &run, const TileBytes &tiles) {
    return PartialCholesky<double>::bytes(m, m, false, run.threads(), tiles).most + 8 * m * (m + 1);
}

std::vector<double> inner_products(const Buffer<double> &coordinates, int64_t q) {
    std::vector<double> out(static_cast<size_t>(q * q));
    const int64_t rank = q > 0 ? coordinates.size() / q : 0;
    gemm('N', 'T', q, q, rank, 1.0, coordinates.data(), q, coordinates.data(), q, 0.0, out.data(), q);
    return out;
}

namespace {

// Returns the number of leading vectors, at most r, whose squared distances to the span of their
// predecessors all exceed `floor`. The diagonal of the Cholesky factor of G consists of the roots
// of these squared distances.
int64_t count_distinct(const std::vector<double> &g, int64_t stride, int64_t r, double floor) {
    std::vector<double> l = g;
    r = potrf_leading(r, l, stride);
    for (int64_t j = 0; j < r; ++j) {
        const double pivot = l[static_cast<size_t>(j + j * stride)];
        if (!(pivot * pivot > floor)) return j;
    }
    return r;
}

} // namespace

PolarFactor polar_factor(const std::vector<double> &g, int64_t stride, int64_t r, double floor) {
    PolarFactor out;
    const int64_t p = out.r = count_distinct(g, stride, r, floor);
    if (p == 0) return out;
    const auto square = static_cast<size_t>(p * p);
    std::vector<double> copy(square), values(static_cast<size_t>(p)), v(square);
    for (int64_t j = 0; j < p; ++j) std::copy_n(g.data() + j * stride, p, copy.data() + j * p);
    eigh_top(p, copy.data(), p, p, values.data(), v.data(), p);
    std::vector<double> scaled = v;
    for (int64_t j = 0; j < p; ++j)
        for (int64_t i = 0; i < p; ++i)
            scaled[static_cast<size_t>(i + j * p)] /= std::sqrt(values[static_cast<size_t>(j)]);
    out.matrix.resize(square);
    gemm('N', 'T', p, p, p, 1.0, scaled.data(), p, v.data(), p, 0.0, out.matrix.data(), p);
    return out;
}

} // namespace mercer
