// Compares the lift `manifold` (diffusion maps, Laplacian eigenmaps, normalised cuts) with its
// defining formulas, computed with full matrices and Jacobi's eigenvalue method.
#include "session.h"
#include "temp_files.h"
#include "tolerances.h"

#include <cstdlib>

namespace {

struct Walk { // the random walk on a weighted graph, from its kernel matrix
    Vector lambda, degrees, v;
    Matrix f; // m x r, without the constant f_0
    double volume = 0;
};

Walk walk_of(const Matrix &k, const Vector &weights, double alpha, int64_t r) {
    const int64_t m = k.rows;
    auto w = [&](int64_t i) { return weights.empty() ? 1.0 : weights[static_cast<size_t>(i)]; };
    Walk out;
    Vector q, d;
    for (int64_t i = 0; i < m; ++i)
        q.push_back(oracle::sum_over(m, [&](int64_t j) { return static_cast<long double>(k(i, j)) * w(j); }));
    auto ka = [&](int64_t i, int64_t j) {
        return k(i, j) * std::pow(q[static_cast<size_t>(i)] * q[static_cast<size_t>(j)], -alpha);
    };
    for (int64_t i = 0; i < m; ++i) {
        d.push_back(oracle::sum_over(m, [&](int64_t j) { return static_cast<long double>(ka(i, j)) * w(j); }));
        out.degrees.push_back(w(i) * d.back());
        out.volume += out.degrees.back();
        out.v.push_back(w(i) * std::pow(q[static_cast<size_t>(i)], -alpha));
    }
    Matrix s(m, m), u;
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < m; ++j)
            s(i, j) =
                std::sqrt(w(i) * w(j)) * ka(i, j) / std::sqrt(d[static_cast<size_t>(i)] * d[static_cast<size_t>(j)]);
    out.lambda = oracle::eigen(s, u);
    out.lambda.erase(out.lambda.begin());
    out.f = Matrix(m, r);
    for (int64_t l = 0; l < r; ++l) {
        double largest = 0; // entry of A, by absolute value
        for (int64_t i = 0; i < m; ++i) {
            out.f(i, l) = std::sqrt(out.volume / out.degrees[static_cast<size_t>(i)]) * u(i, l + 1);
            const double a = out.v[static_cast<size_t>(i)] * out.f(i, l);
            if (std::fabs(a) > std::fabs(largest) * (1 + 1e-9)) largest = a;
        }
        for (int64_t i = 0; i < m; ++i) out.f(i, l) = largest < 0 ? -out.f(i, l) : out.f(i, l);
    }
    return out;
}

// Returns f of new points. k: the kernel values between them and the centres, up to a common factor
// of each row.
Matrix extended(const Walk &walk, const Matrix &k, double time) {
    Matrix out(k.rows, walk.f.cols);
    for (int64_t i = 0; i < k.rows; ++i)
        for (int64_t l = 0; l < out.cols; ++l) {
            long double above = 0, below = 0;
            for (int64_t j = 0; j < k.cols; ++j) {
                const long double edge = static_cast<long double>(k(i, j)) * walk.v[static_cast<size_t>(j)];
                above += edge * walk.f(j, l), below += edge;
            }
            out(i, l) = static_cast<double>(above / below) * std::pow(walk.lambda[static_cast<size_t>(l)], time - 1);
        }
    return out;
}

// Returns how far rounding may change coordinates. S is off by tolerance::matrix in norm, and its
// eigenvectors by that over the gap. Entries are then multiplied by sqrt(vol / degree), and A is
// divided by lambda.
double allowed(const Walk &walk, int64_t r, double u) {
    double gap = INFINITY, stretch = 0;
    for (int64_t l = 0; l < r; ++l) {
        const size_t at = static_cast<size_t>(l);
        gap = std::min({gap, walk.lambda[at] - walk.lambda[at + 1], l == 0 ? 1 - walk.lambda[0] : gap});
    }
    for (double degree : walk.degrees) stretch = std::max(stretch, std::sqrt(walk.volume / degree));
    return tolerance::manifold(static_cast<int64_t>(walk.degrees.size()), u, gap,
                               walk.lambda[static_cast<size_t>(r - 1)], stretch);
}

Settings with(Settings settings, std::initializer_list<std::pair<std::string, std::string>> more) {
    settings.insert(settings.end(), more);
    return settings;
}

Vector some_weights(int64_t m) {
    oracle::Numbers numbers(5);
    Vector out;
    for (int64_t i = 0; i < m; ++i) out.push_back(0.2 + 2 * numbers.uniform());
    const double sum = std::accumulate(out.begin(), out.end(), 0.0);
    for (double &value : out) value *= static_cast<double>(m) / sum;
    return out;
}

constexpr int64_t m = 50, r = 3;

void test_against_naive() {
    Session session;
    const Matrix x = oracle::Numbers(3).matrix(m, 2), q = oracle::Numbers(4).matrix(9, 2);
    for (const bool f32 : {false, true})
        for (const bool weighted : {false, true})
            for (const double alpha : {0.0, 0.5, 1.0})
                for (const double time : {0.0, 1.0, 2.5}) {
                    const double u = f32 ? tolerance::u32 : tolerance::u64;
                    const Vector weights = weighted ? some_weights(m) : Vector();
                    const oracle::Pair k = oracle::gaussian(0.4);
                    const Walk walk = walk_of(oracle::gram(k, x, x), weights, alpha, r);
                    const Layout layout{f32, false};
                    const Model model = session.fit(x,
                                                    {{"sigma", "0.4"},
                                                     {"components", "3"},
                                                     {"lift.alpha", std::to_string(alpha)},
                                                     {"lift.time", std::to_string(time)}},
                                                    weights, layout, "diffusion");
                    const double near = allowed(walk, r, u);
                    const Vector first(walk.lambda.begin(), walk.lambda.begin() + r);
                    expect_near(model.vector("lambda"), first, near, "lambda");
                    Matrix coordinates = walk.f; // the model must reproduce those of its centres
                    for (int64_t i = 0; i < m; ++i)
                        for (int64_t l = 0; l < r; ++l)
                            coordinates(i, l) *= std::pow(first[static_cast<size_t>(l)], time);
                    expect_near(session.apply(model, x, "scores", layout).v, coordinates.v, near, "centres");
                    expect_near(session.apply(model, q, "scores", layout).v,
                                extended(walk, oracle::gram(k, q, x), time).v, near, "queries");
                    TEST_ASSERT_EQUAL_UINT32(0, model.summary().outcome);
                    TEST_ASSERT_EQUAL_UINT32(MERCER_CAN_DENSITY | MERCER_CAN_SHARE, model.summary().capabilities);
                }
}

Matrix golden_centres() {
    const int64_t index[] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 14, 20, 27, 28, 29, 53, 56};
    const Matrix all = oracle::golden_points();
    Matrix out(18, 3);
    for (int64_t i = 0; i < 18; ++i) std::copy_n(all.row(index[i]), 3, &out(i, 0));
    return out;
}
const Vector golden_weights = {4, 3, 7, 4, 6, 6, 6, 2, 1, 4, 1, 2, 1, 3, 5, 3, 1, 1};
const Settings golden = {{"gamma", "1.5625"}, {"components", "3"}};

void test_golden() {
    Session session;
    Matrix q(1, 3);
    q.v = {0.3, 0.5, 0.7};
    const Model diffusion = session.fit(golden_centres(), golden, golden_weights, {}, "diffusion");
    expect_near(diffusion.vector("lambda"), {.315317632416, .270055688603, .145830358859}, tolerance::printed,
                "lambda");
    expect_near(session.apply(diffusion, q).v, {.130946042619, -.210741415900, -.114308589335}, tolerance::printed,
                "q");
    const Model eigenmap = session.fit(golden_centres(), golden, golden_weights, {}, "laplacian-eigenmaps");
    const Vector mu = {.727091059202, .765823650213, .866871133678};
    for (size_t l = 0; l < mu.size(); ++l) {
        const std::string path = "/manifold/mu/" + std::to_string(l);
        TEST_ASSERT_DOUBLE_WITHIN(tolerance::printed, mu[l],
                                  std::strtod(info(eigenmap, path.c_str()).c_str(), nullptr));
        TEST_ASSERT_DOUBLE_WITHIN(tolerance::printed, 1 - mu[l], eigenmap.vector("lambda")[l]);
    }
    expect_near(session.apply(eigenmap, q).v, {-.764076370501, -.599274714649, .802907847914}, tolerance::printed, "q");
}

// Returns b with those columns negated that point against the columns of a. A fit chooses signs by
// the largest entry of each column of the tensor A, which may belong to different points in two
// models; so equal components may differ in sign.
Vector turned_as(const Matrix &a, Matrix b) {
    for (int64_t l = 0; l < b.cols; ++l) {
        double sum = 0;
        for (int64_t i = 0; i < b.rows; ++i) sum += a(i, l) * b(i, l);
        for (int64_t i = 0; i < b.rows; ++i) b(i, l) = sum < 0 ? -b(i, l) : b(i, l);
    }
    return b.v;
}

// A fit on weighted centres must equal the fit on the 60 rows that were moved to them, in its
// clusters, too.
void test_quantised() {
    Session session;
    const Matrix c = golden_centres();
    Matrix rows(60, 3);
    std::vector<int64_t> centre;
    for (int64_t j = 0; j < c.rows; ++j)
        for (int64_t k = 0; k < static_cast<int64_t>(golden_weights[static_cast<size_t>(j)]); ++k) centre.push_back(j);
    for (int64_t i = 0; i < 60; ++i) std::copy_n(c.row(centre[static_cast<size_t>(i)]), 3, &rows(i, 0));
    const Matrix q = oracle::Numbers(6).matrix(20, 3, 0, 1);
    for (const char *method : {"diffusion", "laplacian-eigenmaps", "ncut"})
        for (const char *clusters : {"2", "4"}) {
            const bool cuts = std::string(method) == "ncut";
            const Settings settings = cuts ? with(golden, {{"clusters", clusters}}) : golden;
            const Model few = session.fit(c, settings, golden_weights, {}, method),
                        all = session.fit(rows, settings, {}, {}, method);
            expect_near(few.vector("lambda"), all.vector("lambda"), 1e-12, method);
            const Matrix f = session.apply(few, q);
            // The gaps between eigenvalues are above 0.03, so that rounding remains below 1e-10.
            expect_near(f.v, turned_as(f, session.apply(all, q)), 1e-10, method);
            if (!cuts) continue;
            const Vector labels = few.vector("labels"), every = all.vector("labels");
            for (size_t i = 0; i < 60; ++i)
                TEST_ASSERT_EQUAL_INT(static_cast<int>(labels[static_cast<size_t>(centre[i])]),
                                      static_cast<int>(every[i]));
            expect_same_bits(session.apply(few, q, "labels").v, session.apply(all, q, "labels").v, clusters);
        }
}

// Far from all centres all kernel values underflow to 0. The limit must then be taken: only the
// nearest centre's term remains, and f = A_j / v_j.
void test_far() {
    Session session;
    const Matrix x = oracle::Numbers(3).matrix(m, 2);
    for (const bool f32 : {false, true}) {
        const Layout layout{f32, false};
        const Model model = session.fit(x, {{"sigma", "0.4"}, {"components", "3"}}, {}, layout, "diffusion");
        Matrix q(2, 2);
        q.v = {300, 200, -1000, 10};
        const Matrix f = session.apply(model, q, "scores", layout), a = model.tensor("A");
        const Vector v = model.vector("v");
        for (int64_t i = 0; i < 2; ++i) {
            int64_t nearest = 0;
            for (int64_t j = 1; j < m; ++j)
                if (oracle::sqdist(q.row(i), x.row(j), 2) < oracle::sqdist(q.row(i), x.row(nearest), 2)) nearest = j;
            for (int64_t l = 0; l < r; ++l)
                TEST_ASSERT_DOUBLE_WITHIN(f32 ? 1e-4 : 1e-9, a(nearest, l) / v[static_cast<size_t>(nearest)], f(i, l));
        }
    }
}

// Compares an iterating solver on streamed and stored matrices, with values in f64 and f32, with
// the dense solver. The results must be bitwise equal for any number of threads.
void test_iterated() {
    Session session;
    const int64_t n = 1500;
    const Matrix x = oracle::clusters(n, 3), q = oracle::Numbers(7).matrix(30, 3);
    const Settings base = {{"sigma", "1.2"}, {"components", "4"}};
    for (const char *method : {"diffusion", "ncut"}) {
        const Model dense = session.fit(x, with(base, {{"solver", "dense"}}), {}, {}, method);
        const Matrix f = session.apply(dense, q);
        for (const char *storage : {"auto", "stream", "f64", "f32"}) {
            const Settings settings = with(base, {{"solver", "block-krylov"}, {"gram.storage", storage}});
            const bool rough = std::string(storage) == "f32";
            Model first;
            for (int64_t threads : {1, 2, 8}) {
                const mercer_run run = with_threads(threads);
                Model model = session.fit(x, settings, {}, {}, method, &run);
                expect_near(model.vector("lambda"), dense.vector("lambda"), rough ? 1e-5 : 1e-9, storage);
                expect_near(session.apply(model, q).v, f.v, rough ? 1e-3 : 1e-6, storage);
                if (threads > 1) expect_same_bits(model.tensor("A").v, first.tensor("A").v, storage);
                if (threads > 1 && model.has("clusters"))
                    expect_same_bits(model.tensor("clusters").v, first.tensor("clusters").v, storage);
                if (threads == 1) first = std::move(model);
            }
        }
    }
}

// No edge connects the blobs. Therefore 1 is a multiple eigenvalue, and its eigenfunctions are
// constant on each blob.
void test_disconnected() {
    Session session;
    for (const int64_t n : {60, 1200})
        for (const int64_t blobs : {2, 3}) {
            Matrix x = oracle::Numbers(8).matrix(n, 2);
            // No blob is larger than the one before it. Clusters are numbered by decreasing weight,
            // so each has the number of its blob.
            auto blob = [&](int64_t i) { return i % 6 < 3 ? 0 : blobs == 2 || i % 6 < 5 ? 1 : 2; };
            for (int64_t i = 0; i < n; ++i) x(i, 0) += 100 * static_cast<double>(blob(i));
            const Model model = session.fit(
                x, {{"sigma", "0.5"}, {"components", "3"}, {"clusters", std::to_string(blobs)}}, {}, {}, "ncut");
            const Vector lambda = model.vector("lambda");
            const Matrix f = session.apply(model, x);
            for (int64_t l = 0; l < blobs - 1; ++l) {
                TEST_ASSERT_DOUBLE_WITHIN(1e-9, 1, lambda[static_cast<size_t>(l)]);
                for (int64_t i = 0; i < n; ++i)
                    for (int64_t j = 0; j < 6; ++j)
                        if (blob(i) == blob(j)) TEST_ASSERT_DOUBLE_WITHIN(1e-6, f(j, l), f(i, l));
            }
            TEST_ASSERT_TRUE(lambda[static_cast<size_t>(blobs - 1)] < 0.999);
            const Vector labels = session.apply(model, x, "labels").v;
            for (int64_t i = 0; i < n; ++i)
                TEST_ASSERT_EQUAL_INT64(blob(i), static_cast<int64_t>(labels[static_cast<size_t>(i)]));
            if (blobs == 2)
                TEST_ASSERT_DOUBLE_WITHIN(1e-9, 0, std::strtod(info(model, "/clusters/ncut").c_str(), nullptr));
        }
}

// Computes cut(A, B) / vol(A) + cut(A, B) / vol(B) from all pairs.
double naive_ncut(const Matrix &k, const Vector &w, const std::vector<bool> &in) {
    long double cut = 0, a = 0, b = 0;
    for (int64_t i = 0; i < k.rows; ++i)
        for (int64_t j = 0; j < k.rows; ++j) {
            const size_t p = static_cast<size_t>(i), s = static_cast<size_t>(j);
            const long double edge = static_cast<long double>(w[p]) * k(i, j) * w[s];
            if (in[p] && !in[s]) cut += edge;
            (in[p] ? a : b) += edge;
        }
    return static_cast<double>(cut / a + cut / b);
}

void test_least_cut() {
    Session session;
    const int64_t n = 300; // more than one panel of 256 rows
    const Matrix x = oracle::clusters(n, 2);
    const Vector w = some_weights(n);
    for (const double alpha : {0.0, 1.0}) {
        const Model model = session.fit(x, {{"sigma", "0.8"}, {"lift.alpha", std::to_string(alpha)}}, w, {}, "ncut");
        const Matrix k = oracle::gram(oracle::gaussian(0.8), x, x), f = session.apply(model, x);
        const Vector v = walk_of(k, w, alpha, 1).v, labels = model.vector("labels");
        double least = INFINITY;
        std::vector<bool> in(static_cast<size_t>(n));
        for (int64_t t = 0; t < n; ++t) {
            int64_t below = 0;
            for (int64_t i = 0; i < n; ++i) below += in[static_cast<size_t>(i)] = f(i, 0) <= f(t, 0);
            if (below < n) least = std::min(least, naive_ncut(k, v, in));
        }
        for (int64_t i = 0; i < n; ++i) in[static_cast<size_t>(i)] = labels[static_cast<size_t>(i)] == 0;
        const double said = std::strtod(info(model, "/clusters/ncut").c_str(), nullptr);
        TEST_ASSERT_DOUBLE_WITHIN(1e-9, naive_ncut(k, v, in), said);
        TEST_ASSERT_TRUE(said <= least * (1 + 1e-9));
        expect_same_bits(session.apply(model, x, "labels").v, labels, "the rule is the labels'");
        double first = 0, all = 0;
        for (int64_t i = 0; i < n; ++i)
            (labels[static_cast<size_t>(i)] == 0 ? first : all) += w[static_cast<size_t>(i)];
        TEST_ASSERT_TRUE(first >= all); // clusters are numbered by decreasing weight
    }
}

// Checks k-means of the normalised rows: the result must be a fixed point of Lloyd's iteration, and
// its inertia at most 2 % above the best that a naive version finds from 200 random starts.
void test_more_clusters() {
    Session session;
    const int64_t n = 400, k = 5;
    const Matrix x = oracle::clusters(n, 2);
    const Vector w = some_weights(n);
    const Model model = session.fit(x, {{"sigma", "0.8"}, {"clusters", "5"}, {"components", "2"}}, w, {}, "ncut");
    TEST_ASSERT_EQUAL_INT64(4, model.summary().r); // 5 clusters need 4 components, although 2 were requested
    const Matrix f = session.apply(model, x);
    Matrix e(n, k);
    for (int64_t i = 0; i < n; ++i) {
        const double length = std::sqrt(1 + oracle::dot(f.row(i), f.row(i), k - 1));
        for (int64_t l = 0; l < k; ++l) e(i, l) = (l == 0 ? 1 : f(i, l - 1)) / length;
    }
    auto lloyd = [&](Matrix c, std::vector<int64_t> &label) {
        double inertia = INFINITY;
        for (int step = 0; step < 100; ++step) {
            double sum = 0;
            for (int64_t i = 0; i < n; ++i) {
                int64_t best = 0;
                for (int64_t j = 1; j < k; ++j)
                    if (oracle::sqdist(e.row(i), c.row(j), k) < oracle::sqdist(e.row(i), c.row(best), k)) best = j;
                label[static_cast<size_t>(i)] = best;
                sum += w[static_cast<size_t>(i)] * oracle::sqdist(e.row(i), c.row(best), k);
            }
            if (sum >= inertia * (1 - 1e-12)) break;
            inertia = sum;
            Matrix moved(k, k);
            Vector mass(static_cast<size_t>(k));
            for (int64_t i = 0; i < n; ++i) {
                const int64_t j = label[static_cast<size_t>(i)];
                mass[static_cast<size_t>(j)] += w[static_cast<size_t>(i)];
                for (int64_t l = 0; l < k; ++l) moved(j, l) += w[static_cast<size_t>(i)] * e(i, l);
            }
            for (int64_t j = 0; j < k; ++j)
                for (int64_t l = 0; l < k && mass[static_cast<size_t>(j)] > 0; ++l)
                    c(j, l) = moved(j, l) / mass[static_cast<size_t>(j)];
        }
        return inertia;
    };
    std::vector<int64_t> label(static_cast<size_t>(n));
    const Matrix rule = model.tensor("clusters");
    TEST_ASSERT_TRUE(rule.rows == k && rule.cols == k + 1);
    Matrix own(k, k);
    for (int64_t j = 0; j < k; ++j) std::copy_n(rule.row(j), k, &own(j, 0));
    const double said = std::strtod(info(model, "/clusters/inertia").c_str(), nullptr), fixed = lloyd(own, label);
    TEST_ASSERT_DOUBLE_WITHIN(1e-9 * said, said, fixed);
    const Vector labels = model.vector("labels");
    for (size_t i = 0; i < label.size(); ++i) TEST_ASSERT_EQUAL_INT64(label[i], static_cast<int64_t>(labels[i]));
    expect_same_bits(session.apply(model, x, "labels").v, labels, "the rule is the labels'");
    oracle::Numbers numbers(12);
    double best = INFINITY;
    for (int start = 0; start < 200; ++start) {
        Matrix c(k, k);
        for (int64_t j = 0; j < k; ++j)
            std::copy_n(e.row(static_cast<int64_t>(numbers.uniform() * static_cast<double>(n))), k, &c(j, 0));
        best = std::min(best, lloyd(c, label));
    }
    TEST_ASSERT_TRUE(said <= best * 1.02); // the library takes the best of 8 starts by k-means++
}

// A fit with a reducer must equal the fit on the centres that the reducer selected.
void test_reduced() {
    Session session;
    const Matrix x = oracle::clusters(800, 3), q = oracle::Numbers(7).matrix(30, 3);
    const Model model = session.fit(x, {{"sigma", "1.2"}, {"reducer", "uniform"}, {"m", "80"}, {"components", "4"}}, {},
                                    {}, "diffusion");
    TEST_ASSERT_EQUAL_INT64(80, model.summary().m);
    const Model same = session.fit(model.tensor("C"), {{"sigma", "1.2"}, {"components", "4"}}, {}, {}, "diffusion");
    expect_near(model.vector("lambda"), same.vector("lambda"), 1e-12, "lambda");
    expect_near(session.apply(model, q).v, session.apply(same, q).v, 1e-9, "scores");
}

void test_matrix_of_distances() {
    Session session;
    const Matrix x = oracle::Numbers(3).matrix(m, 2);
    for (const bool kernel : {false, true}) {
        Matrix values = oracle::gram(oracle::gaussian(0.4), x, x);
        for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j < m; ++j)
                if (!kernel) values(i, j) = std::sqrt(oracle::sqdist(x.row(i), x.row(j), 2));
        Held held(values);
        mercer_view view = held.view();
        mercer_data *data = nullptr;
        OK(mercer_data_from_matrix(&data, session.context, &view, kernel ? MERCER_KERNEL : MERCER_DISTANCE));
        const Settings settings = kernel ? Settings{{"kernel", "user"}} : Settings{{"sigma", "0.4"}};
        const Model model = session.fit(data, with(settings, {{"components", "3"}}), "ncut");
        const Model plain = session.fit(x, {{"sigma", "0.4"}, {"components", "3"}}, {}, {}, "ncut");
        expect_near(model.vector("lambda"), plain.vector("lambda"), 1e-12, "lambda");
        expect_near(session.apply(model, data).v, session.apply(plain, x).v, 1e-9, "scores");
        expect_same_bits(session.apply(model, data, "labels").v, session.apply(plain, x, "labels").v, "labels");
        mercer_data_destroy(data);
    }
}

void test_small_data() {
    Session session;
    Matrix one(1, 2), equal(30, 2);
    for (const Matrix *x : {&one, &equal}) {
        const Model model = session.fit(*x, {{"sigma", "1"}}, {}, {}, "diffusion");
        TEST_ASSERT_EQUAL_INT64(0, model.summary().r);
        TEST_ASSERT_EQUAL_UINT32(MERCER_RANK_REACHED, model.summary().outcome);
    }
    const Model model = session.fit(equal, {{"sigma", "1"}}, {}, {}, "ncut"); // equal rows are one cluster
    expect_same_bits(session.apply(model, equal, "labels").v, Vector(30), "labels");
    Matrix two(4, 1);
    two.v = {0, 0, 1, 1};
    const Model pairs = session.fit(two, {{"sigma", "1"}}, {}, {}, "ncut");
    const Vector labels = pairs.vector("labels");
    TEST_ASSERT_TRUE(labels[0] == labels[1] && labels[2] == labels[3] && labels[0] != labels[2]);
}

void test_saved() {
    Session session;
    const Matrix x = oracle::clusters(200, 2), q = oracle::Numbers(7).matrix(30, 2);
    const Model model = session.fit(x, {{"sigma", "0.8"}, {"clusters", "3"}}, {}, {}, "ncut");
    TEST_ASSERT_TRUE(model.summary().capabilities & MERCER_CAN_LABELS);
    std::string bytes;
    mercer_sink sink{sizeof sink,
                     [](void *user, const void *from, int64_t count) -> int32_t {
                         static_cast<std::string *>(user)->append(static_cast<const char *>(from),
                                                                  static_cast<size_t>(count));
                         return 0;
                     },
                     &bytes};
    OK(mercer_model_write(model.handle, &sink));
    std::pair<std::string, size_t> read{bytes, 0};
    mercer_source source{sizeof source,
                         [](void *user, void *to, int64_t capacity, int64_t *count) -> int32_t {
                             auto &[all, at] = *static_cast<std::pair<std::string, size_t> *>(user);
                             *count = std::min(capacity, static_cast<int64_t>(all.size() - at));
                             std::memcpy(to, all.data() + at, static_cast<size_t>(*count));
                             at += static_cast<size_t>(*count);
                             return 0;
                         },
                         &read};
    Model again;
    OK(mercer_model_read(&again.handle, session.context, &source));
    TEST_ASSERT_EQUAL_UINT32(model.summary().capabilities, again.summary().capabilities);
    for (const char *what : {"scores", "labels", "density"})
        expect_same_bits(session.apply(model, q, what).v, session.apply(again, q, what).v, what);
}

// Rows with a missing value are left out of the fit, and their label is -1.
void test_missing() {
    Session session;
    Matrix x = oracle::clusters(100, 2);
    x(3, 1) = NAN;
    const Model model = session.fit(x, {{"sigma", "0.8"}, {"data.missing", "rows"}}, {}, {}, "ncut");
    const Vector labels = session.apply(model, x, "labels").v, own = model.vector("labels");
    TEST_ASSERT_EQUAL_size_t(99, own.size());
    for (size_t i = 0; i < 100; ++i) {
        const double expected = i == 3 ? -1 : own[i < 3 ? i : i - 1];
        TEST_ASSERT_TRUE(labels[i] == expected);
    }
}

// A fit that ended at its limit of passes must continue from its checkpoint, and its model must be
// bitwise equal to that of an uninterrupted fit. Fits of other methods must refuse this checkpoint.
void test_checkpoint() {
    Session session;
    const TempFolder folder;
    const std::string path = folder.path("walk.checkpoint");
    const Matrix x = oracle::clusters(1500, 3);
    const Settings settings = {{"sigma", "1.2"}, {"solver", "block-krylov"}, {"components", "4"}};
    const Model whole = session.fit(x, settings, {}, {}, "diffusion");
    mercer_run run{};
    run.struct_size = sizeof run;
    run.checkpoint = path.c_str();
    const Model early = session.fit(x, with(settings, {{"solver.max_passes", "3"}}), {}, {}, "diffusion", &run);
    TEST_ASSERT_EQUAL_STRING("walk.checkpoint", folder.names().c_str());
    const Model resumed = session.fit(x, settings, {}, {}, "diffusion", &run);
    expect_same_bits(resumed.tensor("A").v, whole.tensor("A").v, "resumed");
    TEST_ASSERT_EQUAL_STRING("true", info(resumed, "/checkpointed").c_str());
    Held held(x);
    mercer_data *data = session.data(held);
    for (const char *other : {"laplacian-eigenmaps", "kpca"}) {
        mercer_recipe *recipe = session.recipe(other, settings);
        Model none;
        TEST_ASSERT_EQUAL_INT(MERCER_E_VALUE, mercer_model_fit(&none.handle, recipe, data, &run));
        mercer_recipe_destroy(recipe);
    }
    mercer_data_destroy(data);
}

// Checks that a fit takes at most what the forecast calls `most`, and at least a third of `likely`,
// which is rough for small fits.
void test_forecast() {
    Session session;
    const Matrix x = oracle::clusters(1500, 3);
    for (const char *method : {"diffusion", "laplacian-eigenmaps", "ncut"})
        for (const char *storage : {"auto", "f64"}) {
            const Model model = session.fit(x, {{"sigma", "1.2"}, {"gram.storage", storage}}, {}, {}, method);
            for (const char *figure : {"bytes", "kernel_evaluations", "passes", "flops"}) {
                const std::string path = std::string("/forecast/") + figure;
                auto number = [&](const char *name) {
                    return std::strtod(info(model, (path + name).c_str()).c_str(), nullptr);
                };
                TEST_ASSERT_TRUE_MESSAGE(number("/happened") <= number("/most"), path.c_str());
                TEST_ASSERT_TRUE_MESSAGE(number("/happened") >= number("/likely") / 3, path.c_str());
            }
        }
}

// Checks that a fit fails with this code and a message that contains the text.
void refused(Session &session, const Matrix &x, const Settings &settings, const char *method, int32_t code,
             const char *text) {
    mercer_recipe *recipe = session.recipe(method, settings);
    Held held(x);
    mercer_data *data = session.data(held);
    Model none;
    TEST_ASSERT_EQUAL_INT_MESSAGE(code, mercer_model_fit(&none.handle, recipe, data, nullptr), mercer_last_error());
    TEST_ASSERT_NOT_NULL_MESSAGE(std::strstr(mercer_last_error(), text), mercer_last_error());
    mercer_recipe_destroy(recipe);
    mercer_data_destroy(data);
}

void test_refused() {
    Session session;
    const Matrix x = oracle::Numbers(3).matrix(m, 2);
    for (const char *kernel : {"linear", "polynomial", "sigmoid", "cosine", "wave"})
        refused(session, x, {{"kernel", kernel}}, "diffusion", MERCER_E_UNSUPPORTED, kernel);
    refused(session, x, {{"kernel", "gaussian + 0.5 linear"}}, "ncut", MERCER_E_UNSUPPORTED, "'linear'");
    refused(session, x, {{"components", "0"}}, "diffusion", MERCER_E_VALUE, "output.components = 0");
    refused(session, x, {{"clusters", "51"}}, "ncut", MERCER_E_VALUE, "lift.clusters = 51");
    Matrix bare = oracle::Numbers(3).matrix(m, 2, 0, 1);
    bare(7, 0) = bare(7, 1) = 0; // row 7 has no edge
    refused(session, bare, {{"kernel", "histogram-intersection"}}, "diffusion", MERCER_E_DATA, "centre 7");

    mercer_recipe *recipe = nullptr;
    OK(mercer_recipe_create(&recipe, session.context, "diffusion"));
    for (const char *name : {"lift.centred", "output.variance", "report.bootstrap"}) {
        TEST_ASSERT_EQUAL_INT(MERCER_E_NAME, mercer_recipe_set(recipe, name, "0"));
        TEST_ASSERT_NOT_NULL(std::strstr(
            mercer_last_error(),
            std::strcmp(name, "lift.centred") == 0
                ? "applies to the lifts 'weighted', 'extended', 'projected' and 'triangular', and the method 'auto'"
                : "applies to the lifts 'weighted', 'extended' and 'projected', and the method 'auto'"));
    }
    TEST_ASSERT_EQUAL_INT(MERCER_E_NAME, mercer_recipe_set(recipe, "clusters", "3"));
    OK(mercer_recipe_set(recipe, "method", "kpca"));
    TEST_ASSERT_EQUAL_INT(MERCER_E_NAME, mercer_recipe_set(recipe, "alpha", "1"));
    OK(mercer_recipe_set(recipe, "lift", "manifold"));
    OK(mercer_recipe_set(recipe, "alpha", "1"));
    OK(mercer_recipe_set(recipe, "method", "ncut"));
    TEST_ASSERT_EQUAL_INT(MERCER_E_NAME, mercer_recipe_set(recipe, "time", "1"));
    mercer_recipe_destroy(recipe);

    const Model model = session.fit(x, {{"sigma", "0.4"}, {"components", "3"}}, {}, {}, "diffusion");
    Held held(x), out(Matrix(m, 3));
    mercer_data *data = session.data(held);
    const mercer_view view = out.view();
    for (const auto &[what, why] : std::vector<std::pair<const char *, const char *>>{
             {"t2", "walk"}, {"residual", "orthonormal"}, {"gradient", "denominator"}, {"labels", "clusters"}}) {
        mercer_recipe *operation = session.recipe(what, {});
        TEST_ASSERT_EQUAL_INT(MERCER_E_UNSUPPORTED,
                              mercer_model_transform(model.handle, operation, data, &view, 1, nullptr));
        TEST_ASSERT_NOT_NULL_MESSAGE(std::strstr(mercer_last_error(), why), mercer_last_error());
        mercer_recipe_destroy(operation);
    }
    mercer_data_destroy(data);
}

// Nothing is known in advance about a matrix of kernel values. If one of them is negative, the
// error must name its row and column.
void test_negative_values() {
    Session session;
    Matrix k = oracle::gram(oracle::gaussian(0.4), oracle::Numbers(3).matrix(m, 2), oracle::Numbers(3).matrix(m, 2));
    k(4, 9) = k(9, 4) = -0.25;
    Held held(k);
    mercer_view view = held.view();
    mercer_data *data = nullptr;
    OK(mercer_data_from_matrix(&data, session.context, &view, MERCER_KERNEL));
    mercer_recipe *recipe = session.recipe("ncut", {{"kernel", "user"}});
    Model none;
    TEST_ASSERT_EQUAL_INT(MERCER_E_DATA, mercer_model_fit(&none.handle, recipe, data, nullptr));
    TEST_ASSERT_NOT_NULL_MESSAGE(std::strstr(mercer_last_error(), "centres 4 and 9 is -0.25"), mercer_last_error());
    mercer_recipe_destroy(recipe);
    mercer_data_destroy(data);
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_against_naive);
    RUN_TEST(test_golden);
    RUN_TEST(test_quantised);
    RUN_TEST(test_far);
    RUN_TEST(test_iterated);
    RUN_TEST(test_disconnected);
    RUN_TEST(test_least_cut);
    RUN_TEST(test_more_clusters);
    RUN_TEST(test_reduced);
    RUN_TEST(test_matrix_of_distances);
    RUN_TEST(test_small_data);
    RUN_TEST(test_saved);
    RUN_TEST(test_missing);
    RUN_TEST(test_checkpoint);
    RUN_TEST(test_forecast);
    RUN_TEST(test_refused);
    RUN_TEST(test_negative_values);
    return UNITY_END();
}
