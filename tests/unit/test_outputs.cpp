// Compares outputs for each point (whitened scores, residual and T2 with their limits) with the
// explicit matrix, and checks options and refusals.
#include "outputs_problem.h"

namespace {

// ---- scores, residual, T2

struct Exact {
    Matrix k, kq;
    oracle::Kpca pca;
    Vector ones;
    double allowed; // the error of a score
};

Exact solve(const Matrix &x, const Matrix &q, const Vector &weights, bool centred, double u) {
    Exact out;
    const auto k = oracle::gaussian(0.8);
    out.k = oracle::gram(k, x, x), out.kq = oracle::gram(k, q, x);
    out.ones = Vector(static_cast<size_t>(q.rows), 1.0);
    out.pca = oracle::kpca(out.k, weights.empty() ? Vector(static_cast<size_t>(x.rows), 1.0) : weights, centred, r);
    double gap = INFINITY;
    for (size_t j = 0; j < r; ++j) gap = std::min(gap, out.pca.lambda[j] - out.pca.lambda[j + 1]);
    const double matrix = tolerance::matrix(x.rows, (tolerance::sqdist(d, 2 * d, 1) + 8) * u, 1, u) / double(x.rows);
    out.allowed = tolerance::score(matrix, gap, out.pca.lambda[r - 1], 1) + 8 * matrix;
    return out;
}

void test_against_definitions() {
    Session session;
    const Matrix x = points(60, 1), q = points(300, 2);
    for (Layout layout : layouts)
        for (const char *centred : {"true", "false"}) {
            const Exact exact = solve(x, q, {}, *centred == 't', layout.f32 ? tolerance::u32 : tolerance::u64);
            const Model model = session.fit(x, with(gaussian, {{"lift.centred", centred}}), {}, layout);
            Matrix white = exact.pca.scores(exact.kq);
            Vector t2;
            for (int64_t i = 0; i < white.rows; ++i) {
                for (int64_t j = 0; j < r; ++j) white(i, j) /= std::sqrt(exact.pca.lambda[static_cast<size_t>(j)]);
                t2.push_back(oracle::dot(white.row(i), white.row(i), r));
            }
            const double lambda = exact.pca.lambda[r - 1]; // whitened scores are at most sqrt(2 / lambda)
            const double allowed = exact.allowed / std::sqrt(lambda) * 2;
            expect_near(apply(session, model, q, "scores", {{"whiten", "true"}}, layout).v, white.v, allowed, centred);
            expect_near(apply(session, model, q, "scores", {{"whiten", "false"}}, layout).v,
                        exact.pca.scores(exact.kq).v, exact.allowed, centred);
            expect_near(apply(session, model, q, "t2", {}, layout).v, t2, 4 * r / std::sqrt(lambda) * allowed, centred);
            expect_near(apply(session, model, q, "residual", {}, layout).v, exact.pca.residual(exact.kq, exact.ones),
                        8 * r * exact.allowed, centred);
        }
}

// Few rows take another path than many. Both must give the same scores up to rounding, also for
// rows that are far from all centres.
void test_row_by_row() {
    Session session;
    for (const int64_t n : {1, 90, 600})
        for (const Settings &more : {Settings{},
                                     {{"data.scale", "standard"}},
                                     {{"kernel", "gaussian[3,1]"}},
                                     {{"lift.centred", "false"}},
                                     {{"components", "7"}}})
            for (Layout layout : layouts) {
                const Matrix x = points(n, 23);
                Matrix q = points(21, 24);
                std::copy_n(x.row(0), d, &q(0, 0));
                std::fill_n(&q(1, 0), d, 1e3), std::fill_n(&q(2, 0), d, layout.f32 ? -1e30 : 1e200);
                const Model model = session.fit(x, with(gaussian, more), {}, layout);
                const Matrix all = session.apply(model, q, "scores", layout), a = model.tensor("A");
                double weight = 0;
                for (double value : a.v) weight += std::fabs(value);
                const double u = layout.f32 ? tolerance::u32 : tolerance::u64;
                // On each path, kernel values have the error that fused.h derives, and their sums
                // err as sums of 256 terms do.
                const double allowed = 2 * weight * (tolerance::fused(d, 40, 1, u) + tolerance::sum(256, 1, u));
                for (int64_t at = 0, rows = 1; at < q.rows; at += rows, rows = rows % 4 + 1) {
                    Matrix few(std::min(rows, q.rows - at), d);
                    std::copy_n(q.row(at), few.v.size(), few.v.data());
                    Held held(few, layout), out(Matrix(few.rows, all.cols), layout);
                    mercer_data *data = session.data(held);
                    mercer_view view = out.view();
                    OK(mercer_model_transform(model.handle, nullptr, data, &view, 1, nullptr));
                    mercer_data_destroy(data);
                    const Vector own = to_matrix(view).v;
                    expect_near(own, Vector(all.row(at), all.row(at) + own.size()), allowed, "row by row");
                }
            }
}

// One column is like a time stamp: its small differences would be lost if it were rounded to f32
// before it is scaled. f32 models on f64 rows must agree with f64 models, for few and many rows and
// two kernels.
void test_offsets_in_f32() {
    Session session;
    Matrix x = points(60, 31);
    for (int64_t i = 0; i < x.rows; ++i) x(i, 0) = 1.7e9 + 1000 * x(i, 0);
    for (const Settings &kernel : {Settings{{"sigma", "1.5"}}, {{"kernel", "laplacian"}, {"gamma", "0.3"}}})
        for (const char *method : {"kpca", "nystrom"}) {
            const Settings own = with(kernel, {{"data.scale", "standard"}, {"components", "3"}});
            const Model wide = session.fit(x, own, {}, {}, method),
                        narrow = session.fit(x, with(own, {{"data.dtype", "f32"}}), {}, {}, method);
            const Matrix exact = session.apply(wide, x, "scores"), all = session.apply(narrow, x, "scores");
            expect_near(all.v, exact.v, 1e-4, "all rows");
            for (int64_t rows : {1, 5}) {
                Matrix few(rows, d);
                std::copy_n(x.row(0), few.v.size(), few.v.data());
                const Matrix own_scores = session.apply(narrow, few, "scores");
                expect_near(own_scores.v, Vector(exact.row(0), exact.row(rows)), 1e-4, "few rows");
            }
        }
}

// Checks whitened scores of the training rows: sum_i w_i z_i z_i^T / n = 1 and, as the model is
// centred, sum_i w_i z_i = 0.
void test_whitened_covariance() {
    Session session;
    const Matrix x = points(80, 3);
    Vector weights;
    oracle::Numbers numbers(4);
    for (int i = 0; i < 80; ++i) weights.push_back(0.2 + numbers.uniform());
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (const Vector &given : {Vector{}, weights}) {
        const Model model = session.fit(x, gaussian, given);
        const Matrix z = apply(session, model, x, "scores", {{"whiten", "1"}});
        for (int64_t a = 0; a < r; ++a) {
            double mean = 0;
            for (int64_t b = 0; b < r; ++b) {
                double cov = 0;
                mean = 0;
                for (int64_t i = 0; i < 80; ++i) {
                    const double share = given.empty() ? 1. / 80 : weights[static_cast<size_t>(i)] / sum;
                    cov += share * z(i, a) * z(i, b), mean += share * z(i, a);
                }
                TEST_ASSERT_DOUBLE_WITHIN(1e-11, a == b, cov);
            }
            TEST_ASSERT_DOUBLE_WITHIN(1e-11, 0, mean);
        }
    }
}

// ---- limits

double number_at(const Model &model, const std::string &path) {
    const char *text = nullptr;
    OK(mercer_model_info(model.handle, path.c_str(), &text));
    return std::atof(text);
}
std::string text_at(const Model &model, const char *path) {
    const char *text = nullptr;
    OK(mercer_model_info(model.handle, path, &text));
    return text;
}

// Returns the smallest value such that the values up to it have at least the given share of the
// weight. Weights are whole numbers: each value is repeated that often.
double sorted_quantile(const Vector &values, const Vector &weights, double per_cent) {
    Vector all;
    for (size_t i = 0; i < values.size(); ++i)
        all.insert(all.end(), weights.empty() ? 1 : static_cast<size_t>(weights[i]), values[i]);
    std::sort(all.begin(), all.end());
    const size_t needed = static_cast<size_t>(std::ceil(static_cast<double>(all.size()) * per_cent / 100));
    return all[needed - 1];
}

void expect_limits(Session &session, const Model &model, const Matrix &rows, const Vector &weights, double slack) {
    for (const char *what : {"residual", "t2"}) {
        const Vector values = apply(session, model, rows, what, {}).v;
        for (const char *level : {"95", "99"})
            TEST_ASSERT_DOUBLE_WITHIN_MESSAGE(slack * (1 + *std::max_element(values.begin(), values.end())),
                                              sorted_quantile(values, weights, std::atof(level)),
                                              number_at(model, std::string("/limits/") + what + "/p" + level), what);
    }
}

void test_limits() {
    Session session;
    for (int64_t n : {1, 2, 7, 100, 257}) {
        const Matrix x = points(n, 5);
        for (const char *centred : {"true", "false"}) {
            const Model model = session.fit(x, with(gaussian, {{"lift.centred", centred}, {"solver", "dense"}}));
            expect_limits(session, model, x, {}, 1e-11);
            TEST_ASSERT_EQUAL_STRING("exact", text_at(model, "/limits/kind").c_str());
        }
    }
    const Matrix x = points(120, 6);
    Vector weights;
    for (int i = 0; i < 120; ++i) weights.push_back(i % 4); // some are 0: such rows do not count
    expect_limits(session, session.fit(x, gaussian, weights), x, weights, 1e-11);
    const Model single = session.fit(x, gaussian, {}, {true, false});
    expect_limits(session, single, x, {}, 1e-4);

    const Model reduced = session.fit(x, with(gaussian, {{"reducer.m", "40"}}), {}, {}, "subsampled");
    TEST_ASSERT_EQUAL_STRING("centres", text_at(reduced, "/limits/kind").c_str());
    expect_limits(session, reduced, reduced.tensor("C"), {}, 1e-11);
}

// Checks limits over all rows for models in the span of some points. If the points are rows of the
// data, the factor is in memory; for other points it is recomputed.
void test_limits_in_span() {
    Session session;
    const Matrix x = points(1500, 21), others = points(40, 22); // x has more than one slab of 1024 rows
    Vector weights;
    for (int64_t i = 0; i < x.rows; ++i) weights.push_back(static_cast<double>(i % 3));
    for (const char *centred : {"true", "false"}) {
        const Settings settings = with(gaussian, {{"lift.centred", centred}, {"reducer.m", "40"}});
        for (const Vector &given : {Vector{}, weights}) {
            const Model model = session.fit(x, settings, given, {}, "nystrom");
            TEST_ASSERT_EQUAL_STRING("exact", text_at(model, "/limits/kind").c_str());
            expect_limits(session, model, x, given, 1e-9);
        }
        expect_limits(session, session.fit(x, settings, {}, {true, false}, "nystrom"), x, {}, 1e-4);
        Held held(x), landmarks(others);
        mercer_data *data = session.data(held);
        mercer_view view = landmarks.view();
        OK(mercer_data_attach(data, "landmarks", &view));
        const Settings given = with(gaussian, {{"lift.centred", centred}, {"reducer", "given"}});
        expect_limits(session, session.fit(data, given, "nystrom"), x, {}, 1e-9);
        mercer_data_destroy(data);
    }
}

// A point outside the data must have a residual above the limit.
void test_novelty() {
    Session session;
    const Model model = session.fit(points(200, 7), gaussian);
    Matrix far(1, d);
    std::fill(far.v.begin(), far.v.end(), 3.0);
    TEST_ASSERT_TRUE(apply(session, model, far, "residual", {}).v[0] > number_at(model, "/limits/residual/p99"));
}

// ---- options and refusals

void test_options() {
    Session session;
    mercer_recipe *scores = session.recipe("scores", {});
    int64_t count = 0;
    OK(mercer_recipe_rows(scores, &count));
    TEST_ASSERT_EQUAL_INT64(1, count);
    mercer_row row{};
    row.struct_size = sizeof row;
    OK(mercer_recipe_row(scores, 0, &row));
    TEST_ASSERT_EQUAL_STRING("whiten", row.name);
    TEST_ASSERT_EQUAL_STRING("false", row.initial);
    TEST_ASSERT_EQUAL_INT(MERCER_BOOL, row.type);
    const char *value = nullptr;
    for (const char *text : {"true", "", "1", "false"}) {
        OK(mercer_recipe_set(scores, "whiten", text));
        OK(mercer_recipe_get(scores, "whiten", &value));
        TEST_ASSERT_EQUAL_STRING(*text == 't' || *text == '1' ? "true" : "false", value);
    }
    OK(mercer_recipe_set_real(scores, "whiten", 1));
    OK(mercer_recipe_get(scores, "whiten", &value));
    TEST_ASSERT_EQUAL_STRING("true", value);
    mercer_recipe_destroy(scores);
    for (const char *what : {"density", "residual", "t2", "gradient"}) {
        mercer_recipe *operation = session.recipe(what, {});
        OK(mercer_recipe_rows(operation, &count));
        TEST_ASSERT_EQUAL_INT64(0, count);
        mercer_recipe_destroy(operation);
    }
}

void refused(Session &session, const Model &model, const Matrix &q, const char *what, const Settings &options,
             const char *why) {
    mercer_recipe *operation = session.recipe(what, options);
    Held held(q), out(Matrix(q.rows, 64));
    mercer_data *data = session.data(held);
    mercer_view view = out.view();
    mercer_output output{};
    output.struct_size = sizeof output;
    int64_t count = 0;
    TEST_ASSERT_EQUAL_INT_MESSAGE(MERCER_E_UNSUPPORTED,
                                  mercer_model_transform(model.handle, operation, data, &view, 1, nullptr), why);
    TEST_ASSERT_NOT_NULL_MESSAGE(std::strstr(mercer_last_error(), why), mercer_last_error());
    TEST_ASSERT_EQUAL_INT_MESSAGE(MERCER_E_UNSUPPORTED,
                                  mercer_model_output(model.handle, operation, data, 0, &output, &count), why);
    mercer_recipe_destroy(operation);
    mercer_data_destroy(data);
}

// If an output overflows its type, the call must fail and name the row, rather than write an
// infinity.
void test_beyond_the_type() {
    Session session;
    const Matrix x = points(20, 31);
    for (Layout layout : layouts)
        for (const char *what : {"scores", "t2", "residual"})
            for (const char *kernel : {"polynomial", "linear"}) {
                const Model model = session.fit(x, {{"kernel", kernel}, {"components", "2"}}, {}, layout);
                Matrix q = points(700, 32);
                std::fill_n(&q(600, 0), d, layout.f32 ? 3e38 : 1e308), std::fill_n(&q(601, 0), d, -1e38);
                Held held(q, layout), out(Matrix(q.rows, 2), layout);
                mercer_data *data = session.data(held);
                mercer_view view = out.view();
                mercer_recipe *operation = session.recipe(what, {});
                TEST_ASSERT_EQUAL_INT(MERCER_E_NUMERICAL,
                                      mercer_model_transform(model.handle, operation, data, &view, 1, nullptr));
                TEST_ASSERT_NOT_NULL_MESSAGE(std::strstr(mercer_last_error(), "of row 600: it overflows"),
                                             mercer_last_error());
                TEST_ASSERT_NOT_NULL(std::strstr(mercer_last_error(), what));
                mercer_recipe_destroy(operation);
                mercer_data_destroy(data);
            }
}

Model from_tensors(Session &session, const char *json, std::vector<std::pair<const char *, Matrix>> tensors) {
    std::vector<Held> held;
    std::vector<mercer_view> views;
    std::vector<const char *> names;
    for (auto &[name, matrix] : tensors) held.emplace_back(matrix), names.push_back(name);
    for (Held &each : held) views.push_back(each.view());
    Model model;
    OK(mercer_model_from_tensors(&model.handle, session.context, json, names.data(), views.data(),
                                 static_cast<int64_t>(views.size())));
    return model;
}

int32_t distances(void *, const int64_t *i, const int64_t *j, int64_t count, double *values) {
    for (int64_t k = 0; k < count; ++k) values[k] = std::fabs(static_cast<double>(i[k] - j[k]));
    return 0;
}

void test_refusals() {
    Session session;
    Matrix x = points(20, 15);
    for (double &value : x.v) value = std::fabs(value);
    for (const char *kernel : {"chi2", "hamming", "additive-chi2", "histogram-intersection", "linear + hamming"}) {
        const Model model = session.fit(x, {{"kernel", kernel}});
        TEST_ASSERT_FALSE(model.summary().capabilities & MERCER_CAN_GRADIENT);
        const std::string name = std::string("'") + (std::strchr(kernel, '+') ? "hamming" : kernel) + "' has no deriv";
        refused(session, model, x, "gradient", {}, name.c_str());
    }
    refused(session, session.fit(x, {{"kernel", "laplacian"}, {"norm", "l1"}}), x, "gradient", {}, "'laplacian'");

    const std::vector<int64_t> offsets = {0, 1, 2, 4}, columns = {0, 1, 0, 1};
    const Vector values = {1, 2, 3, 4};
    const mercer_sparse sparse{sizeof sparse,  MERCER_CSR,     MERCER_F64,   MERCER_I64, 0, 3, 2, 4,
                               offsets.data(), columns.data(), values.data()};
    mercer_data *given = nullptr;
    OK(mercer_data_from_sparse(&given, session.context, &sparse));
    refused(session, session.fit(given, {{"kernel", "linear"}}), Matrix(1, 2), "gradient", {}, "centres are sparse");
    mercer_data_destroy(given);
    const mercer_objects objects{sizeof objects, 6, MERCER_DISTANCE, 0, distances, nullptr, nullptr, nullptr};
    OK(mercer_data_from_objects(&given, session.context, &objects));
    refused(session, session.fit(given, {{"sigma", "1"}}), Matrix(1, 2), "gradient", {}, "objects have no coordinates");
    mercer_data_destroy(given);

    const char *linear = R"({"kernel": "linear"})";
    const Matrix c = points(5, 16), a = points(5, 17, 2), lambda = points(2, 18, 1);
    const Model bare = from_tensors(session, linear, {{"C", c}, {"A", a}});
    TEST_ASSERT_TRUE(bare.summary().capabilities & MERCER_CAN_GRADIENT);
    expect_near(
        apply(session, bare, x, "gradient", {}).v,
        [&] { // A^T C for each x
            const Matrix slope = oracle::product(oracle::transposed(a), c);
            Vector all;
            for (int64_t i = 0; i < x.rows; ++i) all.insert(all.end(), slope.v.begin(), slope.v.end());
            return all;
        }(),
        1e-14, "linear");
    refused(session, bare, x, "t2", {}, "no eigenvalues");
    refused(session, bare, x, "scores", {{"whiten", "true"}}, "no eigenvalues");
    refused(session, bare, x, "residual", {}, "orthonormal");
    refused(session, bare, x, "density", {}, "weights");
    Matrix zero(2, 1);
    zero.v = {1, 0};
    const Model flat = from_tensors(session, linear, {{"C", c}, {"A", a}, {"lambda", zero}});
    refused(session, flat, x, "t2", {}, "lambda = 0 of component 1");
    TEST_ASSERT_EQUAL_INT64(2, apply(session, flat, x, "scores", {}).cols);
    refused(session, from_tensors(session, linear, {{"C", c}, {"A", a}, {"v", points(5, 19, 1)}}), x, "gradient", {},
            "denominator");
    refused(session,
            from_tensors(session, R"({"kernel": "gaussian", "parameters": {"kernel.sigma": 1}})",
                         {{"frequencies", c}, {"A", points(10, 20, 2)}}),
            x, "gradient", {}, "frequencies");

    // A text cannot give a model a capability that its kernel lacks. A model made from the info of
    // another one must have the same capabilities.
    const Model claimed =
        from_tensors(session, R"({"kernel": "hamming", "capabilities": ["gradient"]})", {{"C", c}, {"A", a}});
    TEST_ASSERT_FALSE(claimed.summary().capabilities & MERCER_CAN_GRADIENT);
    TEST_ASSERT_NOT_NULL(std::strstr(text_at(bare, "/capabilities").c_str(), "gradient"));
    const Model again = from_tensors(session, text_at(bare, "").c_str(), {{"C", c}, {"A", a}});
    TEST_ASSERT_EQUAL_UINT32(bare.summary().capabilities, again.summary().capabilities);

    Held held(x), thin(Matrix(x.rows, 7));
    mercer_data *data = session.data(held);
    mercer_view view = thin.view();
    mercer_recipe *operation = session.recipe("gradient", {});
    TEST_ASSERT_EQUAL_INT(MERCER_E_SHAPE, mercer_model_transform(bare.handle, operation, data, &view, 1, nullptr));
    TEST_ASSERT_NOT_NULL(std::strstr(mercer_last_error(), "out is 20 x 7, must be 20 x 8"));
    mercer_output output{};
    output.struct_size = sizeof output;
    int64_t count = 0;
    for (int64_t index : {-1, 1})
        TEST_ASSERT_EQUAL_INT(MERCER_E_VALUE,
                              mercer_model_output(bare.handle, operation, data, index, &output, &count));
    mercer_view unwanted{};
    unwanted.struct_size = sizeof unwanted;
    OK(mercer_model_transform(bare.handle, operation, data, &unwanted, 1, nullptr));
    mercer_recipe_destroy(operation);
    mercer_data_destroy(data);
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_against_definitions);
    RUN_TEST(test_row_by_row);
    RUN_TEST(test_offsets_in_f32);
    RUN_TEST(test_whitened_covariance);
    RUN_TEST(test_limits);
    RUN_TEST(test_limits_in_span);
    RUN_TEST(test_novelty);
    RUN_TEST(test_options);
    RUN_TEST(test_beyond_the_type);
    RUN_TEST(test_refusals);
    return UNITY_END();
}
