// Checks invariances and identities of kernel PCA that must hold for any data (specification
// reduced sets, 11).
#include "session.h"
#include "tolerances.h"

namespace {

constexpr int64_t n = 80, d = 3, r = 4;
const Settings base = {{"kernel", "gaussian"}, {"sigma", "0.8"}, {"components", "4"}};

Settings with(Settings settings, const char *name, const std::string &value) {
    settings.emplace_back(name, value);
    return settings;
}

Matrix points(uint64_t seed = 31, int64_t rows = n) {
    Matrix x = oracle::Numbers(seed).matrix(rows, d);
    for (double &value : x.v) value = std::round(value * 4096) / 4096; // so that sums and scalings below are exact
    return x;
}

// Bounds of the errors of the first r eigenpairs of these data, computed from the naive solution.
struct Bounds {
    double matrix, gap, lambda;
    explicit Bounds(const Matrix &x, double u = tolerance::u64) {
        Matrix k = oracle::gram(oracle::gaussian(0.8), x, x), vectors;
        Vector values = oracle::eigen(
            oracle::weighted_centred(k, Vector(static_cast<size_t>(x.rows), 1.0 / static_cast<double>(x.rows)), true),
            vectors);
        matrix = 2 * tolerance::matrix(x.rows, tolerance::kernel(tolerance::sqdist(d, 2 * d, u), 1, u), 1, u) /
                 static_cast<double>(x.rows); // 2: the errors of two fits
        gap = INFINITY;
        for (size_t j = 0; j < r; ++j) gap = std::min(gap, values[j] - values[j + 1]);
        lambda = values[r - 1];
    }
    double score() const { return tolerance::score(matrix, gap, lambda, 1); }
};

void same_model(Session &session, const Model &a, const Model &b, const Matrix &qa, const Matrix &qb,
                const Bounds &bounds, const char *what) {
    expect_near(a.vector("lambda"), b.vector("lambda"), bounds.matrix, what);
    // Signs follow the largest entry of A, which two models of the same function may have at
    // different centres.
    Matrix sa = session.apply(a, qa), sb = session.apply(b, qb);
    for (int64_t j = 0; j < sa.cols; ++j) {
        double agree = 0;
        for (int64_t i = 0; i < sa.rows; ++i) agree += sa(i, j) * sb(i, j);
        for (int64_t i = 0; i < sa.rows && agree < 0; ++i) sb(i, j) = -sb(i, j);
    }
    expect_near(sa.v, sb.v, bounds.score(), what);
}

void test_all_rows_as_subset() {
    Session session;
    Matrix x = points(), q = points(7, 9);
    Model exact = session.fit(x, base);
    for (const char *reducer : {"uniform", "greedy"}) {
        Model subset = session.fit(x, with(with(base, "reducer", reducer), "m", "80"));
        TEST_ASSERT_EQUAL_INT64(n, subset.summary().m);
        same_model(session, exact, subset, q, q, Bounds(x), reducer);
    }
    same_model(session, exact, session.fit(x, with(base, "m", "80"), {}, {}, "subsampled"), q, q, Bounds(x),
               "subsampled");
}

void test_permutation() {
    Session session;
    Matrix x = points(), y = x;
    for (int64_t i = 0; i < n; ++i) std::copy_n(x.row((i * 37 + 11) % n), d, &y(i, 0));
    Model a = session.fit(x, base), b = session.fit(y, base);
    Matrix sa = session.apply(a, x), sb(n, r), permuted = session.apply(b, y);
    for (int64_t i = 0; i < n; ++i) std::copy_n(permuted.row(i), r, &sb((i * 37 + 11) % n, 0));
    expect_near(sa.v, sb.v, Bounds(x).score(), "permuted"); // signs do not depend on the order of the rows
}

void test_translation_and_scaling() {
    Session session;
    Matrix x = points(), moved = x, scaled = x, q = points(7, 9), moved_q = q, scaled_q = q;
    for (Matrix *m : {&moved, &moved_q})
        for (size_t k = 0; k < m->v.size(); ++k) m->v[k] += k % d == 1 ? -1e5 : 3e4;
    for (Matrix *m : {&scaled, &scaled_q})
        for (double &value : m->v) value *= 64;
    Model model = session.fit(x, base);
    same_model(session, model, session.fit(moved, base), q, moved_q, Bounds(x), "moved");
    Model large = session.fit(scaled, {{"kernel", "gaussian"}, {"sigma", "51.2"}, {"components", "4"}});
    same_model(session, model, large, q, scaled_q, Bounds(x), "scaled");
    Model ruled = session.fit(x, {{"components", "4"}}),
          ruled_large = session.fit(scaled, {{"components", "4"}}); // sigma is the median distance
    expect_near(ruled.vector("lambda"), ruled_large.vector("lambda"), Bounds(x).matrix, "bandwidth scales");
    Model standard = session.fit(x, with(base, "data.scale", "standard")),
          other = session.fit(scaled, with(base, "data.scale", "standard"));
    expect_near(session.apply(standard, q).v, session.apply(other, scaled_q).v, 10 * Bounds(x).score(), "standardised");
}

void test_duplicates_are_weights() {
    Session session;
    Matrix x = points(31, 40), twice(0, d), q = points(7, 9);
    Vector weights;
    for (int64_t i = 0; i < 40; ++i) {
        weights.push_back(static_cast<double>(1 + i % 3));
        for (int64_t copy = 0; copy <= i % 3; ++copy)
            twice.v.insert(twice.v.end(), x.row(i), x.row(i) + d), ++twice.rows;
    }
    for (const char *centred : {"true", "false"}) {
        Model a = session.fit(twice, with(base, "lift.centred", centred)),
              b = session.fit(x, with(base, "lift.centred", centred), weights);
        same_model(session, a, b, q, q, Bounds(twice), "weights");
        TEST_ASSERT_DOUBLE_WITHIN(Bounds(twice).matrix * 80, a.summary().total_variance, b.summary().total_variance);
        expect_near(session.apply(a, q, "density").v, session.apply(b, q, "density").v, Bounds(twice).matrix,
                    "density");
    }
    weights.assign(40, 0.0); // rows of weight 0 must not count
    std::fill_n(weights.begin(), 30, 2.0);
    Matrix first = x;
    first.rows = 30, first.v.resize(30 * d);
    Model a = session.fit(first, base), b = session.fit(x, base, weights);
    TEST_ASSERT_EQUAL_INT64(30, b.summary().m);
    same_model(session, a, b, q, q, Bounds(first), "zero weights");
}

void test_identities() {
    Session session;
    Matrix x = points();
    Model model = session.fit(x, base);
    Bounds bounds(x);
    Matrix a = model.tensor("A"), k = oracle::gram(oracle::gaussian(0.8), x, x), z = session.apply(model, x);
    Vector lambda = model.vector("lambda"), nu = model.vector("nu"), b = model.vector("b");
    Matrix unit = oracle::product(oracle::transposed(a), oracle::product(k, a)),
           zz = oracle::product(oracle::transposed(z), z);
    for (int64_t i = 0; i < r; ++i) {
        double sum = 0, b_nu = 0;
        for (int64_t j = 0; j < r; ++j) {
            TEST_ASSERT_DOUBLE_WITHIN(4 * bounds.matrix / bounds.lambda, i == j, unit(i, j)); // A^T K A = I
            TEST_ASSERT_DOUBLE_WITHIN(8 * bounds.matrix, i == j ? lambda[static_cast<size_t>(i)] : 0, zz(i, j) / n);
        }
        int64_t largest = 0;
        for (int64_t row = 0; row < n; ++row) {
            sum += z(row, i);
            b_nu += a(row, i) * oracle::dot(k.row(row), nu.data(), n);
            largest = std::fabs(a(row, i)) > std::fabs(a(largest, i)) ? row : largest;
        }
        TEST_ASSERT_DOUBLE_WITHIN(n * bounds.score(), 0, sum); // centred scores
        TEST_ASSERT_DOUBLE_WITHIN(bounds.score(), b_nu, b[static_cast<size_t>(i)]);
        TEST_ASSERT_TRUE(a(largest, i) > 0); // the rule that chooses signs (sign_of in lift.h)
    }
    // With all components, the eigenvalues must sum to the total, and no residual must be left.
    Model all = session.fit(x, with(base, "components", "80"));
    double sum = 0;
    for (double value : all.vector("lambda")) sum += value;
    TEST_ASSERT_DOUBLE_WITHIN(n * bounds.matrix, all.summary().total_variance, sum);
    TEST_ASSERT_TRUE(all.summary().outcome & MERCER_RANK_REACHED && all.summary().r == n - 1); // centred: rank n - 1
    expect_near(session.apply(all, x, "residual").v, Vector(n, 0.0), 1e-8,
                "residual of everything"); // the smallest eigenvalue, 1e-7 of the trace, magnifies errors
}

void test_edges() {
    Session session;
    Matrix one = points(1, 1), q = points(2, 5), none(0, d);
    Model m = session.fit(one, with(base, "lift.centred", "false"));
    TEST_ASSERT_TRUE(m.summary().r == 1 && m.summary().outcome == MERCER_RANK_REACHED);
    expect_near(m.vector("lambda"), {1}, 4 * tolerance::u64, "n = 1: kappa");
    expect_near(session.apply(m, q).v, oracle::gram(oracle::gaussian(0.8), q, one).v, 1e-14, "n = 1: k itself");
    m = session.fit(one, base);
    TEST_ASSERT_TRUE(m.summary().r == 0 && m.summary().outcome == MERCER_RANK_REACHED);
    Matrix empty = session.apply(m, q);
    TEST_ASSERT_TRUE(empty.rows == 5 && empty.cols == 0);
    TEST_ASSERT_EQUAL_INT64(0, session.apply(m, none).rows);
    expect_near(session.apply(m, one, "residual").v, {0}, 1e-14, "n = 1: nothing is left of the point itself");
    Matrix constant(40, d);
    std::fill(constant.v.begin(), constant.v.end(), 3.25);
    for (bool f32 : {false, true}) {
        TEST_ASSERT_EQUAL_INT64(
            1, session.fit(constant, with(base, "lift.centred", "false"), {}, {f32, false}).summary().r);
        for (const char *solver : {"dense", "block-krylov", "orthogonal"}) {
            Model centred =
                session.fit(constant, with(with(base, "solver", solver), "solver.strict", "true"), {}, {f32, false});
            TEST_ASSERT_TRUE(centred.summary().r == 0 && centred.summary().total_variance <= 1e-6);
            TEST_ASSERT_EQUAL_UINT32(MERCER_RANK_REACHED, centred.summary().outcome);
        }
    }
    Matrix few = points(31, 40); // five distinct rows: rank 5, centred 4
    for (int64_t i = 5; i < 40; ++i) std::copy_n(few.row(i % 5), d, &few(i, 0));
    for (bool f32 : {false, true}) {
        TEST_ASSERT_EQUAL_INT64(4, session.fit(few, with(base, "components", "30"), {}, {f32, false}).summary().r);
        TEST_ASSERT_EQUAL_INT64(
            5, session.fit(few, with(with(base, "components", "30"), "lift.centred", "false"), {}, {f32, false})
                   .summary()
                   .r);
    }
}

void test_same_bits() {
    Session session;
    for (const auto &[rows, kernel] :
         {std::pair{80, "gaussian"}, {700, "gaussian"}, {80, "laplacian"}, {700, "laplacian"}})
        for (bool f32 : {false, true}) {
            const Settings own = with(base, "kernel", kernel);
            Matrix x = points(31, rows);
            std::vector<Model> models;
            models.push_back(session.fit(x, own, {}, {f32, false}));
            models.push_back(session.fit(x, own, {}, {f32, true}));
            for (int64_t threads : {1, 2, 8}) {
                mercer_run run = with_threads(threads);
                models.push_back(session.fit(x, own, {}, {f32, false}, "kpca", &run));
                models.push_back(session.fit(x, with(own, "gram.storage", "stream"), {}, {f32, false}, "kpca", &run));
            }
            for (const Model &model : models) {
                for (const char *tensor : {"C", "A", "b", "lambda", "nu", "w", "shift.1"})
                    expect_same_bits(models[0].vector(tensor), model.vector(tensor), tensor);
                for (int64_t threads : {1, 8}) {
                    mercer_run run = with_threads(threads);
                    for (bool column_major : {false, true})
                        expect_same_bits(session.apply(models[0], x, "residual", {f32, false}).v,
                                         session.apply(model, x, "residual", {f32, column_major}, &run).v, "residual");
                }
            }
        }
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_all_rows_as_subset);
    RUN_TEST(test_permutation);
    RUN_TEST(test_translation_and_scaling);
    RUN_TEST(test_duplicates_are_weights);
    RUN_TEST(test_identities);
    RUN_TEST(test_edges);
    RUN_TEST(test_same_bits);
    return UNITY_END();
}
