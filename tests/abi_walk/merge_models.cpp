// Merges two fitted models into one, from nothing but their tensors and kernel values. As nothing
// is discarded, the result must be kernel PCA of the union of the data, which shows that the
// expansion carries what merging needs.
#include "../unit/oracle.h"
#include "api/handles.h"

#include <cstdlib>

using namespace mercer;
using oracle::Matrix;
using oracle::product;
using oracle::transposed;
using oracle::Vector;

#define CHECK(condition)                                                                                               \
    ((condition) ? void()                                                                                              \
                 : (std::fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, mercer_last_error()),     \
                    std::exit(1)))

namespace {

constexpr int64_t d = 3;

// What the merge needs of a model: its centres, the coefficients `alpha` of the unit principal
// directions, the number of rows, the coefficients `nu` of the mean, and sigma = sqrt(count
// lambda), which are singular values.
struct Omega {
    Matrix points, alpha;
    double count;
    Vector nu, sigma;
};

Matrix tensor(const Model &model, const char *name) {
    mercer_view view = model.tensor_view(name);
    Matrix out(view.rows, view.cols);
    std::copy_n(static_cast<const double *>(view.data), out.v.size(), out.v.data());
    return out;
}

Omega omega(const Model &model) {
    Omega out{tensor(model, "C"), tensor(model, "A"), static_cast<double>(model.n()), tensor(model, "nu").v,
              tensor(model, "lambda").v};
    CHECK(model.can(MERCER_CAN_MERGE) && model.can(MERCER_CAN_ORTHONORMAL));
    for (double &value : out.sigma) value = std::sqrt(value * out.count);
    return out;
}

// The kernel matrix of x, computed by the library's tiles with the model's kernel.
Matrix gram(const Model &model, const Matrix &x) {
    Run run({}, nullptr);
    auto source =
        make_view_source({sizeof(mercer_view), MERCER_F64, 0, x.rows, d, d, 1, const_cast<double *>(x.v.data())});
    Points<double> points(source, model.map(), leaf_specs(model.kernel()));
    Tiles<double> tiles(model.kernel(), points, points);
    Matrix out(x.rows, x.rows);
    sweep<double>(run, tiles, 0, x.rows, [&](const Tile<double> &tile) {
        for (int64_t i = 0; i < tile.x.rows; ++i)
            std::copy_n(tile.values + i * tile_rows, tile.y.rows, &out(tile.x.row0 + i, tile.y.row0));
        return true;
    });
    return out;
}

void add(Matrix &to, const Matrix &b, double factor) {
    for (size_t k = 0; k < to.v.size(); ++k) to.v[k] += factor * b.v[k];
}
// Returns the product a Q S^power, where m = Q S Q^T is symmetric. Only the eigenpairs of m above
// the floor are used.
Matrix times_power(const Matrix &a, const Matrix &m, double power, double floor) {
    Matrix q;
    Vector s = oracle::eigen(m, q);
    int64_t kept = 0;
    while (kept < m.rows && s[static_cast<size_t>(kept)] > floor) ++kept;
    Matrix scaled(m.rows, kept);
    for (int64_t i = 0; i < m.rows; ++i)
        for (int64_t j = 0; j < kept; ++j) scaled(i, j) = q(i, j) * std::pow(s[static_cast<size_t>(j)], power);
    return product(a, scaled);
}

Omega merge(const Model &kernel, const Omega &a, const Omega &b, Matrix &k) {
    const int64_t sa = a.points.rows, sb = b.points.rows, ra = a.alpha.cols, rb = b.alpha.cols;
    const double count = a.count + b.count, f = std::sqrt(a.count * b.count / count);
    Omega out{Matrix(sa + sb, d), {}, count, {}, {}};
    std::copy(a.points.v.begin(), a.points.v.end(), out.points.v.begin());
    std::copy(b.points.v.begin(), b.points.v.end(), out.points.v.begin() + sa * d);
    Matrix gam(sa + sb, rb + 1), al(sa + sb, ra);
    for (int64_t i = 0; i < sa; ++i) {
        std::copy_n(a.alpha.row(i), ra, &al(i, 0));
        gam(i, rb) = f * a.nu[static_cast<size_t>(i)];
        out.nu.push_back(a.count * a.nu[static_cast<size_t>(i)] / count);
    }
    for (int64_t i = 0; i < sb; ++i) {
        for (int64_t j = 0; j < rb; ++j) gam(sa + i, j) = b.alpha(i, j) * b.sigma[static_cast<size_t>(j)];
        gam(sa + i, rb) = -f * b.nu[static_cast<size_t>(i)];
        out.nu.push_back(b.count * b.nu[static_cast<size_t>(i)] / count);
    }
    k = gram(kernel, out.points);
    const Matrix alk = product(transposed(al), k);
    Matrix l = product(alk, gam), eta = gam;
    add(eta, product(al, l), -1);
    Matrix again = product(alk, eta);
    add(eta, product(al, again), -1);
    add(l, again, 1);
    double scale = 0;
    for (double sigma : a.sigma) scale += sigma * sigma;
    Matrix kap = times_power(eta, product(transposed(eta), product(k, eta)), -0.5, 1e-10 * scale);
    add(kap, product(al, product(alk, kap)), -1);
    Matrix root = product(transposed(kap), product(k, kap));
    kap = times_power(kap, root, -0.5, 0);
    Matrix kk = product(transposed(kap), product(k, eta)), wide(ra + kap.cols, ra + rb + 1);
    for (int64_t i = 0; i < ra; ++i) {
        wide(i, i) = a.sigma[static_cast<size_t>(i)];
        std::copy_n(l.row(i), rb + 1, &wide(i, ra));
    }
    for (int64_t i = 0; i < kap.cols; ++i) std::copy_n(kk.row(i), rb + 1, &wide(ra + i, ra));
    Matrix u, basis(sa + sb, ra + kap.cols);
    for (double value : oracle::eigen(product(wide, transposed(wide)), u))
        out.sigma.push_back(std::sqrt(std::max(value, 0.0)));
    for (int64_t i = 0; i < sa + sb; ++i) {
        std::copy_n(al.row(i), ra, &basis(i, 0));
        std::copy_n(kap.row(i), kap.cols, &basis(i, ra));
    }
    out.alpha = product(basis, u);
    return out;
}

mercer_model *fit(mercer_context *context, const Matrix &x, const char *components) {
    mercer_view view{sizeof view, MERCER_F64, 0, x.rows, d, d, 1, const_cast<double *>(x.v.data())};
    mercer_data *data = nullptr;
    mercer_recipe *recipe = nullptr;
    mercer_model *model = nullptr;
    CHECK(mercer_data_from_view(&data, context, &view) == 0 && mercer_recipe_create(&recipe, context, "kpca") == 0);
    CHECK(mercer_recipe_set(recipe, "sigma", "0.9") == 0 && mercer_recipe_set(recipe, "components", components) == 0);
    CHECK(mercer_model_fit(&model, recipe, data, nullptr) == 0);
    mercer_recipe_destroy(recipe);
    mercer_data_destroy(data);
    return model;
}

} // namespace

int main() {
    constexpr int64_t na = 25, nb = 35, r = 4;
    Matrix x = oracle::Numbers(5).matrix(na + nb, d), xa(na, d), xb(nb, d), k;
    std::copy_n(x.v.begin(), na * d, xa.v.begin());
    std::copy_n(x.v.begin() + na * d, nb * d, xb.v.begin());
    mercer_context *context = nullptr;
    CHECK(mercer_context_create(&context) == 0);
    // Both parts keep all their components (n - 1), so that nothing is discarded.
    mercer_model *a = fit(context, xa, "24"), *b = fit(context, xb, "34"), *all = fit(context, x, "4");
    Omega merged = merge(*a->model, omega(*a->model), omega(*b->model), k), whole = omega(*all->model);
    for (int64_t j = 0; j < r; ++j) {
        // sigma^2 = n lambda. The merge computes with squares, which leave errors of 1e-10 of the
        // scatter.
        double error = merged.sigma[static_cast<size_t>(j)] / whole.sigma[static_cast<size_t>(j)] - 1, dot = 0;
        CHECK(std::fabs(error) < 1e-8);
        for (int64_t i = 0; i < na + nb; ++i)
            for (int64_t l = 0; l < na + nb; ++l) dot += merged.alpha(i, j) * k(i, l) * whole.alpha(l, j);
        // Both are the same unit direction in feature space.
        CHECK(std::fabs(std::fabs(dot) - 1) < 1e-7);
    }
    for (size_t i = 0; i < whole.nu.size(); ++i) CHECK(std::fabs(merged.nu[i] - whole.nu[i]) < 1e-15);
    for (mercer_model *model : {a, b, all}) mercer_model_destroy(model);
    mercer_context_destroy(context);
    return 0;
}
