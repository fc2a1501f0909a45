// Blocks of tall columns: values against loops, the same bits for any number of threads.
#include "core/tall.h"
#include "oracle.h"
#include "tolerances.h"
#include "unity_cpp.h"

#include <cstring>

using namespace mercer;

namespace {

mercer_run threads(int64_t count) {
    mercer_run run{};
    run.struct_size = sizeof run;
    run.threads = count;
    return run;
}

struct Block { // n x p, column-major, leading dimension n + 1
    int64_t n, p;
    std::vector<double> v;
    Block(int64_t n, int64_t p, uint64_t seed) : n(n), p(p), v(static_cast<size_t>((n + 1) * std::max<int64_t>(p, 1))) {
        oracle::Numbers numbers(seed);
        for (double &value : v) value = numbers();
    }
    double *column(int64_t j) { return v.data() + j * (n + 1); }
    int64_t ld() const { return n + 1; }
};

// Slabs have 4096 rows: one, several, and a last one that is short.
const int64_t heights[] = {1, 5, 4096, 4097, 20000};

void test_products() {
    for (int64_t n : heights) {
        Block a(n, 3, 1), b(n, 2, 2), s(3, 2, 3);
        std::vector<double> first_c, first_y;
        for (int64_t count : {1, 2, 8}) {
            mercer_run settings = threads(count);
            Run run({}, &settings);
            std::vector<double> c(8, 5);
            Block y = b;
            tall_dot(run, n, 3, a.column(0), a.ld(), 2, b.column(0), b.ld(), c.data(), 4);
            tall_times(run, n, 3, a.column(0), a.ld(), 2, s.column(0), s.ld(), -0.5, y.column(0), y.ld());
            for (int64_t j = 0; j < 2; ++j)
                for (int64_t i = 0; i < 3; ++i)
                    TEST_ASSERT_DOUBLE_WITHIN(tolerance::sum(n, static_cast<double>(n), tolerance::u64),
                                              oracle::dot(a.column(i), b.column(j), n),
                                              c[static_cast<size_t>(i + 4 * j)]);
            TEST_ASSERT_TRUE(c[3] == 5 && c[7] == 5);
            for (int64_t j = 0; j < 2; ++j)
                for (int64_t i = 0; i < n; ++i) {
                    double exact = -0.5 * b.column(j)[i];
                    for (int64_t k = 0; k < 3; ++k) exact += a.column(k)[i] * s.column(j)[k];
                    TEST_ASSERT_DOUBLE_WITHIN(tolerance::sum(4, 4, tolerance::u64), exact, y.column(j)[i]);
                }
            if (count == 1) first_c = c, first_y = y.v;
            TEST_ASSERT_TRUE(c == first_c && y.v == first_y);
        }
    }
}

void check_orthonormal(Block &x, int64_t rank, Block *against) {
    for (int64_t j = 0; j < rank; ++j) {
        for (int64_t i = 0; i <= j; ++i)
            TEST_ASSERT_DOUBLE_WITHIN(tolerance::orthonormal(x.n, x.p), i == j,
                                      oracle::dot(x.column(i), x.column(j), x.n));
        for (int64_t i = 0; against && i < against->p; ++i)
            TEST_ASSERT_DOUBLE_WITHIN(tolerance::orthonormal(x.n, x.p), 0,
                                      oracle::dot(against->column(i), x.column(j), x.n));
    }
}

int64_t orthonormal(Block &x, Block *against = nullptr, int64_t count = 1) {
    mercer_run settings = threads(count);
    Run run({}, &settings);
    return orthonormalise(run, x.n, x.p, x.column(0), x.ld(), against ? against->p : 0,
                          against ? against->column(0) : nullptr, against ? against->ld() : x.ld());
}

// The span of the old columns is in that of the new ones.
void check_span(Block &old, Block &x, int64_t rank, double allowed) {
    for (int64_t j = 0; j < old.p; ++j) {
        std::vector<double> left(old.column(j), old.column(j) + old.n);
        double length = std::sqrt(oracle::dot(left.data(), left.data(), old.n));
        for (int64_t k = 0; k < rank; ++k) {
            double c = oracle::dot(x.column(k), old.column(j), old.n);
            for (int64_t i = 0; i < old.n; ++i) left[static_cast<size_t>(i)] -= c * x.column(k)[i];
        }
        TEST_ASSERT_DOUBLE_WITHIN(allowed * length, 0, std::sqrt(oracle::dot(left.data(), left.data(), old.n)));
    }
}

void test_full_rank() {
    for (int64_t n : {8, 4097, 9000}) {
        Block x(n, 8, 4), old = x;
        TEST_ASSERT_EQUAL_INT64(8, orthonormal(x));
        check_orthonormal(x, 8, nullptr);
        check_span(old, x, 8, tolerance::orthonormal(n, 8));
    }
}

void test_rank_deficient() {
    const int64_t n = 5000;
    Block x(n, 6, 5);
    for (int64_t i = 0; i < n; ++i) {
        x.column(1)[i] = -2 * x.column(0)[i];                    // a multiple
        x.column(3)[i] = x.column(0)[i] * 1e-3 + x.column(2)[i]; // a combination
        x.column(4)[i] = 0;                                      // nothing
        x.column(5)[i] *= 1e-100;                                // tiny, but a direction of its own
    }
    Block old = x;
    TEST_ASSERT_EQUAL_INT64(3, orthonormal(x));
    check_orthonormal(x, 3, nullptr);
    check_span(old, x, 3, 1e-7); // what is dropped lies in the span of the others to this
    for (double apart :
         {1e-5, 1e-9}) { // the second is as good as dependent, and may go or stay: an orthonormal rest remains
        Block close(n, 3, 12);
        for (int64_t i = 0; i < n; ++i) close.column(1)[i] = close.column(0)[i] + apart * close.column(1)[i];
        int64_t rank = orthonormal(close);
        TEST_ASSERT_TRUE(rank == 3 || (apart < 1e-7 && rank == 2));
        check_orthonormal(close, rank, nullptr);
    }
    Block wide(3, 7, 6);
    TEST_ASSERT_EQUAL_INT64(3, orthonormal(wide));
    check_orthonormal(wide, 3, nullptr);
    Block zero(10, 2, 7);
    std::fill(zero.v.begin(), zero.v.end(), 0.0);
    TEST_ASSERT_EQUAL_INT64(0, orthonormal(zero));
}

void test_against() {
    const int64_t n = 5000;
    Block q(n, 4, 8);
    TEST_ASSERT_EQUAL_INT64(4, orthonormal(q));
    Block x(n, 4, 9);
    for (int64_t i = 0; i < n; ++i) {
        x.column(1)[i] = q.column(2)[i];                         // inside
        x.column(2)[i] = q.column(0)[i] + 1e-6 * x.column(2)[i]; // almost
    }
    TEST_ASSERT_EQUAL_INT64(3, orthonormal(x, &q));
    check_orthonormal(x, 3, &q);
}

void test_threads() {
    Block q(9000, 3, 10);
    orthonormal(q);
    std::vector<double> first;
    for (int64_t count : {1, 2, 8}) {
        Block x(9000, 6, 11);
        std::copy_n(x.column(0), 9000, x.column(4));
        TEST_ASSERT_EQUAL_INT64(5, orthonormal(x, &q, count));
        if (count == 1) first = x.v;
        TEST_ASSERT_EQUAL_INT(0, std::memcmp(first.data(), x.v.data(), x.v.size() * sizeof(double)));
    }
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_products);
    RUN_TEST(test_full_rank);
    RUN_TEST(test_rank_deficient);
    RUN_TEST(test_against);
    RUN_TEST(test_threads);
    return UNITY_END();
}
