// Checks parts of data: a fit on a subset must be bitwise equal to a fit on a copy of its rows, and
// so must a fit on each block of a stream.
#include "parts_problem.h"

#include "gram/object_matrix.h"
#include "gram/row_blocks.h"
#include "gram/subset.h"

using namespace parts;

namespace {

constexpr int64_t n = 700, d = 4;

std::vector<int64_t> every_third() {
    std::vector<int64_t> out;
    for (int64_t i = 1; i < n; i += 3) out.push_back(i);
    return out;
}
std::vector<int64_t> range(int64_t first, int64_t count) {
    std::vector<int64_t> out(static_cast<size_t>(count));
    std::iota(out.begin(), out.end(), first);
    return out;
}

Fitted fit_of(const std::string &method, const Settings &settings, const Data &data) {
    Run run(with(2, 64 * mebibyte), nullptr);
    return fit_rows(run, recipe_of(method, settings), data);
}

// Returns, for each landmark that belongs to the subset, its position within the subset. In a copy
// of the subset, this is the row number of the landmark.
std::vector<int64_t> landmarks_in(const std::vector<int64_t> &landmarks, const std::vector<int64_t> &numbers) {
    std::vector<int64_t> out;
    for (int64_t row : landmarks)
        if (const auto at = std::find(numbers.begin(), numbers.end(), row); at != numbers.end())
            out.push_back(at - numbers.begin());
    return out;
}

const std::vector<std::pair<std::string, Settings>> methods = {
    {"kpca", {{"sigma", "1"}}},
    {"auto", {{"sigma", "2"}}},
    {"nystrom", {{"m", "30"}, {"bandwidth", "median"}}},
    {"nystrom", {{"reducer", "given"}, {"sigma", "1"}}},
    {"rskpca-kmeans", {{"m", "12"}, {"sigma", "1"}}},
};

void test_dense() {
    const Matrix x = oracle::clusters(n, d), weights = oracle::Numbers(5).matrix(n, 1, 0, 2);
    const std::vector<int64_t> landmarks = {691, 4, 40, 250, 253, 600, 301, 7};
    Data all = data_of_rows(x);
    all.weights = view_of(weights), all.landmarks = view_of(landmarks);
    for (const auto &numbers : {every_third(), range(200, 220)})
        for (const auto &[method, settings] : methods) {
            const bool listed = numbers[1] != numbers[0] + 1;
            const int64_t count = static_cast<int64_t>(numbers.size());
            const Data part = data_of_subset(all, listed ? subset_of(all.source, numbers.data(), count)
                                                         : range_of(all.source, numbers[0], count));
            const Matrix own = rows_of(x, numbers), own_weights = rows_of(weights, numbers);
            const std::vector<int64_t> own_landmarks = landmarks_in(landmarks, numbers);
            TEST_ASSERT_TRUE(own_landmarks.size() > 1 && own_landmarks.size() < landmarks.size());
            Data copy = data_of_rows(own);
            copy.weights = view_of(own_weights), copy.landmarks = view_of(own_landmarks);
            expect_same(fit_of(method, settings, part), fit_of(method, settings, copy), method);
        }
}

// Checks subsets of other selections: of a subset, of rows that are read in passes, and of complete
// rows.
void test_of_other_selections() {
    Matrix x = oracle::clusters(n, d);
    const std::vector<int64_t> third = every_third();
    const int64_t count = static_cast<int64_t>(third.size());
    const auto [method, settings] = methods[2];
    Matrix some = rows_of(x, third);
    some.v.resize(static_cast<size_t>(100 * d)), some.rows = 100;
    const Data all = data_of_rows(x),
               nested = data_of_subset(all, range_of(subset_of(all.source, third.data(), count), 0, 100));
    expect_same(fit_of(method, settings, nested), fit_of(method, settings, data_of_rows(some)), "nested");

    Feed feed(x);
    Run loading(with(1, 20 * d * 8 * 32), nullptr);
    const Data passes = data_of_subset(all, subset_of(feed.source(n)->load(loading), third.data(), count));
    TEST_ASSERT_TRUE(passes.source->in_passes());
    expect_same(fit_of(method, settings, passes), fit_of(method, settings, data_of_rows(rows_of(x, third))), "passes");
    TEST_ASSERT_EQUAL_INT64(0, feed.wrong);

    for (int64_t i = 0; i < n; ++i)
        if (i % 3 != 1) x(i, 1) = NAN;
    Run run(with(1, 64 * mebibyte), nullptr);
    const auto complete = complete_rows(run, all.source);
    const std::vector<int64_t> even = {0, 2, 4, 60, 62, 100, 102, 104};
    const auto part = subset_of(complete, even.data(), 8);
    TEST_ASSERT_TRUE(part->number(7) == third[104] && part->given_rows() == n);
    TEST_ASSERT_EQUAL_STRING("row 7, column 2", part->place(1, 2).c_str());
}

void test_sparse() {
    Matrix x = oracle::clusters(n, d);
    for (int64_t k = 0; k < n * d; k += 5) x.v[static_cast<size_t>(k)] = 0;
    const auto compressed = [](const Matrix &from) {
        std::vector<int64_t> offsets = {0}, columns;
        std::vector<double> values;
        for (int64_t i = 0; i < from.rows; ++i) {
            for (int64_t j = 0; j < d; ++j)
                if (from(i, j) != 0) columns.push_back(j), values.push_back(from(i, j));
            offsets.push_back(static_cast<int64_t>(values.size()));
        }
        const mercer_sparse sparse{sizeof sparse,
                                   MERCER_CSR,
                                   MERCER_F64,
                                   MERCER_I64,
                                   0,
                                   from.rows,
                                   d,
                                   static_cast<int64_t>(values.size()),
                                   offsets.data(),
                                   columns.data(),
                                   values.data()};
        Data out;
        out.source = std::make_shared<SparseSource>(sparse);
        return out;
    };
    const Data all = compressed(x);
    for (const auto &numbers : {every_third(), range(650, 50)}) {
        const Data part =
            data_of_subset(all, subset_of(all.source, numbers.data(), static_cast<int64_t>(numbers.size())));
        for (const auto &[method, settings] : {methods[0], methods[2]})
            expect_same(fit_of(method, settings, part), fit_of(method, settings, compressed(rows_of(x, numbers))),
                        method);
        TEST_ASSERT_EQUAL_INT64(numbers[3], part.source->number(3));
    }
}

void test_objects() {
    const Matrix x = oracle::clusters(n, d),
                 distances = oracle::gram([](const double *a, const double *b,
                                             int64_t cols) { return std::sqrt(oracle::sqdist(a, b, cols)); },
                                          x, x);
    Data all, copy;
    all.source = std::make_shared<MatrixSource>(view_of(distances), MERCER_DISTANCE);
    const std::vector<int64_t> numbers = every_third();
    const int64_t count = static_cast<int64_t>(numbers.size());
    Matrix own(count, count);
    for (int64_t i = 0; i < count; ++i)
        for (int64_t j = 0; j < count; ++j)
            own(i, j) = distances(numbers[static_cast<size_t>(i)], numbers[static_cast<size_t>(j)]);
    copy.source = std::make_shared<MatrixSource>(view_of(own), MERCER_DISTANCE);
    const Data part = data_of_subset(all, subset_of(all.source, numbers.data(), count));
    const Settings settings = {{"sigma", "1"}};
    expect_same(fit_of("kpca", settings, part), fit_of("kpca", settings, copy), "objects");
    TEST_ASSERT_TRUE(part.source->given_rows() == n && part.source->number(2) == numbers[2]);
}

void test_subsets_refused() {
    const Matrix x = oracle::clusters(20, d);
    const auto source = make_view_source(view_of(x));
    const std::vector<int64_t> twice = {3, 3}, back = {3, 1}, beyond = {3, 20}, below = {-1, 2};
    for (const auto &numbers : {twice, back, beyond, below})
        expect_error(MERCER_E_VALUE, "must be 0 to 19", [&] { subset_of(source, numbers.data(), 2); });
    expect_error(MERCER_E_VALUE, "rows 15 to 20", [&] { range_of(source, 15, 6); });
    expect_error(MERCER_E_VALUE, "rows -1 to 4", [&] { range_of(source, -1, 6); });
}

// ---- blocks

std::vector<Fitted> fits_of_blocks(Run &run, RowBlocks &blocks, const Recipe &recipe) {
    std::vector<Fitted> out;
    while (std::optional<Data> block = blocks.next(run)) {
        Run child(run, 32 * mebibyte, 1);
        out.push_back(fit_rows(child, recipe, *block));
    }
    return out;
}

// Reads blocks from a callback that gives its rows only once, of known or unknown number, and from
// rows in memory. The fit on each block must be bitwise equal to a fit on a copy of its
// rows.
void test_blocks() {
    const Matrix x = oracle::clusters(n, d), weights = oracle::Numbers(5).matrix(n, 1, 0.5, 2);
    const std::vector<int64_t> landmarks = {691, 4, 40, 250, 253, 499, 600, 301, 7, 680};
    for (const int64_t rows : {int64_t{150}, int64_t{350}, int64_t{1000}})
        for (const int64_t announced : {int64_t{-1}, n, int64_t{-2}}) { // -2: rows in memory
            Feed feed(x);
            feed.once = true;
            Data data = data_of_rows(x);
            if (announced >= -1) data.source = feed.source(announced);
            data.weights = view_of(weights), data.landmarks = view_of(landmarks);
            const Recipe recipe = recipe_of("nystrom", {{"reducer", "given"}, {"sigma", "1"}});
            Run run(with(2, 64 * mebibyte), nullptr);
            RowBlocks blocks(data, rows);
            const std::vector<Fitted> fits = fits_of_blocks(run, blocks, recipe);
            TEST_ASSERT_EQUAL_INT64((n + rows - 1) / rows, fits.size());
            TEST_ASSERT_EQUAL_INT64(n, blocks.rows_read());
            TEST_ASSERT_EQUAL_INT64(0, feed.wrong);
            for (int64_t b = 0; b < static_cast<int64_t>(fits.size()); ++b) {
                const std::vector<int64_t> numbers = range(b * rows, std::min(rows, n - b * rows));
                const Matrix own = rows_of(x, numbers), own_weights = rows_of(weights, numbers);
                const std::vector<int64_t> own_landmarks = landmarks_in(landmarks, numbers);
                Data copy = data_of_rows(own);
                copy.weights = view_of(own_weights), copy.landmarks = view_of(own_landmarks);
                Run alone(with(1, 32 * mebibyte), nullptr);
                expect_same(fits[static_cast<size_t>(b)], fit_rows(alone, recipe, copy), "block");
            }
        }
}

// A block counts in the budget as long as it lives. The budget holds only one block, so that each
// must be released before the next.
void test_blocks_are_bounded() {
    const Matrix x = oracle::clusters(20000, d);
    Feed feed(x);
    feed.once = true;
    Run run(with(1, 1000 * d * 8 + 4096), nullptr); // no second block fits
    Data data;
    data.source = feed.source(-1);
    RowBlocks blocks(data, 1000);
    int64_t rows = 0;
    while (std::optional<Data> block = blocks.next(run)) rows += block->source->rows();
    TEST_ASSERT_EQUAL_INT64(20000, rows);
    TEST_ASSERT_EQUAL_INT64(0, run.budget()->used());
}

void test_blocks_refused() {
    Matrix x = oracle::clusters(n, d);
    x(333, 3) = NAN;
    const Recipe recipe = recipe_of("kpca", {{"sigma", "1"}});
    const auto read = [&](int64_t announced, int64_t weights, bool fits = false) {
        return [&, announced, weights, fits] {
            Feed feed(x);
            feed.once = true;
            const Matrix column = oracle::Numbers(5).matrix(weights, 1, 0.5, 2);
            Data data;
            data.source = feed.source(announced);
            if (weights > 0) data.weights = view_of(column);
            Run run(with(1, 64 * mebibyte), nullptr);
            RowBlocks blocks(data, 100);
            while (std::optional<Data> block = blocks.next(run))
                if (fits) fit_rows(run, recipe, *block);
        };
    };
    expect_error(MERCER_OK, "", read(-1, n));
    expect_error(MERCER_E_DATA, "ended after 700 rows of 701", read(n + 1, 0));
    expect_error(MERCER_E_DATA, "more than the 650 rows", read(650, 0));
    expect_error(MERCER_E_SHAPE, "650 entries for at least 700 rows", read(-1, 650));
    expect_error(MERCER_E_SHAPE, "750 weights for 700 rows", read(-1, 750));
    // The message must name the row by its number in the stream, not in the block.
    expect_error(MERCER_E_DATA, "row 333, column 3 is NaN", read(-1, 0, true));
    expect_error(MERCER_E_VALUE, "blocks of 0 rows", [&] { RowBlocks none(data_of_rows(x), 0); });
    Feed feed(x);
    feed.once = true;
    Data used;
    used.source = feed.source(-1);
    Run run(with(1, 64 * mebibyte), nullptr);
    RowBlocks first(used, 500);
    first.next(run);
    expect_error(MERCER_E_DATA, "not MERCER_REWINDABLE", [&] { RowBlocks again(used, 500); });
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_dense);
    RUN_TEST(test_of_other_selections);
    RUN_TEST(test_sparse);
    RUN_TEST(test_objects);
    RUN_TEST(test_subsets_refused);
    RUN_TEST(test_blocks);
    RUN_TEST(test_blocks_are_bounded);
    RUN_TEST(test_blocks_refused);
    return UNITY_END();
}
