#include "core/blas.h"
#include "core/memory.h"
#include "oracle.h"
#include "temp_files.h" // expect_error
#include "tolerances.h"

using namespace mercer;
using oracle::Matrix;

namespace {

// Returns the matrix in column-major order with leading dimension ld. The gaps between the columns
// hold the guard value.
constexpr double guard = 777;
std::vector<double> column_major(const Matrix &a, int64_t ld) {
    std::vector<double> out(static_cast<size_t>(ld * std::max<int64_t>(a.cols, 1)), guard);
    for (int64_t i = 0; i < a.rows; ++i)
        for (int64_t j = 0; j < a.cols; ++j) out[static_cast<size_t>(i + j * ld)] = a(i, j);
    return out;
}

Matrix symmetric(int64_t n, uint64_t seed) {
    oracle::Numbers numbers(seed);
    Matrix a = numbers.matrix(n, n);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < i; ++j) a(i, j) = a(j, i);
    return a;
}

void check_gemm(char ta, char tb, int64_t m, int64_t n, int64_t k) {
    oracle::Numbers numbers(static_cast<uint64_t>(m * 100 + n * 10 + k));
    Matrix a = numbers.matrix(m, k), b = numbers.matrix(k, n), c = numbers.matrix(m, n), ab = oracle::product(a, b);
    Matrix as = ta == 'N' ? a : oracle::transposed(a), bs = tb == 'N' ? b : oracle::transposed(b);
    int64_t lda = as.rows + 1, ldb = bs.rows + 2, ldc = m + 3;
    auto ad = column_major(as, lda), bd = column_major(bs, ldb), cd = column_major(c, ldc);
    std::vector<float> af(ad.begin(), ad.end()), bf(bd.begin(), bd.end()), cf(cd.begin(), cd.end());
    gemm(ta, tb, m, n, k, 2.0, ad.data(), lda, bd.data(), ldb, -0.5, cd.data(), ldc);
    gemm(ta, tb, m, n, k, 2.0f, af.data(), lda, bf.data(), ldb, -0.5f, cf.data(), ldc);
    for (int64_t j = 0; j < n; ++j)
        for (int64_t i = 0; i < ldc; ++i) {
            size_t at = static_cast<size_t>(i + j * ldc);
            double exact = i < m ? 2 * ab(i, j) - 0.5 * c(i, j) : guard, sizes = 2 * static_cast<double>(k) + 1;
            TEST_ASSERT_TRUE(std::fabs(cd[at] - exact) <= tolerance::sum(k, sizes, tolerance::u64) * (i < m));
            TEST_ASSERT_TRUE(std::fabs(static_cast<double>(cf[at]) - exact) <=
                             tolerance::sum(k, 3 * sizes, tolerance::u32) * (i < m));
        }
}

void test_gemm() {
    for (char ta : {'N', 'T'})
        for (char tb : {'N', 'T'})
            for (int64_t m : {1, 2, 17})
                for (int64_t n : {1, 5})
                    for (int64_t k : {0, 1, 13}) check_gemm(ta, tb, m, n, k);
    gemm('N', 'N', 0, 3, 2, 1.0, nullptr, 0, nullptr, 2, 0.0, nullptr, 0); // an empty product: no pointer may be used
    gemm('N', 'N', 3, 0, 2, 1.0, nullptr, 3, nullptr, 2, 0.0, nullptr, 3);
    double none = 0;
    expect_error(MERCER_E_SHAPE, "too large for BLAS",
                 [&] { gemm('N', 'N', 1, 1, int64_t{1} << 31, 1.0, &none, 1, &none, 1, 0.0, &none, 1); });
}

void test_cholesky() {
    const int64_t n = 23, m = 7;
    oracle::Numbers numbers(5);
    Matrix g = numbers.matrix(n, n), a = oracle::product(g, oracle::transposed(g)), x = numbers.matrix(m, n);
    for (int64_t i = 0; i < n; ++i) a(i, i) += 1;
    auto l = column_major(a, n);
    TEST_ASSERT_EQUAL_INT64(0, potrf(n, l.data(), n));
    Matrix lower(n, n);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j <= i; ++j) lower(i, j) = l[static_cast<size_t>(i + j * n)];
    Matrix back = oracle::product(lower, oracle::transposed(lower));
    double norm = 0;
    for (int64_t i = 0; i < n; ++i) norm = std::max(norm, a(i, i));
    for (size_t k = 0; k < back.v.size(); ++k)
        TEST_ASSERT_TRUE(std::fabs(back.v[k] - a.v[k]) <=
                         tolerance::sum(n, static_cast<double>(n) * norm, tolerance::u64));
    for (char trans : {'N', 'T'}) {
        auto y = column_major(x, m);
        trsm(trans, m, n, l.data(), n, y.data(), m);
        Matrix solved(m, n);
        for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j < n; ++j) solved(i, j) = y[static_cast<size_t>(i + j * m)];
        Matrix product = oracle::product(solved, trans == 'N' ? lower : oracle::transposed(lower));
        for (size_t k = 0; k < product.v.size(); ++k) // backward error: n u |X| |L|
            TEST_ASSERT_TRUE(std::fabs(product.v[k] - x.v[k]) <=
                             tolerance::sum(n, static_cast<double>(n) * norm, tolerance::u64));
    }
    a(2, 2) = -1;
    auto bad = column_major(a, n);
    TEST_ASSERT_EQUAL_INT64(3, potrf(n, bad.data(), n));
    bad[0] = NAN;
    expect_error(MERCER_E_NUMERICAL, "potrf: column 0 is not finite", [&] { potrf(n, bad.data(), n); });
}

void check_eigh(int64_t n, int64_t r) {
    Matrix a = symmetric(n, static_cast<uint64_t>(n)), unused;
    oracle::Vector exact = oracle::eigen(a, unused), values(static_cast<size_t>(r));
    auto packed = column_major(a, n + 1);
    for (int64_t j = 0; j < n; ++j) // the upper triangle must not be read
        for (int64_t i = 0; i < j; ++i) packed[static_cast<size_t>(i + j * (n + 1))] = 1e9;
    std::vector<double> vectors(static_cast<size_t>((n + 2) * r), guard);
    eigh_top(n, packed.data(), n + 1, r, values.data(), vectors.data(), n + 2);
    const double norm = std::max(std::fabs(exact.front()), std::fabs(exact.back()));
    const double allowed = tolerance::matrix(n, 0, norm);
    for (int64_t j = 0; j < r; ++j) {
        const double *v = vectors.data() + j * (n + 2);
        TEST_ASSERT_DOUBLE_WITHIN(allowed, exact[static_cast<size_t>(j)], values[static_cast<size_t>(j)]);
        for (int64_t i = 0; i < n; ++i)
            TEST_ASSERT_DOUBLE_WITHIN(allowed, 0, oracle::dot(a.row(i), v, n) - values[static_cast<size_t>(j)] * v[i]);
        for (int64_t k = 0; k <= j; ++k)
            TEST_ASSERT_DOUBLE_WITHIN(tolerance::matrix(n, 0, 1), k == j,
                                      oracle::dot(v, vectors.data() + k * (n + 2), n));
        TEST_ASSERT_TRUE(v[n] == guard && v[n + 1] == guard);
    }
}

void test_eigh() {
    for (int64_t n : {1, 2, 3, 40})
        for (int64_t r : {int64_t{1}, n / 2, n - 1, n})
            if (r >= 1) check_eigh(n, r);
    eigh_top(0, nullptr, 1, 0, nullptr, nullptr, 1);
}

void test_eigh_special() {
    double one = -3, value = 0, vector = 0;
    eigh_top(1, &one, 1, 1, &value, &vector, 1);
    TEST_ASSERT_TRUE(value == -3 && std::fabs(vector) == 1);
    for (double fill : {0.0, 1.0}) { // the zero matrix; all ones, with n - 1 equal eigenvalues
        std::vector<double> a(25, fill), values(5), vectors(25);
        eigh_top(5, a.data(), 5, 5, values.data(), vectors.data(), 5);
        TEST_ASSERT_DOUBLE_WITHIN(tolerance::matrix(5, 0, 5), 5 * fill, values[0]);
        TEST_ASSERT_DOUBLE_WITHIN(tolerance::matrix(5, 0, 5), 0, values[4]);
        for (int64_t j = 0; j < 5; ++j)
            for (int64_t k = 0; k <= j; ++k)
                TEST_ASSERT_DOUBLE_WITHIN(
                    tolerance::matrix(5, 0, 1), k == j,
                    oracle::dot(&vectors[static_cast<size_t>(5 * j)], &vectors[static_cast<size_t>(5 * k)], 5));
    }
    for (double bad : {static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
        std::vector<double> a(9, 1), values(3), vectors(9);
        a[5] = bad;
        expect_error(MERCER_E_NUMERICAL, "eigh: column 1 is not finite",
                     [&] { eigh_top(3, a.data(), 3, 1, values.data(), vectors.data(), 3); });
    }
}

// The matrix is the identity I or, if `centred`, I - e e^T / n with a vector e of ones. All its
// eigenvalues are 1, except one that is 0 if `centred`. dsyevr alone would find fewer eigenpairs
// than requested.
void test_eigh_equal() {
    for (int64_t n : {40, 300, 700})
        for (bool centred : {false, true}) {
            constexpr int64_t r = 10;
            const double mean = centred ? 1 / static_cast<double>(n) : 0, slack = tolerance::matrix(n, 0, 1);
            std::vector<double> a(static_cast<size_t>(n * n), -mean), values(r), vectors(static_cast<size_t>(n * r));
            for (int64_t i = 0; i < n; ++i) a[static_cast<size_t>(i + i * n)] += 1;
            eigh_top(n, a.data(), n, r, values.data(), vectors.data(), n);
            for (int64_t j = 0; j < r; ++j) {
                TEST_ASSERT_DOUBLE_WITHIN(slack, 1, values[static_cast<size_t>(j)]);
                double sum = 0; // A v = v - mean (e^T v) e
                for (int64_t i = 0; i < n; ++i) sum += vectors[static_cast<size_t>(i + j * n)];
                TEST_ASSERT_DOUBLE_WITHIN(slack, 0, mean * sum);
                for (int64_t k = 0; k <= j; ++k)
                    TEST_ASSERT_DOUBLE_WITHIN(
                        slack, k == j,
                        oracle::dot(&vectors[static_cast<size_t>(n * j)], &vectors[static_cast<size_t>(n * k)], n));
            }
        }
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_gemm);
    RUN_TEST(test_cholesky);
    RUN_TEST(test_eigh);
    RUN_TEST(test_eigh_special);
    RUN_TEST(test_eigh_equal);
    return UNITY_END();
}
