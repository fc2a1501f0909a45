// Compares inner products and projections of expansions with plain loops. Also fits two blocks of
// rows in parallel child runs and merges the models by loops of its own: the result must be kernel
// PCA of all rows (specification reduced sets, 8.2).
#include "core/threads.h"
#include "factor/expansion_algebra.h"
#include "fit/fit_rows.h"
#include "oracle.h"
#include "unity_cpp.h"

using namespace mercer;
using oracle::Matrix;
using oracle::product;
using oracle::transposed;
using oracle::Vector;

namespace {

constexpr int64_t d = 3;
constexpr double width = 0.9;
const oracle::Pair k = oracle::gaussian(width);

RunSettings with(int64_t threads) {
    RunSettings out;
    out.run.threads = threads, out.run.memory = int64_t{256} << 20;
    return out;
}

Recipe recipe_of(const char *method, const char *components, const char *centred = "true") {
    static const auto registry = std::make_shared<Registry>();
    Recipe recipe(registry, method);
    recipe.set("sigma", "0.9");
    recipe.set("components", components);
    recipe.set("lift.centred", centred);
    return recipe;
}

// The kernel of all fits. Its width is given, so that it does not depend on the rows.
const Expression &kernel() {
    static const Expression made = [] {
        Run run(with(1), nullptr);
        Expression out = recipe_of("kpca", "1").kernel();
        out.choose_forms();
        out.finish(run, d, [](const Leaf &, const std::string &) { return 1.0; });
        return out;
    }();
    return made;
}

std::shared_ptr<const Source> source_of(const Matrix &x) {
    return make_view_source(
        {sizeof(mercer_view), MERCER_F64, 0, x.rows, x.cols, x.cols, 1, const_cast<double *>(x.v.data())});
}
Points<double> points_of(const Matrix &x) { return Points<double>(source_of(x), {}, leaf_specs(kernel())); }

Weights<double> weights_of(Run &run, const Matrix &w) {
    Weights<double> out(run, w.rows, w.cols);
    out.columns(0, w.v.data(), w.cols);
    return out;
}

// Compares a row-major matrix with numbers that are stored by columns or by rows.
void expect_matrix(const Matrix &expected, const double *found, bool column_major, double allowed) {
    for (int64_t i = 0; i < expected.rows; ++i)
        for (int64_t j = 0; j < expected.cols; ++j)
            TEST_ASSERT_DOUBLE_WITHIN(allowed, expected(i, j),
                                      column_major ? found[i + j * expected.rows] : found[i * expected.cols + j]);
}

void test_inner_products() {
    Run run(with(2), nullptr);
    const Matrix x = oracle::clusters(300, d), y = oracle::Numbers(2).matrix(70, d);
    const Matrix a = oracle::Numbers(3).matrix(300, 4), b = oracle::Numbers(4).matrix(70, 3);
    const Weights<double> wa = weights_of(run, a), wb = weights_of(run, b);
    const Points<double> px = points_of(x), py = points_of(y);
    int64_t evaluations = 0;
    const std::vector<double> own = inner_products(run, kernel(), {px, wa}, evaluations);
    TEST_ASSERT_TRUE(evaluations >= 300 * 301 / 2 && evaluations <= 300 * 300);
    expect_matrix(product(transposed(a), product(oracle::gram(k, x, x), a)), own.data(), true, 1e-10);
    evaluations = 0;
    const Buffer<double> at_y = images(run, kernel(), py, {px, wa}, evaluations);
    TEST_ASSERT_EQUAL_INT64(300 * 70, evaluations);
    const Matrix expected = product(oracle::gram(k, y, x), a);
    expect_matrix(expected, at_y.data(), false, 1e-11);
    expect_matrix(product(transposed(expected), b), inner_products(at_y, {py, wb}).data(), true, 1e-10);
}

// Checks the span of 20 random centres, of which two are equal, so that its rank is 19.
void test_span() {
    Run run(with(2), nullptr);
    const Matrix x = oracle::clusters(120, d);
    Matrix b = oracle::Numbers(5).matrix(20, d, -3, 3);
    std::copy_n(b.row(4), d, b.v.begin() + 11 * d);
    const Matrix a = oracle::Numbers(6).matrix(120, 3);
    const Weights<double> w = weights_of(run, a);
    int64_t evaluations = 0;
    const CentreSpan span(run, {source_of(b), {}, kernel(), nullptr, b.rows, nullptr}, false, evaluations);
    TEST_ASSERT_EQUAL_INT64(19, span.rank());
    const Buffer<double> at_b = images(run, kernel(), points_of(b), {points_of(x), w}, evaluations);
    Buffer<double> z = span.coordinates(run, at_b, 3);
    const std::vector<double> g = inner_products(z, 3);
    span.coefficients(3, z);
    Matrix coefficients(b.rows, 3);
    for (int64_t i = 0; i < span.rank(); ++i)
        for (int64_t j = 0; j < 3; ++j) coefficients(span.index()[i], j) = z[j + i * 3];
    // The projection onto the span must have the values of the original at the centres, and g must
    // contain the inner products of the projections.
    const Matrix kbb = oracle::gram(k, b, b), values = product(kbb, coefficients);
    expect_matrix(product(oracle::gram(k, b, x), a), values.v.data(), false, 1e-9);
    expect_matrix(product(transposed(coefficients), values), g.data(), true, 1e-9);
}

void test_polar_factor() {
    const Matrix v = oracle::Numbers(7).matrix(9, 4);
    const Matrix gram = product(transposed(v), v);
    const PolarFactor polar = polar_factor(gram.v, 4, 4, 1e-12);
    TEST_ASSERT_EQUAL_INT64(4, polar.r);
    Matrix turn(4, 4);
    for (int64_t i = 0; i < 4; ++i)
        for (int64_t j = 0; j < 4; ++j) {
            turn(i, j) = polar.at(i, j);
            TEST_ASSERT_DOUBLE_WITHIN(1e-14, polar.at(j, i), polar.at(i, j));
        }
    const Matrix one = product(turn, product(gram, turn));
    Matrix vectors;
    for (int64_t i = 0; i < 4; ++i)
        for (int64_t j = 0; j < 4; ++j) TEST_ASSERT_DOUBLE_WITHIN(1e-13, i == j, one(i, j));
    for (double value : oracle::eigen(turn, vectors)) TEST_ASSERT_TRUE(value > 0);
    // The third vector is a linear combination of the first two: only the vectors before it are
    // used.
    Matrix same = v;
    for (int64_t i = 0; i < 9; ++i) same(i, 2) = same(i, 0) - 2 * same(i, 1);
    TEST_ASSERT_EQUAL_INT64(2, polar_factor(product(transposed(same), same).v, 4, 4, 1e-9).r);
}

// ---- two fits merged by hand

// The model of a block of rows: its centres, alpha, nu and sigma of the specification, and its
// ledger.
struct Block {
    Matrix centres, alpha;
    Vector nu, sigma;
    Ledger ledger;
};

Matrix matrix_of(const Tensor &tensor) {
    Matrix out(tensor.rows, tensor.cols);
    std::copy_n(tensor_data<double>(tensor), out.v.size(), out.v.begin());
    return out;
}

Block block_of(const Fitted &fitted) {
    const Tensors &tensors = fitted.lifted.tensors;
    Block out{matrix_of(fitted.centres.tensors.at("C")), matrix_of(tensors.at("A")), {}, {}, *fitted.lifted.ledger};
    out.nu.assign(static_cast<size_t>(out.centres.rows), 0.0);
    if (const auto nu = tensors.find("nu"); nu != tensors.end()) out.nu = matrix_of(nu->second).v;
    for (double value : matrix_of(*variances_of(tensors)).v) out.sigma.push_back(std::sqrt(value * out.ledger.n_eff));
    return out;
}

// Returns the coefficients of the vectors of a block: the columns of alpha, then nu.
Weights<double> columns_of(Run &run, const Block &block) {
    Weights<double> out(run, block.centres.rows, block.alpha.cols + 1);
    out.columns(0, block.alpha.v.data(), block.alpha.cols);
    out.column(block.alpha.cols, block.nu.data(), 1);
    return out;
}

// Returns W^T W, where W has the columns V_a Sigma_a, V_b Sigma_b and f (mu_a - mu_b),
// f = sqrt(n_a n_b / n).
Matrix gram_of_union(Run &run, const Block &a, const Block &b, const Vector &scales) {
    const Weights<double> wa = columns_of(run, a), wb = columns_of(run, b);
    const Points<double> pa = points_of(a.centres), pb = points_of(b.centres);
    int64_t evaluations = 0, between = 0;
    const std::vector<double> aa = inner_products(run, kernel(), {pa, wa}, evaluations),
                              bb = inner_products(run, kernel(), {pb, wb}, evaluations),
                              ab = inner_products(images(run, kernel(), pb, {pa, wa}, between), {pb, wb});
    TEST_ASSERT_EQUAL_INT64(a.centres.rows * b.centres.rows, between);
    const int64_t ra = a.alpha.cols, rb = b.alpha.cols, p = ra + rb + 1;
    const auto of = [](const std::vector<double> &g, int64_t rows, int64_t i, int64_t j) {
        return g[static_cast<size_t>(i + j * rows)];
    };
    const auto in_a = [&](int64_t i, int64_t j) { return of(aa, ra + 1, i, j); };
    const auto in_b = [&](int64_t i, int64_t j) { return of(bb, rb + 1, i, j); };
    const auto cross = [&](int64_t i, int64_t j) { return of(ab, ra + 1, i, j); };
    Matrix out(p, p);
    for (int64_t i = 0; i < ra; ++i) {
        for (int64_t j = 0; j < ra; ++j) out(i, j) = in_a(i, j);
        for (int64_t j = 0; j < rb; ++j) out(i, ra + j) = out(ra + j, i) = cross(i, j);
        out(i, p - 1) = out(p - 1, i) = in_a(i, ra) - cross(i, rb);
    }
    for (int64_t i = 0; i < rb; ++i) {
        for (int64_t j = 0; j < rb; ++j) out(ra + i, ra + j) = in_b(i, j);
        out(ra + i, p - 1) = out(p - 1, ra + i) = cross(ra, i) - in_b(i, rb);
    }
    out(p - 1, p - 1) = in_a(ra, ra) - 2 * cross(ra, rb) + in_b(rb, rb);
    for (int64_t i = 0; i < p; ++i)
        for (int64_t j = 0; j < p; ++j) out(i, j) *= scales[static_cast<size_t>(i)] * scales[static_cast<size_t>(j)];
    return out;
}

Block merged(Run &run, const Block &a, const Block &b) {
    const int64_t sa = a.centres.rows, sb = b.centres.rows, ra = a.alpha.cols, rb = b.alpha.cols;
    const double na = a.ledger.n_eff, nb = b.ledger.n_eff, n = na + nb;
    Vector scales = a.sigma;
    scales.insert(scales.end(), b.sigma.begin(), b.sigma.end());
    scales.push_back(std::sqrt(na * nb / n));
    Matrix y;
    Vector squares = oracle::eigen(gram_of_union(run, a, b, scales), y);
    Block out;
    out.ledger = {.n_eff = n,
                  .self = a.ledger.self + b.ledger.self,
                  .lost = a.ledger.lost + b.ledger.lost,
                  .resid = a.ledger.resid + b.ledger.resid};
    const double floor = rounding_floor(false, sa + sb) * out.ledger.self;
    while (!squares.empty() && !(squares.back() > floor)) out.ledger.lost += squares.back(), squares.pop_back();
    const auto r = static_cast<int64_t>(squares.size());
    out.centres = Matrix(sa + sb, d), out.alpha = Matrix(sa + sb, r);
    std::copy(a.centres.v.begin(), a.centres.v.end(), out.centres.v.begin());
    std::copy(b.centres.v.begin(), b.centres.v.end(), out.centres.v.begin() + sa * d);
    for (double square : squares) out.sigma.push_back(std::sqrt(square));
    const auto turn = [&](int64_t i, int64_t l) { // D Y Sigma^-1
        return scales[static_cast<size_t>(i)] * y(i, l) / out.sigma[static_cast<size_t>(l)];
    };
    for (int64_t i = 0; i < sa; ++i) {
        out.nu.push_back(na * a.nu[static_cast<size_t>(i)] / n);
        for (int64_t l = 0; l < r; ++l) {
            out.alpha(i, l) = a.nu[static_cast<size_t>(i)] * turn(ra + rb, l);
            for (int64_t j = 0; j < ra; ++j) out.alpha(i, l) += a.alpha(i, j) * turn(j, l);
        }
    }
    for (int64_t i = 0; i < sb; ++i) {
        out.nu.push_back(nb * b.nu[static_cast<size_t>(i)] / n);
        for (int64_t l = 0; l < r; ++l) {
            out.alpha(sa + i, l) = -b.nu[static_cast<size_t>(i)] * turn(ra + rb, l);
            for (int64_t j = 0; j < rb; ++j) out.alpha(sa + i, l) += b.alpha(i, j) * turn(ra + j, l);
        }
    }
    return out;
}

constexpr int64_t part_rows = 60, parts = 2;

// Fits the two halves of x in parallel.
std::vector<Block> fitted_blocks(Run &parent, const Matrix &x, const Recipe &recipe, const Vector &weights) {
    std::vector<Fitted> fitted(parts);
    parallel_for(parent, parts, [&](int64_t part) {
        Run child(parent, int64_t{64} << 20, 1);
        Data rows;
        rows.source = make_view_source(
            {sizeof(mercer_view), MERCER_F64, 0, part_rows, d, d, 1, const_cast<double *>(x.row(part * part_rows))});
        if (!weights.empty())
            rows.weights = {sizeof(mercer_view),
                            MERCER_F64,
                            0,
                            part_rows,
                            1,
                            1,
                            1,
                            const_cast<double *>(weights.data() + part * part_rows)};
        fitted[static_cast<size_t>(part)] = fit_rows(child, recipe, rows);
    });
    std::vector<Block> out;
    for (const Fitted &one : fitted) out.push_back(block_of(one));
    return out;
}

double squares_of(const Block &block) {
    Matrix nu(block.centres.rows, 1);
    nu.v = block.nu;
    const Matrix knn = oracle::gram(k, block.centres, block.centres);
    return block.ledger.n_eff * product(transposed(nu), product(knn, nu))(0, 0) +
           std::inner_product(block.sigma.begin(), block.sigma.end(), block.sigma.begin(), 0.0);
}

void expect_identity(const Block &block) {
    const Ledger &ledger = block.ledger;
    TEST_ASSERT_DOUBLE_WITHIN(1e-11 * ledger.self, ledger.self, squares_of(block) + ledger.lost + ledger.resid);
}

// Kernel PCA of all rows by plain loops. scatter: n lambda.
struct Truth {
    Vector scatter;
    Matrix scores;
};
Truth truth_of(const Matrix &x, const Vector &weights, bool centred) {
    const int64_t n = x.rows;
    Vector s = weights.empty() ? Vector(static_cast<size_t>(n), 1.0) : weights;
    const double sum = std::accumulate(s.begin(), s.end(), 0.0);
    // With the weights s, p = s / sum, S = diag(sqrt s) and a vector e of ones, c is
    // S (I - e p^T) K (I - p e^T) S or, if not centred, S K S.
    Matrix c(n, n), g = oracle::gram(k, x, x), vectors;
    Vector means(static_cast<size_t>(n));
    double mean = 0;
    for (int64_t i = 0; i < n && centred; ++i) {
        for (int64_t j = 0; j < n; ++j) means[static_cast<size_t>(i)] += s[static_cast<size_t>(j)] / sum * g(i, j);
        mean += s[static_cast<size_t>(i)] / sum * means[static_cast<size_t>(i)];
    }
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j)
            c(i, j) = std::sqrt(s[static_cast<size_t>(i)] * s[static_cast<size_t>(j)]) *
                      (g(i, j) - means[static_cast<size_t>(i)] - means[static_cast<size_t>(j)] + mean);
    Truth out{oracle::eigen(c, vectors), Matrix(n, n)};
    for (int64_t i = 0; i < n; ++i)
        for (int64_t l = 0; l < n; ++l)
            out.scores(i, l) = vectors(i, l) * std::sqrt(std::max(out.scatter[static_cast<size_t>(l)], 0.0) /
                                                         s[static_cast<size_t>(i)]);
    return out;
}

void test_two_fits_merged_by_hand() {
    const Matrix x = oracle::clusters(parts * part_rows, d);
    for (const bool weighted : {false, true})
        for (const bool centred : {false, true}) {
            Vector weights;
            for (int64_t i = 0; weighted && i < x.rows; ++i) weights.push_back(0.5 + static_cast<double>(i % 4));
            Run run(with(2), nullptr);
            const std::vector<Block> blocks =
                fitted_blocks(run, x, recipe_of("kpca", "60", centred ? "true" : "false"), weights);
            for (const Block &block : blocks) expect_identity(block);
            const Block all = merged(run, blocks[0], blocks[1]);
            expect_identity(all);
            const Truth truth = truth_of(x, weights, centred);
            Matrix nu(x.rows, 1);
            nu.v = all.nu;
            const Matrix g = oracle::gram(k, x, all.centres), values = product(g, all.alpha),
                         offset =
                             product(transposed(all.alpha), product(oracle::gram(k, all.centres, all.centres), nu));
            for (int64_t l = 0; l < 10; ++l) {
                const double sigma = all.sigma[static_cast<size_t>(l)];
                TEST_ASSERT_DOUBLE_WITHIN(1e-10 * truth.scatter[0], truth.scatter[static_cast<size_t>(l)],
                                          sigma * sigma);
                double sign = 0;
                for (int64_t i = 0; i < x.rows; ++i) sign += (values(i, l) - offset(l, 0)) * truth.scores(i, l);
                for (int64_t i = 0; i < x.rows; ++i)
                    TEST_ASSERT_DOUBLE_WITHIN(1e-10, truth.scores(i, l),
                                              std::copysign(1, sign) * (values(i, l) - offset(l, 0)));
            }
        }
}

// Merges two approximate models that lost a part of the variance. The terms of the ledger must
// still add up, and the components of the merged model must be orthonormal.
void test_merge_of_approximations() {
    const Matrix x = oracle::clusters(parts * part_rows, d);
    Run run(with(2), nullptr);
    Recipe recipe = recipe_of("nystrom", "12");
    recipe.set("m", "25");
    const std::vector<Block> blocks = fitted_blocks(run, x, recipe, {});
    const Block all = merged(run, blocks[0], blocks[1]);
    TEST_ASSERT_TRUE(all.ledger.lost > 0 && all.ledger.resid > 0);
    expect_identity(all);
    const Matrix one = product(transposed(all.alpha), product(oracle::gram(k, all.centres, all.centres), all.alpha));
    for (int64_t i = 0; i < one.rows; ++i)
        for (int64_t j = 0; j < one.cols; ++j)
            TEST_ASSERT_DOUBLE_WITHIN(1e-13 * all.ledger.self, 0,
                                      (one(i, j) - (i == j)) * all.sigma[static_cast<size_t>(i)] *
                                          all.sigma[static_cast<size_t>(j)]);
    // The exact eigenvalues must lie within the bounds that follow from lost and resid
    // (specification reduced sets, 8.6).
    const Truth truth = truth_of(x, {}, true);
    for (size_t l = 0; l < 10; ++l) {
        const double e = std::sqrt(all.ledger.resid), exact = std::sqrt(truth.scatter[l]);
        TEST_ASSERT_TRUE(all.sigma[l] - e <= exact &&
                         exact <= std::sqrt(all.sigma[l] * all.sigma[l] + all.ledger.lost) + e);
    }
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_inner_products);
    RUN_TEST(test_span);
    RUN_TEST(test_polar_factor);
    RUN_TEST(test_two_fits_merged_by_hand);
    RUN_TEST(test_merge_of_approximations);
    return UNITY_END();
}
