// Calls the service `gram` as a reducer does, and compares S H K H^T S of vectors and of objects
// with plain loops.
#include "reducer_problem.h"

#include "gram/object_matrix.h"

namespace {

constexpr double sigma = 1.1;
constexpr int32_t weighted = MERCER_GRAM_WEIGHTED, centred = MERCER_GRAM_CENTRED, stored = MERCER_GRAM_STORED;

// Sets up all that a reducer needs to call the service: a recipe, a run, prepared data, and a task.
template <class T>
struct Operation {
    Recipe recipe;
    Run run;
    Data data;
    Prepared prepared;
    Reduction got;
    DataProblem<T> problem;
    mercer_task task;

    Operation(const Rows &rows, int64_t threads, std::shared_ptr<const Source> objects = nullptr, int64_t memory = 0,
              double width = sigma)
        : recipe(std::make_shared<Registry>(), "kpca"), run(settings(threads, memory), nullptr),
          data(data_of_rows(rows, std::move(objects))), prepared(prepare(run, set(recipe, width), data)),
          problem(run, prepared, data, {5}, got), task(run, Random(1, Stage::reducer), &problem) {
        problem.serve(task);
    }
    mercer_gram gram(int32_t flags) {
        mercer_gram out{};
        out.struct_size = sizeof out;
        TEST_ASSERT_EQUAL_INT_MESSAGE(MERCER_OK, host_table().gram(&task, flags, &out), task.error);
        return out;
    }

  private:
    static RunSettings settings(int64_t threads, int64_t memory) {
        RunSettings out;
        out.run.threads = threads, out.run.memory = memory;
        return out;
    }
    static Data data_of_rows(const Rows &rows, std::shared_ptr<const Source> objects) {
        Data out = rows.data();
        if (objects) out.source = std::move(objects);
        return out;
    }
    const Recipe &set(Recipe &of, double width) {
        of.set("sigma", text_of(width));
        run.stage("all");
        return of;
    }
};

// Computes S H K H^T S by its definition. e is a vector of ones, w holds the weights scaled to the
// sum n (w = e if not weighted), S = diag(sqrt w), and H = I - e w^T / n (H = I if not centred).
Matrix naive(const Matrix &k, const Vector &weights, int32_t flags) {
    const int64_t n = k.rows;
    double sum = 0;
    for (double w : weights) sum += w;
    auto w = [&](int64_t i) {
        return flags & weighted && !weights.empty() ? weights[static_cast<size_t>(i)] * static_cast<double>(n) / sum
                                                    : 1.0;
    };
    Matrix h(n, n);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) h(i, j) = (i == j) - (flags & centred ? w(j) / static_cast<double>(n) : 0);
    Matrix out = oracle::product(h, oracle::product(k, oracle::transposed(h)));
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) out(i, j) *= std::sqrt(w(i)) * std::sqrt(w(j));
    return out;
}

// Returns everything that the service computes: three columns, row squares, the diagonal, and a
// product with one column.
template <class T>
Vector all_of(Operation<T> &of, int32_t flags) {
    const mercer_gram gram = of.gram(flags);
    const int64_t n = gram.n, index[] = {n - 1, 0, n / 2};
    TEST_ASSERT_TRUE(gram.distance == 0 && gram.positive == 1 && gram.op->n == n);
    TEST_ASSERT_EQUAL_INT(sizeof(T) == 4 ? MERCER_F32 : MERCER_F64, gram.op->dtype);
    Vector out(static_cast<size_t>(6 * n)), q(static_cast<size_t>(n));
    const mercer_host &host = host_table();
    const auto ok = [&](int32_t status) { TEST_ASSERT_EQUAL_INT_MESSAGE(MERCER_OK, status, of.task.error); };
    ok(gram.columns(&gram, &of.task, index, 3, out.data(), n));
    ok(gram.row_squares(&gram, &of.task, out.data() + 3 * n));
    ok(gram.op->diagonal(gram.op, &of.task, out.data() + 4 * n));
    for (int64_t i = 0; i < n; ++i) q[static_cast<size_t>(i)] = static_cast<double>(i % 5 - 2);
    mercer_block *block = host.block(&of.task, gram.op, 2);
    ok(host.put(&of.task, {block, 0, 1}, q.data(), n));
    ok(gram.op->apply(gram.op, &of.task, {block, 0, 1}, {block, 1, 1}));
    ok(host.get(&of.task, {block, 1, 1}, out.data() + 5 * n, n));
    return out;
}

void check(const Vector &found, const Matrix &a, double entry, double u) {
    const int64_t n = a.rows, index[] = {n - 1, 0, n / 2};
    const double count = static_cast<double>(n);
    auto at = [&](int64_t part, int64_t i) { return found[static_cast<size_t>(part * n + i)]; };
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t k = 0; k < 3; ++k) TEST_ASSERT_DOUBLE_WITHIN(entry, a(i, index[k]), at(k, i));
        const double square = oracle::dot(a.row(i), a.row(i), n);
        TEST_ASSERT_DOUBLE_WITHIN(2 * entry * std::sqrt(count * square) + count * entry * entry +
                                      tolerance::sum(n, square, tolerance::u64),
                                  square, at(3, i));
        TEST_ASSERT_DOUBLE_WITHIN(entry, a(i, i), at(4, i));
        double product = 0, sizes = 0;
        for (int64_t j = 0; j < n; ++j) {
            product += a(i, j) * static_cast<double>(j % 5 - 2);
            sizes += 2 * std::fabs(a(i, j));
        }
        TEST_ASSERT_DOUBLE_WITHIN(2 * count * entry + tolerance::sum(n, sizes + count, u), product, at(5, i));
    }
}

// Checks all flags, with and without sample weights, some of which are 0. The bits must be the same
// for any number of threads, and for stored and recomputed values.
template <class T>
void check_vectors() {
    constexpr double u = sizeof(T) == 4 ? tolerance::u32 : tolerance::u64;
    for (int64_t n : {1, 70, 300})
        for (const Vector &weights : {Vector(), some_weights(n)}) {
            if (n == 1 && !weights.empty()) continue;
            const Rows rows(oracle::Numbers(2).matrix(n, 3), weights, {}, sizeof(T) == 4);
            const Matrix k = oracle::gram(oracle::gaussian(sigma), rows.x, rows.x);
            // Weights are at most 2.5 n / sum < 4; centring adds the errors of three means to that of an entry.
            const double entry = 16 * tolerance::kernel(tolerance::sqdist(3, 24, u), 0.5, u);
            for (int32_t flags : {0, weighted, centred, weighted | centred}) {
                Operation<T> first(rows, 1);
                const Vector found = all_of(first, flags);
                check(found, naive(k, weights, flags), entry, u);
                for (int64_t threads : {2, 8})
                    for (int32_t also : {0, stored}) {
                        Operation<T> other(rows, threads);
                        const Vector again = all_of(other, flags | also);
                        TEST_ASSERT_EQUAL_MEMORY(found.data(), again.data(), found.size() * sizeof(double));
                    }
            }
        }
}
void test_vectors() { check_vectors<double>(); }
void test_vectors_f32() { check_vectors<float>(); }

int32_t distances(void *user, const int64_t *i, const int64_t *j, int64_t count, double *values) {
    const Matrix &x = *static_cast<const Matrix *>(user);
    for (int64_t k = 0; k < count; ++k) values[k] = std::sqrt(square(x, i[k], j[k]));
    return 0;
}

void test_objects() {
    const Rows rows(oracle::Numbers(2).matrix(90, 3), some_weights(90));
    auto source = [&] {
        return std::make_shared<ObjectSource>(mercer_objects{sizeof(mercer_objects), 90, MERCER_DISTANCE, 0, distances,
                                                             nullptr, const_cast<Matrix *>(&rows.x), nullptr});
    };
    const Matrix k = oracle::gram(oracle::gaussian(sigma), rows.x, rows.x);
    for (int32_t flags : {0, weighted | centred}) {
        Operation<double> operation(rows, 2, source());
        const Vector found = all_of(operation, flags);
        check(found, naive(k, rows.weights, flags), 1e-13, tolerance::u64);
        Operation<double> other(rows, 1, source());
        const Vector again = all_of(other, flags | stored);
        TEST_ASSERT_EQUAL_MEMORY(found.data(), again.data(), found.size() * sizeof(double));
    }
}

// Compares with published values of the AKFA rule on 12 points. It first picks the row j with the
// largest s_j / d_j, where s_j is the sum of the squared entries of row j of the matrix (centred or
// not) and d_j its diagonal entry. The mean errors before this pick and, for the uncentred matrix,
// after it are published too.
void test_first_pick() {
    Matrix points(12, 2);
    for (int64_t i = 0; i < 12; ++i) {
        points(i, 0) = static_cast<double>((7 * i * i + 2 * i) % 23);
        points(i, 1) = static_cast<double>((10 * i + 3 * i * i * i) % 19);
    }
    const Rows rows(points);
    struct Golden {
        int32_t flags;
        int64_t pick;
        double before, after; // after: NAN if it was not published
    };
    Operation<double> operation(rows, 2, nullptr, 0, 8);
    mercer_task &task = operation.task;
    for (const Golden &golden : {Golden{0, 4, 1, .525749110351}, {centred, 7, .502319067379, NAN}}) {
        const mercer_gram gram = operation.gram(golden.flags);
        Vector s(12), diagonal(12);
        TEST_ASSERT_EQUAL_INT(MERCER_OK, gram.row_squares(&gram, &task, s.data()));
        TEST_ASSERT_EQUAL_INT(MERCER_OK, gram.op->diagonal(gram.op, &task, diagonal.data()));
        size_t best = 0;
        double trace = 0;
        for (size_t j = 0; j < 12; ++j) {
            trace += diagonal[j];
            if (s[j] / diagonal[j] > s[best] / diagonal[best]) best = j;
        }
        TEST_ASSERT_EQUAL_INT64(golden.pick, best);
        TEST_ASSERT_DOUBLE_WITHIN(tolerance::printed, golden.before, trace / 12);
        if (std::isnan(golden.after)) continue;
        TEST_ASSERT_DOUBLE_WITHIN(tolerance::printed, golden.after, (trace - s[best] / diagonal[best]) / 12);
    }
}

void refused_with(const char *words, int32_t status, const mercer_task &task) {
    TEST_ASSERT_EQUAL_INT(MERCER_E_PLUGIN, status);
    TEST_ASSERT_NOT_NULL_MESSAGE(std::strstr(task.error, words), task.error);
}

void test_refusals() {
    const Rows rows(oracle::Numbers(2).matrix(20, 3));
    Operation<double> operation(rows, 1);
    mercer_task forecast(operation.run, Random(1, Stage::reducer));
    mercer_gram out{};
    out.struct_size = sizeof out;
    refused_with("gram: this operation has no access to the data", host_table().gram(&forecast, 0, &out), forecast);
    refused_with("gram: flags = 8", host_table().gram(&operation.task, 8, &out), operation.task);
    const mercer_gram gram = operation.gram(0);
    const int64_t outside[] = {3, 20};
    Vector columns(40);
    refused_with("columns: row 20 (entry 1), must be 0 to 19",
                 gram.columns(&gram, &operation.task, outside, 2, columns.data(), 20), operation.task);
    refused_with("leading dimension 19", gram.columns(&gram, &operation.task, outside, 1, columns.data(), 19),
                 operation.task);
    const mercer_shape shape = operation.problem.shape();
    mercer_cost cost{};
    cost.struct_size = sizeof cost;
    refused_with("gram_cost: this operation is none of a reducer",
                 host_table().gram_cost(&forecast, &shape, 0, 1, &cost), forecast);
    PivotForecast foreseen(operation.problem.tiles(), true);
    forecast.foreseen = &foreseen;
    for (int64_t count : {0, 21})
        refused_with("gram_cost: columns = ", host_table().gram_cost(&forecast, &shape, 0, count, &cost), forecast);
}

// The forecast of gram_cost must bound the bytes that the calls take, and a matrix must be stored
// only if it takes at most half of the budget.
template <class T>
void check_cost(int64_t memory, int32_t flags, bool stores) {
    const int64_t n = 1500, width = 6;
    const Rows rows(oracle::Numbers(2).matrix(n, 8), some_weights(n), {}, sizeof(T) == 4);
    Operation<T> operation(rows, 2, nullptr, memory);
    PivotForecast foreseen(operation.problem.tiles(), true);
    operation.task.foreseen = &foreseen;
    const mercer_shape shape = operation.problem.shape();
    mercer_cost cost{};
    cost.struct_size = sizeof cost;
    TEST_ASSERT_EQUAL_INT(MERCER_OK, host_table().gram_cost(&operation.task, &shape, flags, width, &cost));
    TEST_ASSERT_TRUE(cost.passes == stores && cost.kernel_evaluations >= n * (n + 1) / 2);
    Vector out(static_cast<size_t>(n * width));
    std::vector<int64_t> index(width);
    std::iota(index.begin(), index.end(), 700);
    Operation<T> used(rows, 2, nullptr, memory);
    const int64_t before = used.run.budget()->used();
    const mercer_gram gram = used.gram(flags);
    mercer_block *block = host_table().block(&used.task, gram.op, 2 * width);
    const int64_t blocks = 2 * width * n * static_cast<int64_t>(sizeof(T));
    TEST_ASSERT_EQUAL_INT(MERCER_OK, gram.op->apply(gram.op, &used.task, {block, 0, width}, {block, width, width}));
    TEST_ASSERT_EQUAL_INT(MERCER_OK, gram.row_squares(&gram, &used.task, out.data()));
    TEST_ASSERT_EQUAL_INT(MERCER_OK, gram.columns(&gram, &used.task, index.data(), width, out.data(), n));
    TEST_ASSERT_EQUAL_INT(MERCER_OK, gram.op->diagonal(gram.op, &used.task, out.data()));
    TEST_ASSERT_TRUE(used.run.budget()->peak() - before - blocks <= cost.bytes);
    const int64_t passes = stores ? 1 : 2; // the first pass also computes the mean
    TEST_ASSERT_EQUAL_INT64(passes * cost.kernel_evaluations + n * width, used.problem.kernel_evaluations());
}
void test_cost() {
    constexpr int64_t mebibyte = int64_t{1} << 20;
    for (int32_t flags : {0, weighted | centred}) {
        check_cost<double>(256 * mebibyte, flags, false);
        check_cost<double>(256 * mebibyte, flags | stored, true);
        check_cost<double>(16 * mebibyte, flags | stored, false); // the values take 9 MB, more than half of the budget
        check_cost<float>(256 * mebibyte, flags, false);
        check_cost<float>(256 * mebibyte, flags | stored, true);
    }
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_vectors);
    RUN_TEST(test_vectors_f32);
    RUN_TEST(test_objects);
    RUN_TEST(test_first_pick);
    RUN_TEST(test_refusals);
    RUN_TEST(test_cost);
    return UNITY_END();
}
