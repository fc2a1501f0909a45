// Every form of every instruction set against naive loops.
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
    Matrix xs, ys; // what the rounded rows are
};

template <class T>
Sides<T> sides(int64_t m, int64_t n, int64_t d, double lo, double hi, bool whole) {
    oracle::Numbers numbers(static_cast<uint64_t>(m * 10007 + n * 101 + d));
    Sides<T> out{m, n, d, n + 3, {}, {}, {}, numbers.matrix(m, d, lo, hi), numbers.matrix(n, d, lo, hi)};
    for (Matrix *side : {&out.xs, &out.ys})
        for (double &value : side->v) value = static_cast<double>(static_cast<T>(whole ? std::floor(value) : value));
    for (int64_t k = 0; k < d && m > 1 && n > 1; ++k) {
        out.ys(1, k) = out.xs(1, k);       // equal rows
        out.ys(0, k) = out.xs(0, k) = 0.0; // and empty ones
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
                        TEST_ASSERT_TRUE_MESSAGE(value == guard, table.name); // nothing beyond the tile
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

// The engine's steps: products, norms, then the form. doubt as in tile.cpp, or none.
template <class T>
std::vector<T> squared(const Named<T> &table, const Sides<T> &s, T doubt, bool rows, bool negative = false) {
    std::vector<T> values(static_cast<size_t>(s.m * s.stride)), xn, yn;
    for (int64_t i = 0; i < s.m; ++i) xn.push_back(static_cast<T>(oracle::dot(s.xs.row(i), s.xs.row(i), s.d)));
    for (int64_t j = 0; j < s.n; ++j) yn.push_back(static_cast<T>(oracle::dot(s.ys.row(j), s.ys.row(j), s.d)));
    for (int64_t i = 0; i < s.m; ++i)
        for (int64_t j = 0; j < s.n; ++j) {
            double product = oracle::dot(s.xs.row(i), s.ys.row(j), s.d);
            values[static_cast<size_t>(i * s.stride + j)] =
                static_cast<T>(negative ? product * (1 + 4 * u<T>) : product); // a product rounded upwards
        }
    table.forms->sqdist(s.m, s.n, s.d, rows ? s.x.data() : nullptr, rows ? s.y.data() : nullptr, xn.data(), yn.data(),
                        doubt, values.data(), s.stride);
    return values;
}

template <class T>
void check_sqdist(double lo, double hi, const char *what) {
    const T doubt = static_cast<T>(1e-2);
    for (const auto &shape : shapes)
        for (const Named<T> &table : tables<T>()) {
            auto s = sides<T>(shape[0], shape[1], shape[2], lo, hi, false);
            std::vector<T> values = squared(table, s, doubt, true, true);
            for (int64_t i = 0; i < s.m; ++i)
                for (int64_t j = 0; j < s.n; ++j) {
                    double exact = oracle::sqdist(s.xs.row(i), s.ys.row(j), s.d);
                    double norms =
                        oracle::dot(s.xs.row(i), s.xs.row(i), s.d) + oracle::dot(s.ys.row(j), s.ys.row(j), s.d);
                    double got = static_cast<double>(values[static_cast<size_t>(i * s.stride + j)]);
                    // close pairs come from differences: relative error; the others from norms
                    double allowed = exact < static_cast<double>(doubt) * norms / 2
                                         ? tolerance::sum(s.d, exact, u<T>)
                                         : tolerance::sqdist(s.d, norms, u<T>);
                    TEST_ASSERT_TRUE_MESSAGE(got >= 0 && std::fabs(got - exact) <= allowed, what);
                    TEST_ASSERT_TRUE_MESSAGE(exact > 0 || got == 0, what); // equal rows: exactly 0
                }
        }
}

void test_sqdist() {
    check_sqdist<double>(-1, 1, "f64");
    check_sqdist<float>(-1, 1, "f32");
}

void test_sqdist_large_offset() { // norms 10^6 times the distances: all pairs are close
    check_sqdist<double>(1e3, 1e3 + 1, "f64, offset");
    check_sqdist<float>(1e3, 1e3 + 1, "f32, offset");
}

// Sparse rows have no dense ones behind them: doubt is negative, rows are NULL, and empty rows are legal.
template <class T>
void without_rows() {
    for (const Named<T> &table : tables<T>()) {
        auto s = sides<T>(5, 19, 6, -1, 1, false);
        std::vector<T> values = squared(table, s, T(-1), false);
        TEST_ASSERT_TRUE_MESSAGE(values[0] == 0, table.name); // two empty rows
        for (int64_t i = 0; i < s.m; ++i)
            for (int64_t j = 0; j < s.n; ++j) {
                double exact = oracle::sqdist(s.xs.row(i), s.ys.row(j), s.d),
                       got = static_cast<double>(values[static_cast<size_t>(i * s.stride + j)]);
                TEST_ASSERT_TRUE_MESSAGE(got >= 0 && std::fabs(got - exact) <= tolerance::sqdist(s.d, 24, u<T>),
                                         table.name);
            }
    }
}
void test_sqdist_without_rows() {
    without_rows<double>();
    without_rows<float>();
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
    RUN_TEST(test_sqdist_without_rows);
    RUN_TEST(test_choice);
    return UNITY_END();
}
