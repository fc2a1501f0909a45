// Fits must ignore rows with a missing value: results must be bitwise equal to those of the data
// without these rows, for each source of rows, method and output. Columns with a length must act
// as if they had been divided by it.
#include "session.h"
#include "temp_files.h"

#include <limits>

namespace {

constexpr int64_t n = 400, d = 5;
const double nan = std::numeric_limits<double>::quiet_NaN();

bool is_complete(int64_t row) { return row % 11 != 3 && row != 300 && row != 301 && row != n - 1; }

Matrix points(int64_t rows = n, uint64_t seed = 4) { // f32 holds the values exactly
    Matrix x = oracle::Numbers(seed).matrix(rows, d);
    for (double &value : x.v) value = static_cast<double>(static_cast<float>(value));
    return x;
}
Matrix with_gaps(Matrix x) {
    for (int64_t i = 0; i < x.rows; ++i)
        if (!is_complete(i)) x(i, i % d) = nan;
    return x;
}
Matrix complete(const Matrix &x) {
    Matrix out(0, x.cols);
    for (int64_t i = 0; i < x.rows; ++i)
        if (is_complete(i)) out.v.insert(out.v.end(), x.row(i), x.row(i) + x.cols), ++out.rows;
    return out;
}

Settings settings_of(const std::string &reducer = "") {
    Settings out = {{"kernel", "gaussian"}, {"sigma", "1.5"}, {"components", "3"}, {"data.scale", "standard"}};
    if (!reducer.empty()) out.push_back({"reducer", reducer});
    return out;
}

// ---- sources of rows

std::string npy_file(const Matrix &x, bool f32, bool by_columns) {
    std::string header = std::string("{'descr': '<f") + (f32 ? "4" : "8") +
                         "', 'fortran_order': " + (by_columns ? "True" : "False") + ", 'shape': (" +
                         std::to_string(x.rows) + ", " + std::to_string(x.cols) + ")}";
    header.resize(117, ' ');
    std::string file = std::string("\x93NUMPY\1\0\x76\0", 10) + header + "\n";
    for (int64_t k = 0; k < x.rows * x.cols; ++k) {
        const double value = by_columns ? x(k % x.rows, k / x.rows) : x.v[static_cast<size_t>(k)];
        const float single = static_cast<float>(value);
        file.append(f32 ? reinterpret_cast<const char *>(&single) : reinterpret_cast<const char *>(&value),
                    f32 ? 4 : 8);
    }
    return file;
}
std::string csv_file(const Matrix &x) {
    std::string text;
    for (int64_t i = 0; i < x.rows; ++i)
        for (int64_t j = 0; j < d; ++j) {
            char number[32];
            std::snprintf(number, sizeof number, "%.17g", x(i, j));
            text += (std::isnan(x(i, j)) ? "NA" : number) + std::string(j == d - 1 ? "\n" : ",");
        }
    return text;
}

struct Feed {
    Matrix x;
};
int32_t next(void *user, int64_t first, int64_t capacity, void *buffer, int64_t *rows) {
    const Matrix &x = static_cast<Feed *>(user)->x;
    *rows = std::min(capacity, x.rows - first);
    std::copy_n(x.v.data() + first * d, *rows * d, static_cast<double *>(buffer));
    return 0;
}

// Data from one of the sources. `held` and `feed` keep the memory that some sources borrow.
struct Brought {
    std::unique_ptr<Held> held;
    std::unique_ptr<Feed> feed;
    mercer_data *data = nullptr;
    ~Brought() { mercer_data_destroy(data); }
};
void bring(Session &session, const TempFolder &folder, const std::string &how, const Matrix &x, Brought &out) {
    if (how == "view" || how == "columns") {
        out.held = std::make_unique<Held>(x, Layout{false, how == "columns"});
        out.data = session.data(*out.held);
    } else if (how == "chunks") {
        out.feed = std::make_unique<Feed>(Feed{x});
        mercer_chunks chunks{sizeof chunks, MERCER_F64, MERCER_REWINDABLE, -1, d, next, out.feed.get(), nullptr};
        OK(mercer_data_from_chunks(&out.data, session.context, &chunks));
    } else {
        const std::string path = how == "csv" ? folder.write("x.csv", csv_file(x))
                                              : folder.write("x.npy", npy_file(x, how == "f4", how == "f8 columns"));
        OK(mercer_data_from_file(&out.data, session.context, path.c_str(), nullptr));
    }
}
const char *const sources[] = {"view", "columns", "chunks", "csv", "f4", "f8 columns"};

void attach(mercer_data *data, const char *what, Held &column) {
    const mercer_view view = column.view();
    OK(mercer_data_attach(data, what, &view));
}
void attach(mercer_data *data, std::vector<int64_t> &numbers) {
    const mercer_view view{sizeof view, MERCER_I64, 0, static_cast<int64_t>(numbers.size()), 1, 1, 1, numbers.data()};
    OK(mercer_data_attach(data, "landmarks", &view));
}

void same_model(const Model &a, const Model &b, const char *what) {
    for (const char *name : {"C", "A", "b", "lambda", "T.shift", "T.scale"})
        expect_same_bits(a.vector(name), b.vector(name), what);
    TEST_ASSERT_EQUAL_INT64(b.summary().n, a.summary().n);
}

// Compares fits that leave rows out with fits on the complete rows alone, for methods x sources x
// {nothing, weights, landmarks}.
void test_as_if_deleted() {
    Session session;
    TempFolder folder;
    const Matrix x = points(), gaps = with_gaps(x), left = complete(x);
    Matrix weights(n, 1);
    for (int64_t i = 0; i < n; ++i) weights(i, 0) = static_cast<double>(i % 4);
    Held all_weights(weights), left_weights(complete(weights));
    std::vector<int64_t> rows, kept; // the same landmarks, counted among all rows and among those left
    for (int64_t i = 0, at = 0; i < n; at += is_complete(i++))
        if (is_complete(i) && i % 5 == 0) rows.push_back(i), kept.push_back(at);
    std::reverse(rows.begin(), rows.end()), std::reverse(kept.begin(), kept.end());
    for (const char *method : {"kpca", "nystrom", "gkpca", "subsampled", "auto"})
        for (const char *how : sources)
            for (const char *given : {"nothing", "weights", "landmarks"}) {
                const bool landmarks = std::strcmp(given, "landmarks") == 0;
                if (landmarks && std::strcmp(method, "auto") == 0) continue; // auto chooses its own landmarks
                Settings settings = settings_of(landmarks ? "given" : "");
                Brought with, without;
                bring(session, folder, how, left, without);
                if (std::strcmp(given, "weights") == 0) attach(without.data, "weights", left_weights);
                if (landmarks) attach(without.data, kept);
                const Model b = session.fit(without.data, settings, method);
                settings.push_back({"data.missing", "rows"});
                bring(session, folder, how, gaps, with);
                if (std::strcmp(given, "weights") == 0) attach(with.data, "weights", all_weights);
                if (landmarks) attach(with.data, rows);
                same_model(session.fit(with.data, settings, method), b, (std::string(method) + ", " + how).c_str());
            }
}

void test_queries() {
    Session session;
    TempFolder folder;
    Settings settings = settings_of();
    settings.push_back({"data.missing", "rows"});
    const Model fitted = session.fit(points(), settings);
    Model model;
    OK(mercer_model_save(fitted.handle, folder.path("m").c_str()));
    OK(mercer_model_load(&model.handle, session.context, folder.path("m").c_str()));
    const Matrix x = points(n, 9), gaps = with_gaps(x), left = complete(x);
    for (const char *what : {"scores", "density", "residual", "t2", "gradient"})
        for (const char *how : sources) {
            Brought with, without;
            bring(session, folder, "view", left, without);
            const Matrix right = session.apply(model, without.data, what);
            bring(session, folder, how, gaps, with);
            if (std::strcmp(how, "chunks") == 0) { // outputs need the number of rows, which is unknown
                mercer_recipe *operation = session.recipe(what, {});
                mercer_output output{};
                output.struct_size = sizeof output;
                int64_t count = 0;
                const int32_t status = mercer_model_output(model.handle, operation, with.data, 0, &output, &count);
                mercer_recipe_destroy(operation);
                TEST_ASSERT_EQUAL_INT(MERCER_E_UNSUPPORTED, status);
                TEST_ASSERT_NOT_NULL(std::strstr(mercer_last_error(), "the number of rows is unknown"));
                continue;
            }
            const Matrix got = session.apply(model, with.data, what);
            TEST_ASSERT_EQUAL_INT64(n, got.rows);
            for (int64_t i = 0; i < n; ++i)
                for (int64_t j = 0; !is_complete(i) && j < got.cols; ++j) TEST_ASSERT_TRUE(std::isnan(got(i, j)));
            expect_same_bits(complete(got).v, right.v, what);
        }
    Matrix row(1, d); // a single row
    expect_near(session.apply(model, row).v, session.apply(fitted, row).v, 0, "a row of zeros");
    row(0, 2) = nan;
    for (double value : session.apply(model, row).v) TEST_ASSERT_TRUE(std::isnan(value));
}

// A NaN counts even in a column that the kernel does not use, whether its row comes alone or with
// others: the row's scores are NaN, or the call fails.
void test_unused_column() {
    Session session;
    const Matrix x = points();
    for (const char *missing : {"rows", "error"}) {
        const Model model = session.fit(
            x, {{"kernel", "gaussian[0-1]"}, {"sigma", "1.5"}, {"components", "3"}, {"data.missing", missing}});
        for (int64_t rows : {int64_t{1}, int64_t{3}, int64_t{40}}) {
            Matrix queries(rows, d);
            std::copy_n(x.v.begin(), rows * d, queries.v.begin());
            queries(rows - 1, 4) = nan;
            if (*missing == 'r') {
                const Matrix got = session.apply(model, queries), right = session.apply(model, x);
                for (int64_t j = 0; j < 3; ++j) TEST_ASSERT_TRUE(std::isnan(got(rows - 1, j)));
                for (int64_t j = 0; j < (rows - 1) * 3; ++j)
                    TEST_ASSERT_DOUBLE_WITHIN(1e-13, right.v[static_cast<size_t>(j)], got.v[static_cast<size_t>(j)]);
                continue;
            }
            Held held(queries), out{Matrix(rows, 3)};
            mercer_data *data = session.data(held);
            mercer_view view = out.view();
            TEST_ASSERT_EQUAL_INT(MERCER_E_DATA,
                                  mercer_model_transform(model.handle, nullptr, data, &view, 1, nullptr));
            mercer_data_destroy(data);
        }
    }
}

void fails(Session &session, mercer_data *data, const Settings &settings, int32_t code, const char *part) {
    mercer_recipe *recipe = session.recipe("nystrom", settings);
    Model model;
    const int32_t status = mercer_model_fit(&model.handle, recipe, data, nullptr);
    mercer_recipe_destroy(recipe);
    TEST_ASSERT_EQUAL_INT_MESSAGE(code, status, mercer_last_error());
    TEST_ASSERT_TRUE_MESSAGE(std::strstr(mercer_last_error(), part), mercer_last_error());
}

// Rows and columns of incomplete rows must be NaN. All other entries must be bitwise equal to those
// computed without the incomplete rows, which must not influence the input map or the bandwidth
// either.
void test_kernel_matrix() {
    Session session;
    const Matrix x = points(), y = points(200, 9), left = complete(x);
    Matrix y_gaps = y;
    y_gaps(0, 2) = nan, y_gaps(7, 1) = nan, y_gaps(199, 0) = nan;
    std::vector<int64_t> rows, cols;
    for (int64_t i = 0; i < n; ++i)
        if (is_complete(i)) rows.push_back(i);
    for (int64_t j = 0; j < y.rows; ++j)
        if (j != 0 && j != 7 && j != 199) cols.push_back(j);
    Settings settings = {{"kernel", "gaussian"}, {"data.scale", "standard"}}; // sigma is computed from the rows
    Settings with = settings;
    with.push_back({"data.missing", "rows"});
    auto expect = [](const Matrix &out, const Matrix &known, const std::vector<int64_t> &at_rows,
                     const std::vector<int64_t> &at_cols, const char *what) {
        Matrix right(out.rows, out.cols);
        std::fill(right.v.begin(), right.v.end(), nan);
        for (size_t i = 0; i < at_rows.size(); ++i)
            for (size_t j = 0; j < at_cols.size(); ++j)
                right(at_rows[i], at_cols[j]) = known(static_cast<int64_t>(i), static_cast<int64_t>(j));
        for (size_t k = 0; k < right.v.size(); ++k)
            TEST_ASSERT_TRUE_MESSAGE(right.v[k] == out.v[k] || (std::isnan(right.v[k]) && std::isnan(out.v[k])), what);
    };
    for (bool f32 : {false, true})
        for (bool by_columns : {false, true}) {
            const Layout layout{f32, by_columns};
            expect(session.kernel(with, with_gaps(x), nullptr, layout), session.kernel(settings, left, nullptr, layout),
                   rows, rows, "among themselves");
            Matrix others(static_cast<int64_t>(cols.size()), d);
            for (size_t j = 0; j < cols.size(); ++j)
                std::copy_n(y.row(cols[j]), d, others.v.data() + static_cast<int64_t>(j) * d);
            expect(session.kernel(with, with_gaps(x), &y_gaps, layout), session.kernel(settings, left, &others, layout),
                   rows, cols, "two sets");
        }
    const Matrix nothing = with_gaps(points(4)); // only row 3 is incomplete
    TEST_ASSERT_TRUE(std::isnan(session.kernel(with, nothing)(3, 3)) &&
                     !std::isnan(session.kernel(with, nothing)(2, 2)));
}

void test_refused() {
    Session session;
    Matrix x = with_gaps(points());
    Settings rows = settings_of("given");
    Held held(x);
    mercer_data *data = session.data(held);
    std::vector<int64_t> landmarks = {1, 14};
    attach(data, landmarks);
    fails(session, data, rows, MERCER_E_DATA, "row 3, column 3 is NaN, must be finite (data.missing = rows");
    rows.push_back({"data.missing", "rows"});
    fails(session, data, rows, MERCER_E_DATA, "landmarks: entry 1 is row 14, which has a missing value");
    landmarks[1] = n;
    fails(session, data, rows, MERCER_E_VALUE, "landmarks: entry 1 is row 400, must be 0 to 399");
    landmarks[1] = 1;
    fails(session, data, rows, MERCER_E_VALUE, "landmarks: row 1 is given twice");
    mercer_data_destroy(data);
    x(17, 4) = -std::numeric_limits<double>::infinity();
    Held infinite(x);
    data = session.data(infinite);
    fails(session, data, rows, MERCER_E_DATA, "row 17, column 4 is inf, must be finite");
    mercer_data_destroy(data);
    for (int64_t i = 0; i < n; ++i) x(i, 0) = nan;
    x(17, 4) = 0;
    Held nothing(x);
    data = session.data(nothing);
    fails(session, data, rows, MERCER_E_DATA, "every row of the data has a missing value");
    mercer_data_destroy(data);
}

// ---- lengths of columns

// The lengths are powers of 2, so that the division by hand is exact, and all results must be
// bitwise equal.
void test_lengths() {
    Session session;
    const Matrix x = points(), q = points(50, 8);
    const double lengths[d] = {0.5, 4, 1, 0.125, 2};
    Matrix by_hand = x, q_by_hand = q;
    for (int64_t i = 0; i < n; ++i)
        for (int64_t k = 0; k < d; ++k) by_hand(i, k) /= lengths[k];
    for (int64_t i = 0; i < q.rows; ++i)
        for (int64_t k = 0; k < d; ++k) q_by_hand(i, k) /= lengths[k];
    for (const char *kernel : {"gaussian", "laplacian", "linear", "polynomial", "gaussian[0-2] * linear[3,4]"})
        for (const char *scale : {"none", "standard"})
            for (bool f32 : {false, true}) {
                Settings plain = {{"kernel", kernel}, {"components", "3"}, {"data.scale", scale}}, given = plain;
                given.push_back({"data.lengths", "0.5, 4, 1, 0.125, 2"});
                const Model a = session.fit(x, given, {}, {f32, false});
                if (std::strcmp(scale, "standard") == 0) { // only the tensors T.shift and T.scale are compared
                    const Model unit =
                        session.fit(x, {{"kernel", kernel}, {"data.scale", "standard"}}, {}, {f32, false});
                    for (int64_t k = 0; k < d; ++k)
                        TEST_ASSERT_TRUE(a.vector("T.scale")[static_cast<size_t>(k)] ==
                                         unit.vector("T.scale")[static_cast<size_t>(k)] / lengths[k]);
                    expect_same_bits(a.vector("T.shift"), unit.vector("T.shift"), kernel);
                    continue;
                }
                const Model b = session.fit(by_hand, plain, {}, {f32, false});
                for (const char *name : {"C", "A", "b", "lambda"})
                    expect_same_bits(a.vector(name), b.vector(name), kernel);
                expect_same_bits(session.apply(a, q, "scores", {f32, false}).v,
                                 session.apply(b, q_by_hand, "scores", {f32, false}).v, kernel);
                Matrix slope = session.apply(b, q_by_hand, "gradient", {f32, false});
                for (int64_t i = 0; i < q.rows; ++i)
                    for (int64_t j = 0; j < slope.cols; ++j) slope(i, j) /= lengths[j % d];
                expect_same_bits(session.apply(a, q, "gradient", {f32, false}).v, slope.v, kernel);
            }
    const Model one = session.fit(x, {{"sigma", "2"}, {"data.lengths", "0.5"}}),
                same = session.fit(x, {{"sigma", "1"}});
    expect_near(one.vector("lambda"), same.vector("lambda"), 1e-14, "one length is a factor of sigma");
}

// The values of sparse rows are divided, too: zeros remain zeros, so that the rows remain sparse.
void test_lengths_of_sparse_rows() {
    Session session;
    const std::vector<int64_t> offsets = {0, 2, 3, 5, 6}, columns = {0, 2, 1, 0, 1, 2};
    const std::vector<double> values = {1, 2, 3, 4, 5, 6};
    Matrix x(4, 3);
    for (int64_t i = 0; i < 4; ++i)
        for (int64_t k = offsets[static_cast<size_t>(i)]; k < offsets[static_cast<size_t>(i) + 1]; ++k)
            x(i, columns[static_cast<size_t>(k)]) = values[static_cast<size_t>(k)];
    mercer_sparse sparse{sizeof sparse,  MERCER_CSR,     MERCER_F64,   MERCER_I64, 0, 4, 3, 6,
                         offsets.data(), columns.data(), values.data()};
    mercer_data *data = nullptr;
    OK(mercer_data_from_sparse(&data, session.context, &sparse));
    const Settings settings = {{"kernel", "polynomial"}, {"components", "2"}, {"data.lengths", "2,0.5,4"}};
    const Model a = session.fit(data, settings), b = session.fit(x, settings);
    TempFolder folder;
    Model loaded;
    OK(mercer_model_save(a.handle, folder.path("m").c_str()));
    OK(mercer_model_load(&loaded.handle, session.context, folder.path("m").c_str()));
    const Matrix right = session.apply(b, x); // scores are of size 10^3, and 1e-11 allows for rounding
    expect_near(session.apply(loaded, data).v, right.v, 1e-11, "sparse queries");
    expect_near(session.apply(loaded, x).v, right.v, 1e-11, "dense queries");
    mercer_data_destroy(data);
}

int32_t apart(void *, const int64_t *i, const int64_t *j, int64_t count, double *out) {
    for (int64_t k = 0; k < count; ++k) out[k] = static_cast<double>(std::abs(i[k] - j[k]));
    return 0;
}

void test_lengths_refused() {
    Session session;
    mercer_recipe *recipe = session.recipe("kpca", {});
    for (const char *text : {"0", "-1", "1,0,2", "1,,2", "x", "inf", "nan", "1 2", "1,2,"}) {
        TEST_ASSERT_EQUAL_INT_MESSAGE(MERCER_E_VALUE, mercer_recipe_set(recipe, "data.lengths", text), text);
        TEST_ASSERT_TRUE_MESSAGE(std::strstr(mercer_last_error(), "must be a finite number > 0"), mercer_last_error());
    }
    OK(mercer_recipe_set(recipe, "lengths", " 1, 2e0 "));
    OK(mercer_recipe_set(recipe, "data.lengths", ""));
    mercer_recipe_destroy(recipe);
    const Matrix x = points(20);
    Held held(x);
    mercer_data *data = session.data(held);
    fails(session, data, {{"data.lengths", "1,2"}}, MERCER_E_SHAPE, "data.lengths: 2 numbers, must be 1 or 5");
    mercer_data_destroy(data);
    mercer_objects objects{sizeof objects, 20, MERCER_DISTANCE, 0, apart, nullptr, nullptr, nullptr};
    OK(mercer_data_from_objects(&data, session.context, &objects));
    fails(session, data, {{"data.lengths", "1"}, {"m", "5"}}, MERCER_E_UNSUPPORTED, "objects have no columns");
    mercer_data_destroy(data);
}

Settings leaving_out() {
    Settings settings = settings_of();
    settings.push_back({"data.missing", "rows"});
    return settings;
}

// Rows that are left out must be counted in the report of the fit and in a line of its log.
void test_counted() {
    Session session;
    static std::string said;
    said.clear();
    OK(mercer_context_set_log(
        session.context,
        [](void *, int32_t level, const char *text) {
            if (level == 2) said += text + std::string("\n");
        },
        nullptr));
    const Matrix x = with_gaps(points());
    const std::string lost = std::to_string(n - complete(x).rows) + " of " + std::to_string(n) + " rows ";
    const Model model = session.fit(x, leaving_out());
    const char *text = nullptr;
    OK(mercer_model_info(model.handle, "/left_out", &text));
    TEST_ASSERT_EQUAL_STRING(std::to_string(n - complete(x).rows).c_str(), text);
    TEST_ASSERT_EQUAL_STRING((lost + "are left out of the fit: they have missing values\n").c_str(), said.c_str());
    said.clear();
    const Model whole = session.fit(complete(x), leaving_out());
    TEST_ASSERT_EQUAL_STRING("", said.c_str());
    TEST_ASSERT_EQUAL_INT(MERCER_E_NAME, mercer_model_info(whole.handle, "/left_out", &text));
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_as_if_deleted);
    RUN_TEST(test_queries);
    RUN_TEST(test_unused_column);
    RUN_TEST(test_kernel_matrix);
    RUN_TEST(test_counted);
    RUN_TEST(test_refused);
    RUN_TEST(test_lengths);
    RUN_TEST(test_lengths_of_sparse_rows);
    RUN_TEST(test_lengths_refused);
    return UNITY_END();
}
