// Tests of output.assignment: the centre that represents each row, either as the reducer states it
// or the nearest one, is compared with the result of plain loops.
#include "session.h"
#include "temp_files.h"

#include <nlohmann/json.hpp>

namespace {

struct Case {
    const char *reducer;
    Settings settings;
    const char *weights = "own";
};

const Case cases[] = {
    {"shadow", {{"reducer.ell", "3"}}},
    {"shadow", {{"reducer.ell", "3"}, {"reducer.assign", "nearest"}}},
    {"shadow", {{"reducer.ell", "3"}}, "voronoi"},
    {"kmeans", {{"reducer.m", "9"}}},
    {"farthest", {{"reducer.m", "9"}}},
    {"herding", {{"reducer.m", "9"}}},
    {"thinning", {{"reducer.m", "9"}}},
    {"leverage", {{"reducer.m", "9"}}},
    {"uniform", {{"reducer.m", "9"}}},
    {"uniform", {{"reducer.m", "9"}}, "voronoi"},
    {"greedy", {{"reducer.m", "9"}}},
    {"rpcholesky", {{"reducer.m", "9"}}},
};

// Checks that no centre is nearer. The tolerance is larger than the rounding of distances in the
// type of the model: a row that is equally near to two centres up to rounding may be assigned to
// either.
bool is_nearest(const Matrix &x, const Matrix &c, int64_t row, int64_t centre) {
    const double own = oracle::sqdist(x.row(row), c.row(centre), x.cols);
    for (int64_t j = 0; j < c.rows; ++j)
        if (!(oracle::sqdist(x.row(row), c.row(j), x.cols) >= own - 1e-6)) return false;
    return true;
}

int64_t earliest(const Matrix &x, const Matrix &c, int64_t row, double epsilon) {
    for (int64_t j = 0; j < c.rows; ++j)
        if (oracle::sqdist(x.row(row), c.row(j), x.cols) < epsilon * epsilon) return j;
    return -1;
}

double epsilon_of(const Model &model) {
    const char *text = nullptr;
    OK(mercer_model_info(model.handle, "/reported/reducer.epsilon", &text));
    return std::stod(text);
}

void check(const Case &one, const char *lift, Layout layout, bool weighted) {
    Session session;
    const Matrix x = oracle::golden_points();
    Vector weights;
    for (int64_t i = 0; weighted && i < x.rows; ++i) weights.push_back(i % 5 == 1 ? 0 : 1 + static_cast<double>(i % 4));
    Settings settings = {{"kernel", "gaussian"}, {"gamma", "1.5625"}, {"components", "3"},
                         {"lift", lift},         {"seed", "5"},       {"output.assignment", "true"}};
    settings.emplace_back("reducer", one.reducer);
    settings.insert(settings.end(), one.settings.begin(), one.settings.end());
    const bool weighs = lift == std::string("weighted");
    if (weighs) settings.emplace_back("reducer.weights", one.weights);
    const Model model = session.fit(x, settings, weights, layout);
    const Vector assignment = model.vector("assignment");
    const Matrix c = model.tensor("C");
    TEST_ASSERT_EQUAL_INT64(x.rows, static_cast<int64_t>(assignment.size()));
    const bool voronoi = weighs && one.weights == std::string("voronoi"),
               early = one.reducer == std::string("shadow") && one.settings.size() == 1 && !voronoi;
    Vector sums(static_cast<size_t>(c.rows));
    double total = 0;
    for (int64_t i = 0; i < x.rows; ++i) {
        const auto centre = static_cast<int64_t>(assignment[static_cast<size_t>(i)]);
        const double weight = weights.empty() ? 1 : weights[static_cast<size_t>(i)];
        total += weight;
        if (weight == 0 && centre == -1) continue; // its centre was dropped: it has no row of weight > 0
        TEST_ASSERT_TRUE_MESSAGE(centre >= 0 && centre < c.rows, one.reducer);
        sums[static_cast<size_t>(centre)] += weight;
        if (early && weight > 0)
            TEST_ASSERT_EQUAL_INT64(earliest(x, c, i, epsilon_of(model)), centre);
        else
            TEST_ASSERT_TRUE_MESSAGE(is_nearest(x, c, i, centre), one.reducer);
    }
    const std::string name = one.reducer;
    if (!weighs || !(voronoi || name == "shadow" || name == "kmeans" || name == "farthest")) return;
    const Vector w = model.vector("w");
    for (size_t j = 0; j < sums.size(); ++j)
        TEST_ASSERT_DOUBLE_WITHIN(1e-9, sums[j] / total * static_cast<double>(x.rows), w[j]);
}

void every_reducer_says_which_centre_stands_for_each_row() {
    for (const Case &one : cases)
        for (const char *lift : {"weighted", "projected"})
            for (const Layout layout : {Layout{false, false}, Layout{true, true}})
                for (bool weighted : {false, true}) check(one, lift, layout, weighted);
}

void nobody_asked() {
    Session session;
    const Model model =
        session.fit(oracle::golden_points(), {{"kernel", "gaussian"}, {"reducer", "shadow"}, {"lift", "weighted"}});
    TEST_ASSERT_FALSE(model.has("assignment"));
}

void it_is_kept_in_the_file() {
    Session session;
    const Model model = session.fit(oracle::golden_points(),
                                    {{"reducer", "shadow"}, {"output.assignment", "true"}, {"reducer.ell", "3"}});
    const TempFolder folder;
    const std::string path = folder.path("model");
    OK(mercer_model_save(model.handle, path.c_str()));
    Model again;
    OK(mercer_model_load(&again.handle, session.context, path.c_str()));
    TEST_ASSERT_TRUE(again.vector("assignment") == model.vector("assignment"));
}

// With a kernel that is 1 everywhere, all weight goes to one centre, which is also the nearest one
// to every row. Here only the output needs the nearest centres. The fit must not need more memory
// for them than was forecast; it was once refused for this reason.
void one_centre_is_left() {
    Session session;
    const Model model =
        session.fit(oracle::Numbers(3).matrix(500, 3),
                    {{"reducer", "herding"}, {"reducer.m", "3"}, {"sigma", "1e9"}, {"output.assignment", "true"}});
    TEST_ASSERT_EQUAL_INT64(1, model.summary().m);
    for (double centre : model.vector("assignment")) TEST_ASSERT_EQUAL_DOUBLE(0, centre);
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(every_reducer_says_which_centre_stands_for_each_row);
    RUN_TEST(nobody_asked);
    RUN_TEST(it_is_kept_in_the_file);
    RUN_TEST(one_centre_is_left);
    return UNITY_END();
}
