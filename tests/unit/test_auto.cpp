// Method `auto` (accuracy asked for, proved, true) and the ways to say how many components.
#include "session.h"

#include <cstring>

namespace {

Matrix clusters(int64_t n, int64_t d, int64_t count, uint64_t seed) {
    oracle::Numbers numbers(seed);
    Matrix centres = numbers.matrix(count, d, -4, 4), x(n, d);
    for (int64_t i = 0; i < n; ++i) {
        const int64_t c = static_cast<int64_t>(numbers.uniform() * static_cast<double>(count));
        for (int64_t k = 0; k < d; ++k) x(i, k) = centres(c, k) + 0.5 * (numbers() + numbers());
    }
    return x;
}

std::string info(const Model &model, const char *path) {
    const char *text = nullptr;
    OK(mercer_model_info(model.handle, path, &text));
    return text;
}

void check_accuracy(Session &session, const Matrix &x, Layout layout, const char *accuracy, double allowed,
                    const char *road) {
    const Settings base = {{"sigma", "2"}, {"components", "6"}};
    Settings asked = base;
    asked.emplace_back("accuracy", accuracy);
    const Vector exact = session.fit(x, base).vector("lambda");
    Model model = session.fit(x, asked, {}, layout, "auto");
    const Vector found = model.vector("lambda");
    TEST_ASSERT_EQUAL_STRING(road, info(model, "/road/taken").c_str());
    for (size_t j = 0; j < exact.size(); ++j) TEST_ASSERT_DOUBLE_WITHIN(allowed * exact[j], exact[j], found[j]);
}

void test_accuracy_is_kept() {
    Session session;
    check_accuracy(session, clusters(150, 4, 8, 1), {}, "0.01", 0.01, "exact");
    check_accuracy(session, clusters(9000, 3, 8, 2), {}, "0.05", 0.05, "projected");
    check_accuracy(session, clusters(9000, 3, 8, 2), {true, false}, "0.05", 0.05, "projected");
}

void test_indefinite_is_refused() {
    Session session;
    Matrix x = clusters(60, 2, 3, 3);
    Held held(x);
    mercer_data *data = session.data(held);
    mercer_recipe *recipe = session.recipe("auto", {{"kernel", "user"}});
    auto tile = [](void *, const mercer_view *a, const mercer_view *b, const mercer_view *k) -> int32_t {
        for (int64_t i = 0; i < k->rows; ++i)
            for (int64_t j = 0; j < k->cols; ++j)
                static_cast<double *>(k->data)[i * k->row_stride + j] =
                    -oracle::sqdist(static_cast<double *>(a->data) + i * a->row_stride,
                                    static_cast<double *>(b->data) + j * b->row_stride, a->cols);
        return 0;
    };
    mercer_user_kernel kernel{sizeof kernel, 0, 0, tile, nullptr, nullptr};
    OK(mercer_recipe_set_kernel(recipe, &kernel));
    Model model;
    TEST_ASSERT_EQUAL_INT(MERCER_E_UNSUPPORTED, mercer_model_fit(&model.handle, recipe, data, nullptr));
    TEST_ASSERT_NOT_NULL(std::strstr(mercer_last_error(), "kernel = user"));
    mercer_recipe_destroy(recipe);
    mercer_data_destroy(data);
}

void test_odd_data() {
    Session session;
    Matrix same(300, 2), one(1, 2);
    for (const Matrix &x : {same, one}) {
        Model model = session.fit(x, {{"sigma", "1"}}, {}, {}, "auto");
        TEST_ASSERT_EQUAL_INT64(0, model.summary().r);
        TEST_ASSERT_TRUE(model.summary().outcome & MERCER_RANK_REACHED);
    }
}

int64_t components_of(Session &session, const Matrix &x, const Settings &settings, const char *method = "kpca") {
    return session.fit(x, settings, {}, {}, method).summary().r;
}

void test_components() {
    Session session;
    Matrix x = clusters(1200, 4, 7, 5);
    Model all = session.fit(x, {{"sigma", "2"}, {"components", "60"}});
    const Vector lambda = all.vector("lambda");
    const double total = all.summary().total_variance;
    for (double share : {0.5, 0.9}) {
        double sum = 0;
        int64_t needed = 0;
        while (sum < share * total) sum += lambda[static_cast<size_t>(needed++)];
        const Settings asked = {{"sigma", "2"}, {"components", "200"}, {"variance", share == 0.5 ? "0.5" : "0.9"}};
        TEST_ASSERT_EQUAL_INT64(needed, components_of(session, x, asked));
        Settings dense = asked;
        dense.emplace_back("solver", "dense");
        TEST_ASSERT_EQUAL_INT64(needed, components_of(session, x, dense));
    }
    int64_t above = 0;
    while (lambda[static_cast<size_t>(above)] >= 0.05 * lambda[0]) ++above;
    TEST_ASSERT_EQUAL_INT64(above,
                            components_of(session, x, {{"sigma", "2"}, {"components", "200"}, {"threshold", "0.05"}}));
    TEST_ASSERT_EQUAL_INT64(2, components_of(session, x, {{"sigma", "2"}, {"components", "2"}, {"variance", "0.9"}}));
    // By error bars: the six directions between seven clusters stand out, and not many more.
    Model chosen = session.fit(x, {{"sigma", "2"}, {"components", "0"}});
    TEST_ASSERT_TRUE(chosen.summary().r >= 6 && chosen.summary().r <= 40);
    for (int64_t j = 0; j < 6; ++j) {
        const double lower = std::atof(info(chosen, ("/error_bars/lower/" + std::to_string(j)).c_str()).c_str()),
                     upper = std::atof(info(chosen, ("/error_bars/upper/" + std::to_string(j)).c_str()).c_str());
        TEST_ASSERT_TRUE(lower < lambda[static_cast<size_t>(j)] && lambda[static_cast<size_t>(j)] < upper);
    }
    TEST_ASSERT_TRUE(components_of(session, x, {{"sigma", "2"}, {"components", "0"}, {"m", "100"}}, "nystrom") >= 6);
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_accuracy_is_kept);
    RUN_TEST(test_indefinite_is_refused);
    RUN_TEST(test_odd_data);
    RUN_TEST(test_components);
    return UNITY_END();
}
