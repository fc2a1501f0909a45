// Compares exp for each instruction set that is compiled in and available here with exp of the C
// library in long double, and reach with plain sums.
#include "core/vmath.h"
#include "oracle.h"
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

// Returns the error in units in the last place of the exact value.
template <class T>
double ulps(T got, long double exact) {
    int exponent;
    std::frexp(static_cast<T>(exact), &exponent);
    long double ulp = std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits);
    return static_cast<double>(std::fabs(static_cast<long double>(got) - exact) / ulp);
}

// Checks exp at equidistant arguments in a range in which results are normal numbers.
template <class T>
void sweep(T from, T to, T step) {
    std::vector<T> arguments;
    for (T x = from; x < to; x += step) arguments.push_back(x);
    for (const Named &table : tables()) {
        std::vector<T> values = arguments;
        run(*table.math, values);
        double worst = 0;
        for (size_t k = 0; k < values.size(); ++k)
            worst = oracle::larger(worst, ulps(values[k], std::exp(static_cast<long double>(arguments[k]))));
        TEST_ASSERT_TRUE_MESSAGE(worst <= tolerance::exp_ulp, table.name);
        TEST_ASSERT_TRUE_MESSAGE(worst > 0.4, table.name); // rounding alone makes about 0.5 ulp
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

// Near the ends of the range, a result must be accurate, or 0 below the smallest normal number, or
// Inf above the largest.
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

// Sums of small whole numbers are exact, so sums equal to the level occur and must count as
// reaching it. The unused bits of the last word must be 0, and words after it must not change.
void check_reach(const VectorMath &math, oracle::Numbers &numbers, int64_t rows, int64_t count, int64_t d) {
    const auto whole = [&] { return static_cast<float>(std::floor(numbers() * 4)); };
    const auto filled = [&](int64_t size) {
        std::vector<float> out(static_cast<size_t>(size));
        for (float &value : out) value = whole();
        return out;
    };
    const int64_t of = rows + 3, ldy = (count + 31) / 32 * 32, words = (count + 63) / 64 + 1;
    const std::vector<float> x = filled(of * d), level = filled(of), y = filled(d * ldy), add = filled(ldy);
    std::vector<int64_t> row(static_cast<size_t>(rows));
    for (int64_t &number : row) number = static_cast<int64_t>(numbers.uniform() * static_cast<double>(of));
    std::vector<uint64_t> bits(static_cast<size_t>(rows * words), 0x5555555555555555);
    math.reach(rows, row.data(), d, x.data(), level.data(), count, y.data(), ldy, add.data(), bits.data(), words);
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < 64 * words; ++j) {
            const int64_t r = row[static_cast<size_t>(i)];
            float sum = j < count ? add[static_cast<size_t>(j)] : 0;
            for (int64_t k = 0; j < count && k < d; ++k)
                sum += x[static_cast<size_t>(r * d + k)] * y[static_cast<size_t>(k * ldy + j)];
            const bool expected =
                j >= 64 * (words - 1) ? j % 2 == 0 : j < count && sum >= level[static_cast<size_t>(r)];
            TEST_ASSERT_EQUAL_INT(expected, bits[static_cast<size_t>(i * words + j / 64)] >> j % 64 & 1);
        }
}

void test_reach() {
    oracle::Numbers numbers(1);
    for (const Named &table : tables())
        for (int64_t rows : {0, 1, 7, 8, 9, 21})
            for (int64_t count : {1, 31, 32, 33, 63, 64, 65, 128, 200})
                for (int64_t d : {0, 1, 16, 37}) check_reach(*table.math, numbers, rows, count, d);
}

// Sums that overflow must be compared as infinities, and NaN must count as not below the level.
void test_reach_beyond() {
    const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    const int64_t row = 0;
    for (const Named &table : tables()) {
        const float x[] = {1e30f, 1e30f}, level[] = {0};
        float y[64] = {}, add[32] = {};
        y[0] = 1e30f, y[1] = -1e30f, y[2] = 1e30f, y[32 + 2] = -1e30f, y[3] = inf, y[32 + 3] = -inf;
        add[4] = nan, add[5] = -inf, add[6] = inf, add[7] = -1e-30f;
        uint64_t bits = 0;
        table.math->reach(1, &row, 2, x, level, 9, y, 32, add, &bits, 1);
        TEST_ASSERT_EQUAL_UINT64_MESSAGE(0b101011101, bits, table.name);
        bits = 0;
        const float none[] = {nan};
        table.math->reach(1, &row, 2, x, none, 9, y, 32, add, &bits, 1);
        TEST_ASSERT_EQUAL_UINT64_MESSAGE(0b111111111, bits, table.name);
    }
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
    RUN_TEST(test_reach);
    RUN_TEST(test_reach_beyond);
    RUN_TEST(test_choice);
    return UNITY_END();
}
