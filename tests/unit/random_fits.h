// Random data, kernels, weights and recipes for tests of what fits promise, and the true results,
// computed with plain loops and LAPACK (dsyevd, whereas the library prefers dsyevr). No line is
// shared with src/.
#pragma once
#include "session.h"
#include "tolerances.h"

#include <lapacke.h>

namespace random_fits {

struct Draw : oracle::Numbers {
    explicit Draw(uint64_t seed) : Numbers(seed * 2 + 1) {
        for (int skip = 0; skip < 8; ++skip) uniform();
    }
    double normal() { return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(6.283185307179586 * uniform()); }
    int64_t below(int64_t count) { return static_cast<int64_t>(uniform() * static_cast<double>(count)); }
    bool in(double share) { return uniform() < share; }
    double between(double low, double high) { return low * std::pow(high / low, uniform()); } // log-uniform
    int64_t between(int64_t low, int64_t high) {
        return static_cast<int64_t>(between(static_cast<double>(low), static_cast<double>(high + 1)));
    }
    template <class T>
    T any(std::initializer_list<T> of) {
        return of.begin()[below(static_cast<int64_t>(of.size()))];
    }
};

// A kernel that is a sum or a product of at most two leaves.
struct Leaf {
    char name; // g, l, d: gaussian, laplacian, dot
    double sigma, weight;
};
struct Kernel {
    std::vector<Leaf> leaves;
    bool product = false;
    double operator()(const double *x, const double *y, int64_t d) const {
        double square = 0, dot = 0;
        for (int64_t k = 0; k < d; ++k) square += (x[k] - y[k]) * (x[k] - y[k]), dot += x[k] * y[k];
        double out = product;
        for (const Leaf &leaf : leaves) {
            const double value = leaf.weight * (leaf.name == 'd'   ? dot
                                                : leaf.name == 'l' ? std::exp(-std::sqrt(square) / leaf.sigma)
                                                                   : std::exp(-square / (2 * leaf.sigma * leaf.sigma)));
            out = product ? out * value : out + value;
        }
        return out;
    }
    Settings settings() const {
        std::string text;
        Settings out;
        for (size_t l = 0; l < leaves.size(); ++l) {
            const Leaf &leaf = leaves[l];
            if (l > 0) text += product ? " * " : " + ";
            if (!product || l == 0) text += std::to_string(leaf.weight) + " ";
            text += leaf.name == 'd' ? "linear" : leaf.name == 'l' ? "laplacian" : "gaussian";
            const std::string part = leaves.size() == 1 ? "kernel." : "kernel." + std::to_string(l + 1) + ".";
            char sigma[32];
            std::snprintf(sigma, sizeof sigma, "%.17g", leaf.sigma);
            if (leaf.name != 'd') out.emplace_back(part + "sigma", sigma);
        }
        out.insert(out.begin(), {"kernel", text});
        return out;
    }
};

enum class Shape { normal, box, clusters, duplicates, pairs, constant, outliers, tails, offset, count };
struct Data {
    Matrix x;
    Vector weights; // empty: all 1
    bool f32 = false, centred = true;
    Shape shape = Shape::normal;
    Kernel kernel;
    Settings settings() const {
        Settings out = kernel.settings();
        out.emplace_back("centred", centred ? "true" : "false");
        return out;
    }
};

inline void fill(Matrix &x, Shape shape, Draw &draw) {
    const int64_t n = x.rows, d = x.cols, groups = draw.between(int64_t{1}, std::min<int64_t>(n, 40));
    const double tight = draw.between(1e-3, 1.0), far = draw.between(3.0, 30.0);
    const Matrix centres = draw.matrix(groups, d, -3, 3);
    for (int64_t i = 0; i < n; ++i) {
        const int64_t group = draw.below(groups);
        for (int64_t k = 0; k < d; ++k) {
            const double normal = draw.normal();
            switch (shape) {
            case Shape::box: x(i, k) = 3 * draw(); break;
            case Shape::clusters: x(i, k) = centres(group, k) + tight * normal; break;
            case Shape::pairs: x(i, k) = i % 2 == 1 ? x(i - 1, k) + 0.01 * tight * normal : normal; break;
            case Shape::constant: x(i, k) = k % 2 == 0 ? 7 : normal; break;
            case Shape::outliers: x(i, k) = normal + (i % 97 == 5 && i > 97 ? far * draw() : 0); break;
            case Shape::tails: x(i, k) = normal / std::sqrt(0.01 + draw.uniform()); break;
            case Shape::offset: x(i, k) = 100 + normal; break;
            default: x(i, k) = normal;
            }
        }
        if (shape == Shape::duplicates && i > n / 5) std::copy_n(x.row(draw.below(n / 5 + 1)), d, x.v.data() + i * d);
    }
}

inline Data make_data(uint64_t seed, int64_t least, int64_t most) {
    Draw draw(seed);
    Data out;
    out.x = Matrix(draw.between(least, most), draw.between(int64_t{1}, int64_t{20}));
    out.f32 = draw.in(0.5);
    out.centred = draw.in(0.7);
    out.shape = static_cast<Shape>(draw.below(static_cast<int64_t>(Shape::count)));
    fill(out.x, out.shape, draw);
    const double side = std::sqrt(static_cast<double>(out.x.cols));
    auto leaf = [&](char name) {
        const double weight = name == 'd' ? draw.between(0.01, 1.0) : draw.between(0.1, 10.0);
        return Leaf{name, side * draw.between(0.2, 5.0), std::round(weight * 1e4) / 1e4};
    };
    const char *names = draw.any({"g", "g", "g", "l", "l", "d", "gd", "gl", "gl"});
    for (const char *name = names; *name; ++name) out.kernel.leaves.push_back(leaf(*name));
    out.kernel.product = out.kernel.leaves.size() == 2 && draw.in(0.3);
    if (out.kernel.product) out.kernel.leaves[1].weight = 1;
    if (draw.in(0.4)) {
        const double orders = draw.any({0.0, 1.0, 10.0});
        for (int64_t i = 0; i < out.x.rows; ++i)
            out.weights.push_back(orders > 0 ? std::pow(10, -orders * draw.uniform())
                                             : static_cast<double>(draw.below(4)));
        out.weights[0] = 1;
    }
    if (out.f32)
        for (double &value : out.x.v) value = static_cast<double>(static_cast<float>(value));
    return out;
}

struct Truth {
    Vector lambda;                   // of the covariance operator, descending
    Matrix vectors;                  // column j: entries sqrt(p_i) f_j(x_i), scaled to length 1; empty: not requested
    Vector p;                        // weights, sum 1
    double uncentred = 0, total = 0; // uncentred: sum p k(x, x); total: less |mean|^2 if centred
};

inline Truth truth_of(const Data &data, bool vectors) {
    const int64_t n = data.x.rows;
    Truth out;
    out.p = data.weights.empty() ? Vector(static_cast<size_t>(n), 1.0) : data.weights;
    const double sum = std::accumulate(out.p.begin(), out.p.end(), 0.0);
    for (double &value : out.p) value /= sum;
    Matrix k(n, n);
    Vector mean(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j <= i; ++j) k(i, j) = k(j, i) = data.kernel(data.x.row(i), data.x.row(j), data.x.cols);
    double square = 0;
    for (int64_t i = 0; i < n && data.centred; ++i) {
        mean[static_cast<size_t>(i)] = oracle::dot(k.row(i), out.p.data(), n);
        square += out.p[static_cast<size_t>(i)] * mean[static_cast<size_t>(i)];
    }
    for (int64_t i = 0; i < n; ++i) {
        const size_t a = static_cast<size_t>(i);
        out.uncentred += out.p[a] * k(i, i);
        for (int64_t j = 0; j < n; ++j) {
            const size_t b = static_cast<size_t>(j);
            k(i, j) = (k(i, j) - mean[a] - mean[b] + square) * std::sqrt(out.p[a] * out.p[b]);
        }
        out.total += k(i, i);
    }
    out.lambda.resize(static_cast<size_t>(n));
    TEST_ASSERT_EQUAL_INT(0, LAPACKE_dsyevd(LAPACK_COL_MAJOR, vectors ? 'V' : 'N', 'L', static_cast<int>(n), k.v.data(),
                                            static_cast<int>(n), out.lambda.data()));
    std::reverse(out.lambda.begin(), out.lambda.end());
    if (!vectors) return out;
    out.vectors = Matrix(n, n);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) out.vectors(i, j) = k(n - 1 - j, i); // LAPACK's columns are the rows of k
    return out;
}

} // namespace random_fits
