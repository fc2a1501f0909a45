// Tests that a derivation is defined by its entries in two tables: this test adds the derivation
// `blend`, which takes two models and has a parameter and a forecast of its own, but no reducer.
// Also checks that the length of a report does not grow with the number of ancestors.
#include "derive/derive.h"
#include "outputs_problem.h"

#include <nlohmann/json.hpp>

namespace {

nlohmann::json report(const Model &model, const char *path = "") { return nlohmann::json::parse(info(model, path)); }

// The values of the blended model are f = share f_a + (1 - share) f_b; it has the centres of both
// models.
struct BlendValues {
    double share;
};

mercer::Tensor stacked(const mercer::Tensor &a, const mercer::Tensor &b, double of_a, double of_b) {
    mercer::Tensor out = mercer::make_tensor<double>(a.rows + b.rows, a.cols);
    double *to = mercer::tensor_data<double>(out);
    for (int64_t k = 0; k < a.rows * a.cols; ++k) to[k] = of_a * mercer::entry_of(a, k);
    for (int64_t k = 0; k < b.rows * b.cols; ++k) to[a.rows * a.cols + k] = of_b * mercer::entry_of(b, k);
    return out;
}

std::shared_ptr<const mercer::Model> blend(const mercer::DeriveTask &task) {
    const mercer::Model &a = *task.models[0], &b = *task.models[1];
    const double share = mercer::derivation_values<BlendValues>(task.recipe).share;
    mercer::Json text = mercer::derived_text(task, a);
    text["capabilities"] = mercer::Json::array();
    mercer::Tensors tensors;
    if (a.r() != b.r()) mercer::fail(MERCER_E_SHAPE, "blend: the models have different numbers of components");
    tensors["C"] = stacked(*a.tensor("C"), *b.tensor("C"), 1, 1);
    tensors["A"] = stacked(*a.tensor("A"), *b.tensor("A"), share, 1 - share);
    std::vector<double> offset;
    for (int64_t l = 0; l < a.r(); ++l)
        offset.push_back(share * mercer::entry_of(*a.tensor("b"), l) +
                         (1 - share) * mercer::entry_of(*b.tensor("b"), l));
    tensors["b"] = mercer::vector_tensor(offset);
    return mercer::derived_model(task, a, std::move(text), std::move(tensors));
}

mercer::DerivationForecast forecast_blend(const mercer::DeriveTask &task) {
    mercer::DerivationForecast out;
    for (const auto &model : task.models) out.bytes = out.bytes + 8 * model->m() * (model->d() + model->r() + 1);
    out.flops = {1, 2};
    out.strategy = "two models side by side";
    return out;
}

// The derivation `blend` exists while this object lives.
struct Blending {
    Blending() {
        const mercer_param rows[] = {mercer::complete_row(MERCER_FIELD(double, BlendValues, share), MERCER_REAL,
                                                          "blend.share", "0.5", "", MERCER_SHORT, 0, 1,
                                                          "share of the first model")};
        mercer::derivations().push_back(
            {.name = "blend",
             .reducer = nullptr,
             .summary = "a mean of two models",
             .reference = "",
             .least_models = 2,
             .most_models = 2,
             .rows = std::make_shared<const mercer::ParamTable>("blend", rows, 1, sizeof(BlendValues))});
        mercer::derive_functions()["blend"] = {blend, forecast_blend};
    }
    ~Blending() {
        mercer::derive_functions().erase("blend");
        mercer::derivations().pop_back();
    }
};

int32_t try_blend(Session &session, Model &out, const std::vector<const Model *> &models, const Settings &settings,
                  const mercer_run *run = nullptr) {
    std::vector<mercer_model *> handles;
    for (const Model *model : models) handles.push_back(model->handle);
    mercer_recipe *recipe = session.recipe("blend", settings);
    const int32_t status =
        mercer_model_derive(&out.handle, recipe, handles.data(), static_cast<int64_t>(handles.size()), nullptr, run);
    mercer_recipe_destroy(recipe);
    return status;
}

Model blended(Session &session, const Model &a, const Model &b, const Settings &settings = {}) {
    Model out;
    OK(try_blend(session, out, {&a, &b}, settings));
    return out;
}

void test_two_models() {
    const Blending blending;
    Session session;
    const Model a = session.fit(points(40, 17), gaussian), b = session.fit(points(30, 18), gaussian);
    const Matrix q = points(25, 19), of_a = session.apply(a, q), of_b = session.apply(b, q);
    for (const char *share : {"", "0.25", "1"}) {
        const double part = *share ? std::stod(share) : 0.5;
        const Model both = blended(session, a, b, {{"share", share}});
        Vector expected;
        for (size_t k = 0; k < of_a.v.size(); ++k) expected.push_back(part * of_a.v[k] + (1 - part) * of_b.v[k]);
        expect_near(expected, session.apply(both, q).v, 1e-12, "scores");
        TEST_ASSERT_EQUAL_DOUBLE(part, report(both)["parameters"]["blend.share"].get<double>());
        TEST_ASSERT_TRUE(report(both)["operation"] == "blend" && !report(both).contains("reducer"));
    }
    for (const std::vector<const Model *> &wrong : {std::vector<const Model *>{&a}, {&a, &b, &a}}) {
        Model none;
        TEST_ASSERT_EQUAL_INT32(MERCER_E_ARGUMENT, try_blend(session, none, wrong, {}));
        TEST_ASSERT_NOT_NULL_MESSAGE(std::strstr(mercer_last_error(), "'blend' takes 2 models"), mercer_last_error());
    }
}

void test_rows_of_its_own() {
    const Blending blending;
    Session session;
    mercer_recipe *recipe = session.recipe("blend", {{"blend.share", "0.125"}});
    int64_t count = 0;
    OK(mercer_recipe_rows(recipe, &count));
    bool found = false;
    for (int64_t k = 0; k < count; ++k) {
        mercer_row row{};
        row.struct_size = sizeof row;
        OK(mercer_recipe_row(recipe, k, &row));
        TEST_ASSERT_TRUE_MESSAGE(std::strncmp(row.name, "reducer", 7) != 0, row.name);
        TEST_ASSERT_TRUE_MESSAGE(std::strcmp(row.name, "output.orthonormal") != 0, row.name);
        found |= std::strcmp(row.name, "blend.share") == 0 && std::strcmp(row.initial, "0.5") == 0;
    }
    TEST_ASSERT_TRUE(found);
    const char *value = nullptr;
    OK(mercer_recipe_get(recipe, "share", &value));
    TEST_ASSERT_EQUAL_STRING("0.125", value);
    TEST_ASSERT_EQUAL_INT32(MERCER_E_VALUE, mercer_recipe_set(recipe, "share", "2"));
    TEST_ASSERT_EQUAL_INT32(MERCER_E_NAME, mercer_recipe_set(recipe, "reducer", "uniform"));
    TEST_ASSERT_EQUAL_INT32(MERCER_E_NAME, mercer_recipe_set(recipe, "orthonormal", "true"));
    TEST_ASSERT_NOT_NULL_MESSAGE(std::strstr(mercer_last_error(), "'compress'"), mercer_last_error());
    mercer_recipe_destroy(recipe);
    recipe = session.recipe("compress", {});
    TEST_ASSERT_EQUAL_INT32(MERCER_E_NAME, mercer_recipe_set(recipe, "blend.share", "0.5"));
    TEST_ASSERT_NOT_NULL_MESSAGE(std::strstr(mercer_last_error(), "'blend'"), mercer_last_error());
    mercer_recipe_destroy(recipe);
}

void test_forecast_of_its_own() {
    const Blending blending;
    Session session;
    const Model a = session.fit(points(40, 17), gaussian), b = session.fit(points(30, 18), gaussian);
    mercer_model *const handles[] = {a.handle, b.handle};
    mercer_recipe *recipe = session.recipe("blend", {});
    mercer_forecast ahead{};
    ahead.struct_size = sizeof ahead;
    OK(mercer_model_forecast(recipe, handles, 2, nullptr, nullptr, &ahead));
    TEST_ASSERT_EQUAL_DOUBLE(8 * 70 * (d + r + 1), ahead.bytes.most);
    TEST_ASSERT_EQUAL_DOUBLE(2, ahead.flops.most);
    TEST_ASSERT_EQUAL_STRING("two models side by side", ahead.strategy);
    mercer_recipe_destroy(recipe);
    mercer_run run = with_threads(1);
    run.memory = static_cast<int64_t>(ahead.bytes.most) - 1;
    Model none;
    TEST_ASSERT_EQUAL_INT32(MERCER_E_BUDGET, try_blend(session, none, {&a, &b}, {}, &run));
    TEST_ASSERT_NOT_NULL_MESSAGE(std::strstr(mercer_last_error(), "'blend' needs"), mercer_last_error());
}

// Returns the checksum in the header of the model's file. It is the digest by which reports of
// derived models identify this parent.
std::string digest_in_file(const Model &model) {
    std::string bytes;
    mercer_sink sink{sizeof sink,
                     [](void *user, const void *from, int64_t count) {
                         static_cast<std::string *>(user)->append(static_cast<const char *>(from),
                                                                  static_cast<size_t>(count));
                         return 0;
                     },
                     &bytes};
    OK(mercer_model_write(model.handle, &sink));
    return bytes.substr(34, 8);
}

void test_ancestors() {
    const Blending blending;
    Session session;
    const Model first = session.fit(points(4, 17), gaussian);
    Model last = session.fit(points(5, 18), gaussian);
    size_t longest = 0;
    for (int64_t k = 1; k <= 40; ++k) {
        last = blended(session, last, first);
        TEST_ASSERT_EQUAL_INT64(2 * k, report(last, "/ancestors").get<int64_t>());
        nlohmann::json text = report(last);
        const size_t length = text["from"].dump().size();
        if (k == 2) longest = length;
        if (k > 2) TEST_ASSERT_TRUE(length <= longest + 8); // 8: m may have more digits
    }
    const nlohmann::json from = report(last, "/from");
    TEST_ASSERT_EQUAL_size_t(2, from.size());
    TEST_ASSERT_TRUE(from[0]["operation"] == "blend" && !from[1].contains("operation"));
    TEST_ASSERT_TRUE(from[1]["method"] == "kpca" && from[1]["m"] == 4 && from[1]["n"] == 4 && from[1]["r"] == 3);
    TEST_ASSERT_EQUAL_STRING(digest_in_file(first).c_str(), from[1]["digest"].get<std::string>().c_str());

    // Each of the 60 rounds more than doubles the number of ancestors, which reports limit to 2^53.
    Model twice = blended(session, first, first);
    mercer_recipe *recipe = session.recipe("compress", {{"m", "3"}});
    for (int64_t k = 0; k < 60; ++k) {
        Model few;
        OK(mercer_model_derive(&few.handle, recipe, &twice.handle, 1, nullptr, nullptr));
        twice = blended(session, few, few);
    }
    mercer_recipe_destroy(recipe);
    TEST_ASSERT_EQUAL_INT64(int64_t{1} << 53, report(twice, "/ancestors").get<int64_t>());
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_two_models);
    RUN_TEST(test_rows_of_its_own);
    RUN_TEST(test_forecast_of_its_own);
    RUN_TEST(test_ancestors);
    return UNITY_END();
}
