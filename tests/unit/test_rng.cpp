// Checks the random numbers, on which every result depends, against golden values, and checks their
// statistics.
#include "core/rng.h"
#include "unity_cpp.h"

#include <cmath>
#include <cstring>
#include <initializer_list>

using namespace mercer;

namespace {

void test_golden() {
    TEST_ASSERT_TRUE(Random::mix(Random::golden) == 0xE220A8397B1DCDAFu);
    Random random(42, Stage::gram);
    TEST_ASSERT_TRUE(random.uniform(0, 0) == .38697427624004088);
    TEST_ASSERT_TRUE(random.uniform(0, 1) == .92131722500653235);
    TEST_ASSERT_TRUE(random.uniform(3, 5) == .27682110694611195);
    char signs[17] = {}; // the signs of a 4 x 3 random projection
    for (int64_t i = 0; i < 4; ++i)
        for (int64_t j = 0; j < 3; ++j) std::strcat(signs, random.uniform(i, j) < 0.5 ? "+" : "-");
    TEST_ASSERT_EQUAL_STRING("+-++--+-++-+", signs);
}

// Golden values of random rounding with s = 4 of 8 equidistant numbers from -.4 to .6: a number
// below 1/s becomes 0 or +-1/s with probabilities that keep its mean.
void test_golden_rounding() {
    const double expected[] = {-.4, -.2571428571, -.25, 0, 0, .3142857143, .4571428571, .6};
    Random random(42, Stage::gram);
    for (int64_t i = 0; i < 8; ++i) {
        double a = -.4 + static_cast<double>(i) / 7, s = 4;
        double rounded = std::fabs(a) > 1 / s                      ? a
                         : random.uniform(i, 0) < s * std::fabs(a) ? std::copysign(1 / s, a)
                                                                   : 0;
        TEST_ASSERT_DOUBLE_WITHIN(1e-10, expected[i], rounded);
    }
}

void test_stages() {
    // Stage s uses the seed mix(seed + golden s), and stage 0 the seed itself.
    for (uint64_t stage = 1; stage < 10; ++stage) {
        Random a(7, static_cast<Stage>(stage)), b(Random::mix(7 + Random::golden * stage), Stage::gram);
        TEST_ASSERT_TRUE(a.uniform(11, 13) == b.uniform(11, 13));
        TEST_ASSERT_TRUE(a.uniform(11, 13) != Random(7, Stage::gram).uniform(11, 13));
    }
    TEST_ASSERT_TRUE(Random(7, Stage::reducer).uniform(1, 2) != Random(7, Stage::reducer).uniform(2, 1));
    TEST_ASSERT_TRUE(Random(7, Stage::reducer).uniform(1, 2) != Random(8, Stage::reducer).uniform(1, 2));
}

void test_uniform() {
    const int64_t count = 1000000;
    for (uint64_t seed : {0u, 1u, 42u}) {
        Random random(seed, Stage::solver);
        double sum = 0, square = 0, neighbours = 0, before = 0;
        for (int64_t i = 0; i < count; ++i) {
            double u = random.uniform(i / 1000, i % 1000);
            TEST_ASSERT_TRUE(u >= 0 && u < 1);
            sum += u - 0.5;
            square += (u - 0.5) * (u - 0.5);
            neighbours += (u - 0.5) * (before - 0.5) * (i % 1000 > 0);
            before = u;
        }
        // A deviation of more than five standard deviations occurs once in 2 million trials.
        const double n = static_cast<double>(count), sigmas = 5;
        TEST_ASSERT_DOUBLE_WITHIN(sigmas * std::sqrt(1 / 12. / n), 0, sum / n);
        TEST_ASSERT_DOUBLE_WITHIN(sigmas * std::sqrt(1 / 180. / n), 1 / 12., square / n);
        TEST_ASSERT_DOUBLE_WITHIN(sigmas * std::sqrt(1 / 144. / n), 0, neighbours / n);
    }
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_golden);
    RUN_TEST(test_golden_rounding);
    RUN_TEST(test_stages);
    RUN_TEST(test_uniform);
    return UNITY_END();
}
