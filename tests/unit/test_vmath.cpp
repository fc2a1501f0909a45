// exp of every instruction set compiled in and present here, against the C library's in long double.
#include "core/vmath.h"
#include "tolerances.h"
#include "unity_cpp.h"

#include <limits>
#include <vector>

namespace mercer {
extern const VectorMath vmath_portable;
#ifdef MERCER_SIMD
extern const VectorMath vmath_avx2, vmath_avx512;
#endif
} // namespace mercer

using namespace mercer;

namespace {

struct Named {
    const char *name;
    const VectorMath *math;
};
std::vector<Named> tables() {
    std::vector<Named> out = {{"portable", &vmath_portable}};
#ifdef MERCER_SIMD
    if (best_isa() >= Isa::avx2) out.push_back({"avx2", &vmath_avx2});
    if (best_isa() >= Isa::avx512) out.push_back({"avx512", &vmath_avx512});
#endif
    return out;
}

void run(const VectorMath &math, std::vector<double> &values) {
    math.exp_f64(values.data(), static_cast<int64_t>(values.size()));
}
void run(const VectorMath &math, std::vector<float> &values) {
    math.exp_f32(values.data(), static_cast<int64_t>(values.size()));
}

// Error in units of the last place of the exact value.
template <class T>
double ulps(T got, long double exact) {
    int exponent;
    std::frexp(static_cast<T>(exact), &exponent);
    long double ulp = std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits);
    return static_cast<double>(std::fabs(static_cast<long double>(got) - exact) / ulp);
}

// Arguments of a step over the range where the result is a normal number.
template <class T>
void sweep(T from, T to, T step) {
    std::vector<T> arguments;
    for (T x = from; x < to; x += step) arguments.push_back(x);
    for (const Named &table : tables()) {
        std::vector<T> values = arguments;
        run(*table.math, values);
        double worst = 0;
        for (size_t k = 0; k < values.size(); ++k)
            worst = std::max(worst, ulps(values[k], std::exp(static_cast<long double>(arguments[k]))));
        TEST_ASSERT_TRUE_MESSAGE(worst <= tolerance::exp_ulp, table.name);
        TEST_ASSERT_TRUE_MESSAGE(worst > 0.4, table.name); // or this measures nothing
    }
}

void test_range() {
    sweep<double>(-708.39, 709.78, 0.00337);
    sweep<float>(-87.33f, 88.72f, 0.000337f);
}

void test_small_arguments() {
    sweep<double>(-0.7, 0.7, 1.7e-5);
    sweep<float>(-0.7f, 0.7f, 1.7e-5f);
}

template <class T>
void specials() {
    const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
    const T largest = std::numeric_limits<T>::max(), tiny = std::numeric_limits<T>::denorm_min();
    for (const Named &table : tables())
        for (size_t length : {1u, 7u, 16u, 33u}) // vector bodies and their tails
            for (size_t at = 0; at < length; ++at) {
                const T in[] = {0, -T(0), tiny, -tiny, inf, -inf, largest, -largest, nan};
                const T out[] = {1, 1, 1, 1, inf, 0, inf, 0, nan};
                for (size_t k = 0; k < std::size(in); ++k) {
                    std::vector<T> values(length, T(1));
                    values[at] = in[k];
                    run(*table.math, values);
                    bool same = std::isnan(out[k]) ? std::isnan(values[at]) : values[at] == out[k];
                    TEST_ASSERT_TRUE_MESSAGE(same, table.name);
                    TEST_ASSERT_TRUE_MESSAGE(!std::signbit(values[at]) || std::isnan(out[k]), table.name);
                    TEST_ASSERT_TRUE(length == 1 || ulps(values[at ? 0 : 1], std::exp(1.0L)) <= tolerance::exp_ulp);
                }
            }
}

void test_specials() {
    specials<double>();
    specials<float>();
}

// Around the ends: below the smallest normal number 0, beyond the largest Inf, and never anything else.
template <class T>
void ends() {
    for (const Named &table : tables())
        for (T edge : {std::log(std::numeric_limits<T>::min()), std::log(std::numeric_limits<T>::max())}) {
            std::vector<T> arguments = {edge};
            for (int k = 0; k < 20; ++k) {
                arguments.push_back(std::nextafter(arguments.back(), T(1000)));
                arguments.insert(arguments.begin(), std::nextafter(arguments.front(), T(-1000)));
            }
            std::vector<T> values = arguments;
            run(*table.math, values);
            for (size_t k = 0; k < values.size(); ++k) {
                bool flushed = values[k] == 0 && edge < 0 && k <= 22;
                bool overflown = std::isinf(values[k]) && edge > 0 && k >= 18;
                bool right = ulps(values[k], std::exp(static_cast<long double>(arguments[k]))) <= tolerance::exp_ulp;
                TEST_ASSERT_TRUE_MESSAGE(flushed || overflown || right, table.name);
            }
            TEST_ASSERT_TRUE(edge > 0 ? std::isinf(values.back()) : values.front() == 0);
        }
}

void test_ends() {
    ends<double>();
    ends<float>();
}

void test_choice() {
    TEST_ASSERT_TRUE(vector_math().exp_f64 == tables().back().math->exp_f64);
    TEST_ASSERT_EQUAL_STRING(tables().back().name, isa_name(best_isa()));
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_range);
    RUN_TEST(test_small_arguments);
    RUN_TEST(test_specials);
    RUN_TEST(test_ends);
    RUN_TEST(test_choice);
    return UNITY_END();
}
