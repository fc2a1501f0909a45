// Tests the report of the methods based on a random walk if some rows are far from all others: it
// must name these rows and say what helps. Genuine groups of rows must cause no warning.
#include "outputs_problem.h"

#include <algorithm>

namespace {

std::string entry(const Model &model, const char *path) {
    const char *text = nullptr;
    std::string out = mercer_model_info(model.handle, path, &text) == MERCER_OK ? text : "";
    if (out.starts_with('[')) std::erase_if(out, [](char c) { return c == ' ' || c == '\n'; });
    return out;
}

// Two groups of rows and, far from these and from one another, `far` clusters of `together` rows
// each. The rows of the clusters follow one another from row n / 3 on.
Matrix groups(int64_t n, int64_t far, int64_t together = 1) {
    Matrix x = oracle::Numbers(5).matrix(n, 2);
    for (int64_t i = 0; i < n; ++i) x(i, 0) += i % 2 ? 5 : 0;
    for (int64_t k = 0; k < far; ++k)
        for (int64_t j = 0; j < together; ++j) {
            const int64_t row = n / 3 + k * together + j;
            x(row, 0) = 40 + 30 * double(k), x(row, 1) = -50 * double(k + 1) + 0.2 * double(j);
        }
    return x;
}

void test_found() {
    Session session;
    for (const char *method : {"ncut", "laplacian-eigenmaps", "diffusion"})
        for (Layout layout : layouts) {
            const Model model = session.fit(groups(120, 2), {{"sigma", "1"}, {"components", "3"}}, {}, layout, method);
            TEST_ASSERT_EQUAL_STRING_MESSAGE("[40,41]", entry(model, "/manifold/isolated/rows").c_str(), method);
            const std::string warning = entry(model, "/warnings/0");
            for (const char *part : {"rows 40 and 41 (counted from 0)", "a wider kernel", "leave them out"})
                TEST_ASSERT_NOT_NULL_MESSAGE(std::strstr(warning.c_str(), part), warning.c_str());
            TEST_ASSERT_EQUAL(*method == 'd', std::strstr(warning.c_str(), "lift.alpha = 0") != nullptr);
        }
}

// Checks the advice in the warning: with a wider kernel, and without the isolated row, no warning
// may follow. `complete` is x without row 40.
void test_what_helps() {
    Session session;
    const Settings narrow = {{"sigma", "1"}, {"components", "3"}};
    Matrix x = groups(120, 1), complete(119, 2);
    x(40, 0) = 2.5, x(40, 1) = 7;
    std::copy(x.v.begin(), x.v.begin() + 80, complete.v.begin());
    std::copy(x.v.begin() + 82, x.v.end(), complete.v.begin() + 80);
    TEST_ASSERT_EQUAL_STRING("[40]", entry(session.fit(x, narrow, {}, {}, "ncut"), "/manifold/isolated/rows").c_str());
    for (const Model &model : {session.fit(complete, narrow, {}, {}, "ncut"),
                               session.fit(x, {{"sigma", "3"}, {"components", "3"}}, {}, {}, "ncut")}) {
        TEST_ASSERT_EQUAL_STRING("", entry(model, "/manifold/isolated").c_str());
        TEST_ASSERT_EQUAL_STRING("", entry(model, "/warnings").c_str());
    }
}

// Three of 400 rows that are near one another and far from all others must also be found.
void test_a_few_together() {
    Session session;
    const Model model =
        session.fit(groups(400, 1, 3), {{"sigma", "1"}, {"components", "2"}}, {}, {}, "laplacian-eigenmaps");
    TEST_ASSERT_EQUAL_STRING("[133,134,135]", entry(model, "/manifold/isolated/rows").c_str());
}

// Rows must be reported by their numbers in the data, even if other rows were left out or if a
// reducer selected them. Centres that are new points have no such number and are called centres.
void test_numbers() {
    Session session;
    Matrix x = groups(120, 1);
    x(3, 0) = NAN;
    const Settings settings = {{"sigma", "1"}, {"components", "2"}, {"data.missing", "rows"}};
    TEST_ASSERT_EQUAL_STRING("[40]",
                             entry(session.fit(x, settings, {}, {}, "ncut"), "/manifold/isolated/rows").c_str());
    const Model chosen =
        session.fit(x, with(settings, {{"reducer", "farthest"}, {"m", "60"}}), {}, {}, "laplacian-eigenmaps");
    TEST_ASSERT_EQUAL_STRING("[40]", entry(chosen, "/manifold/isolated/rows").c_str());
    const Model means =
        session.fit(x, with(settings, {{"reducer", "kmeans"}, {"m", "20"}}), {}, {}, "laplacian-eigenmaps");
    TEST_ASSERT_NOT_NULL(std::strstr(info(means, "/warnings/0").c_str(), " centre "));
}

// Genuine groups of rows must cause no warning: two groups of equal size, a tenth of the rows, and
// a distant row of large weight. The same holds for data of two rows.
void test_not_found() {
    Session session;
    Matrix tenth = groups(120, 0);
    for (int64_t i = 0; i < 12; ++i) tenth(i, 1) += 30;
    const Settings settings = {{"sigma", "1.5"}, {"components", "3"}};
    for (const Matrix &x : {groups(120, 0), tenth, Matrix(2, 2)}) {
        const Model model = session.fit(x, settings, {}, {}, "ncut");
        TEST_ASSERT_EQUAL_STRING("", entry(model, "/warnings").c_str());
    }
    Matrix heavy(5, 1);
    for (int64_t i = 0; i < 5; ++i) heavy(i, 0) = i == 4 ? 40 : double(i);
    const Model model = session.fit(heavy, settings, {1, 1, 1, 1, 50}, {}, "laplacian-eigenmaps");
    TEST_ASSERT_EQUAL_STRING("", entry(model, "/warnings").c_str());
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_found);
    RUN_TEST(test_what_helps);
    RUN_TEST(test_a_few_together);
    RUN_TEST(test_numbers);
    RUN_TEST(test_not_found);
    return UNITY_END();
}
