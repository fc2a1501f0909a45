// Compares every form, compiled for every instruction set, with naive loops.
#include "gram/forms.h"
#include "oracle.h"
#include "tolerances.h"
#include "unity_cpp.h"

namespace mercer {
extern const FormTable<float> forms_f32_portable;
extern const FormTable<double> forms_f64_portable;
#ifdef MERCER_SIMD
extern const FormTable<float> forms_f32_avx2, forms_f32_avx512;
extern const FormTable<double> forms_f64_avx2, forms_f64_avx512;
#endif
} // namespace mercer

using namespace mercer;
using oracle::Matrix;

namespace {

template <class T>
struct Named {
    const char *name;
    const FormTable<T> *forms;
};
template <class T>
std::vector<Named<T>> tables();
template <>
std::vector<Named<float>> tables() {
    std::vector<Named<float>> out = {{"f32 portable", &forms_f32_portable}};
#ifdef MERCER_SIMD
    if (best_isa() >= Isa::avx2) out.push_back({"f32 avx2", &forms_f32_avx2});
    if (best_isa() >= Isa::avx512) out.push_back({"f32 avx512", &forms_f32_avx512});
#endif
    return out;
}
template <>
std::vector<Named<double>> tables() {
    std::vector<Named<double>> out = {{"f64 portable", &forms_f64_portable}};
#ifdef MERCER_SIMD
    if (best_isa() >= Isa::avx2) out.push_back({"f64 avx2", &forms_f64_avx2});
    if (best_isa() >= Isa::avx512) out.push_back({"f64 avx512", &forms_f64_avx512});
#endif
    return out;
}

template <class T>
constexpr double u = sizeof(T) == 4 ? tolerance::u32 : tolerance::u64;

template <class T>
struct Sides {
    int64_t m, n, d, stride;
    std::vector<T> x, y, y_transposed;
    Matrix xs, ys; // the rows after rounding to T
};

template <class T>
Sides<T> sides(int64_t m, int64_t n, int64_t d, double lo, double hi, bool whole) {
    oracle::Numbers numbers(static_cast<uint64_t>(m * 10007 + n * 101 + d));
    Sides<T> out{m, n, d, n + 3, {}, {}, {}, numbers.matrix(m, d, lo, hi), numbers.matrix(n, d, lo, hi)};
    for (Matrix *side : {&out.xs, &out.ys})
        for (double &value : side->v) value = static_cast<double>(static_cast<T>(whole ? std::floor(value) : value));
    for (int64_t k = 0; k < d && m > 1 && n > 1; ++k) {
        out.ys(1, k) = out.xs(1, k);       // equal rows
        out.ys(0, k) = out.xs(0, k) = 0.0; // and rows of zeros
    }
    out.x.assign(out.xs.v.begin(), out.xs.v.end());
    out.y.assign(out.ys.v.begin(), out.ys.v.end());
    for (int64_t k = 0; k < d; ++k)
        for (int64_t j = 0; j < n; ++j) out.y_transposed.push_back(static_cast<T>(out.ys(j, k)));
    return out;
}

const int64_t shapes[][3] = {{1, 1, 1}, {2, 3, 1}, {3, 2, 5}, {7, 17, 16}, {5, 33, 17}, {64, 31, 40}, {3, 100, 257}};

template <class T, class Form>
void pairwise(Form form, const oracle::Pair &naive, bool hamming, const char *what) {
    for (const auto &shape : shapes)
        for (const Named<T> &table : tables<T>()) {
            auto s = sides<T>(shape[0], shape[1], shape[2], 0, hamming ? 3 : 10, hamming);
            const T guard = 12345;
            std::vector<T> values(static_cast<size_t>(s.m * s.stride), guard);
            (table.forms->*form)(s.m, s.n, s.d, s.x.data(), s.y_transposed.data(), values.data(), s.stride);
            for (int64_t i = 0; i < s.m; ++i)
                for (int64_t j = 0; j < s.stride; ++j) {
                    T value = values[static_cast<size_t>(i * s.stride + j)];
                    if (j >= s.n) {
                        TEST_ASSERT_TRUE_MESSAGE(value == guard, table.name); // nothing may be written beyond the tile
                        continue;
                    }
                    double exact = naive(s.xs.row(i), s.ys.row(j), s.d);
                    double allowed = hamming ? 0 : tolerance::sum(s.d, exact, u<T>);
                    TEST_ASSERT_TRUE_MESSAGE(std::fabs(static_cast<double>(value) - exact) <= allowed, what);
                }
        }
}

template <class T>
void all_pairwise() {
    pairwise<T>(&FormTable<T>::l1, oracle::l1, false, "l1");
    pairwise<T>(&FormTable<T>::chi2, oracle::chi2, false, "chi2");
    pairwise<T>(&FormTable<T>::min, oracle::min, false, "min");
    pairwise<T>(&FormTable<T>::hamming, oracle::hamming, true, "hamming");
}
void test_pairwise() {
    all_pairwise<double>();
    all_pairwise<float>();
}

// Computes squared distances in the steps of the library: first from products and norms, then close
// pairs again from differences.
template <class T>
struct Squared {
    std::vector<T> values;
    std::vector<unsigned char> found; // m x n
};
template <class T>
Squared<T> squared(const Named<T> &table, const Sides<T> &s, Close<T> close, bool rounded_up = false) {
    Squared<T> out;
    std::vector<T> xn, yn;
    for (int64_t i = 0; i < s.m; ++i) xn.push_back(static_cast<T>(oracle::dot(s.xs.row(i), s.xs.row(i), s.d)));
    for (int64_t j = 0; j < s.n; ++j) yn.push_back(static_cast<T>(oracle::dot(s.ys.row(j), s.ys.row(j), s.d)));
    out.values.resize(static_cast<size_t>(s.m * s.stride));
    for (int64_t i = 0; i < s.m; ++i)
        for (int64_t j = 0; j < s.n; ++j) {
            double product = oracle::dot(s.xs.row(i), s.ys.row(j), s.d);
            out.values[static_cast<size_t>(i * s.stride + j)] =
                static_cast<T>(rounded_up ? product * (1 + 4 * u<T>) : product);
        }
    const bool any = table.forms->sqdist(s.m, s.n, xn.data(), yn.data(), close, out.values.data(), s.stride);
    bool found_any = false;
    for (int64_t i = 0; i < s.m; ++i) {
        std::vector<unsigned char> found(static_cast<size_t>(s.n), 7);
        T *row = out.values.data() + i * s.stride;
        const bool here = table.forms->find(s.n, xn[static_cast<size_t>(i)], yn.data(), close, row, found.data());
        TEST_ASSERT_TRUE(here == (std::count(found.begin(), found.end(), 1) > 0));
        found_any |= here;
        table.forms->differences(s.n, s.d, s.x.data() + i * s.d, s.y.data(), found.data(), row);
        out.found.insert(out.found.end(), found.begin(), found.end());
    }
    TEST_ASSERT_TRUE_MESSAGE(any == found_any, table.name);
    return out;
}

template <class T>
void check_sqdist(double lo, double hi, Close<T> close, const char *what) {
    for (const auto &shape : shapes)
        for (const Named<T> &table : tables<T>()) {
            auto s = sides<T>(shape[0], shape[1], shape[2], lo, hi, false);
            const Squared<T> all = squared(table, s, close, true);
            for (int64_t i = 0; i < s.m; ++i)
                for (int64_t j = 0; j < s.n; ++j) {
                    const double exact = oracle::sqdist(s.xs.row(i), s.ys.row(j), s.d);
                    const double norms =
                        oracle::dot(s.xs.row(i), s.xs.row(i), s.d) + oracle::dot(s.ys.row(j), s.ys.row(j), s.d);
                    const double got = static_cast<double>(all.values[static_cast<size_t>(i * s.stride + j)]);
                    const bool found = all.found[static_cast<size_t>(i * s.n + j)] == 1;
                    // A pair must be found if it is close (forms.h), except for rounding at the
                    // thresholds. Found pairs are computed from differences, with a small relative
                    // error; the others have the error of the norms.
                    const double by_norms = tolerance::sqdist(s.d, norms, u<T>);
                    const double bound =
                        std::max(double(close.near) * norms,
                                 std::min(double(close.beyond), std::pow(double(close.far) * norms, 2)));
                    if (exact < bound * (1 - 1e-5) - by_norms) TEST_ASSERT_TRUE_MESSAGE(found, what);
                    if (exact > bound * (1 + 1e-5) + by_norms) TEST_ASSERT_FALSE_MESSAGE(found, what);
                    const double allowed = found ? tolerance::sum(s.d, exact, u<T>) : by_norms;
                    TEST_ASSERT_TRUE_MESSAGE(got >= 0 && std::fabs(got - exact) <= allowed, what);
                    TEST_ASSERT_TRUE_MESSAGE(exact > 0 || got == 0, what); // equal rows must give exactly 0
                }
        }
}

void test_sqdist() {
    check_sqdist<double>(-1, 1, {1e-2, 0}, "f64");
    check_sqdist<float>(-1, 1, {1e-2f, 0}, "f32");
    check_sqdist<double>(-1, 1, {1e-12, 0.05}, "f64, far");
    check_sqdist<float>(-1, 1, {1e-4f, 0.05f}, "f32, far");
    check_sqdist<double>(-1, 1, {1e-12, 0.2, 0.8}, "f64, beyond");
    check_sqdist<float>(-1, 1, {1e-4f, 0.2f, 0.8f}, "f32, beyond");
}

void test_sqdist_large_offset() { // squared norms are 10^6 times the squared distances, so all pairs are close
    check_sqdist<double>(1e3, 1e3 + 1, {1e-2, 0}, "f64, offset");
    check_sqdist<float>(1e3, 1e3 + 1, {1e-2f, 0}, "f32, offset");
}

// A distance must have the same bits whether it is recomputed alone or with many others. NaN and
// overflowed distances must count as close.
template <class T>
void one_of_many() {
    const T inf = std::numeric_limits<T>::infinity();
    for (const Named<T> &table : tables<T>()) {
        const auto s = sides<T>(1, 37, 21, -1, 1, false);
        const std::vector<unsigned char> every(37, 1);
        std::vector<T> all(37, T(-1));
        table.forms->differences(s.n, s.d, s.x.data(), s.y.data(), every.data(), all.data());
        for (size_t j = 0; j < 37; ++j) {
            std::vector<unsigned char> one(37, 0);
            one[j] = 1;
            std::vector<T> values(37, T(-1));
            table.forms->differences(s.n, s.d, s.x.data(), s.y.data(), one.data(), values.data());
            for (size_t k = 0; k < 37; ++k) TEST_ASSERT_TRUE_MESSAGE(values[k] == (k == j ? all[k] : -1), table.name);
        }
        const T norms[] = {inf, 1, 0}, row[] = {inf, std::numeric_limits<T>::quiet_NaN(), 0};
        unsigned char found[3] = {};
        TEST_ASSERT_TRUE(table.forms->find(3, T(1), norms, {T(1e-3), 0}, row, found));
        TEST_ASSERT_TRUE_MESSAGE(found[0] && found[1] && found[2], table.name);
    }
}
void test_one_of_many() {
    one_of_many<double>();
    one_of_many<float>();
}

void test_choice() {
    TEST_ASSERT_TRUE(&form_table<float>() == tables<float>().back().forms);
    TEST_ASSERT_TRUE(&form_table<double>() == tables<double>().back().forms);
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_pairwise);
    RUN_TEST(test_sqdist);
    RUN_TEST(test_sqdist_large_offset);
    RUN_TEST(test_one_of_many);
    RUN_TEST(test_choice);
    return UNITY_END();
}
