// Shared by the tests of windows, subsets and blocks: rows, recipes, and a bitwise comparison of
// models.
#pragma once
#include "fit/fit_rows.h"
#include "gram/chunks.h"
#include "oracle.h"
#include "unity_cpp.h"

#include <string>

namespace parts {

using namespace mercer;
using oracle::Matrix;

constexpr int64_t mebibyte = int64_t{1} << 20;

inline RunSettings with(int64_t threads, int64_t memory) {
    RunSettings out;
    out.run.threads = threads, out.run.memory = memory;
    return out;
}

using Settings = std::vector<std::pair<std::string, std::string>>;
inline Recipe recipe_of(const std::string &method, const Settings &settings = {}) {
    static const auto registry = std::make_shared<Registry>();
    Recipe recipe(registry, method);
    recipe.set("components", "3");
    for (const auto &[name, value] : settings) recipe.set(name, value);
    return recipe;
}

inline mercer_view view_of(const Matrix &x) {
    return {sizeof(mercer_view), MERCER_F64, 0, x.rows, x.cols, x.cols, 1, const_cast<double *>(x.v.data())};
}
inline mercer_view view_of(const std::vector<int64_t> &column) {
    return {sizeof(mercer_view),
            MERCER_I64,
            0,
            static_cast<int64_t>(column.size()),
            1,
            1,
            1,
            const_cast<int64_t *>(column.data())};
}
inline Data data_of_rows(const Matrix &x) {
    Data out;
    out.source = make_view_source(view_of(x));
    return out;
}
inline Matrix rows_of(const Matrix &x, const std::vector<int64_t> &numbers) {
    Matrix out(static_cast<int64_t>(numbers.size()), x.cols);
    for (int64_t i = 0; i < out.rows; ++i) std::copy_n(x.row(numbers[static_cast<size_t>(i)]), x.cols, &out(i, 0));
    return out;
}

// Checks that all tensors of both models are bitwise equal (coefficients, eigenvalues, centres and
// weights), and that there is at least one eigenvalue.
inline void expect_same(const Fitted &a, const Fitted &b, const std::string &what) {
    for (const auto &[one, other] :
         {std::pair(&a.lifted.tensors, &b.lifted.tensors), std::pair(&a.centres.tensors, &b.centres.tensors)}) {
        TEST_ASSERT_EQUAL_INT64_MESSAGE(one->size(), other->size(), what.c_str());
        for (const auto &[name, tensor] : *one) {
            const Tensor &same = other->at(name);
            const std::string which = what + ": " + name;
            TEST_ASSERT_EQUAL_INT64_MESSAGE(tensor.bytes.size(), same.bytes.size(), which.c_str());
            if (tensor.bytes.size() > 0)
                TEST_ASSERT_EQUAL_MEMORY_MESSAGE(tensor.bytes.data(), same.bytes.data(),
                                                 static_cast<size_t>(tensor.bytes.size()), which.c_str());
        }
    }
    TEST_ASSERT_TRUE_MESSAGE(a.lifted.tensors.count("lambda") && a.lifted.tensors.at("lambda").rows > 0, what.c_str());
}

// Returns the code and the text of the error that body() throws; MERCER_OK if it throws none.
template <class Body>
std::pair<int32_t, std::string> error_of(Body &&body) {
    try {
        body();
    } catch (const Error &error) {
        return {error.code(), error.what()};
    }
    return {MERCER_OK, ""};
}
template <class Body>
void expect_error(int32_t code, const std::string &words, Body &&body) {
    const auto [found, text] = error_of(body);
    TEST_ASSERT_EQUAL_INT32_MESSAGE(code, found, text.c_str());
    TEST_ASSERT_TRUE_MESSAGE(text.find(words) != std::string::npos, text.c_str());
}

// A caller's chunk callback over the rows of a matrix. Unless any_order is set, `wrong` counts the
// calls that come from another thread or ask for rows that neither continue a pass nor begin one. If
// `once` is set as well, only one pass may begin.
struct Feed {
    const Matrix *x;
    bool any_order = false, once = false;
    int64_t at_once = 97;
    pthread_t owner = pthread_self();
    int64_t next_row = 0;
    std::atomic<int64_t> passes{0}, read{0}, calls{0}, wrong{0};

    explicit Feed(const Matrix &rows) : x(&rows) {}
    static int32_t next(void *user, int64_t first, int64_t capacity, void *buffer, int64_t *rows) {
        Feed &feed = *static_cast<Feed *>(user);
        const Matrix &x = *feed.x;
        *rows = std::max<int64_t>(std::min({capacity, feed.at_once, x.rows - first}), 0);
        feed.passes += first == 0, feed.read += *rows, ++feed.calls;
        if (!feed.any_order) {
            const bool continues = first == feed.next_row, begins = first == 0 && !(feed.once && feed.next_row > 0);
            feed.wrong += !pthread_equal(feed.owner, pthread_self()) || !(continues || begins);
            feed.next_row = first + *rows;
        }
        std::copy_n(x.v.data() + first * x.cols, *rows * x.cols, static_cast<double *>(buffer));
        return 0;
    }
    std::shared_ptr<Source> source(int64_t rows) {
        const int32_t flags = once ? 0 : any_order ? MERCER_REWINDABLE | MERCER_THREAD_SAFE : MERCER_REWINDABLE;
        return make_chunk_source({sizeof(mercer_chunks), MERCER_F64, flags, rows, x->cols, next, this, nullptr});
    }
};

} // namespace parts
