// Tests of compression against naive formulas: T = K_BB^-1 K_BC by elimination, the projected
// vectors, and the properties that define the nearest orthonormal components. Also tests all lifts,
// sparse rows and objects, bitwise reproducibility, and refusals.
#include "derive/derive.h"
#include "outputs_problem.h"

#include <nlohmann/json.hpp>

namespace {

constexpr double sigma = 0.8;
const oracle::Pair k = oracle::gaussian(sigma);

struct Case {
    const char *method;
    Settings more;
};
const Case cases[] = {
    {"kpca", {}},
    {"kpca", {{"lift.centred", "false"}}},
    {"subsampled", {{"reducer.m", "60"}}},
    {"subsampled", {{"reducer.m", "60"}, {"lift.ritz", "6"}, {"reducer.weights", "voronoi"}}},
    {"gkpca", {{"reducer.m", "60"}}},
    {"nystrom-full", {{"reducer.m", "40"}}},
};

nlohmann::json report(const Model &model, const char *path = "") {
    const char *text = nullptr;
    OK(mercer_model_info(model.handle, path, &text));
    return nlohmann::json::parse(text);
}

int32_t derive(Session &session, Model &out, const Model &model, const Settings &settings,
               const mercer_run *run = nullptr, mercer_data *data = nullptr) {
    mercer_recipe *recipe = session.recipe("compress", settings);
    const int32_t status = mercer_model_derive(&out.handle, recipe, &model.handle, 1, data, run);
    mercer_recipe_destroy(recipe);
    return status;
}
Model compress(Session &session, const Model &model, const Settings &settings, const mercer_run *run = nullptr,
               mercer_data *data = nullptr) {
    Model out;
    OK(derive(session, out, model, settings, run, data));
    return out;
}

// ---- naive formulas

// Solves M X = Y by Gauss-Jordan elimination with partial pivoting, in long double.
Matrix solve(const Matrix &m, const Matrix &y) {
    const int64_t n = m.rows, width = n + y.cols;
    std::vector<std::vector<long double>> a;
    for (int64_t i = 0; i < n; ++i) {
        a.emplace_back(m.row(i), m.row(i) + n);
        a.back().insert(a.back().end(), y.row(i), y.row(i) + y.cols);
    }
    auto at = [](int64_t i) { return static_cast<size_t>(i); };
    for (int64_t s = 0; s < n; ++s) {
        int64_t best = s;
        for (int64_t i = s; i < n; ++i)
            if (std::fabs(a[at(i)][at(s)]) > std::fabs(a[at(best)][at(s)])) best = i;
        std::swap(a[at(s)], a[at(best)]);
        for (int64_t i = 0; i < n; ++i) {
            const long double factor = i == s ? 0 : a[at(i)][at(s)] / a[at(s)][at(s)];
            for (int64_t j = s; j < width; ++j) a[at(i)][at(j)] -= factor * a[at(s)][at(j)];
        }
    }
    Matrix x(n, y.cols);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < y.cols; ++j) x(i, j) = static_cast<double>(a[at(i)][at(n + j)] / a[at(i)][at(i)]);
    return x;
}

Matrix column(const Vector &values) {
    Matrix out(static_cast<int64_t>(values.size()), 1);
    out.v = values;
    return out;
}

// Returns the inner products <Phi_X a_i, Phi_Y b_j>.
Matrix between(const Matrix &x, const Matrix &a, const Matrix &y, const Matrix &b) {
    return oracle::product(oracle::transposed(a), oracle::product(oracle::gram(k, x, y), b));
}

// Returns |u - v|^2 / |u|^2 for u = Phi_X a_j and v = Phi_Y b_j.
double distance_of(const Matrix &x, const Matrix &a, const Matrix &y, const Matrix &b, int64_t j) {
    Matrix u(a.rows, 1), v(b.rows, 1);
    for (int64_t i = 0; i < a.rows; ++i) u(i, 0) = a(i, j);
    for (int64_t i = 0; i < b.rows; ++i) v(i, 0) = b(i, j);
    const double whole = between(x, u, x, u)(0, 0);
    return (whole - 2 * between(x, u, y, v)(0, 0) + between(y, v, y, v)(0, 0)) / whole;
}

// The tensors of a model. Its centres have the coordinates of the given rows, because these models
// have no input map.
struct Parts {
    Matrix c, a;
    Vector b, nu, w;
    explicit Parts(const Model &model) : c(model.tensor("C")), a(model.tensor("A")), b(model.vector("b")) {
        if (model.has("nu")) nu = model.vector("nu");
        if (model.has("w")) w = model.vector("w");
    }
};

// The errors of coefficients grow with the condition number of K_BB, which is about m / 1e-4 if all
// pivots exceed 1e-4 of the largest one. The values of the functions do not have these errors, so
// the tests compare values.
constexpr double close64 = 1e-9, close32 = 2e-3;

void expect_projection(const Parts &before, const Model &after, double allowed) {
    const Parts now(after);
    const Matrix kbb = oracle::gram(k, now.c, now.c), kbc = oracle::gram(k, now.c, before.c);
    const Matrix a = solve(kbb, oracle::product(kbc, before.a));
    const Matrix q = points(30, 77), kqb = oracle::gram(k, q, now.c);
    expect_near(oracle::product(kqb, a).v, oracle::product(kqb, now.a).v, allowed, "A'");
    Vector b = before.b;
    if (!before.nu.empty()) {
        const Matrix nu = solve(kbb, oracle::product(kbc, column(before.nu)));
        expect_near(oracle::product(kqb, nu).v, oracle::product(kqb, column(now.nu)).v, allowed, "nu'");
        b = between(now.c, now.a, now.c, column(now.nu)).v; // a centred model satisfies b = A^T K_CC nu
        TEST_ASSERT_DOUBLE_WITHIN(allowed, distance_of(before.c, column(before.nu), now.c, nu, 0),
                                  report(after, "/compressed/mean_residual").get<double>());
    }
    expect_near(b, now.b, allowed, "b'");
    const nlohmann::json lost = report(after, "/compressed/residual");
    for (int64_t j = 0; j < a.cols; ++j)
        TEST_ASSERT_DOUBLE_WITHIN(allowed, distance_of(before.c, before.a, now.c, a, j),
                                  lost[static_cast<size_t>(j)].get<double>());
}

// Checks w: the weight of a new centre must be the total weight of the old centres to which it is
// nearest.
void expect_weights(const Parts &before, const Model &after, double allowed) {
    const Parts now(after);
    Vector w(now.w.size());
    for (int64_t i = 0; i < before.c.rows; ++i) {
        size_t best = 0;
        auto to = [&](size_t j) { return oracle::sqdist(before.c.row(i), now.c.row(static_cast<int64_t>(j)), d); };
        for (size_t j = 1; j < w.size(); ++j)
            if (to(j) < to(best)) best = j;
        w[best] += before.w[static_cast<size_t>(i)];
    }
    const double n = std::accumulate(before.w.begin(), before.w.end(), 0.0);
    expect_near(w, now.w, 1e-12 * n, "w");
    TEST_ASSERT_DOUBLE_WITHIN(allowed, distance_of(before.c, column(before.w), now.c, column(w), 0),
                              report(after, "/compressed/density_residual").get<double>());
}

// Checks that the components come from the polar factor: they must be orthonormal, and their inner
// products with the original components must form a symmetric positive definite matrix.
void expect_turned(const Parts &before, const Model &after, double allowed) {
    const Parts now(after);
    const Matrix one = between(now.c, now.a, now.c, now.a), with = between(now.c, now.a, before.c, before.a);
    for (int64_t i = 0; i < one.rows; ++i)
        for (int64_t j = 0; j < one.cols; ++j) {
            TEST_ASSERT_DOUBLE_WITHIN(allowed, i == j, one(i, j));
            TEST_ASSERT_DOUBLE_WITHIN(allowed, with(j, i), with(i, j));
        }
    Matrix vectors, square(one.rows, one.rows);
    for (int64_t i = 0; i < one.rows; ++i) std::copy_n(with.row(i), one.rows, &square(i, 0));
    for (double value : oracle::eigen(square, vectors)) TEST_ASSERT_TRUE(value > 0);
    for (int64_t j = 0; j < one.rows; ++j)
        TEST_ASSERT_DOUBLE_WITHIN(allowed, distance_of(before.c, before.a, now.c, now.a, j),
                                  report(after, "/compressed/residual")[static_cast<size_t>(j)].get<double>());
}

// ---- tests

void test_projection() {
    Session session;
    const Matrix x = points(140, 5);
    for (const Case &one : cases)
        for (const char *reducer : {"uniform", "greedy", "rpcholesky"})
            for (bool f32 : {false, true}) {
                const Model model = session.fit(x, with(gaussian, one.more), {}, {f32, false}, one.method);
                const Parts before(model);
                const Model after =
                    compress(session, model, {{"reducer", reducer}, {"reducer.m", "20"}, {"orthonormal", "false"}});
                const double allowed = f32 ? close32 : close64;
                TEST_ASSERT_EQUAL_INT64(20, after.summary().m);
                TEST_ASSERT_EQUAL_INT64(model.summary().n, after.summary().n);
                TEST_ASSERT_EQUAL_INT32(model.summary().dtype, after.summary().dtype);
                expect_projection(before, after, allowed);
                expect_weights(before, after, allowed);
                TEST_ASSERT_EQUAL_UINT32(0,
                                         after.summary().capabilities & (MERCER_CAN_ORTHONORMAL | MERCER_CAN_RESIDUAL));
                TEST_ASSERT_TRUE(after.summary().capabilities & MERCER_CAN_DENSITY);
            }
}

void test_orthonormal() {
    Session session;
    const Matrix x = points(140, 6), q = points(40, 9);
    for (const Case &one : cases)
        for (bool f32 : {false, true}) {
            const Model model = session.fit(x, with(gaussian, one.more), {}, {f32, false}, one.method);
            const Model after = compress(session, model, {{"reducer.m", "25"}});
            const uint32_t same = MERCER_CAN_ORTHONORMAL | MERCER_CAN_RESIDUAL | MERCER_CAN_MEAN;
            TEST_ASSERT_FALSE(after.summary().capabilities & MERCER_CAN_MERGE); // no longer principal directions
            TEST_ASSERT_EQUAL_UINT32(model.summary().capabilities & same, after.summary().capabilities & same);
            if (!(after.summary().capabilities & MERCER_CAN_ORTHONORMAL)) continue;
            const double allowed = f32 ? close32 : close64;
            expect_turned(Parts(model), after, allowed);
            // The residual must be |phi - mu|^2 - |f|^2, and its limits must be quantiles over the
            // old centres.
            const Parts now(after);
            const Matrix z = session.apply(after, q), kqb = oracle::gram(k, q, now.c);
            Vector expected;
            for (int64_t i = 0; i < q.rows; ++i) {
                double value = 1;
                if (!now.nu.empty())
                    value += between(now.c, column(now.nu), now.c, column(now.nu))(0, 0) -
                             2 * oracle::dot(kqb.row(i), now.nu.data(), now.c.rows);
                expected.push_back(value - oracle::dot(z.row(i), z.row(i), z.cols));
            }
            expect_near(expected, session.apply(after, q, "residual").v, allowed, "residual");
            Vector spe = session.apply(after, model.tensor("C"), "residual").v;
            std::sort(spe.begin(), spe.end());
            const double limit = report(after, "/limits/residual/p99").get<double>();
            if (one.more.empty()) // all centres have weight 1
                TEST_ASSERT_DOUBLE_WITHIN(allowed, spe[static_cast<size_t>(std::ceil(0.99 * 140)) - 1], limit);
        }
}

// The weighted mean of the scores over the rows of the fit must be 0, as it is for the original
// model. The errors of the scores then have mean 0, too.
void test_centring() {
    Session session;
    const Matrix x = points(150, 7);
    Vector weights;
    for (int64_t i = 0; i < 150; ++i) weights.push_back(1 + static_cast<double>(i % 4));
    const Model model = session.fit(x, gaussian, weights);
    for (const char *orthonormal : {"false", "true"}) {
        const Matrix z =
            session.apply(compress(session, model, {{"reducer.m", "30"}, {"orthonormal", orthonormal}}), x);
        for (int64_t j = 0; j < r; ++j) {
            double sum = 0;
            for (int64_t i = 0; i < z.rows; ++i) sum += weights[static_cast<size_t>(i)] * z(i, j);
            TEST_ASSERT_DOUBLE_WITHIN(1e-9, 0, sum / 373);
        }
    }
}

void test_all_centres() {
    Session session;
    const Matrix x = points(80, 8), q = points(20, 3);
    const Model model = session.fit(x, gaussian);
    for (const Settings &all : {Settings{{"reducer.m", "80"}}, Settings{{"reducer.m", "5000"}},
                                Settings{{"reducer", "all"}}, Settings{{"reducer", "uniform"}, {"reducer.m", "81"}}}) {
        const Model after = compress(session, model, all);
        expect_same_bits(session.apply(model, q).v, session.apply(after, q).v, "scores");
        TEST_ASSERT_EQUAL_UINT32(model.summary().capabilities, after.summary().capabilities);
        TEST_ASSERT_EQUAL_DOUBLE(0, report(after, "/compressed/residual/0").get<double>());
        TEST_ASSERT_EQUAL_INT64(80, report(after, "/from/0/m").get<int64_t>());
    }
    // All centres that are linearly independent up to rounding are kept. The selection of pivots
    // ends at residuals of about 1e-10, so the scores must be accurate to the root of this, 1e-5.
    const Model after = compress(session, model, {{"reducer.trace", "1e-12"}});
    expect_near(session.apply(model, q).v, session.apply(after, q).v, 1e-5, "full rank");
}

// Equal rows must become one centre. If there are fewer centres than components, only as many
// components remain as there are centres, or all of them if orthonormal = false.
void test_little_rank() {
    Session session;
    Matrix x = points(60, 10), q = points(10, 4);
    for (int64_t i = 30; i < 60; ++i) std::copy_n(x.row(i - 30), d, &x(i, 0));
    const Model model = session.fit(x, gaussian);
    const Model after = compress(session, model, {{"reducer", "uniform"}, {"reducer.m", "59"}});
    TEST_ASSERT_EQUAL_INT64(30, after.summary().m);
    expect_near(session.apply(model, q).v, session.apply(after, q).v, 1e-9, "duplicates");
    const Model two = compress(session, model, {{"reducer.m", "2"}}),
                three = compress(session, model, {{"reducer.m", "2"}, {"orthonormal", "false"}});
    TEST_ASSERT_EQUAL_INT64(2, two.summary().r);
    TEST_ASSERT_TRUE(two.summary().outcome & MERCER_RANK_REACHED);
    TEST_ASSERT_EQUAL_INT64(r, three.summary().r);
    expect_turned(Parts(model), two, close64);
    expect_projection(Parts(model), three, close64);
}

// The same points are given as dense rows, as sparse rows, by distances and by kernel values. The
// models must be equal up to rounding.
void test_sources() {
    Session session;
    const int64_t n = 70;
    Matrix x = session.greedy_first(points(n, 11)), distances(n, n), q = points(9, 12), between_q(9, n);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) distances(i, j) = std::sqrt(oracle::sqdist(x.row(i), x.row(j), d));
    for (int64_t i = 0; i < 9; ++i)
        for (int64_t j = 0; j < n; ++j) between_q(i, j) = std::sqrt(oracle::sqdist(q.row(i), x.row(j), d));
    const Matrix values = oracle::gram(k, x, x), values_q = oracle::gram(k, q, x);
    const Settings few = {{"reducer", "greedy"}, {"reducer.m", "15"}};
    const Model dense = session.fit(x, gaussian);
    const Matrix expected = session.apply(compress(session, dense, few), q);

    std::vector<int64_t> offsets(1), columns;
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < d; ++j) columns.push_back(j);
        offsets.push_back((i + 1) * d);
    }
    mercer_sparse csr{sizeof csr, MERCER_CSR, MERCER_F64,     MERCER_I64,     0,         n,
                      d,          n * d,      offsets.data(), columns.data(), x.v.data()};
    mercer_data *sparse = nullptr;
    OK(mercer_data_from_sparse(&sparse, session.context, &csr));
    const Model rows = session.fit(sparse, gaussian);
    expect_near(expected.v, session.apply(compress(session, rows, few), q).v, 1e-9, "sparse");
    mercer_data_destroy(sparse);

    auto objects = [&](const Matrix &known, const Matrix &asked, int32_t kind, const Settings &settings) {
        Held held(known), queries(asked);
        mercer_view view = held.view(), query = queries.view();
        mercer_data *data = nullptr, *new_ones = nullptr;
        OK(mercer_data_from_matrix(&data, session.context, &view, kind));
        OK(mercer_data_from_matrix(&new_ones, session.context, &query, kind));
        const Model model = session.fit(data, settings);
        Model none;
        TEST_ASSERT_EQUAL_INT32(MERCER_E_ARGUMENT, derive(session, none, model, few));
        const Model after = compress(session, model, few, nullptr, data);
        TEST_ASSERT_EQUAL_INT64(15, after.summary().m);
        expect_near(expected.v, session.apply(after, new_ones).v, 1e-8, "objects");
        const Model again = compress(session, after, {{"reducer", "greedy"}, {"reducer.m", "9"}}, nullptr, data);
        for (double index : again.vector("indices")) {
            const Vector all = after.vector("indices");
            TEST_ASSERT_TRUE(std::find(all.begin(), all.end(), index) != all.end());
        }
        mercer_data_destroy(data), mercer_data_destroy(new_ones);
    };
    objects(distances, between_q, MERCER_DISTANCE, gaussian);
    objects(values, values_q, MERCER_KERNEL, {{"kernel", "user"}, {"components", "3"}});
}

std::vector<unsigned char> bytes_of(const Model &model) {
    std::vector<unsigned char> out;
    mercer_sink sink{sizeof sink,
                     [](void *user, const void *bytes, int64_t count) {
                         const auto *from = static_cast<const unsigned char *>(bytes);
                         static_cast<std::vector<unsigned char> *>(user)->insert(
                             static_cast<std::vector<unsigned char> *>(user)->end(), from, from + count);
                         return 0;
                     },
                     &out};
    OK(mercer_model_write(model.handle, &sink));
    return out;
}

void test_persistence() {
    Session session;
    const Matrix x = points(90, 13), q = points(12, 14);
    const Model model = session.fit(x, with(gaussian, {{"data.scale", "standard"}}));
    const Model once = compress(session, model, {{"reducer.m", "40"}}),
                twice = compress(session, once, {{"reducer.m", "20"}});
    TEST_ASSERT_EQUAL_size_t(1, report(twice, "/from").size());
    TEST_ASSERT_EQUAL_STRING("compress", report(twice, "/from")[0]["operation"].get<std::string>().c_str());
    TEST_ASSERT_EQUAL_INT64(40, report(twice, "/from/0/m").get<int64_t>());
    TEST_ASSERT_EQUAL_STRING("kpca", report(twice, "/from")[0]["method"].get<std::string>().c_str());
    TEST_ASSERT_EQUAL_INT64(2, report(twice, "/ancestors").get<int64_t>());
    std::vector<unsigned char> bytes = bytes_of(twice);
    std::pair<std::vector<unsigned char> *, size_t> at{&bytes, 0};
    mercer_source source{sizeof source,
                         [](void *user, void *to, int64_t capacity, int64_t *count) {
                             auto &[from, place] = *static_cast<decltype(at) *>(user);
                             *count = std::min(capacity, static_cast<int64_t>(from->size() - place));
                             std::memcpy(to, from->data() + place, static_cast<size_t>(*count));
                             place += static_cast<size_t>(*count);
                             return 0;
                         },
                         &at};
    Model read;
    OK(mercer_model_read(&read.handle, session.context, &source));
    expect_same_bits(session.apply(twice, q).v, session.apply(read, q).v, "scores");
    TEST_ASSERT_TRUE(bytes == bytes_of(read));
}

void test_threads() {
    Session session;
    const Matrix x = points(1500, 15);
    for (bool f32 : {false, true}) {
        const Model model = session.fit(x, gaussian, {}, {f32, false});
        Vector first;
        for (int64_t threads : {1, 2, 8}) {
            const mercer_run run = with_threads(threads);
            const Model after = compress(session, model, {{"reducer.m", "300"}}, &run);
            Vector all = after.vector("A");
            for (const char *name : {"b", "nu", "w", "C"})
                for (double value : after.vector(name)) all.push_back(value);
            if (first.empty()) first = all;
            expect_same_bits(first, all, "threads");
        }
    }
}

void test_stopped() {
    Session session;
    const Model model = session.fit(points(1200, 16), gaussian);
    mercer_run run = with_threads(2);
    run.memory = 1 << 20;
    Model none;
    TEST_ASSERT_EQUAL_INT32(MERCER_E_BUDGET, derive(session, none, model, {{"reducer.m", "300"}}, &run));
    const int32_t cancel = 1;
    run = with_threads(2);
    run.cancel = &cancel;
    TEST_ASSERT_EQUAL_INT32(MERCER_E_CANCELLED, derive(session, none, model, {{"reducer.m", "300"}}, &run));
    double last = -1;
    run = with_threads(2);
    run.user = &last;
    run.progress = [](void *user, const mercer_progress *progress) {
        double &seen = *static_cast<double *>(user);
        TEST_ASSERT_TRUE(progress->fraction >= seen);
        seen = progress->fraction;
        return 0;
    };
    compress(session, model, {{"reducer.m", "300"}}, &run);
    TEST_ASSERT_TRUE(last >= 0 && last <= 1); // at most ten calls a second, so there may be none at the end
}

// Checks what a forecast promises: a budget of `most` bytes must suffice, and a smaller one must be
// refused before any work.
void test_forecast() {
    Session session;
    for (int64_t n : {300, 1500})
        for (bool f32 : {false, true})
            for (const char *reducer : {"uniform", "greedy", "rpcholesky", "kmeans"}) {
                const Model model = session.fit(points(n, 16), gaussian, {}, {f32, false});
                const Settings settings = {{"reducer", reducer}, {"reducer.m", std::to_string(n / 5)}};
                mercer_recipe *recipe = session.recipe("compress", settings);
                mercer_forecast ahead{};
                ahead.struct_size = sizeof ahead;
                mercer_run run = with_threads(2);
                OK(mercer_model_forecast(recipe, &model.handle, 1, nullptr, &run, &ahead));
                TEST_ASSERT_TRUE(ahead.bytes.likely <= ahead.bytes.most && ahead.seconds > 0 && *ahead.strategy);
                run.memory = static_cast<int64_t>(ahead.bytes.most);
                const Model after = compress(session, model, settings, &run);
                const double peak = report(after, "/peak_bytes").get<double>(),
                             values = report(after, "/kernel_evaluations").get<double>();
                char text[200];
                std::snprintf(text, sizeof text,
                              "%s, %d rows, f32 %d: %.0f bytes of %.0f to %.0f, %.0f values of %.0f to %.0f", reducer,
                              static_cast<int>(n), f32, peak, ahead.bytes.likely, ahead.bytes.most, values,
                              ahead.kernel_evaluations.likely, ahead.kernel_evaluations.most);
                TEST_ASSERT_TRUE_MESSAGE(peak <= ahead.bytes.most && ahead.bytes.most < 4 * peak, text);
                // For pivots the upper bound allows for rounds of one pivot each, which recompute the
                // columns of all pivots before; usually there are 30 pivots a round.
                const bool pivots = std::string(reducer) == "greedy" || std::string(reducer) == "rpcholesky";
                TEST_ASSERT_TRUE_MESSAGE(values <= ahead.kernel_evaluations.most &&
                                             ahead.kernel_evaluations.most < (pivots ? 40 : 3) * values &&
                                             std::fabs(std::log(ahead.kernel_evaluations.likely / values)) < 0.7,
                                         text);
                TEST_ASSERT_EQUAL_DOUBLE(ahead.bytes.most, report(after, "/forecast/bytes/most").get<double>());
                --run.memory;
                Model none;
                TEST_ASSERT_EQUAL_INT32(MERCER_E_BUDGET, derive(session, none, model, settings, &run));
                TEST_ASSERT_NOT_NULL(std::strstr(mercer_last_error(), "'compress' needs"));
                TEST_ASSERT_EQUAL_INT32(MERCER_E_BUDGET,
                                        mercer_model_forecast(recipe, &model.handle, 1, nullptr, &run, &ahead));
                mercer_recipe_destroy(recipe);
            }
    const Model model = session.fit(points(100, 16), gaussian);
    mercer_recipe *all = session.recipe("compress", {{"reducer", "all"}}), *method = session.recipe("kpca", {});
    mercer_forecast ahead{};
    ahead.struct_size = sizeof ahead;
    OK(mercer_model_forecast(all, &model.handle, 1, nullptr, nullptr, &ahead));
    TEST_ASSERT_EQUAL_DOUBLE(0, ahead.kernel_evaluations.most);
    TEST_ASSERT_EQUAL_INT32(MERCER_E_ARGUMENT,
                            mercer_model_forecast(method, &model.handle, 1, nullptr, nullptr, &ahead));
    TEST_ASSERT_EQUAL_INT32(MERCER_E_ARGUMENT, mercer_model_forecast(all, &model.handle, 2, nullptr, nullptr, &ahead));
    mercer_recipe_destroy(all), mercer_recipe_destroy(method);
}

// Models made from arrays: if the model has neither nu nor w, the compressed model has neither. A
// model that cannot be projected must be refused with an error that names the reason.
void test_from_tensors() {
    Session session;
    const Matrix c = points(30, 17), a = oracle::Numbers(18).matrix(30, 2);
    auto made = [&](const char *json, std::vector<std::pair<const char *, Matrix>> more) {
        std::vector<Held> held;
        std::vector<const char *> names = {"C", "A"};
        held.emplace_back(c), held.emplace_back(a);
        for (const auto &[name, values] : more) names.push_back(name), held.emplace_back(values);
        std::vector<mercer_view> views;
        for (Held &one : held) views.push_back(one.view());
        Model model;
        OK(mercer_model_from_tensors(&model.handle, session.context, json, names.data(), views.data(),
                                     static_cast<int64_t>(views.size())));
        return model;
    };
    const char *gauss = R"({"kernel": "gaussian", "parameters": {"kernel.sigma": 0.8}})";
    const Model bare = made(gauss, {});
    const Model after = compress(session, bare, {{"reducer.m", "12"}});
    TEST_ASSERT_FALSE(after.has("w") || after.has("nu") || after.has("lambda"));
    const Matrix kbb = oracle::gram(k, after.tensor("C"), after.tensor("C"));
    expect_near(solve(kbb, oracle::product(oracle::gram(k, after.tensor("C"), c), a)).v, after.vector("A"), 1e-8, "A'");

    // Entries of a report that have another type than the library's own must not matter.
    for (const char *limits : {R"({"kind": 5})", "null", "[]", R"("exact")"}) {
        const std::string odd =
            std::string(R"({"kernel": "gaussian", "parameters": {"kernel.sigma": 0.8}, "limits": )") + limits + "}";
        TEST_ASSERT_TRUE(compress(session, made(odd.c_str(), {}), {{"reducer.m", "12"}}).has("A"));
    }

    auto refused = [&](const Model &model, const char *text) {
        Model none;
        TEST_ASSERT_EQUAL_INT32(MERCER_E_UNSUPPORTED, derive(session, none, model, {{"reducer.m", "5"}}));
        TEST_ASSERT_NOT_NULL_MESSAGE(std::strstr(mercer_last_error(), text), mercer_last_error());
    };
    refused(made(gauss, {{"v", oracle::Numbers(1).matrix(30, 1, 0, 1)}}), "'v'");
    refused(made(R"({"kernel": "sigmoid"})", {}), "sigmoid");
    refused(made(R"({"kernel": "user"})", {}), "mercer_model_bind");
    // A model with a negative weight has no density estimate.
    Matrix w(30, 1);
    for (int64_t i = 0; i < 30; ++i) w(i, 0) = i == 3 ? -1 : 1;
    const Model odd =
        made(R"({"kernel": "gaussian", "parameters": {"kernel.sigma": 0.8}, "capabilities": ["density"]})", {{"w", w}});
    TEST_ASSERT_EQUAL_UINT32(0,
                             compress(session, odd, {{"reducer.m", "5"}}).summary().capabilities & MERCER_CAN_DENSITY);
}

// If a model has numbers so large that results derived from them overflow, compression must fail,
// but making the model must succeed. "C" is the control, without such numbers.
void test_beyond_f64() {
    Session session;
    const Matrix c = points(20, 17), a = oracle::Numbers(18).matrix(20, 2);
    for (const char *name : {"nu", "A", "C"}) {
        Matrix nu(20, 1), coefficients = a;
        nu(3, 0) = *name == 'n' ? 1e308 : 0.05;
        if (*name == 'A') coefficients(4, 1) = 1e308;
        Held centres(c), weights(coefficients), mean(nu);
        const char *names[] = {"C", "A", "nu"};
        const mercer_view views[] = {centres.view(), weights.view(), mean.view()};
        Model model, derived;
        OK(mercer_model_from_tensors(&model.handle, session.context,
                                     R"({"kernel": "gaussian", "parameters": {"kernel.sigma": 0.8}, "capabilities": )"
                                     R"(["mean", "orthonormal"]})",
                                     names, views, 3));
        for (const char *seed : {"0", "1", "2"}) {
            const int32_t status = derive(session, derived, model, {{"reducer.m", "5"}, {"seed", seed}});
            if (*name == 'C') {
                OK(status);
                mercer_model_destroy(std::exchange(derived.handle, nullptr));
                continue;
            }
            TEST_ASSERT_EQUAL_INT32_MESSAGE(MERCER_E_NUMERICAL, status, name);
            TEST_ASSERT_NOT_NULL_MESSAGE(std::strstr(mercer_last_error(), "finite"), mercer_last_error());
            TEST_ASSERT_NULL(derived.handle);
        }
    }
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_projection);
    RUN_TEST(test_orthonormal);
    RUN_TEST(test_centring);
    RUN_TEST(test_all_centres);
    RUN_TEST(test_little_rank);
    RUN_TEST(test_sources);
    RUN_TEST(test_persistence);
    RUN_TEST(test_threads);
    RUN_TEST(test_stopped);
    RUN_TEST(test_forecast);
    RUN_TEST(test_from_tensors);
    RUN_TEST(test_beyond_f64);
    return UNITY_END();
}
