// Compares operations on blocks of tall columns with plain loops, and checks that results are
// bitwise equal for any number of threads.
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

struct Table { // n x p, column-major; entries are exact in f32
    int64_t n, p;
    std::vector<double> v;
    Table(int64_t n, int64_t p, uint64_t seed) : n(n), p(p), v(static_cast<size_t>(n * std::max<int64_t>(p, 1))) {
        oracle::Numbers numbers(seed);
        for (double &value : v) value = static_cast<double>(static_cast<float>(numbers()));
    }
    double *column(int64_t j) { return v.data() + j * n; }
};

// Returns a block with x as its columns 1 ... p and one more column on either side.
Block block_of(Run &run, Table &x, bool f32) {
    Block out(run, x.n, x.p + 2, f32);
    for (int64_t j = 0; j < x.p; ++j) out.write(1 + j, 0, x.n, x.column(j));
    return out;
}
void take_back(const Block &block, Table &x) {
    for (int64_t j = 0; j < x.p; ++j) block.read(1 + j, 0, x.n, x.column(j));
    std::vector<double> beside(static_cast<size_t>(2 * x.n), 1);
    block.read(0, 0, x.n, beside.data());
    block.read(x.p + 1, 0, x.n, beside.data() + x.n);
    for (double value : beside) TEST_ASSERT_TRUE(value == 0);
}

// A slab has 4096 rows, so that these heights give one slab, several slabs, and a short last slab.
const int64_t heights[] = {1, 5, 4096, 4097, 20000};

void check_products(int64_t n, bool f32) {
    const double u = f32 ? tolerance::u32 : 0; // rounding of stored columns
    Table a(n, 3, 1), b(n, 2, 2), s(3, 2, 3), start = b;
    std::vector<double> first_c, first_y;
    for (int64_t count : {1, 2, 8}) {
        mercer_run settings = threads(count);
        Run run({}, &settings);
        std::vector<double> c(8, 5), norms(3);
        Table y = b;
        Block as = block_of(run, a, f32), bs = block_of(run, b, f32), ys = block_of(run, y, f32);
        tall_dot(run, columns(as, 1, 3), columns(bs, 1, 2), c.data(), 4);
        tall_norms(run, columns(as, 1, 3), norms.data());
        tall_times(run, columns(as, 1, 3), s.column(0), 3, -0.5, columns(ys, 1, 2));
        take_back(ys, y);
        for (int64_t j = 0; j < 2; ++j)
            for (int64_t i = 0; i < 3; ++i)
                TEST_ASSERT_DOUBLE_WITHIN(tolerance::sum(n, static_cast<double>(n), tolerance::u64),
                                          oracle::dot(a.column(i), b.column(j), n), c[static_cast<size_t>(i + 4 * j)]);
        TEST_ASSERT_TRUE(c[3] == 5 && c[7] == 5);
        for (int64_t j = 0; j < 3; ++j)
            TEST_ASSERT_DOUBLE_WITHIN(tolerance::sum(n, static_cast<double>(n), tolerance::u64),
                                      std::sqrt(oracle::dot(a.column(j), a.column(j), n)),
                                      norms[static_cast<size_t>(j)]);
        for (int64_t j = 0; j < 2; ++j)
            for (int64_t i = 0; i < n; ++i) {
                double exact = -0.5 * b.column(j)[i];
                for (int64_t k = 0; k < 3; ++k) exact += a.column(k)[i] * s.column(j)[k];
                TEST_ASSERT_DOUBLE_WITHIN(tolerance::sum(4, 4, tolerance::u64) + u * std::fabs(exact), exact,
                                          y.column(j)[i]);
            }
        if (count == 1) first_c = c, first_y = y.v;
        TEST_ASSERT_TRUE(c == first_c && y.v == first_y);
        // In place: two columns are computed from three and overwrite the last two of these. Both
        // must agree with the product into another block.
        Block apart = block_of(run, start, f32);
        tall_times(run, columns(as, 1, 3), s.column(0), 3, 0, columns(apart, 1, 2));
        tall_times(run, columns(as, 1, 3), s.column(0), 3, 0, columns(as, 2, 2));
        Table in_place = a, out_of_place = start;
        take_back(as, in_place);
        take_back(apart, out_of_place);
        for (int64_t j = 0; j < 2; ++j)
            for (int64_t i = 0; i < n; ++i)
                TEST_ASSERT_DOUBLE_WITHIN(tolerance::sum(3, 3, tolerance::u64) + u, out_of_place.column(j)[i],
                                          in_place.column(1 + j)[i]);
        tall_copy(run, columns(as, 1, 2), columns(as, 2, 2)); // overlapping
        Table moved = a;
        take_back(as, moved);
        TEST_ASSERT_EQUAL_MEMORY(in_place.column(0), moved.column(1), 2 * static_cast<size_t>(n) * sizeof(double));
    }
}

void test_products() {
    for (int64_t n : heights)
        for (bool f32 : {false, true}) check_products(n, f32);
}

void test_random_columns() {
    mercer_run settings = threads(2);
    Run run({}, &settings);
    const Random random(7, Stage::solver);
    for (bool f32 : {false, true}) {
        Table x(5000, 2, 1);
        Block block(run, x.n, 4, f32);
        tall_random(run, columns(block, 1, 2), random, 11);
        take_back(block, x);
        for (int64_t j = 0; j < 2; ++j)
            for (int64_t i = 0; i < x.n; ++i) {
                const double exact = random.uniform(i, 11 + j) - 0.5;
                TEST_ASSERT_TRUE(x.column(j)[i] == (f32 ? static_cast<double>(static_cast<float>(exact)) : exact));
            }
    }
}

void check_orthonormal(Table &x, int64_t rank, Table *against, bool f32 = false) {
    const double allowed = tolerance::orthonormal(x.n, x.p) + (f32 ? 4 * tolerance::u32 : 0);
    for (int64_t j = 0; j < rank; ++j) {
        for (int64_t i = 0; i <= j; ++i)
            TEST_ASSERT_DOUBLE_WITHIN(allowed, i == j, oracle::dot(x.column(i), x.column(j), x.n));
        for (int64_t i = 0; against && i < against->p; ++i)
            TEST_ASSERT_DOUBLE_WITHIN(allowed, 0, oracle::dot(against->column(i), x.column(j), x.n));
    }
}

int64_t orthonormal(Table &x, Table *against = nullptr, int64_t count = 1, bool f32 = false) {
    mercer_run settings = threads(count);
    Run run({}, &settings);
    Block xs = block_of(run, x, f32), qs;
    if (against) qs = block_of(run, *against, f32);
    const int64_t rank = orthonormalise(run, columns(xs, 1, x.p), against ? columns(qs, 1, against->p) : Columns{});
    take_back(xs, x);
    return rank;
}

// Checks that the span of the old columns lies in that of the new ones.
void check_span(Table &old, Table &x, int64_t rank, double allowed) {
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
        Table x(n, 8, 4), old = x;
        TEST_ASSERT_EQUAL_INT64(8, orthonormal(x));
        check_orthonormal(x, 8, nullptr);
        check_span(old, x, 8, tolerance::orthonormal(n, 8));
    }
}

void test_rank_deficient() {
    const int64_t n = 5000;
    Table x(n, 6, 5);
    for (int64_t i = 0; i < n; ++i) {
        x.column(1)[i] = -2 * x.column(0)[i];                    // a multiple
        x.column(3)[i] = x.column(0)[i] * 1e-3 + x.column(2)[i]; // a combination
        x.column(4)[i] = 0;                                      // zero
        x.column(5)[i] *= 1e-100;                                // tiny, but independent of the others
    }
    Table old = x;
    TEST_ASSERT_EQUAL_INT64(3, orthonormal(x));
    check_orthonormal(x, 3, nullptr);
    check_span(old, x, 3, 1e-7); // dropped columns lie in the span of the others to 1e-7
    // At 1e-9 the second column is numerically dependent and may be dropped. The columns that
    // remain must be orthonormal.
    for (double apart : {1e-5, 1e-9}) {
        Table close(n, 3, 12);
        for (int64_t i = 0; i < n; ++i) close.column(1)[i] = close.column(0)[i] + apart * close.column(1)[i];
        int64_t rank = orthonormal(close);
        TEST_ASSERT_TRUE(rank == 3 || (apart < 1e-7 && rank == 2));
        check_orthonormal(close, rank, nullptr);
    }
    Table wide(3, 7, 6);
    TEST_ASSERT_EQUAL_INT64(3, orthonormal(wide));
    check_orthonormal(wide, 3, nullptr);
    Table zero(10, 2, 7);
    std::fill(zero.v.begin(), zero.v.end(), 0.0);
    TEST_ASSERT_EQUAL_INT64(0, orthonormal(zero));
}

void test_against() {
    const int64_t n = 5000;
    Table q(n, 4, 8);
    TEST_ASSERT_EQUAL_INT64(4, orthonormal(q));
    Table x(n, 4, 9);
    for (int64_t i = 0; i < n; ++i) {
        x.column(1)[i] = q.column(2)[i];                         // in the span of Q
        x.column(2)[i] = q.column(0)[i] + 1e-6 * x.column(2)[i]; // almost in it
    }
    TEST_ASSERT_EQUAL_INT64(3, orthonormal(x, &q));
    check_orthonormal(x, 3, &q);
}

// In f32, columns that lie in a span up to the rounding of stored numbers must be dropped.
void test_f32() {
    const int64_t n = 5000;
    Table q(n, 4, 8);
    TEST_ASSERT_EQUAL_INT64(4, orthonormal(q, nullptr, 1, true));
    check_orthonormal(q, 4, nullptr, true);
    Table x(n, 5, 9);
    for (int64_t i = 0; i < n; ++i) {
        x.column(1)[i] = q.column(2)[i] + q.column(3)[i];                                    // in span(Q), rounded
        x.column(2)[i] = q.column(0)[i] + 1e-3 * x.column(2)[i];                             // almost in span(Q)
        x.column(4)[i] = 1e-30 * (x.column(0)[i] - static_cast<double>(x.column(3)[i] > 0)); // tiny, but independent
    }
    TEST_ASSERT_EQUAL_INT64(4, orthonormal(x, &q, 1, true));
    check_orthonormal(x, 4, &q, true);
}

void test_threads() {
    Table q(9000, 3, 10);
    orthonormal(q);
    std::vector<double> first;
    for (int64_t count : {1, 2, 8}) {
        Table x(9000, 6, 11);
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
    RUN_TEST(test_random_columns);
    RUN_TEST(test_full_rank);
    RUN_TEST(test_rank_deficient);
    RUN_TEST(test_against);
    RUN_TEST(test_f32);
    RUN_TEST(test_threads);
    return UNITY_END();
}
