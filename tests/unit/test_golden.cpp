// Compares with golden data of the specification (reduced sets, 12; sampling, G1), which an
// independent implementation computed.
#include "session.h"
#include "tolerances.h"

namespace {

const Settings golden = {{"kernel", "gaussian"}, {"gamma", "1.5625"}, {"components", "4"}}; // exp(-r^2 / 0.64)

Settings with(Settings settings, const char *name, const char *value) {
    settings.emplace_back(name, value);
    return settings;
}

Matrix query() {
    Matrix q(1, 3);
    q.v = {0.3, 0.5, 0.7};
    return q;
}

void check(Session &session, const Model &model, const Vector &lambda, const Vector &z) {
    expect_near(model.vector("lambda"), lambda, tolerance::printed, "lambda");
    // The library and the golden data choose the signs of components by the same rule (sign_of in
    // lift.h).
    expect_near(session.apply(model, query()).v, z, tolerance::printed, "z(q)");
}

void test_kpca() {
    Session session;
    Matrix x = oracle::golden_points();
    check(session, session.fit(x, with(golden, "lift.centred", "false")),
          {.552827674214, .136900431345, .119992515041, .072900398507},
          {.864140263392, .434729814645, .002154693780, .158499892974});
    check(session, session.fit(x, golden), {.137382328364, .120211815183, .074800613838, .036585130259},
          {.409400014497, -.027621407089, .211931628709, -.144298113447});
}

// Fits the centres of the shadow set with their weights as sample weights, which is RSKPCA without
// its reducer.
void test_reduced_set() {
    const int64_t index[] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 14, 20, 27, 28, 29, 53, 56};
    const Vector weights = {4, 3, 7, 4, 6, 6, 6, 2, 1, 4, 1, 2, 1, 3, 5, 3, 1, 1};
    Session session;
    Matrix all = oracle::golden_points(), centres(18, 3);
    for (int64_t i = 0; i < 18; ++i) std::copy_n(all.row(index[i]), 3, &centres(i, 0));
    check(session, session.fit(centres, with(golden, "lift.centred", "false"), weights),
          {.567022443611, .139226823031, .112773250450, .071361078003},
          {.851242761820, .413727016532, -.161075647039, .227866977991});
    check(session, session.fit(centres, golden, weights), {.139492481726, .113357901041, .072564917099, .040137443272},
          {.398692453689, -.128065273259, .267886473214, -.094808328607});
}

void test_g1() {
    Session session;
    Matrix x(12, 2);
    for (int64_t i = 0; i < 12; ++i) {
        x(i, 0) = static_cast<double>((7 * i * i + 2 * i) % 23);
        x(i, 1) = static_cast<double>((10 * i + 3 * i * i * i) % 19);
    }
    Model model = session.fit(x, {{"sigma", "8"}, {"components", "5"}});
    Vector lambda = model.vector("lambda");
    for (double &value : lambda) value *= 12; // the published eigenvalues are not divided by n
    expect_near(lambda, {2.98007708009, 1.22947161451, .965591007145, .425722908968, .251112966988},
                12 * tolerance::printed, "lambda");
    // The published pivots begin with row 0 (test_pivots.cpp compares them). Here all k(x, x) are
    // equal, and `greedy` breaks this tie by the contents of the rows, which gives another row.
    // greedy_first swaps that row to the front, and only the first two pivots are checked.
    const Matrix turned = session.greedy_first(x);
    Model pivots = session.fit(turned, {{"sigma", "8"}, {"reducer", "greedy"}, {"m", "5"}});
    const Matrix c = pivots.tensor("C"), k = oracle::gram(oracle::gaussian(8), turned, turned);
    TEST_ASSERT_TRUE(c(0, 0) == turned(0, 0) && c(0, 1) == turned(0, 1));
    double most = 0, second = 0; // the second pivot must be the row farthest from the first
    for (int64_t i = 1; i < 12; ++i) {
        most = std::max(most, 1 - k(i, 0) * k(i, 0));
        if (c(1, 0) == turned(i, 0) && c(1, 1) == turned(i, 1)) second = 1 - k(i, 0) * k(i, 0);
    }
    TEST_ASSERT_TRUE(second >= most * (1 - 1e-10));
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_kpca);
    RUN_TEST(test_reduced_set);
    RUN_TEST(test_g1);
    return UNITY_END();
}
