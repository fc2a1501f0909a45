// Naive oracles: they compute formulas as they stand on paper, in plain loops and with sums in long
// double. They share no line with src/.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

namespace oracle {

struct Matrix { // row-major
    int64_t rows = 0, cols = 0;
    std::vector<double> v;
    Matrix() = default;
    Matrix(int64_t rows, int64_t cols) : rows(rows), cols(cols), v(static_cast<size_t>(rows * cols)) {}
    double &operator()(int64_t i, int64_t j) { return v[static_cast<size_t>(i * cols + j)]; }
    double operator()(int64_t i, int64_t j) const { return v[static_cast<size_t>(i * cols + j)]; }
    const double *row(int64_t i) const { return v.data() + i * cols; }
};
using Vector = std::vector<double>;

// Returns the larger of two numbers, or NaN if one of them is NaN. std::max may drop NaN, so that a
// largest error would look small although a result is not a number.
inline double larger(double a, double b) { return a >= b || std::isnan(a) ? a : b; }

class Numbers { // Knuth's linear congruential generator, not the one under test
  public:
    explicit Numbers(uint64_t seed) : state_(seed) {}
    double uniform() {
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        return static_cast<double>(state_ >> 11) * 0x1p-53;
    }
    double operator()() { return 2 * uniform() - 1; } // in [-1, 1)
    Matrix matrix(int64_t rows, int64_t cols, double lo = -1, double hi = 1) {
        Matrix out(rows, cols);
        for (double &value : out.v) value = lo + (hi - lo) * uniform();
        return out;
    }

  private:
    uint64_t state_;
};

// ---- forms

using Pair = std::function<double(const double *x, const double *y, int64_t d)>;
template <class Term>
double sum_over(int64_t d, Term &&term) {
    long double sum = 0;
    for (int64_t k = 0; k < d; ++k) sum += static_cast<long double>(term(k));
    return static_cast<double>(sum);
}
inline double dot(const double *x, const double *y, int64_t d) {
    return sum_over(d, [&](int64_t k) { return static_cast<long double>(x[k]) * y[k]; });
}
inline double sqdist(const double *x, const double *y, int64_t d) {
    return sum_over(d, [&](int64_t k) {
        long double e = static_cast<long double>(x[k]) - y[k];
        return e * e;
    });
}
inline double l1(const double *x, const double *y, int64_t d) {
    return sum_over(d, [&](int64_t k) { return std::fabs(static_cast<long double>(x[k]) - y[k]); });
}
inline double chi2(const double *x, const double *y, int64_t d) {
    return sum_over(d, [&](int64_t k) {
        long double e = static_cast<long double>(x[k]) - y[k], s = static_cast<long double>(x[k]) + y[k];
        return s > 0 ? e * e / s : 0.0L;
    });
}
inline double min(const double *x, const double *y, int64_t d) {
    return sum_over(d, [&](int64_t k) { return std::min(x[k], y[k]); });
}
inline double hamming(const double *x, const double *y, int64_t d) {
    return sum_over(d, [&](int64_t k) { return x[k] == y[k] ? 0 : 1; });
}
inline double additive_chi2(const double *x, const double *y, int64_t d) {
    return sum_over(d, [&](int64_t k) {
        long double s = static_cast<long double>(x[k]) + y[k];
        return s > 0 ? 2.0L * x[k] * y[k] / s : 0.0L;
    });
}

inline Pair gaussian(double sigma) {
    return
        [=](const double *x, const double *y, int64_t d) { return std::exp(-sqdist(x, y, d) / (2 * sigma * sigma)); };
}
inline Pair laplacian(double sigma) {
    return [=](const double *x, const double *y, int64_t d) { return std::exp(-std::sqrt(sqdist(x, y, d)) / sigma); };
}

inline Pair of_distance(std::function<double(double r)> k) {
    return [=](const double *x, const double *y, int64_t d) { return k(std::sqrt(sqdist(x, y, d))); };
}
inline double cosine(const double *x, const double *y, int64_t d) {
    const double lengths = std::sqrt(dot(x, x, d)) * std::sqrt(dot(y, y, d));
    return lengths > 0 ? dot(x, y, d) / lengths : 0;
}
inline Pair anova(double gamma, int degree) {
    return [=](const double *x, const double *y, int64_t d) {
        const auto term = [&](int64_t k) { return std::exp(-gamma * (x[k] - y[k]) * (x[k] - y[k])); };
        return std::pow(sum_over(d, term), degree);
    };
}

inline Matrix gram(const Pair &k, const Matrix &x, const Matrix &y) {
    Matrix out(x.rows, y.rows);
    for (int64_t i = 0; i < x.rows; ++i)
        for (int64_t j = 0; j < y.rows; ++j) out(i, j) = k(x.row(i), y.row(j), x.cols);
    return out;
}

inline Matrix product(const Matrix &a, const Matrix &b) {
    Matrix out(a.rows, b.cols);
    for (int64_t i = 0; i < a.rows; ++i)
        for (int64_t j = 0; j < b.cols; ++j)
            out(i, j) = sum_over(a.cols, [&](int64_t k) { return static_cast<long double>(a(i, k)) * b(k, j); });
    return out;
}
inline Matrix transposed(const Matrix &a) {
    Matrix out(a.cols, a.rows);
    for (int64_t i = 0; i < a.rows; ++i)
        for (int64_t j = 0; j < a.cols; ++j) out(j, i) = a(i, j);
    return out;
}

// ---- eigenpairs of a symmetric matrix by cyclic Jacobi rotations: values descending, vectors as
// columns

inline void rotate(Matrix &a, Matrix &v, int64_t p, int64_t q) {
    double theta = (a(q, q) - a(p, p)) / (2 * a(p, q));
    double t = (theta >= 0 ? 1 : -1) / (std::fabs(theta) + std::hypot(theta, 1.0));
    double c = 1 / std::hypot(t, 1.0), s = t * c;
    auto turn = [c, s](double &x, double &y) {
        double old = x;
        x = c * old - s * y;
        y = s * old + c * y;
    };
    for (int64_t k = 0; k < a.rows; ++k) turn(a(k, p), a(k, q));
    for (int64_t k = 0; k < a.rows; ++k) turn(a(p, k), a(q, k));
    for (int64_t k = 0; k < a.rows; ++k) turn(v(k, p), v(k, q));
}

inline Vector eigen(Matrix a, Matrix &vectors) {
    const int64_t n = a.rows;
    Matrix v(n, n);
    for (int64_t i = 0; i < n; ++i) v(i, i) = 1;
    for (int sweep = 0; sweep < 30; ++sweep) {
        double off = 0, all = 0;
        for (int64_t i = 0; i < n; ++i)
            for (int64_t j = 0; j < n; ++j) (i == j ? all : off) += a(i, j) * a(i, j);
        if (off <= 1e-32 * all) break;
        for (int64_t p = 0; p < n; ++p)
            for (int64_t q = p + 1; q < n; ++q)
                if (a(p, q) != 0) rotate(a, v, p, q);
    }
    std::vector<int64_t> order(static_cast<size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return a(i, i) > a(j, j); });
    Vector values;
    vectors = Matrix(n, n);
    for (int64_t j = 0; j < n; ++j) {
        int64_t from = order[static_cast<size_t>(j)];
        values.push_back(a(from, from));
        for (int64_t i = 0; i < n; ++i) vectors(i, j) = v(i, from);
    }
    return values;
}

// ---- kernel PCA of weighted points with the kernel matrix K, from all eigenpairs

struct Kpca {
    Vector lambda, b, p; // n eigenvalues of the covariance; r offsets; n weights with sum 1
    Matrix a;            // n x r
    double total = 0, mean_square = 0;
    bool centred = true;
    Matrix scores(const Matrix &kq) const {
        Matrix out = product(kq, a);
        for (int64_t i = 0; i < out.rows; ++i)
            for (int64_t j = 0; j < out.cols; ++j) out(i, j) -= b[static_cast<size_t>(j)];
        return out;
    }
    Vector density(const Matrix &kq) const {
        Vector out;
        for (int64_t i = 0; i < kq.rows; ++i) out.push_back(dot(kq.row(i), p.data(), kq.cols));
        return out;
    }
    // Returns |phi(q) - mean|^2 minus the sum of the squared scores (not centred: mean = 0). self:
    // k(q, q).
    Vector residual(const Matrix &kq, const Vector &self) const {
        Matrix z = scores(kq);
        Vector out, mean = density(kq);
        for (int64_t i = 0; i < kq.rows; ++i) {
            size_t at = static_cast<size_t>(i);
            double value = self[at] + (centred ? mean_square - 2 * mean[at] : 0);
            out.push_back(value - dot(z.row(i), z.row(i), z.cols));
        }
        return out;
    }
};

inline Matrix weighted_centred(const Matrix &k, const Vector &p, bool centred) {
    const int64_t n = k.rows;
    Matrix h(n, n); // 1 - p 1^T
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) h(i, j) = (i == j) - (centred ? p[static_cast<size_t>(i)] : 0);
    Matrix out = product(transposed(h), product(k, h));
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) out(i, j) *= std::sqrt(p[static_cast<size_t>(i)] * p[static_cast<size_t>(j)]);
    return out;
}

inline Kpca kpca(const Matrix &k, Vector weights, bool centred, int64_t r) {
    const int64_t n = k.rows;
    Kpca out;
    out.centred = centred;
    double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (double &value : weights) value /= sum;
    out.p = weights;
    Matrix u, kt = weighted_centred(k, out.p, centred);
    out.lambda = eigen(kt, u);
    for (int64_t i = 0; i < n; ++i) out.total += kt(i, i);
    out.a = Matrix(n, r);
    for (int64_t j = 0; j < r; ++j) {
        double scale = 1 / std::sqrt(out.lambda[static_cast<size_t>(j)]), largest = 0;
        for (int64_t i = 0; i < n; ++i) {
            out.a(i, j) = std::sqrt(out.p[static_cast<size_t>(i)]) * u(i, j) * scale;
            if (std::fabs(out.a(i, j)) > std::fabs(largest) * (1 + 1e-9)) largest = out.a(i, j);
        }
        for (int64_t i = 0; i < n; ++i) out.a(i, j) = largest < 0 ? -out.a(i, j) : out.a(i, j);
    }
    Vector kp = out.density(k);
    out.mean_square = dot(kp.data(), out.p.data(), n);
    for (int64_t j = 0; j < r; ++j)
        out.b.push_back(!centred ? 0
                                 : sum_over(n, [&](int64_t i) { return out.a(i, j) * kp[static_cast<size_t>(i)]; }));
    return out;
}

// ---- pivoted Cholesky, in which each step updates the whole residual matrix

struct Pivots {
    std::vector<int64_t> index;
    Matrix factor; // n x steps
    Vector residual;
};
inline Pivots pivoted_cholesky(const Matrix &k, int64_t steps) {
    const int64_t n = k.rows;
    Matrix r = k;
    Pivots out;
    out.factor = Matrix(n, steps);
    for (int64_t s = 0; s < steps; ++s) {
        double best = -1;
        int64_t p = 0;
        for (int64_t i = 0; i < n; ++i) best = std::max(best, r(i, i));
        while (r(p, p) < (1 - 1e-10) * best) ++p;
        out.index.push_back(p);
        for (int64_t i = 0; i < n; ++i) out.factor(i, s) = r(i, p) / std::sqrt(best);
        for (int64_t i = 0; i < n; ++i)
            for (int64_t j = 0; j < n; ++j) r(i, j) -= out.factor(i, s) * out.factor(j, s);
    }
    for (int64_t i = 0; i < n; ++i) out.residual.push_back(r(i, i));
    return out;
}

// 60 fixed points. Tests compare results for them with reference values of 12 printed digits.
inline Matrix golden_points() {
    Matrix x(60, 3);
    for (int64_t i = 0; i < 60; ++i)
        for (int64_t j = 0; j < 3; ++j)
            x(i, j) = static_cast<double>((37 * i + 101 * j + 53 * i * j + 11 * i * i) % 97) / 97;
    return x;
}

// n points in 20 clusters: centres in [-3, 3)^d, noise in [-noise, noise)^d.
inline Matrix clusters(int64_t n, int64_t d, double noise = 1) {
    Numbers numbers(11);
    const Matrix centres = numbers.matrix(20, d), around = numbers.matrix(n, d);
    Matrix x(n, d);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t k = 0; k < d; ++k) x(i, k) = 3 * centres(i * 7 % 20, k) + noise * around(i, k);
    return x;
}

} // namespace oracle
