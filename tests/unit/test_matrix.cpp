// A matrix of distances or kernel values must give the same models as the rows from which it was
// computed.
#include "session.h"
#include "temp_files.h"

#include <limits>

namespace {

constexpr int64_t n = 350, q = 40, d = 4; // n takes two panels of 256 rows
const double sigma = 1.2;

struct Rows {
    Matrix x = oracle::Numbers(6).matrix(n, d), y = oracle::Numbers(7).matrix(q, d);
    oracle::Pair distance = [](const double *a, const double *b, int64_t c) {
        return std::sqrt(oracle::sqdist(a, b, c));
    };
};

class Square {
  public:
    Square(Session &session, const Matrix &values, int32_t kind, Layout layout = {}) : held_(values, layout) {
        const mercer_view view = held_.view();
        OK(mercer_data_from_matrix(&data, session.context, &view, kind));
    }
    ~Square() { mercer_data_destroy(data); }
    Square(const Square &) = delete;
    mercer_data *data = nullptr;

  private:
    Held held_;
};

Matrix columns_of(const Matrix &all, const Vector &numbers) {
    Matrix out(all.rows, static_cast<int64_t>(numbers.size()));
    for (int64_t i = 0; i < all.rows; ++i)
        for (int64_t j = 0; j < out.cols; ++j)
            out(i, j) = all(i, static_cast<int64_t>(numbers[static_cast<size_t>(j)]));
    return out;
}

Settings settings_of(const char *method, bool distances) {
    Settings out = {{"components", "4"}, {"kernel", distances ? "gaussian" : "user"}};
    if (distances) out.push_back({"sigma", std::to_string(sigma)});
    if (std::strcmp(method, "nystrom") == 0 || std::strcmp(method, "gkpca") == 0) out.push_back({"m", "60"});
    if (std::strcmp(method, "subsampled") == 0) out.push_back({"m", "300"});
    return out;
}

// Compares models of matrices with models of the rows themselves, for methods x kinds x layouts,
// with and without weights. Queries are given by their values with all rows, and with the centres
// only.
void test_methods() {
    Session session;
    Rows rows;
    rows.x = session.greedy_first(rows.x);
    const Matrix distances = oracle::gram(rows.distance, rows.x, rows.x),
                 far = oracle::gram(rows.distance, rows.y, rows.x),
                 kernel = oracle::gram(oracle::gaussian(sigma), rows.x, rows.x),
                 near = oracle::gram(oracle::gaussian(sigma), rows.y, rows.x);
    Vector weights;
    for (int64_t i = 0; i < n; ++i) weights.push_back(static_cast<double>(1 + i % 3));
    Matrix column(n, 1);
    column.v = weights;
    Held held(column);
    const mercer_view weight_view = held.view();
    for (const char *method : {"kpca", "nystrom", "gkpca", "subsampled", "auto"})
        for (bool weighted : {false, true})
            for (bool by_columns : {false, true})
                for (int32_t kind : {MERCER_DISTANCE, MERCER_KERNEL}) {
                    const bool far_apart = kind == MERCER_DISTANCE;
                    Square square(session, far_apart ? distances : kernel, kind, {false, by_columns});
                    if (weighted) OK(mercer_data_attach(square.data, "weights", &weight_view));
                    const Model model = session.fit(square.data, settings_of(method, far_apart), method);
                    const Model plain =
                        session.fit(rows.x, settings_of(method, true), weighted ? weights : Vector{}, {}, method);
                    // Both fits do the same arithmetic on values that differ by rounding. The gaps
                    // between the eigenvalues are above 1e-3 of the first, so that errors of 1e-15
                    // sqrt(n) in the values become at most 1e-10 in a score.
                    expect_near(model.vector("lambda"), plain.vector("lambda"), 1e-12, method);
                    const Matrix right = session.apply(plain, rows.y);
                    const Matrix &all = far_apart ? far : near;
                    Square every(session, all, kind, {false, by_columns});
                    expect_near(session.apply(model, every.data).v, right.v, 1e-9, method);
                    Square centres(session, columns_of(all, model.vector("indices")), kind, {false, by_columns});
                    expect_same_bits(session.apply(model, centres.data).v, session.apply(model, every.data).v, method);
                    expect_near(session.apply(model, every.data, "density").v,
                                session.apply(plain, rows.y, "density").v, 1e-9, method);
                    if (far_apart)
                        expect_near(session.apply(model, every.data, "residual").v,
                                    session.apply(plain, rows.y, "residual").v, 1e-9, method);
                }
}

// Checks that the user's own landmarks are used, in the order given.
void test_landmarks() {
    Session session;
    const Rows rows;
    Square square(session, oracle::gram(oracle::gaussian(sigma), rows.x, rows.x), MERCER_KERNEL);
    std::vector<int64_t> landmarks = {200, 3, 150, 77, 349, 0};
    const mercer_view view{sizeof view, MERCER_I64, 0, 6, 1, 1, 1, landmarks.data()};
    OK(mercer_data_attach(square.data, "landmarks", &view));
    const Model model =
        session.fit(square.data, {{"kernel", "user"}, {"reducer", "given"}, {"components", "3"}}, "nystrom");
    TEST_ASSERT_TRUE((model.vector("indices") == Vector{200, 3, 150, 77, 349, 0}));
}

// A matrix in f32 must give the eigenvalues of the f64 matrix, up to the rounding of its entries.
void test_f32() {
    Session session;
    const Rows rows;
    const Matrix kernel = oracle::gram(oracle::gaussian(sigma), rows.x, rows.x);
    Square single(session, kernel, MERCER_KERNEL, {true, false}), wide(session, kernel, MERCER_KERNEL);
    const Settings settings = settings_of("kpca", false);
    expect_near(session.fit(single.data, settings).vector("lambda"), session.fit(wide.data, settings).vector("lambda"),
                1e-6, "rounded entries");
}

// For an indefinite matrix, kpca must report MERCER_INDEFINITE, and methods that need a positive
// semi-definite kernel must fail.
void test_indefinite() {
    Session session;
    Matrix kernel =
        oracle::gram(oracle::gaussian(sigma), oracle::Numbers(1).matrix(80, 3), oracle::Numbers(1).matrix(80, 3));
    for (int64_t i = 0; i < 80; ++i) kernel(i, i) -= 0.5;
    Square square(session, kernel, MERCER_KERNEL);
    const Model model = session.fit(square.data, {{"kernel", "user"}, {"components", "3"}});
    TEST_ASSERT_TRUE(model.summary().outcome & MERCER_INDEFINITE);
    TEST_ASSERT_FALSE(model.summary().capabilities & MERCER_CAN_ORTHONORMAL);
    mercer_recipe *recipe = session.recipe("gkpca", {{"kernel", "user"}, {"m", "60"}});
    Model none;
    TEST_ASSERT_EQUAL_INT(MERCER_E_NUMERICAL, mercer_model_fit(&none.handle, recipe, square.data, nullptr));
    mercer_recipe_destroy(recipe);
}

void fails(Session &session, const Matrix &values, int32_t kind, int32_t code, const char *part) {
    Square square(session, values, kind);
    mercer_recipe *recipe = session.recipe("kpca", {{"kernel", kind == MERCER_KERNEL ? "user" : "gaussian"}});
    Model model;
    const int32_t status = mercer_model_fit(&model.handle, recipe, square.data, nullptr);
    mercer_recipe_destroy(recipe);
    TEST_ASSERT_EQUAL_INT_MESSAGE(code, status, mercer_last_error());
    TEST_ASSERT_TRUE_MESSAGE(std::strstr(mercer_last_error(), part), mercer_last_error());
}

void test_refused() {
    Session session;
    const Rows rows;
    const Matrix distances = oracle::gram(rows.distance, rows.x, rows.x);
    auto with = [&](int64_t i, int64_t j, double value) {
        Matrix out = distances;
        out(i, j) = value;
        return out;
    };
    fails(session, with(70, 200, distances(70, 200) + 1e-9), MERCER_DISTANCE, MERCER_E_DATA,
          "the matrix is not symmetric: row 70, column 200 is");
    // The error must name row 65, the first one, although row 70 differs in an earlier block of
    // columns.
    Matrix twice = with(70, 200, 9);
    twice(65, 300) = 9;
    fails(session, twice, MERCER_DISTANCE, MERCER_E_DATA,
          "not symmetric: row 65, column 300 is 9, row 300, column 65 is");
    fails(session, with(200, 70, 0), MERCER_DISTANCE, MERCER_E_DATA, "not symmetric: row 70, column 200 is");
    fails(session, with(5, 5, 1e-3), MERCER_DISTANCE, MERCER_E_DATA, "the distance of row 5 to itself, must be 0");
    fails(session, with(340, 2, -1), MERCER_DISTANCE, MERCER_E_DATA,
          "the matrix contains -1 for the pair (340, 2), must be finite and >= 0");
    fails(session, with(1, 2, NAN), MERCER_KERNEL, MERCER_E_DATA, "nan for the pair (1, 2), must be finite");
    fails(session, oracle::gram(rows.distance, rows.y, rows.x), MERCER_DISTANCE, MERCER_E_SHAPE,
          "the matrix is 40 x 350, must be square");
    Matrix rounded = distances;
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < i; ++j) rounded(i, j) *= 1 + 0x1p-51;
    Square square(session, rounded, MERCER_DISTANCE);
    const Model model = session.fit(square.data, settings_of("nystrom", true), "nystrom"); // rounding is accepted
    Square narrow(session, Matrix(3, 7), MERCER_DISTANCE);
    double out[12];
    const mercer_view view{sizeof view, MERCER_F64, 0, 3, 4, 4, 1, out};
    TEST_ASSERT_EQUAL_INT(MERCER_E_SHAPE,
                          mercer_model_transform(model.handle, nullptr, narrow.data, &view, 1, nullptr));
    TEST_ASSERT_NOT_NULL(std::strstr(mercer_last_error(), "7 columns, must have 60 (one per centre) or 350"));
    mercer_data *none = nullptr;
    TEST_ASSERT_EQUAL_INT(MERCER_E_ARGUMENT, mercer_data_from_matrix(&none, session.context, &view, 3));
}

// A matrix from a file must give bitwise the same eigenvalues as the matrix in memory. It counts in
// the budget while it is read, and has no columns.
void test_files() {
    Session session;
    TempFolder folder;
    const Rows rows;
    const Matrix distances = oracle::gram(rows.distance, rows.x, rows.x);
    std::string text;
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) text += mercer::format("%.17g%c", distances(i, j), j + 1 < n ? ',' : '\n');
    const std::string path = folder.write("d.csv", text);
    mercer_file file{sizeof file, 0, 0, 0, MERCER_DISTANCE, nullptr, nullptr, nullptr, nullptr};
    mercer_data *data = nullptr;
    OK(mercer_data_from_file(&data, session.context, path.c_str(), &file));
    mercer_data_facts facts{};
    facts.struct_size = sizeof facts;
    OK(mercer_data_inspect(data, &facts));
    TEST_ASSERT_TRUE(facts.rows == n && facts.cols == 0 && facts.kind == MERCER_OBJECTS);
    TEST_ASSERT_EQUAL_STRING("{\"columns\":[],\"labels\":[]}", facts.names);
    const Square square(session, distances, MERCER_DISTANCE);
    const Settings settings = settings_of("kpca", true);
    expect_near(session.fit(data, settings).vector("lambda"), session.fit(square.data, settings).vector("lambda"), 0,
                "a matrix from a file");
    mercer_data_destroy(data);

    std::string npy = "{'descr': '<f8', 'fortran_order': False, 'shape': (350, 350), }";
    npy.resize(118, ' '), npy[117] = '\n';
    npy = std::string("\x93NUMPY\x01\x00\x76\x00", 10) + npy;
    npy.append(reinterpret_cast<const char *>(distances.v.data()), distances.v.size() * sizeof(double));
    const std::string array = folder.write("d.npy", npy);
    mercer_run run{};
    run.struct_size = sizeof run;
    for (const int64_t beside : {int64_t{-1}, int64_t{1} << 21}) { // 1 byte of memory too few, then enough
        run.memory = n * n * 8 + beside;
        OK(mercer_context_set_run(session.context, &run));
        const int32_t status = mercer_data_from_file(&data, session.context, array.c_str(), &file);
        TEST_ASSERT_EQUAL_INT(beside < 0 ? MERCER_E_BUDGET : MERCER_OK, status);
        mercer_data_destroy(data);
    }
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_methods);
    RUN_TEST(test_landmarks);
    RUN_TEST(test_f32);
    RUN_TEST(test_indefinite);
    RUN_TEST(test_refused);
    RUN_TEST(test_files);
    return UNITY_END();
}
