// Compares fused tiles of every instruction set with naive sums in long double. Checks that the
// bits of an entry do not depend on the tile that contains it.
#include "core/vmath.h"
#include "gram/fused.h"
#include "oracle.h"
#include "tolerances.h"
#include "unity_cpp.h"

#include <cstring>
#include <limits>

namespace mercer {
extern const FusedTable<float> fused_f32_portable;
extern const FusedTable<double> fused_f64_portable;
#ifdef MERCER_SIMD
extern const FusedTable<float> fused_f32_avx2, fused_f32_avx512;
extern const FusedTable<double> fused_f64_avx2, fused_f64_avx512;
#endif
} // namespace mercer

using namespace mercer;

namespace {

template <class T>
struct Named {
    const char *name;
    const FusedTable<T> *table;
};
template <class T>
std::vector<Named<T>> tables();
template <>
std::vector<Named<float>> tables() {
    std::vector<Named<float>> out = {{"f32 portable", &fused_f32_portable}};
#ifdef MERCER_SIMD
    if (best_isa() >= Isa::avx2) out.push_back({"f32 avx2", &fused_f32_avx2});
    if (best_isa() >= Isa::avx512) out.push_back({"f32 avx512", &fused_f32_avx512});
#endif
    return out;
}
template <>
std::vector<Named<double>> tables() {
    std::vector<Named<double>> out = {{"f64 portable", &fused_f64_portable}};
#ifdef MERCER_SIMD
    if (best_isa() >= Isa::avx2) out.push_back({"f64 avx2", &fused_f64_avx2});
    if (best_isa() >= Isa::avx512) out.push_back({"f64 avx512", &fused_f64_avx512});
#endif
    return out;
}

template <class T>
constexpr double u = sizeof(T) == 4 ? tolerance::u32 : tolerance::u64;
template <class T>
constexpr T smallest = std::numeric_limits<T>::min();
template <class T>
constexpr T nan_of = std::numeric_limits<T>::quiet_NaN();
template <class T>
constexpr T guard = 12345;
constexpr int64_t ld = fused_stride;

size_t at(int64_t i, int64_t j) { return static_cast<size_t>(i * ld + j); }

template <class T>
bool same_bits(T a, T b) {
    return std::memcmp(&a, &b, sizeof a) == 0;
}

// A panel of `count` points whose distances from the origin grow within each group of 64, so that
// exponents range from 0 to far below underflow.
template <class T>
struct Panel {
    int64_t count, d;
    std::vector<T> packed, half;
    Panel(int64_t count, int64_t d, uint64_t seed) : count(count), d(d), packed(size_t(d * ld)), half(size_t(ld)) {
        oracle::Numbers numbers(seed);
        const double largest = sizeof(T) == 4 ? 12 : 34; // |x'|
        for (int64_t i = 0; i < ld; ++i) {
            double scale = largest * std::sqrt(3.0 / double(d)) * std::pow(double(i % 64 + 1) / 64, 2);
            for (int64_t k = 0; k < d && i < count; ++k) packed[at(k, i)] = static_cast<T>(scale * numbers());
            half[size_t(i)] = i < count ? static_cast<T>(-dot(*this, i, i) / 2) : static_cast<T>(fused_padding);
        }
    }
    long double dot(const Panel &other, int64_t i, int64_t j) const {
        long double sum = 0;
        for (int64_t k = 0; k < d; ++k) sum += static_cast<long double>(packed[at(k, i)]) * other.packed[at(k, j)];
        return sum;
    }
    long double square(const Panel &other, int64_t i, int64_t j) const {
        long double sum = 0;
        for (int64_t k = 0; k < d; ++k) {
            long double e = static_cast<long double>(packed[at(k, i)]) - other.packed[at(k, j)];
            sum += e * e;
        }
        return sum;
    }
};

enum class Which { product, checked, difference };

// Computes m x n entries, from point i0 of x and point j0 of y on. Checks that the padding of the
// tile is 0 and that nothing is written beyond it.
template <class T>
std::vector<T> run(const FusedTable<T> &table, Which which, const Panel<T> &x, const Panel<T> &y, int64_t i0, int64_t m,
                   int64_t j0, int64_t n, T *worst = nullptr) {
    std::vector<T> values(size_t(ld * ld), guard<T>);
    const T *a = x.packed.data() + i0, *ah = x.half.data() + i0, *b = y.packed.data() + j0, *bh = y.half.data() + j0;
    T got = 0;
    if (which == Which::checked)
        got = table.product_checked(m, n, x.d, a, ah, b, bh, values.data());
    else
        (which == Which::product ? table.product : table.difference)(m, n, x.d, a, ah, b, bh, values.data());
    if (worst) *worst = got;
    const int64_t below = (m + 7) / 8 * 8, right = (n + 63) / 64 * 64;
    for (int64_t i = 0; i < ld; ++i)
        for (int64_t j = 0; j < ld; ++j)
            if (i >= m || j >= n)
                TEST_ASSERT_TRUE(same_bits(values[at(i, j)], i < below && j < right ? T(0) : guard<T>));
    return values;
}

template <class T>
void check(T got, long double exponent, double allowed, const char *name) {
    long double exact = std::exp2(std::min(exponent, 0.0L));
    // Results up to 1e-3 above the smallest normal number may be 0 too, because of the rounding
    // errors of large exponents.
    bool flushed = got == 0 && exact < smallest<T> * (1 + 1e-3L);
    bool right = got >= smallest<T> && got <= 1 && std::fabs(got - exact) <= allowed;
    TEST_ASSERT_TRUE_MESSAGE(flushed || right, name);
}

template <class T>
void check_values(int64_t d) {
    Panel<T> x(ld, d, 1), y(ld, d, 2);
    for (int64_t k = 0; k < d; ++k) y.packed[at(k, 7)] = x.packed[at(k, 3)]; // makes two rows equal
    y.half[7] = x.half[3];
    std::vector<std::vector<T>> products, differences;
    for (const Named<T> &table : tables<T>()) {
        products.push_back(run(*table.table, Which::product, x, y, 0, ld, 0, ld));
        differences.push_back(run(*table.table, Which::difference, x, y, 0, ld, 0, ld));
        TEST_ASSERT_TRUE_MESSAGE(differences.back()[at(3, 7)] == 1, table.name);
    }
    for (int64_t i = 0; i<ld; i += d> 100 ? 5 : 1)
        for (int64_t j = 0; j < ld; ++j) {
            long double halves = static_cast<long double>(x.half[size_t(i)]) + y.half[size_t(j)];
            long double by_product = halves + x.dot(y, i, j), by_difference = -x.square(y, i, j) / 2;
            double product = static_cast<double>(std::exp2(std::min(by_product, 0.0L)));
            double difference = static_cast<double>(std::exp2(by_difference));
            for (size_t k = 0; k < products.size(); ++k) {
                const char *name = tables<T>()[k].name;
                check(products[k][at(i, j)], by_product,
                      tolerance::fused(d, static_cast<double>(-halves), product, u<T>), name);
                check(differences[k][at(i, j)], by_difference,
                      tolerance::fused_difference(d, static_cast<double>(-by_difference), difference, u<T>), name);
            }
        }
}
void test_values() {
    for (int64_t d : {1, 2, 3, 16, 17, 64, 65, 100, 256, 257, 512}) {
        check_values<float>(d);
        check_values<double>(d);
    }
}

// An entry must have the same bits in any block, from a checked function or not, and with the two
// sides exchanged.
template <class T>
void check_bits(int64_t d, bool few) {
    Panel<T> x(ld, d, 3), y(ld, d, 4);
    for (const Named<T> &table : tables<T>())
        for (Which which : {Which::product, Which::checked, Which::difference}) {
            Which plain = which == Which::checked ? Which::product : which;
            std::vector<T> all = run(*table.table, plain, x, y, 0, ld, 0, ld);
            std::vector<T> turned = run(*table.table, plain, y, x, 0, ld, 0, ld);
            for (int64_t i = 0; i < ld; ++i)
                for (int64_t j = 0; j < ld; ++j)
                    TEST_ASSERT_TRUE_MESSAGE(same_bits(all[at(i, j)], turned[at(j, i)]), table.name);
            for (int64_t m = 1; m <= 70; m += few ? 23 : 1)
                for (int64_t n = 1 + (m * 7) % 13; n <= 140; n += few ? 61 : 13) {
                    const int64_t i0 = m % 20 * 8, j0 = m % 2 * 64;
                    std::vector<T> part = run(*table.table, which, x, y, i0, m, j0, n);
                    for (int64_t i = 0; i < m; ++i)
                        for (int64_t j = 0; j < n; ++j)
                            TEST_ASSERT_TRUE_MESSAGE(same_bits(part[at(i, j)], all[at(i0 + i, j0 + j)]), table.name);
                }
        }
}
void test_bits() {
    for (int64_t d : {1, 2, 3, 16, 17, 100, 512}) {
        check_bits<float>(d, d != 3);
        check_bits<double>(d, d != 3);
    }
}

// Checks what the checked functions return: the largest product of an entry (for finish_checked, of
// a dot product) and -(half_i + half_j), taken over the m x n requested entries only, although the
// panels have more points.
template <class T>
void check_worst() {
    Panel<T> x(ld, 5, 5), y(ld, 5, 6);
    for (const Named<T> &table : tables<T>())
        for (int64_t m : {1, 7, 8, 9, 70, 256})
            for (int64_t n : {1, 63, 64, 65, 200, 256}) {
                T worst = 0, finished;
                std::vector<T> values = run(*table.table, Which::checked, x, y, 0, m, 0, n, &worst), dots = values;
                double naive = 0, by_finish = 0;
                for (int64_t i = 0; i < m; ++i)
                    for (int64_t j = 0; j < n; ++j) {
                        double halves = double(x.half[size_t(i)]) + double(y.half[size_t(j)]);
                        naive = oracle::larger(naive, -halves * double(values[at(i, j)]));
                        dots[at(i, j)] = static_cast<T>(x.dot(y, i, j));
                    }
                TEST_ASSERT_TRUE_MESSAGE(std::fabs(double(worst) - naive) <= 4 * u<T> * naive, table.name);
                TEST_ASSERT_TRUE(naive > 0);
                finished = table.table->finish_checked(m, n, x.half.data(), y.half.data(), dots.data());
                for (int64_t i = 0; i < m; ++i)
                    for (int64_t j = 0; j < n; ++j)
                        by_finish = oracle::larger(by_finish, -(double(x.half[size_t(i)]) + double(y.half[size_t(j)])) *
                                                                  double(dots[at(i, j)]));
                TEST_ASSERT_TRUE_MESSAGE(std::fabs(double(finished) - by_finish) <= 4 * u<T> * by_finish, table.name);
            }
}
void test_worst() {
    check_worst<float>();
    check_worst<double>();
}

// Padding, and points whose half overflowed to -inf, must give 0 and never NaN. NaN in a point must
// affect its row and nothing else.
template <class T>
void check_specials() {
    Panel<T> x(13, 6, 7), y(21, 6, 8);
    for (const Named<T> &table : tables<T>()) {
        T worst = 0, poisoned = 0;
        std::vector<T> clean = run(*table.table, Which::checked, x, y, 0, 13, 0, 21, &worst);
        std::vector<T> padded = run(*table.table, Which::checked, x, y, 0, 256, 0, 256, &poisoned);
        TEST_ASSERT_TRUE_MESSAGE(same_bits(worst, poisoned), table.name);
        for (int64_t i = 0; i < ld; ++i)
            for (int64_t j = 0; j < ld; ++j)
                TEST_ASSERT_TRUE_MESSAGE(same_bits(padded[at(i, j)], i < 13 && j < 21 ? clean[at(i, j)] : T(0)),
                                         table.name);

        Panel<T> bad = x;
        bad.packed[at(2, 5)] = nan_of<T>;
        bad.half[5] = nan_of<T>;
        bad.half[6] = -std::numeric_limits<T>::infinity();
        for (Which which : {Which::product, Which::checked, Which::difference}) {
            clean = run(*table.table, which, x, y, 0, 13, 0, 21);
            std::vector<T> values = run(*table.table, which, bad, y, 0, 13, 0, 21, &poisoned);
            for (int64_t i = 0; i < 13; ++i)
                for (int64_t j = 0; j < 21; ++j) {
                    T value = values[at(i, j)];
                    T expected = i == 6 && which != Which::difference ? T(0) : clean[at(i, j)];
                    TEST_ASSERT_TRUE_MESSAGE(i == 5 ? std::isnan(value) : same_bits(value, expected), table.name);
                }
            if (which == Which::checked) TEST_ASSERT_TRUE_MESSAGE(poisoned >= 0 && poisoned <= worst, table.name);
        }
    }
}
void test_specials() {
    check_specials<float>();
    check_specials<double>();
}

// Checks `row`: the sums over a panel for one point must use the values of `difference`, and must
// be added to what `sums` contains. Partial sums may be added in any order.
template <class T>
void check_row(int64_t d, int64_t n, int64_t r) {
    const Panel<T> x(1, d, 9), y(n, d, 10);
    oracle::Numbers numbers(11);
    std::vector<T> point, w(size_t(r * ld), T(0));
    for (int64_t k = 0; k < d; ++k) point.push_back(x.packed[at(k, 0)]);
    for (int64_t j = 0; j < r; ++j)
        for (int64_t i = 0; i < n; ++i) w[at(j, i)] = static_cast<T>(numbers());
    for (const Named<T> &table : tables<T>()) {
        const std::vector<T> values = run(*table.table, Which::difference, x, y, 0, 1, 0, n);
        std::vector<double> sums(size_t((r + 1) * fused_parts), 0.25);
        table.table->row(n, d, point.data(), y.packed.data(), r, w.data(), sums.data());
        for (int64_t j = 0; j <= r; ++j) {
            long double naive = 0, sizes = 0, got = 0;
            for (int64_t i = 0; i < n && j < r; ++i) {
                const long double term = static_cast<long double>(values[at(0, i)]) * w[at(j, i)];
                naive += term, sizes += std::fabs(term);
            }
            for (int l = 0; l < fused_parts; ++l) got += sums[size_t(j * fused_parts + l)] - 0.25L;
            const double allowed = tolerance::sum(ld / fused_parts, double(sizes), u<T>) + 16 * tolerance::u64;
            TEST_ASSERT_TRUE_MESSAGE(std::fabs(got - naive) <= (j < r ? allowed : 0), table.name);
        }
    }
}
void test_row() {
    for (int64_t d : {1, 3, 16, 256})
        for (int64_t n : {1, 15, 64, 65, 200, 256})
            for (int64_t r : {1, 4, 10, 15}) {
                check_row<float>(d, n, r);
                check_row<double>(d, n, r);
            }
}

// Checks 2^x alone over the whole range of exponents: with halves of 0, `finish` computes nothing
// else.
template <class T>
void check_exp2(T lowest) {
    std::vector<T> zeros(size_t(ld), T(0)), exponents(size_t(ld * ld));
    for (const Named<T> &table : tables<T>()) {
        double worst = 0;
        for (int sweep = 0; sweep < 4; ++sweep) {
            const double span = sweep == 0 ? -double(lowest) : sweep == 1 ? 1 : sweep == 2 ? 1e-3 : 20;
            oracle::Numbers numbers(static_cast<uint64_t>(sweep));
            for (T &x : exponents) x = static_cast<T>(-span * numbers.uniform());
            std::vector<T> values = exponents;
            table.table->finish(ld, ld, zeros.data(), zeros.data(), values.data());
            for (size_t k = 0; k < values.size(); ++k) {
                long double exact = std::exp2(static_cast<long double>(exponents[k]));
                int power;
                std::frexp(static_cast<T>(exact), &power);
                long double ulp = std::ldexp(1.0L, power - std::numeric_limits<T>::digits);
                worst = oracle::larger(worst, static_cast<double>(std::fabs(values[k] - exact) / ulp));
            }
        }
        TEST_ASSERT_TRUE_MESSAGE(worst <= tolerance::exp2_ulp, table.name);
        TEST_ASSERT_TRUE_MESSAGE(worst > 0.4, table.name); // a smaller error would mean that the measurement is wrong
    }
}
void test_exp2() {
    check_exp2<float>(-126);
    check_exp2<double>(-1022);
}

template <class T>
void check_ends(T lowest) {
    const T inf = std::numeric_limits<T>::infinity(), below = std::nextafter(lowest, -inf);
    const T payload = sizeof(T) == 4 ? static_cast<T>(std::nanf("0x1fffff")) : static_cast<T>(std::nan("0xfffffff"));
    const T in[] = {0,      -T(0), smallest<T>, -smallest<T>,    1,         inf,        -inf,   T(-2e30), -1, -2,
                    lowest, below, T(-4e5),     lowest - T(0.4), nan_of<T>, -nan_of<T>, payload};
    const T out[] = {1, 1, 1, 1, 1, 1, 0, 0, T(0.5), T(0.25), smallest<T>, 0, 0, 0, nan_of<T>, nan_of<T>, nan_of<T>};
    std::vector<T> zeros(size_t(ld), T(0));
    for (const Named<T> &table : tables<T>())
        for (size_t k = 0; k < std::size(in); ++k)
            for (int64_t n : {1, 3, 16, 33}) {
                std::vector<T> values(size_t(ld * 8), nan_of<T>); // the memory around the entries may hold anything
                for (int64_t j = 0; j < n; ++j) values[size_t(j)] = j == n / 2 ? in[k] : T(-1);
                table.table->finish(1, n, zeros.data(), zeros.data(), values.data());
                for (int64_t j = 0; j < 64; ++j) {
                    T value = values[size_t(j)], expected = j == n / 2 ? out[k] : j < n ? T(0.5) : T(0);
                    bool right = std::isnan(expected) ? std::isnan(value) : same_bits(value, expected);
                    TEST_ASSERT_TRUE_MESSAGE(right, table.name);
                }
                TEST_ASSERT_TRUE(std::isnan(values[64]) && same_bits(values[size_t(ld)], T(0)));
            }
}
void test_ends() {
    check_ends<float>(-126);
    check_ends<double>(-1022);
}

// Checks stores to addresses of different alignment, with strides that are multiples of a cache
// line and others.
template <class T>
void check_stores(bool transposed) {
    constexpr int64_t line = 64 / sizeof(T);
    std::vector<T> values(size_t(ld * ld)), memory(size_t(ld * (ld + 3 * line)) + 4 * line);
    for (size_t k = 0; k < values.size(); ++k) values[k] = static_cast<T>(k);
    const size_t misfit = reinterpret_cast<uintptr_t>(memory.data()) / sizeof(T) % line;
    T *base = memory.data() + line + (line - int64_t(misfit)) % line;
    for (const Named<T> &table : tables<T>())
        for (int64_t m : {1, 5, 8, 16, 37, 64, 256})
            for (int64_t n : {1, 7, 16, 31, 32, 100, 256})
                for (int64_t offset = 0; offset<line; offset += m + n> 300 ? line / 2 - 1 : 1)
                    for (int64_t extra : {0, 1, 2}) {
                        const int64_t rows = transposed ? n : m, columns = transposed ? m : n;
                        const int64_t stride = extra < 2 ? columns + extra : (columns / line + 2) * line;
                        const int64_t used = rows * stride;
                        std::fill(base - line, base + offset + used + line, guard<T> + T(0.5));
                        (transposed ? table.table->store_transposed : table.table->store)(m, n, values.data(),
                                                                                          base + offset, stride);
                        for (int64_t k = -line; k < used + line; ++k) {
                            const int64_t i = k < 0 ? -1 : k / stride, j = k < 0 ? 0 : k % stride;
                            T expected = guard<T> + T(0.5);
                            if (i >= 0 && i < rows && j < columns) expected = values[transposed ? at(j, i) : at(i, j)];
                            TEST_ASSERT_TRUE_MESSAGE(base[offset + k] == expected, table.name);
                        }
                    }
}
void test_store() {
    check_stores<float>(false);
    check_stores<double>(false);
}
void test_store_transposed() {
    check_stores<float>(true);
    check_stores<double>(true);
}

void test_choice() {
    TEST_ASSERT_TRUE(&fused_table<float>() == tables<float>().back().table);
    TEST_ASSERT_TRUE(&fused_table<double>() == tables<double>().back().table);
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_values);
    RUN_TEST(test_bits);
    RUN_TEST(test_worst);
    RUN_TEST(test_row);
    RUN_TEST(test_specials);
    RUN_TEST(test_exp2);
    RUN_TEST(test_ends);
    RUN_TEST(test_store);
    RUN_TEST(test_store_transposed);
    RUN_TEST(test_choice);
    return UNITY_END();
}
