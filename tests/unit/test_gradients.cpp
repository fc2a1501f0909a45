// Compares gradients of the scores with finite differences in long double or, where these would
// take long, with the formula.
#include "outputs_problem.h"

namespace {

using Real = long double;
using Kernel = std::function<Real(const Real *x, const Real *y, int64_t d)>;

Real dot(const Real *x, const Real *y, int64_t n) {
    Real sum = 0;
    for (int64_t k = 0; k < n; ++k) sum += x[k] * y[k];
    return sum;
}
Real sqdist(const Real *x, const Real *y, int64_t n) {
    Real sum = 0;
    for (int64_t k = 0; k < n; ++k) sum += (x[k] - y[k]) * (x[k] - y[k]);
    return sum;
}
Kernel gaussian_of(Real sigma) {
    return [=](const Real *x, const Real *y, int64_t n) { return std::exp(-sqdist(x, y, n) / (2 * sigma * sigma)); };
}
Kernel laplacian_of(Real sigma) {
    return [=](const Real *x, const Real *y, int64_t n) { return std::exp(-std::sqrt(sqdist(x, y, n)) / sigma); };
}

struct Case {
    const char *name;
    Settings settings;
    Kernel k;
    double slope; // upper bound of |dk/dform| |x| for pairs that are not equal
};

std::vector<Case> cases() {
    const Kernel g = gaussian_of(0.9L), l = laplacian_of(1.5L);
    return {
        {"gaussian", {{"kernel", "gaussian"}, {"sigma", "0.9"}}, g, 2},
        {"weighted",
         {{"kernel", "3 gaussian"}, {"sigma", "0.9"}},
         [=](const Real *x, const Real *y, int64_t n) { return 3 * g(x, y, n); },
         6},
        {"laplacian", {{"kernel", "laplacian"}, {"sigma", "1.5"}}, l, 20},
        {"linear", {{"kernel", "linear"}}, dot, 2},
        {"columns",
         {{"kernel", "linear[2,0]"}},
         [](const Real *x, const Real *y, int64_t) { return x[2] * y[2] + x[0] * y[0]; },
         2},
        {"sum and product",
         {{"kernel", "2 gaussian[0-1] * laplacian[1-3] + 0.3 linear"},
          {"kernel.1.sigma", "0.9"},
          {"kernel.2.sigma", "1.5"}},
         [=](const Real *x, const Real *y, int64_t n) {
             return 2 * g(x, y, 2) * l(x + 1, y + 1, 3) + 0.3L * dot(x, y, n);
         },
         40},
        {"three factors",
         {{"kernel", "linear[0,2] * gaussian * linear[1-3] + 0.5 gaussian[3]"},
          {"kernel.2.sigma", "0.9"},
          {"kernel.4.sigma", "0.9"}},
         [=](const Real *x, const Real *y, int64_t n) {
             return (x[0] * y[0] + x[2] * y[2]) * g(x, y, n) * dot(x + 1, y + 1, 3) + 0.5L * g(x + 3, y + 3, 1);
         },
         40},
    };
}

// Returns f_l(x) + b_l, computed from the tensors of the model alone.
Real expansion(const Model &model, const Kernel &k, const std::vector<Real> &x, int64_t l) {
    const Matrix a = model.tensor("A"), c = model.tensor("C");
    std::vector<Real> at = x;
    if (model.has("T.scale")) {
        const Vector shift = model.vector("T.shift"), scale = model.vector("T.scale");
        for (size_t j = 0; j < at.size(); ++j) at[j] = (at[j] - shift[j]) * scale[j];
    }
    Real sum = 0;
    for (int64_t i = 0; i < c.rows; ++i) {
        const std::vector<Real> centre(c.row(i), c.row(i) + c.cols);
        sum += a(i, l) * k(at.data(), centre.data(), c.cols);
    }
    return sum;
}

// The difference formula with five points: its truncation error h^4 f'''''/30 is 1e-12 of the size
// of f, and its rounding error 1e-19 / h.
Real difference(const Model &model, const Kernel &k, const double *row, int64_t cols, int64_t l, int64_t c) {
    constexpr Real h = 1e-3L;
    auto f = [&](Real steps) {
        std::vector<Real> x(row, row + cols);
        x[static_cast<size_t>(c)] += steps * h;
        return expansion(model, k, x, l);
    };
    return (8 * (f(1) - f(-1)) - (f(2) - f(-2))) / (12 * h);
}

double weight_of(const Model &model) { // the largest sum of |A_il|
    const Matrix a = model.tensor("A");
    double largest = 0;
    for (int64_t l = 0; l < a.cols; ++l)
        largest = std::max(largest,
                           oracle::sum_over(a.rows, [&](int64_t i) { return static_cast<Real>(std::fabs(a(i, l))); }));
    return largest;
}

void test_gradients() {
    Session session;
    const Matrix x = points(30, 8), q = points(5, 9);
    for (const Case &c : cases())
        for (const char *scale : {"none", "standard", "minmax"})
            for (Layout layout : layouts) {
                if (layout.column_major && *scale != 'n') continue;
                const Model model =
                    session.fit(x, with(c.settings, {{"components", "3"}, {"data.scale", scale}}), {}, layout);
                TEST_ASSERT_TRUE(model.summary().capabilities & MERCER_CAN_GRADIENT);
                const Matrix got = apply(session, model, q, "gradient", {}, layout);
                TEST_ASSERT_EQUAL_INT64(model.summary().r * d, got.cols);
                Matrix expected(q.rows, got.cols);
                for (int64_t i = 0; i < q.rows; ++i)
                    for (int64_t l = 0; l < got.cols / d; ++l)
                        for (int64_t j = 0; j < d; ++j)
                            expected(i, l * d + j) = static_cast<double>(difference(model, c.k, q.row(i), d, l, j));
                const double u = layout.f32 ? tolerance::u32 : tolerance::u64, stretch = *scale == 'n' ? 1 : 4;
                expect_near(got.v, expected.v, tolerance::gradient(c.slope * stretch, weight_of(model), d, u) + 1e-9,
                            c.name);
            }
}

// Computes the gradient of a gaussian model or, with `cusp`, of a laplacian one by the formula, for
// shapes at which finite differences would take long.
Matrix gaussian_gradient(const Model &model, const Matrix &q, double sigma, bool cusp = false) {
    const Matrix a = model.tensor("A"), c = model.tensor("C");
    Matrix out(q.rows, a.cols * q.cols);
    for (int64_t i = 0; i < q.rows; ++i)
        for (int64_t m = 0; m < c.rows; ++m) {
            const double square = oracle::sqdist(q.row(i), c.row(m), q.cols), length = std::sqrt(square);
            if (square == 0) continue; // the term is 0; at a cusp it counts as 0
            const double slope = cusp ? -std::exp(-length / sigma) / (2 * sigma * length)
                                      : -std::exp(-square / (2 * sigma * sigma)) / (2 * sigma * sigma);
            for (int64_t l = 0; l < a.cols; ++l)
                for (int64_t j = 0; j < q.cols; ++j)
                    out(i, l * q.cols + j) += a(m, l) * slope * 2 * (q(i, j) - c(m, j));
        }
    return out;
}

// Checks several tiles of rows and of centres, and components in groups: with 1100 columns, 7 of
// the 10 components are processed at a time.
void test_large_gradients() {
    Session session;
    const struct {
        int64_t n, q, cols;
        const char *sigma, *components;
    } shapes[] = {{600, 530, 3, "0.7", "4"}, {30, 3, 1100, "20", "10"}, {300, 1, 1, "0.5", "5"}};
    for (const auto &shape : shapes) {
        const Matrix x = points(shape.n, 10, shape.cols), q = points(shape.q, 11, shape.cols);
        const Model model = session.fit(x, {{"sigma", shape.sigma}, {"components", shape.components}});
        const double sigma = std::atof(shape.sigma), reach = std::sqrt(static_cast<double>(shape.cols));
        expect_near(apply(session, model, q, "gradient", {}).v, gaussian_gradient(model, q, sigma).v,
                    tolerance::gradient(2 * reach / (sigma * sigma), weight_of(model), shape.cols, tolerance::u64),
                    "gaussian");
    }
}

// At a centre the laplacian has a cusp: there the term of this centre must count as 0, and all
// other terms as usual.
void test_cusp() {
    Session session;
    const Matrix x = points(40, 12);
    const Model model = session.fit(x, {{"kernel", "laplacian"}, {"sigma", "1.2"}, {"components", "3"}});
    const Matrix got = apply(session, model, x, "gradient", {});
    expect_near(got.v, gaussian_gradient(model, x, 1.2, true).v, 1e-11, "cusp");
    for (const char *kernel : {"gaussian", "laplacian"}) // so narrow that the rate overflows: all terms are 0
        for (bool f32 : {false, true}) {
            const Model narrow = session.fit(x, {{"kernel", kernel}, {"sigma", "1e-300"}}, {}, {f32, false});
            const Matrix flat = apply(session, narrow, x, "gradient", {}, {f32, false});
            expect_near(flat.v, Vector(flat.v.size(), 0.0), 0, kernel);
        }
}

// Checks that any number of threads, sparse queries of a dense model, and an output array with
// extra columns give the same gradients.
void test_gradient_callers() {
    Session session;
    const Matrix x = points(300, 13), q = points(270, 14);
    const Model model = session.fit(x, gaussian);
    const Matrix plain = apply(session, model, q, "gradient", {});
    Held held(q);
    mercer_data *data = session.data(held);
    for (int64_t threads : {1, 2, 8}) {
        const mercer_run run = with_threads(threads);
        expect_same_bits(session.apply(model, data, "gradient", &run).v, plain.v, "threads");
    }
    mercer_data_destroy(data);

    std::vector<int64_t> offsets = {0}, columns;
    for (int64_t i = 0; i < q.rows; ++i) {
        for (int64_t j = 0; j < d; ++j) columns.push_back(j);
        offsets.push_back(static_cast<int64_t>(columns.size()));
    }
    const mercer_sparse sparse{sizeof sparse, MERCER_CSR,     MERCER_F64,     MERCER_I64, 0, q.rows, d,
                               q.rows * d,    offsets.data(), columns.data(), q.v.data()};
    OK(mercer_data_from_sparse(&data, session.context, &sparse));
    expect_near(session.apply(model, data, "gradient").v, plain.v, 1e-12, "sparse queries");
    mercer_data_destroy(data);

    Matrix wide(q.rows, r * d + 2);
    std::fill(wide.v.begin(), wide.v.end(), -7.0);
    Held out(wide);
    mercer_view view = out.view();
    mercer_recipe *operation = session.recipe("gradient", {});
    data = session.data(held);
    OK(mercer_model_transform(model.handle, operation, data, &view, 1, nullptr));
    const Matrix filled = to_matrix(view);
    for (int64_t i = 0; i < q.rows; ++i)
        for (int64_t j = 0; j < wide.cols; ++j) TEST_ASSERT_TRUE(filled(i, j) == (j < r * d ? plain(i, j) : -7));
    mercer_recipe_destroy(operation);
    mercer_data_destroy(data);
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_gradients);
    RUN_TEST(test_large_gradients);
    RUN_TEST(test_cusp);
    RUN_TEST(test_gradient_callers);
    return UNITY_END();
}
