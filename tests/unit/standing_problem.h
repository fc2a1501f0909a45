// The true errors of models whose centres represent rows: means, covariances, spectra and
// directions, computed from their definitions in plain loops and with LAPACK (dsyevd).
#pragma once
#include "session.h"

#include <lapacke.h>
#include <nlohmann/json.hpp>

namespace standing {

using Json = nlohmann::json;

inline std::string number(double value) {
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", value);
    return text;
}

inline Json certificates(const Model &model) {
    const char *text = nullptr;
    OK(mercer_model_info(model.handle, "/certificates", &text));
    return Json::parse(text);
}

inline bool is(const Json &entry, const std::string &name, const std::string &by) {
    return entry["name"].get<std::string>() == name && entry.contains("by") && entry["by"].get<std::string>() == by;
}

inline oracle::Pair pair_of(const std::string &kernel, double sigma) {
    if (kernel == "gaussian") return oracle::gaussian(sigma);
    if (kernel == "laplacian") return oracle::laplacian(sigma);
    if (kernel == "cauchy") return oracle::of_distance([=](double r) { return 1 / (1 + r * r / sigma / sigma); });
    return oracle::of_distance([=](double r) { // matern 3/2
        const double a = std::sqrt(3.0) * r / sigma;
        return (1 + a) * std::exp(-a);
    });
}

inline Vector shares(Vector weights, int64_t n) { // sum 1
    if (weights.empty()) weights.assign(static_cast<size_t>(n), 1.0);
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (double &value : weights) value /= sum;
    return weights;
}

// Centres c with weights w. voronoi() takes some rows of x as centres. Each row of x adds its
// weight to the nearest centre, and centres without weight are dropped.
struct Centres {
    Matrix c;
    Vector w; // sum 1
};
inline Centres voronoi(const Matrix &x, const Vector &p, const std::vector<int64_t> &rows) {
    Matrix all(static_cast<int64_t>(rows.size()), x.cols);
    Vector weights(rows.size());
    for (int64_t j = 0; j < all.rows; ++j) std::copy_n(x.row(rows[static_cast<size_t>(j)]), x.cols, &all(j, 0));
    for (int64_t i = 0; i < x.rows; ++i) {
        int64_t best = 0;
        for (int64_t j = 1; j < all.rows; ++j)
            if (oracle::sqdist(x.row(i), all.row(j), x.cols) < oracle::sqdist(x.row(i), all.row(best), x.cols))
                best = j;
        weights[static_cast<size_t>(best)] += p[static_cast<size_t>(i)];
    }
    Centres out;
    out.c.cols = x.cols;
    for (int64_t j = 0; j < all.rows; ++j) {
        if (!(weights[static_cast<size_t>(j)] > 0)) continue;
        out.c.v.insert(out.c.v.end(), all.row(j), all.row(j) + x.cols);
        out.w.push_back(weights[static_cast<size_t>(j)]);
        ++out.c.rows;
    }
    return out;
}

inline Vector means(const Matrix &k, const Vector &q) {
    Vector out;
    for (int64_t i = 0; i < k.rows; ++i) out.push_back(oracle::dot(k.row(i), q.data(), k.cols));
    return out;
}

// Returns the matrix of sqrt(p_i q_j) <x_i - mean of x, y_j - mean of y>. If `centred` is false,
// the means are not subtracted.
inline Matrix weighed(Matrix k, const Vector &p, const Vector &q, bool centred) {
    const Vector rows = means(k, q), columns = means(oracle::transposed(k), p);
    const double both = oracle::dot(rows.data(), p.data(), k.rows);
    for (int64_t i = 0; i < k.rows; ++i)
        for (int64_t j = 0; j < k.cols; ++j) {
            const size_t a = static_cast<size_t>(i), b = static_cast<size_t>(j);
            k(i, j) = (k(i, j) + (centred ? both - rows[a] - columns[b] : 0)) * std::sqrt(p[a] * q[b]);
        }
    return k;
}

inline double square(const Matrix &k) { return oracle::dot(k.v.data(), k.v.data(), static_cast<int64_t>(k.v.size())); }

// Returns the eigenvalues in descending order. If `vectors` is set, the rows of a become the
// eigenvectors in the same order.
inline Vector spectrum(Matrix &a, bool vectors) {
    const int n = static_cast<int>(a.rows);
    Vector out(static_cast<size_t>(n));
    TEST_ASSERT_EQUAL_INT(0, LAPACKE_dsyevd(LAPACK_COL_MAJOR, vectors ? 'V' : 'N', 'L', n, a.v.data(), n, out.data()));
    std::reverse(out.begin(), out.end());
    for (int64_t i = 0; i < a.rows / 2; ++i) std::swap_ranges(&a(i, 0), &a(i, 0) + a.cols, &a(a.rows - 1 - i, 0));
    return out;
}

struct Truth {
    double mmd = 0, covariance = 0, eigenvalues = 0, density = 0; // density: the largest difference over the rows
    Vector data, model;                                           // all eigenvalues of the data and of the model
    Vector projection, excess;                                    // entry d - 1: of the first d components
};

// a: the coefficients of the model on the centres. If it is empty, projection and excess are not
// computed.
inline Truth truth_of(const oracle::Pair &k, const Matrix &x, const Vector &p, const Centres &centres, bool centred,
                      const Matrix &a) {
    const auto &[c, w] = centres;
    const Matrix kxx = oracle::gram(k, x, x), kxc = oracle::gram(k, x, c), kcc = oracle::gram(k, c, c);
    const Vector exact = means(kxx, p), reduced = means(kxc, w), own = means(kcc, w);
    Truth out;
    const double mmd = oracle::dot(exact.data(), p.data(), x.rows) - 2 * oracle::dot(reduced.data(), p.data(), x.rows) +
                       oracle::dot(own.data(), w.data(), c.rows);
    out.mmd = std::sqrt(std::max(mmd, 0.0));
    for (size_t i = 0; i < exact.size(); ++i)
        out.density = oracle::larger(out.density, std::fabs(exact[i] - reduced[i]));
    Matrix xx = weighed(kxx, p, p, centred), cc = weighed(kcc, w, w, centred);
    out.covariance = std::sqrt(std::max(square(xx) - 2 * square(weighed(kxc, p, w, centred)) + square(cc), 0.0));
    out.data = spectrum(xx, a.rows > 0), out.model = spectrum(cc, false);
    double apart = 0;
    for (size_t j = 0; j < out.data.size(); ++j)
        apart += std::pow(out.data[j] - (j < out.model.size() ? out.model[j] : 0), 2);
    out.eigenvalues = std::sqrt(apart);
    if (a.rows == 0) return out;
    Matrix z = oracle::product(kxc, a); // scores, which are then centred and weighted
    for (int64_t j = 0; j < z.cols; ++j) {
        const double mean = oracle::sum_over(z.rows, [&](int64_t i) { return p[static_cast<size_t>(i)] * z(i, j); });
        for (int64_t i = 0; i < z.rows; ++i)
            z(i, j) = (z(i, j) - (centred ? mean : 0)) * std::sqrt(p[static_cast<size_t>(i)]);
    }
    double best = 0, held = 0;
    for (int64_t d = 1; d <= a.cols && out.data[static_cast<size_t>(d - 1)] > 1e-12; ++d) {
        best += out.data[static_cast<size_t>(d - 1)];
        held += oracle::sum_over(z.rows, [&](int64_t i) { return z(i, d - 1) * z(i, d - 1); });
        double overlap = 0;
        for (int64_t i = 0; i < d; ++i)
            for (int64_t j = 0; j < d; ++j) {
                const double of = oracle::sum_over(z.rows, [&](int64_t l) { return xx(i, l) * z(l, j); });
                overlap += of * of / out.data[static_cast<size_t>(i)];
            }
        out.projection.push_back(std::sqrt(std::max(2 * (static_cast<double>(d) - overlap), 0.0)));
        out.excess.push_back(best - held);
    }
    return out;
}

// What check() has counted in all reports so far.
struct Count {
    std::map<std::string, int64_t> by;
    int64_t applicable = 0, measured = 0, claims = 0;
};
// Checks the entries of a report against the truth: a bound must not be below the true value, and a
// measured value must equal it up to rounding. u: unit roundoff of kernel values. Adds the numbers
// of entries to `count`. An entry of the kind "certain" that is wrong fails the test; returns the
// number of the other entries that are wrong.
inline int64_t check(const Json &entries, const Truth &truth, double u, Count &count) {
    // A value such as the MMD is the root of a difference. An error u of this difference can become
    // an error sqrt(u) of the root.
    const double rounding = 20 * std::sqrt(u);
    int64_t wrong = 0;
    for (const Json &entry : entries) {
        const std::string name = entry["name"], by = entry.value("by", "");
        const size_t j = entry.value("component", size_t{0});
        ++count.by[name + " " + by], ++count.claims;
        auto at = [j](const Vector &of) { return j < of.size() ? &of[j] : nullptr; };
        const double *known = name == "mmd"           ? &truth.mmd
                              : name == "covariance"  ? &truth.covariance
                              : name == "eigenvalues" ? &truth.eigenvalues
                              : name == "density"     ? &truth.density
                              : name == "eigenvalue"  ? at(truth.data)
                              : name == "projection"  ? at(truth.projection)
                              : name == "excess"      ? at(truth.excess)
                                                      : nullptr;
        if (!known) continue;
        const double value = entry["value"], of = *known;
        TEST_ASSERT_FALSE_MESSAGE(std::isnan(of), name.c_str()); // a weight or a score of the model is NaN
        bool holds = value * value >= of * of * (1 - 1e-9) - 1e-15;
        if (name == "eigenvalue") holds = entry["lower"] <= of + 1e-14 && of - 1e-14 <= entry["upper"];
        if (name == "excess") holds = value >= of - 1e-13;
        if (name == "projection") holds = value >= of - (u < 1e-10 ? 1e-6 : 1e-2);
        if (entry.value("applicable", false)) ++count.applicable;
        char said[600];
        std::snprintf(said, sizeof said, "%s %d by %s: %.17g (%s), truth %.17g", name.c_str(), static_cast<int>(j),
                      by.c_str(), value, entry.dump().c_str(), of);
        if (entry["kind"] == "certain") TEST_ASSERT_TRUE_MESSAGE(holds, said);
        wrong += !holds;
        if (!entry.contains("measured")) continue;
        // If eigenvalues are equal up to rounding, their eigenvectors are not unique, so their
        // measured distances are not compared.
        if (name == "projection" && j + 1 < truth.data.size() &&
            !(truth.data[j] - truth.data[j + 1] > 1e3 * std::sqrt(u) * truth.data[0]))
            continue;
        ++count.measured;
        const double allowed = name == "projection" ? 1e3 * std::sqrt(u) : rounding;
        TEST_ASSERT_DOUBLE_WITHIN_MESSAGE(allowed, of, entry["measured"].get<double>(), said);
    }
    return wrong;
}

} // namespace standing
