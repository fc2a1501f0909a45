// Checks that every way to hand over data gives the same model as a plain matrix of the same rows.
#include "session.h"
#include "temp_files.h"
#include "tolerances.h"

namespace {

constexpr int64_t n = 300, d = 7;
const Settings base = {{"kernel", "gaussian"}, {"sigma", "1.5"}, {"components", "4"}};

// Half of the entries are 0, one column and two rows are all 0, and all numbers are exact in f32.
Matrix points(int64_t rows = n) {
    oracle::Numbers numbers(17);
    Matrix x(rows, d);
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t k = 0; k < d; ++k)
            x(i, k) = numbers.uniform() < 0.5 || k == 2 || i == 5 || i == 7
                          ? 0
                          : static_cast<double>(static_cast<float>(numbers()));
    return x;
}

void same(Session &session, mercer_data *data, const Matrix &x, double allowed, const char *what,
          Settings settings = base, Layout layout = {}) {
    Model given = session.fit(data, settings), plain = session.fit(x, settings, {}, layout);
    expect_near(given.vector("lambda"), plain.vector("lambda"), allowed, what);
    Matrix q = points(20);
    expect_near(session.apply(given, q, "scores", layout).v, session.apply(plain, q, "scores", layout).v, allowed * 100,
                what);
    mercer_data_facts facts{};
    facts.struct_size = sizeof facts;
    OK(mercer_data_inspect(data, &facts));
    TEST_ASSERT_TRUE((facts.rows == x.rows || facts.rows == -1) && facts.cols == d);
    TEST_ASSERT_EQUAL_INT(layout.f32 ? MERCER_F32 : MERCER_F64, facts.dtype);
    mercer_data_destroy(data);
}

// ---- chunks

struct Feed {
    Matrix x;
    int64_t most, asked_from_0 = 0, released = 0, fail_at = -1;
    bool f32;
};
int32_t next(void *user, int64_t first, int64_t capacity, void *buffer, int64_t *rows) {
    Feed &feed = *static_cast<Feed *>(user);
    feed.asked_from_0 += first == 0;
    if (feed.fail_at >= 0 && first >= feed.fail_at) return mercer_set_error("the tape broke"), 7;
    *rows = std::min({capacity, feed.most, feed.x.rows - first});
    for (int64_t k = 0; k < *rows * d; ++k) {
        double value = feed.x.v[static_cast<size_t>(first * d + k)];
        if (feed.f32)
            static_cast<float *>(buffer)[k] = static_cast<float>(value);
        else
            static_cast<double *>(buffer)[k] = value;
    }
    return 0;
}
void release(void *user) { ++static_cast<Feed *>(user)->released; }

mercer_data *chunked(Session &session, Feed &feed, int64_t rows, int32_t flags) {
    mercer_chunks chunks{sizeof chunks, feed.f32 ? MERCER_F32 : MERCER_F64, flags, rows, d, next, &feed, release};
    mercer_data *data = nullptr;
    OK(mercer_data_from_chunks(&data, session.context, &chunks));
    return data;
}

void test_chunks() {
    Session session;
    for (bool f32 : {false, true})
        for (int64_t rows : {int64_t{-1}, n})
            for (int64_t most : {int64_t{1}, int64_t{64}, n, 2 * n}) {
                Feed feed{points(), most, 0, 0, -1, f32};
                same(session, chunked(session, feed, rows, 0), feed.x, 0, "chunks", base, {f32, false});
                TEST_ASSERT_TRUE(feed.asked_from_0 == 1 && feed.released == 1);
            }
    Feed large{oracle::Numbers(2).matrix(50000, d), 7000, 0, 0, -1, false}; // more than one buffer of 1 MiB
    Settings sample = {{"kernel", "linear"}, {"components", "4"}, {"reducer", "uniform"}, {"m", "100"}};
    same(session, chunked(session, large, -1, 0), large.x, 0, "many chunks", sample);
}

void test_chunks_again() {
    Session session;
    Feed feed{points(), 100, 0, 0, -1, false};
    mercer_data *data = chunked(session, feed, -1, MERCER_REWINDABLE);
    Model a = session.fit(data, base), b = session.fit(data, base);
    expect_same_bits(a.vector("A"), b.vector("A"), "rewound");
    TEST_ASSERT_EQUAL_INT64(2, feed.asked_from_0);
    mercer_data_destroy(data);
    data = chunked(session, feed, -1, 0);
    Model c = session.fit(data, base), none;
    mercer_recipe *recipe = session.recipe("kpca", base);
    // A second pass over chunks that are not rewindable must be refused.
    TEST_ASSERT_EQUAL_INT(MERCER_E_DATA, mercer_model_fit(&none.handle, recipe, data, nullptr));
    mercer_data_destroy(data);
    feed.fail_at = 150;
    data = chunked(session, feed, -1, 0);
    TEST_ASSERT_EQUAL_INT(MERCER_E_CALLBACK, mercer_model_fit(&none.handle, recipe, data, nullptr));
    TEST_ASSERT_EQUAL_STRING("the tape broke", mercer_last_error());
    mercer_data_destroy(data);
    feed.fail_at = -1;
    data = chunked(session, feed, n + 1, 0); // announces one row more than there are
    TEST_ASSERT_EQUAL_INT(MERCER_E_DATA, mercer_model_fit(&none.handle, recipe, data, nullptr));
    mercer_data_destroy(data);
    mercer_recipe_destroy(recipe);
}

// ---- sparse

template <class Index, class Value>
struct Compressed {
    std::vector<Index> offsets, indices;
    std::vector<Value> values;
    mercer_sparse sparse{};
    Compressed(const Matrix &x, bool csr, Index base) {
        const int64_t majors = csr ? x.rows : x.cols, minors = csr ? x.cols : x.rows;
        for (int64_t i = 0; i < majors; ++i) {
            offsets.push_back(static_cast<Index>(values.size()) + base);
            for (int64_t at = minors; at-- > 0;) { // descending, because any order is allowed
                double value = csr ? x(i, at) : x(at, i);
                if (value != 0)
                    indices.push_back(static_cast<Index>(at) + base), values.push_back(static_cast<Value>(value));
            }
        }
        offsets.push_back(static_cast<Index>(values.size()) + base);
        sparse = {sizeof sparse,
                  csr ? MERCER_CSR : MERCER_CSC,
                  sizeof(Value) == 4 ? MERCER_F32 : MERCER_F64,
                  sizeof(Index) == 4 ? MERCER_I32 : MERCER_I64,
                  static_cast<int32_t>(base),
                  x.rows,
                  x.cols,
                  static_cast<int64_t>(values.size()),
                  offsets.data(),
                  indices.data(),
                  values.data()};
    }
    mercer_data *data(Session &session) {
        mercer_data *out = nullptr;
        OK(mercer_data_from_sparse(&out, session.context, &sparse));
        return out;
    }
};

// Sparse rows are not shifted to the mean, and their sums have another order. The models therefore
// differ by a multiple of the error bound of squared distances.
const double sparse_allowed = 300 * tolerance::kernel(tolerance::sqdist(d, 2 * d, tolerance::u64), 1, tolerance::u64);
const double sparse_allowed_f32 =
    100 * tolerance::kernel(tolerance::sqdist(d, 2 * d, tolerance::u32), 1, tolerance::u32);

void test_sparse() {
    Session session;
    Matrix x = points();
    for (bool csr : {true, false})
        for (int base_index : {0, 1}) {
            same(session, Compressed<int32_t, double>(x, csr, base_index).data(session), x, sparse_allowed, "i32");
            same(session, Compressed<int64_t, double>(x, csr, base_index).data(session), x, sparse_allowed, "i64");
            same(session, Compressed<int64_t, float>(x, csr, base_index).data(session), x, sparse_allowed_f32, "f32",
                 base, {true, false});
        }
}

void test_sparse_kernels_and_reducers() {
    Session session;
    Matrix x = points();
    for (const Settings &settings :
         std::vector<Settings>{{{"kernel", "linear"}},
                               {{"kernel", "cosine"}},
                               // Only one of the two leaves scales rows to length 1, so sparse rows
                               // are read as dense ones.
                               {{"kernel", "cosine + 0.5 linear"}},
                               {{"kernel", "cosine[0,2-4] * polynomial"}},
                               {{"kernel", "matern"}, {"nu", "2.5"}, {"sigma", "1.5"}},
                               {{"kernel", "gaussian"}}, // the bandwidth is the median of distances
                               {{"kernel", "gaussian"}, {"bandwidth", "scale"}},
                               {{"kernel", "laplacian"}, {"norm", "l1"}, {"sigma", "2"}},
                               {{"kernel", "gaussian[0,3-4] + 0.5 linear"}, {"kernel.1.sigma", "1"}},
                               {{"sigma", "1.5"}, {"reducer", "uniform"}, {"m", "50"}},
                               {{"sigma", "1.5"}, {"reducer", "greedy"}, {"m", "30"}}}) {
        Settings all = settings;
        all.emplace_back("components", "4");
        same(session, Compressed<int32_t, double>(x, true, 0).data(session), x, sparse_allowed,
             settings.back().second.c_str(), all);
    }
}

// Applies a dense and a sparse model to sparse queries; same() applies sparse models to dense ones.
void test_sparse_queries() {
    Session session;
    Matrix x = points(), q = points(20);
    Compressed<int32_t, double> sx(x, true, 0), sq(q, false, 1);
    mercer_data *dx = sx.data(session), *dq = sq.data(session);
    Model dense = session.fit(x, base), sparse = session.fit(dx, base);
    for (const char *what : {"scores", "density", "residual"}) {
        Vector exact = session.apply(dense, q, what).v;
        expect_near(session.apply(dense, dq, what).v, exact, 100 * sparse_allowed, what);
        expect_near(session.apply(sparse, dq, what).v, exact, 100 * sparse_allowed, what);
    }
    TEST_ASSERT_TRUE(sparse.has("C.values") && sparse.has("C.columns") && sparse.has("C.offsets") && !sparse.has("C"));
    mercer_data_destroy(dx);
    mercer_data_destroy(dq);
}

void test_sparse_refused() {
    Session session;
    Matrix x = points(20);
    struct {
        const char *words;
        void (*damage)(Compressed<int32_t, double> &);
    } cases[] = {
        {"column 3 twice", [](auto &c) { c.indices[0] = c.indices[1] = 3; }},
        {"refers to column 7", [](auto &c) { c.indices[0] = 7; }},
        {"refers to column -1", [](auto &c) { c.indices[0] = -1; }},
        {"must ascend", [](auto &c) { c.offsets[1] = c.offsets[3] + 1; }},
        {"first offset", [](auto &c) { c.offsets[0] = 1; }},
        {"last offset", [](auto &c) { c.offsets.back() -= 1; }},
        {"is nan, must be finite", [](auto &c) { c.values[0] = NAN; }},
    };
    for (auto &c : cases) {
        Compressed<int32_t, double> sparse(x, true, 0);
        c.damage(sparse);
        mercer_data *data = nullptr;
        TEST_ASSERT_EQUAL_INT_MESSAGE(MERCER_E_DATA, mercer_data_from_sparse(&data, session.context, &sparse.sparse),
                                      c.words);
        TEST_ASSERT_NOT_NULL_MESSAGE(std::strstr(mercer_last_error(), c.words), mercer_last_error());
        TEST_ASSERT_NULL(data);
    }
}

// ---- files and views

void test_npy() {
    Session session;
    TempFolder folder;
    Matrix x = points();
    for (bool fortran : {false, true}) {
        std::string header =
            std::string("{'descr': '<f8', 'fortran_order': ") + (fortran ? "True" : "False") + ", 'shape': (300, 7), }";
        header.resize(118, ' '), header[117] = '\n';
        std::string file = std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header;
        Matrix stored = fortran ? oracle::transposed(x) : x;
        file.append(reinterpret_cast<const char *>(stored.v.data()), stored.v.size() * sizeof(double));
        mercer_data *data = nullptr;
        OK(mercer_data_from_file(&data, session.context, folder.write("x.npy", file).c_str(), nullptr));
        same(session, data, x, 0, "npy");
    }
}

// A column-major file of 7.3 MiB is read by windows, so that a fit needs no more than 7 MiB (for
// row-major files see tests/boundary/large_files.c). Columns are recomputed in f32 with sums in
// another order, hence the tolerance 1e-5.
void test_npy_larger_than_the_budget() {
    constexpr int64_t rows = 30000, cols = 64;
    Session session;
    TempFolder folder;
    const Matrix x = oracle::clusters(rows, cols);
    mercer_run run = with_threads(1);
    run.memory = int64_t{7} << 20;
    std::string file = "{'descr': '<f4', 'fortran_order': True, 'shape': (30000, 64), }";
    file.resize(118, ' '), file[117] = '\n';
    file = std::string("\x93NUMPY\x01\x00\x76\x00", 10) + file;
    for (int64_t k = 0; k < rows * cols; ++k) {
        const float value = static_cast<float>(x(k % rows, k / rows));
        file.append(reinterpret_cast<const char *>(&value), sizeof value);
    }
    mercer_data *data = nullptr;
    OK(mercer_data_from_file(&data, session.context, folder.write("x.npy", file).c_str(), nullptr));
    const Settings settings = {{"sigma", "12"}, {"components", "4"}, {"m", "40"}, {"certificates", "none"}};
    const Model model = session.fit(data, settings, "nystrom", &run);
    expect_near(model.vector("lambda"), session.fit(x, settings, {}, {true, false}, "nystrom").vector("lambda"), 1e-5,
                "windows");
    mercer_data_destroy(data);
}

mercer_data_facts inspect(mercer_data *data) {
    mercer_data_facts facts{};
    facts.struct_size = sizeof facts;
    OK(mercer_data_inspect(data, &facts));
    return facts;
}

// The data must return the names of columns and labels, and the model the names of columns. Reading
// CSV must respect the budget and the cancel flag of the context.
void test_names_and_labels() {
    Session session;
    TempFolder folder;
    std::string text = "kind,a,\"b\"\"c\"\n";
    for (int i = 0; i < 30; ++i)
        text +=
            std::string(i % 3 ? "x" : "\xc3\xa4") + "," + std::to_string(i) + "," + std::to_string(i * i % 7) + "\n";
    const std::string path = folder.write("x.csv", text);
    mercer_file file{sizeof file, 0, 0, 0, 0, "kind", nullptr, nullptr, nullptr};
    mercer_data *data = nullptr;
    OK(mercer_data_from_file(&data, session.context, path.c_str(), &file));
    mercer_data_facts facts = inspect(data);
    TEST_ASSERT_EQUAL_STRING("{\"columns\":[\"a\",\"b\\\"c\"],\"labels\":[\"\xc3\xa4\",\"x\"]}", facts.names);
    TEST_ASSERT_TRUE(facts.rows == 30 && facts.cols == 2 && facts.dtype == MERCER_F64 && facts.kind == MERCER_DENSE);
    const Matrix labels = to_matrix(facts.labels);
    for (int64_t i = 0; i < 30; ++i) TEST_ASSERT_TRUE(labels(i, 0) == (i % 3 != 0));
    TEST_ASSERT_NULL(facts.ids);
    const Model model = session.fit(data, {{"components", "2"}});
    const char *names = nullptr;
    OK(mercer_model_info(model.handle, "/columns/1", &names));
    TEST_ASSERT_EQUAL_STRING("b\"c", names);

    std::vector<int64_t> own(30, 7); // labels attached as an array
    const mercer_view view{sizeof view, MERCER_I64, 0, 30, 1, 1, 1, own.data()};
    OK(mercer_data_attach(data, "labels", &view));
    facts = inspect(data);
    TEST_ASSERT_TRUE(facts.labels.data == own.data());
    TEST_ASSERT_EQUAL_STRING("{\"columns\":[\"a\",\"b\\\"c\"],\"labels\":[]}", facts.names);
    mercer_data_destroy(data);
    Held held(Matrix(30, 2));
    data = session.data(held);
    facts = inspect(data);
    TEST_ASSERT_TRUE(!facts.labels.data && std::strcmp(facts.names, "{\"columns\":[],\"labels\":[]}") == 0);
    OK(mercer_data_attach(data, "labels", &view));
    TEST_ASSERT_EQUAL_INT64(30, inspect(data).labels.rows);
    mercer_data_destroy(data);

    mercer_run run{};
    run.struct_size = sizeof run;
    run.memory = 1 << 16;
    OK(mercer_context_set_run(session.context, &run));
    TEST_ASSERT_EQUAL_INT(MERCER_E_BUDGET, mercer_data_from_file(&data, session.context, path.c_str(), nullptr));
    const int32_t stop = 1;
    run.memory = 0, run.cancel = &stop;
    OK(mercer_context_set_run(session.context, &run));
    TEST_ASSERT_EQUAL_INT(MERCER_E_CANCELLED, mercer_data_from_file(&data, session.context, path.c_str(), nullptr));
    TEST_ASSERT_NULL(data);
}

// The error must name the first row and column that are not finite, for a matrix and for chunks
// alike.
void test_not_finite() {
    Session session;
    Matrix x = points();
    x(257, 3) = static_cast<double>(INFINITY);
    x(280, 1) = static_cast<double>(NAN);
    for (bool column_major : {false, true}) {
        Held held(x, {false, column_major});
        mercer_data *data = session.data(held);
        Feed feed{x, 100, 0, 0, -1, false};
        mercer_data *fed = chunked(session, feed, -1, 0);
        for (mercer_data *each : {data, fed}) {
            Model model;
            mercer_recipe *recipe = session.recipe("kpca", base);
            TEST_ASSERT_EQUAL_INT(MERCER_E_DATA, mercer_model_fit(&model.handle, recipe, each, nullptr));
            TEST_ASSERT_NOT_NULL_MESSAGE(std::strstr(mercer_last_error(), "row 257, column 3 is inf"),
                                         mercer_last_error());
            mercer_recipe_destroy(recipe);
            mercer_data_destroy(each);
        }
    }
}

// Landmarks may be given as row numbers or as points.
void test_landmarks() {
    Session session;
    Matrix x = points(), chosen(40, d), q = points(20);
    std::vector<int64_t> index;
    for (int64_t i = 0; i < 40; ++i) {
        index.push_back((i * 7 + 3) % n);
        std::copy_n(x.row(index.back()), d, &chosen(i, 0));
    }
    Settings given = base;
    given.emplace_back("reducer", "given");
    Held rows(x), points_held(chosen, {false, true});
    mercer_view by_number{sizeof by_number, MERCER_I64, 0, 40, 1, 1, 1, index.data()}, by_point = points_held.view();
    Model plain = session.fit(chosen, base);
    for (const mercer_view *view : {&by_number, &by_point}) {
        mercer_data *data = session.data(rows);
        OK(mercer_data_attach(data, "landmarks", view));
        Model model = session.fit(data, given);
        TEST_ASSERT_TRUE(model.summary().m == 40 && model.summary().n == n);
        // The two models shift rows by different means, so they are equal only up to rounding.
        expect_near(model.vector("lambda"), plain.vector("lambda"), sparse_allowed, "landmarks");
        expect_near(session.apply(model, q).v, session.apply(plain, q).v, 100 * sparse_allowed, "landmarks");
        mercer_data_destroy(data);
    }
}

// Checks that a column of ids is kept as text, byte for byte: leading zeros, blanks within quotes,
// repeated texts and an empty text.
void test_ids() {
    Session session;
    TempFolder folder;
    const std::string path = folder.write("x.csv", "a,name,b\n1,007,2\n3,\" \"\"x\"\", \xc3\xa4 \",4\n5,,6\n7,007,8\n");
    mercer_file file{};
    file.struct_size = sizeof file, file.ids = "name";
    mercer_data *data = nullptr;
    OK(mercer_data_from_file(&data, session.context, path.c_str(), &file));
    const mercer_data_facts facts = inspect(data);
    TEST_ASSERT_EQUAL_STRING("{\"columns\":[\"a\",\"b\"],\"labels\":[],\"ids\":\"name\"}", facts.names);
    const char *at = facts.ids;
    for (const char *id : {"007", " \"x\", \xc3\xa4 ", "", "007"}) {
        TEST_ASSERT_EQUAL_STRING(id, at);
        at += std::strlen(at) + 1;
    }
    mercer_data_destroy(data);
    file.ids = "nmae";
    TEST_ASSERT_EQUAL_INT(MERCER_E_NAME, mercer_data_from_file(&data, session.context, path.c_str(), &file));
    TEST_ASSERT_NOT_NULL(std::strstr(mercer_last_error(), "did you mean 'name'"));
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_chunks);
    RUN_TEST(test_chunks_again);
    RUN_TEST(test_sparse);
    RUN_TEST(test_sparse_kernels_and_reducers);
    RUN_TEST(test_sparse_queries);
    RUN_TEST(test_sparse_refused);
    RUN_TEST(test_npy);
    RUN_TEST(test_npy_larger_than_the_budget);
    RUN_TEST(test_names_and_labels);
    RUN_TEST(test_ids);
    RUN_TEST(test_not_finite);
    RUN_TEST(test_landmarks);
    return UNITY_END();
}
