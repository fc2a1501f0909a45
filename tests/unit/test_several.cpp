// Several outputs of one call, "scores,t2,residual", must have the values that separate calls give,
// but take one read of the data and one evaluation of the kernel.
#include "outputs_problem.h"

namespace {

struct Part {
    std::string name;
    Matrix values;
};

// Returns all outputs of a list of operations. The arrays have the types that mercer_model_output
// states.
std::vector<Part> apply_all(Session &session, const Model &model, mercer_data *data, const char *what,
                            const Settings &options, const mercer_run *run = nullptr) {
    mercer_recipe *operation = session.recipe(what, options);
    std::vector<Part> parts;
    std::vector<std::vector<double>> memory;
    std::vector<mercer_view> views;
    for (int64_t k = 0, count = 1; k < count; ++k) {
        mercer_output output{};
        output.struct_size = sizeof output;
        OK(mercer_model_output(model.handle, operation, data, k, &output, &count));
        parts.push_back({output.name, {}});
        memory.emplace_back(static_cast<size_t>(output.rows * output.cols));
        views.push_back(
            {sizeof(mercer_view), output.dtype, 0, output.rows, output.cols, output.cols, 1, memory.back().data()});
    }
    const int32_t status =
        mercer_model_transform(model.handle, operation, data, views.data(), static_cast<int64_t>(views.size()), run);
    mercer_recipe_destroy(operation);
    OK(status);
    for (size_t k = 0; k < parts.size(); ++k) parts[k].values = to_matrix(views[k]);
    return parts;
}

void expect_alone(Session &session, const Model &model, const Matrix &q, Layout layout, const char *what,
                  const std::vector<std::string> &names) {
    Held held(q, layout);
    mercer_data *data = session.data(held);
    std::vector<std::vector<Part>> runs;
    for (int64_t threads : {1, 2, 8}) {
        const mercer_run run = with_threads(threads);
        runs.push_back(apply_all(session, model, data, what, {}, &run));
    }
    mercer_data_destroy(data);
    const double u = layout.f32 ? tolerance::u32 : tolerance::u64;
    TEST_ASSERT_EQUAL_size_t(names.size(), runs[0].size());
    for (size_t k = 0; k < names.size(); ++k) {
        TEST_ASSERT_EQUAL_STRING(names[k].c_str(), runs[0][k].name.c_str());
        const Matrix alone = session.apply(model, q, names[k].c_str(), layout);
        double largest = 1;
        for (double value : alone.v) largest = std::max(largest, std::fabs(value));
        expect_near(alone.v, runs[0][k].values.v, 64 * double(q.rows) * u * largest, names[k].c_str());
        for (const auto &run : runs)
            TEST_ASSERT_TRUE_MESSAGE(run[k].values.v == runs[0][k].values.v, "threads change bits");
    }
}

void test_as_alone() {
    Session session;
    const Matrix x = points(90, 1), q = points(300, 2);
    for (Layout layout : layouts)
        for (const char *method : {"kpca", "nystrom"}) {
            Settings settings = gaussian;
            if (*method == 'n') settings.push_back({"m", "30"});
            const Model model = session.fit(x, settings, {}, layout, method);
            expect_alone(session, model, q, layout, "scores,t2,residual", {"scores", "t2", "residual"});
            expect_alone(session, model, q, layout, " residual, gradient ,density,scores",
                         {"residual", "gradient", "density", "scores"});
        }
}

// The model has a denominator (ncut), and one row is so far from all centres that its kernel values
// are 0: density, labels and scores each treat such a row in their own way.
void test_of_a_walk() {
    Session session;
    Matrix x = points(90, 3), q = points(50, 4);
    for (int64_t i = 0; i < 45; ++i) x(i, 0) += 6;
    for (int64_t j = 0; j < d; ++j) q(7, j) = 90;
    const Model model = session.fit(x, {{"sigma", "1"}, {"components", "2"}}, {}, {}, "ncut");
    expect_alone(session, model, q, {}, "density,labels,scores", {"density", "labels", "scores"});
    TEST_ASSERT_TRUE(session.apply(model, q, "density").v[7] == 0);
}

// Each operation must take only the options that it has: `whiten` applies to scores, but not to t2.
void test_options() {
    Session session;
    const Matrix x = points(60, 1), q = points(40, 2);
    const Model model = session.fit(x, gaussian);
    Held held(q);
    mercer_data *data = session.data(held);
    const std::vector<Part> parts = apply_all(session, model, data, "t2,scores", {{"whiten", "true"}});
    mercer_data_destroy(data);
    for (int64_t i = 0; i < q.rows; ++i)
        TEST_ASSERT_DOUBLE_WITHIN(1e-12 * parts[0].values(i, 0) + 1e-12, parts[0].values(i, 0),
                                  oracle::dot(parts[1].values.row(i), parts[1].values.row(i), r));
    mercer_recipe *operation = session.recipe("t2,residual", {});
    int64_t count = -1;
    OK(mercer_recipe_rows(operation, &count));
    TEST_ASSERT_EQUAL_INT64(0, count);
    mercer_recipe_destroy(operation);
}

int64_t values_asked_for = 0, reads = 0;

int32_t counted_tile(void *, const mercer_view *x, const mercer_view *y, const mercer_view *k) {
    for (int64_t i = 0; i < x->rows; ++i)
        for (int64_t j = 0; j < y->rows; ++j) {
            double d2 = 0;
            for (int64_t c = 0; c < x->cols; ++c) {
                const double difference = static_cast<const double *>(x->data)[i * x->row_stride + c * x->col_stride] -
                                          static_cast<const double *>(y->data)[j * y->row_stride + c * y->col_stride];
                d2 += difference * difference;
            }
            static_cast<double *>(k->data)[i * k->row_stride + j * k->col_stride] = std::exp(-d2 / 2);
        }
    values_asked_for += x->rows * y->rows;
    return 0;
}

// Checks that several outputs take one evaluation of the kernel, counted by a user kernel, and one
// read of the rows.
void test_one_pass() {
    Session session;
    const Matrix x = points(60, 1);
    static Matrix q = points(500, 2);
    mercer_recipe *recipe = session.recipe("kpca", {{"components", "3"}});
    const mercer_user_kernel kernel{sizeof kernel, MERCER_PSD, 0, counted_tile, nullptr, nullptr};
    OK(mercer_recipe_set_kernel(recipe, &kernel));
    Held held(x);
    mercer_data *data = session.data(held);
    Model model;
    OK(mercer_model_fit(&model.handle, recipe, data, nullptr));
    mercer_data_destroy(data);
    mercer_recipe_destroy(recipe);
    mercer_chunks chunks{};
    chunks.struct_size = sizeof chunks;
    chunks.dtype = MERCER_F64, chunks.flags = MERCER_REWINDABLE, chunks.rows = q.rows, chunks.cols = d;
    chunks.next = [](void *, int64_t first, int64_t capacity, void *buffer, int64_t *rows) -> int32_t {
        *rows = std::min(capacity, q.rows - first);
        std::memcpy(buffer, q.row(first), static_cast<size_t>(*rows * d) * sizeof(double));
        return reads += *rows, 0;
    };
    OK(mercer_data_from_chunks(&data, session.context, &chunks));
    const auto cost = [&](const char *what) {
        values_asked_for = reads = 0;
        apply_all(session, model, data, what, {});
        return std::make_pair(values_asked_for, reads);
    };
    const auto scores = cost("scores"), residual = cost("residual"), all = cost("scores,t2,residual,density");
    mercer_data_destroy(data);
    TEST_ASSERT_TRUE(scores.first >= 500 * 60 && residual.first >= scores.first);
    TEST_ASSERT_EQUAL_INT64(residual.first, all.first); // includes k(x, x), which scores do not need
    TEST_ASSERT_EQUAL_INT64(scores.second, all.second);
}

void test_refusals() {
    Session session;
    mercer_recipe *recipe = nullptr;
    const auto refused = [&](const char *what, int32_t code, const char *why) {
        TEST_ASSERT_EQUAL_INT_MESSAGE(code, mercer_recipe_create(&recipe, session.context, what), what);
        TEST_ASSERT_NOT_NULL_MESSAGE(std::strstr(mercer_last_error(), why), mercer_last_error());
    };
    refused("scores,scors", MERCER_E_NAME, "did you mean 'scores'");
    refused("scores,", MERCER_E_NAME, "operation");
    refused("scores,kpca", MERCER_E_NAME, "unknown operation 'kpca'");
    refused("scores,t2,scores", MERCER_E_VALUE, "'scores' is listed twice");
    const Matrix x = points(30, 1);
    const Model model = session.fit(x, gaussian);
    Held held(x);
    mercer_data *data = session.data(held);
    recipe = session.recipe("scores,labels", {});
    mercer_output output{};
    output.struct_size = sizeof output;
    int64_t count = 0;
    TEST_ASSERT_EQUAL_INT(MERCER_E_UNSUPPORTED, mercer_model_output(model.handle, recipe, data, 0, &output, &count));
    TEST_ASSERT_NOT_NULL_MESSAGE(std::strstr(mercer_last_error(), "--method ncut"), mercer_last_error());
    mercer_recipe_destroy(recipe);
    mercer_data_destroy(data);
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_as_alone);
    RUN_TEST(test_of_a_walk);
    RUN_TEST(test_options);
    RUN_TEST(test_one_pass);
    RUN_TEST(test_refusals);
    return UNITY_END();
}
