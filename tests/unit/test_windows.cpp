// Rows of a chunk callback that can begin again are read by windows, in passes, if they take more
// than a quarter of the budget; the results must be bitwise equal to those of rows in memory.
#include "parts_problem.h"

#include "fit/prepare.h"

using namespace parts;

namespace {

constexpr int64_t n = 900, d = 5, row_bytes = d * 8;

// The budget for loading, with which windows have about 70 rows; the fit may have another budget.
constexpr int64_t small = 70 * row_bytes * 32;

Matrix points() { return oracle::clusters(n, d); }

std::shared_ptr<const Source> windows_of(Run &run, Feed &feed, int64_t rows) {
    auto source = feed.source(rows)->load(run);
    TEST_ASSERT_EQUAL_INT64(n, source->rows());
    TEST_ASSERT_TRUE(source->in_passes() == !feed.any_order);
    return source;
}

// Checks that fits by windows are bitwise equal to fits in memory: for many methods and reducers,
// with weights and landmarks, and whether the number of rows is announced or unknown.
void test_same_bits_as_memory() {
    const Matrix x = points();
    Matrix weights = oracle::Numbers(3).matrix(n, 1, 0, 2);
    weights(17, 0) = 0;
    const std::vector<int64_t> landmarks = {700, 3, 899, 256, 255, 17, 512, 1};
    const std::vector<std::pair<std::string, Settings>> cases = {
        {"kpca", {{"sigma", "1"}}},
        {"kpca", {{"bandwidth", "median"}, {"data.scale", "standard"}}},
        {"auto", {{"sigma", "2"}, {"accuracy", "0.05"}}},
        {"auto", {{"sigma", "2"}, {"dtype", "f32"}}},
        {"nystrom", {{"m", "40"}, {"sigma", "1"}}},
        {"nystrom", {{"m", "40"}, {"sigma", "1"}, {"certificates", "rows"}, {"report.rows", "50"}}},
        {"nystrom", {{"m", "300"}, {"certificates", "none"}, {"components", "2"}, {"sigma", "1"}}},
        {"nystrom", {{"reducer", "given"}, {"sigma", "1"}}},
        {"nystrom", {{"reducer", "leverage"}, {"m", "30"}, {"sigma", "1"}}},
        {"nystrom", {{"reducer", "rpcholesky"}, {"m", "60"}, {"sigma", "1"}}},
        {"nystrom", {{"reducer", "farthest"}, {"m", "30"}, {"sigma", "1"}}},
        {"gkpca", {{"m", "40"}, {"kernel", "laplacian"}, {"norm", "l1"}, {"sigma", "2"}}},
        {"nystrom-full", {{"m", "40"}, {"sigma", "1"}}},
        {"subsampled", {{"m", "80"}, {"sigma", "1"}}},
        {"diffusion", {{"reducer", "uniform"}, {"m", "80"}, {"sigma", "1"}}},
        {"rskpca", {{"sigma", "1"}}},
        {"rskpca-kmeans", {{"m", "20"}, {"sigma", "1"}}},
        {"rskpca-paring", {{"m", "20"}, {"sigma", "1"}}},
        {"rskpca-herding", {{"m", "20"}, {"sigma", "1"}}},
    };
    for (const bool any_order : {false, true})
        for (const auto &[method, settings] : cases) {
            const bool weighted = method != "diffusion";
            Data memory = data_of_rows(x);
            if (weighted) memory.weights = view_of(weights);
            memory.landmarks = view_of(landmarks);
            const Recipe recipe = recipe_of(method, settings);
            const std::string what = method + " " + settings.front().second + (any_order ? ", any order" : "");
            Feed feed(x);
            feed.any_order = any_order;
            Run loading(with(2, small), nullptr);
            Data data = memory;
            data.source = windows_of(loading, feed, any_order ? n : -1);
            Run own(with(2, 64 * mebibyte), nullptr), other(with(2, 64 * mebibyte), nullptr);
            expect_same(fit_rows(own, recipe, data), fit_rows(other, recipe, memory), what);
            TEST_ASSERT_EQUAL_INT64_MESSAGE(0, feed.wrong, what.c_str());
        }
}

// Gathering rows in any order takes one pass, and reading rows in ascending order one more.
void test_rows_are_gathered_in_one_pass() {
    const Matrix x = points();
    for (const bool f32 : {false, true}) {
        Feed feed(x);
        Run run(with(1, small), nullptr);
        const auto source = windows_of(run, feed, n);
        std::vector<int64_t> numbers;
        for (int64_t k = 0; k < 500; ++k) numbers.push_back(k * 367 % n);
        numbers.push_back(numbers.front());
        std::vector<double> found(numbers.size() * static_cast<size_t>(d));
        std::vector<float> rounded(found.size());
        const int64_t count = static_cast<int64_t>(numbers.size());
        f32 ? source->gather(numbers.data(), count, rounded.data())
            : source->gather(numbers.data(), count, found.data());
        TEST_ASSERT_EQUAL_INT64(1, feed.passes);
        const Matrix expected = rows_of(x, numbers);
        for (size_t k = 0; k < found.size(); ++k)
            TEST_ASSERT_TRUE(f32 ? rounded[k] == static_cast<float>(expected.v[k]) : found[k] == expected.v[k]);
        for (int64_t i = 0; i + 7 <= n; i += 7) source->read(i, 7, found.data());
        TEST_ASSERT_EQUAL_INT64(2, feed.passes);
        TEST_ASSERT_EQUAL_INT64(0, feed.wrong);
    }
}

// Checks that a fit takes at most 20 passes over the rows, for few landmarks and for many.
void test_passes_of_a_fit() {
    const Matrix x = points();
    for (const char *m : {"20", "250"}) {
        Feed feed(x);
        Run loading(with(1, small), nullptr), run(with(1, 64 * mebibyte), nullptr);
        Data data;
        data.source = windows_of(loading, feed, n);
        fit_rows(run, recipe_of("nystrom", {{"m", m}, {"sigma", "1"}, {"reducer", "uniform"}}), data);
        TEST_ASSERT_TRUE_MESSAGE(feed.passes <= 20, std::to_string(feed.passes).c_str());
    }
}

// The rows of 100 000 sampled pairs are 8 times as many as the data have, and must not be in memory
// together. A callback that may be called in any order must not be called for each of these rows.
void test_samples_fit_the_budget() {
    const int64_t rows = 25000, columns = 64, data_bytes = 8 * rows * columns;
    const Matrix x = oracle::Numbers(3).matrix(rows, columns);
    for (const bool any_order : {false, true})
        for (const char *method : {"nystrom", "rskpca-kmeans"}) {
            Feed feed(x);
            feed.any_order = any_order, feed.at_once = rows;
            const int64_t memory = std::string(method) == "nystrom" ? data_bytes * 3 / 2 : data_bytes * 4;
            Run loading(with(1, data_bytes / 2), nullptr), run(with(1, memory), nullptr);
            Data data;
            data.source = feed.source(any_order ? rows : -1)->load(loading);
            const Fitted fitted = fit_rows(run, recipe_of(method, {{"m", "20"}, {"sigma", "8"}}), data);
            TEST_ASSERT_TRUE(fitted.lifted.tensors.count("lambda"));
            TEST_ASSERT_TRUE(run.budget()->peak() <= memory);
            const std::string calls = std::to_string(feed.calls) + " calls";
            TEST_ASSERT_TRUE_MESSAGE(!any_order || feed.calls < 20000, calls.c_str());
        }
}

// A forecast must neither allocate a number for each column nor take long, however wide rows are.
void test_wide_rows_are_forecast_at_once() {
    const auto never = [](void *, int64_t, int64_t, void *, int64_t *) -> int32_t { return MERCER_E_CALLBACK; };
    Data data;
    data.source = make_chunk_source(
        {sizeof(mercer_chunks), MERCER_F64, MERCER_REWINDABLE, 10, int64_t{1} << 40, never, nullptr, nullptr});
    for (const char *method : {"kpca", "nystrom", "auto"}) {
        Run run(with(1, 50 * mebibyte), nullptr);
        expect_error(MERCER_E_BUDGET, "the memory budget is", [&] {
            fit_rows(run, recipe_of(method, {{"sigma", "1"}}), data);
        });
    }
}

// Rows that take at most a quarter of the budget are stored, and are read only once.
void test_few_rows_are_stored() {
    const Matrix x = points();
    for (const int64_t rows : {n, int64_t{-1}}) {
        Feed feed(x);
        Run run(with(2, 4 * n * row_bytes + 4 * mebibyte), nullptr);
        const auto source = feed.source(rows)->load(run);
        TEST_ASSERT_FALSE(source->in_passes());
        std::vector<double> row(static_cast<size_t>(d));
        for (int64_t i : {n - 1, int64_t{0}}) {
            source->read(i, 1, row.data());
            TEST_ASSERT_TRUE(std::equal(row.begin(), row.end(), x.row(i)));
        }
        TEST_ASSERT_EQUAL_INT64(1, feed.passes);
    }
}

void test_refusals() {
    const Matrix x = points();
    const auto load = [&](int64_t announced, bool once, int64_t memory, bool any_order = false) {
        return [&x, announced, once, memory, any_order] {
            Feed feed(x);
            feed.once = once, feed.any_order = any_order;
            Run run(with(1, memory), nullptr);
            auto loaded = feed.source(announced)->load(run);
            std::vector<double> all(static_cast<size_t>(loaded->rows() * d));
            loaded->read(0, loaded->rows(), all.data());
        };
    };
    expect_error(MERCER_E_DATA, "ended after 900 rows of 901", load(n + 1, false, small));
    expect_error(MERCER_E_DATA, "more than the 899 rows", load(n - 1, false, small));
    expect_error(MERCER_E_DATA, "ended after 900 rows of 901", load(n + 1, false, small, true));
    expect_error(MERCER_E_DATA, "more than the 899 rows", load(n - 1, false, small, true));
    expect_error(MERCER_E_BUDGET, "to store the 900 rows of the chunk callback takes",
                 load(n, true, n * row_bytes - 1));
    expect_error(MERCER_E_BUDGET, "to store the first 527 rows of the chunk callback takes", load(-1, true, 20000));
    expect_error(MERCER_OK, "", load(n, false, small));
    // The error for a NaN must name its row and column.
    Matrix bad = points();
    bad(611, 2) = NAN;
    Feed feed(bad);
    Run run(with(1, small), nullptr);
    Data data;
    data.source = feed.source(n)->load(run);
    Run fitting(with(1, 64 * mebibyte), nullptr);
    expect_error(MERCER_E_DATA, "row 611, column 2 is NaN", [&] {
        fit_rows(fitting, recipe_of("subsampled", {{"m", "9"}, {"sigma", "1"}}), data);
    });
}

// A callback that fails in a later pass ends the fit with its error.
void test_failure_in_a_later_pass() {
    const Matrix x = points();
    struct Failing : Feed {
        explicit Failing(const Matrix &rows) : Feed(rows) {}
        static int32_t next(void *user, int64_t first, int64_t capacity, void *buffer, int64_t *rows) {
            if (static_cast<Failing *>(user)->passes > 2 && first > 300) return set_callback_error("the tape broke"), 1;
            return Feed::next(static_cast<Feed *>(static_cast<Failing *>(user)), first, capacity, buffer, rows);
        }
    } feed(x);
    Run loading(with(1, small), nullptr), run(with(1, 64 * mebibyte), nullptr);
    Data data;
    data.source =
        make_chunk_source({sizeof(mercer_chunks), MERCER_F64, MERCER_REWINDABLE, n, d, Failing::next, &feed, nullptr})
            ->load(loading);
    expect_error(MERCER_E_CALLBACK, "the tape broke", [&] {
        fit_rows(run, recipe_of("nystrom", {{"m", "9"}, {"sigma", "1"}}), data);
    });
    TEST_ASSERT_EQUAL_INT64(0, run.budget()->used());
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_same_bits_as_memory);
    RUN_TEST(test_rows_are_gathered_in_one_pass);
    RUN_TEST(test_passes_of_a_fit);
    RUN_TEST(test_samples_fit_the_budget);
    RUN_TEST(test_wide_rows_are_forecast_at_once);
    RUN_TEST(test_few_rows_are_stored);
    RUN_TEST(test_refusals);
    RUN_TEST(test_failure_in_a_later_pass);
    return UNITY_END();
}
