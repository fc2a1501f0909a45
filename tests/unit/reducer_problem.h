// Runs one reducer on given rows as a fit would, and also requests the assignment, which a fit may
// not need.
#pragma once
#include "fit/prepare.h"
#include "fit/reduce.h"
#include "fit/reducer_view.h"
#include "oracle.h"
#include "tolerances.h"
#include "unity_cpp.h"

#include <cstring>
#include <numeric>

using namespace mercer;
using oracle::Matrix;
using oracle::Vector;
using Settings = std::vector<std::pair<std::string, std::string>>;

struct Rows { // if f32 is set, the coordinates are rounded to f32 and passed in f32
    Matrix x;
    Vector weights;
    Matrix landmarks; // landmarks given as points; may be empty
    bool f32;

    explicit Rows(Matrix rows, Vector sample = {}, Matrix points = {}, bool narrow = false)
        : x(std::move(rows)), weights(std::move(sample)), landmarks(std::move(points)), f32(narrow) {
        if (!f32) return;
        for (double &value : x.v) value = static_cast<double>(static_cast<float>(value));
        narrow_.assign(x.v.begin(), x.v.end());
    }
    double weight(int64_t row) const { return weights.empty() ? 1 : weights[static_cast<size_t>(row)]; }
    Data data() const { // views of the members of this object
        Data out;
        out.source = make_view_source(f32 ? view(MERCER_F32, x.rows, x.cols, narrow_.data()) : view_of(x));
        if (!weights.empty()) out.weights = view(MERCER_F64, x.rows, 1, weights.data());
        if (landmarks.rows > 0) out.landmarks = view_of(landmarks);
        return out;
    }

  private:
    static mercer_view view(int32_t dtype, int64_t rows, int64_t cols, const void *data) {
        return {sizeof(mercer_view), dtype, 0, rows, cols, cols, 1, const_cast<void *>(data)};
    }
    static mercer_view view_of(const Matrix &m) { return view(MERCER_F64, m.rows, m.cols, m.v.data()); }
    std::vector<float> narrow_;
};

struct Outcome {
    int32_t status = MERCER_OK;
    std::string error;
    int64_t m = 0, kernel_evaluations = 0;
    std::vector<int64_t> index, assignment;
    Vector weights; // sum n
    Matrix points;  // the centres
    std::map<std::string, double> report;
    mercer_cost cost{};
    // allocated: bytes of the reducer's arena; bytes: peak memory of the run, without the prepared
    // rows.
    int64_t allocated = 0, bytes = 0;
};

template <class T>
void reduce_as(Run &run, const Recipe &recipe, const Rows &rows, const Data &data, const Prepared &prepared,
               Outcome &out) {
    Reduction got;
    DataProblem<T> problem(run, prepared, data, {5}, got);
    mercer_task task(run, Random(static_cast<uint64_t>(recipe.values().seed), Stage::reducer), &problem, &got.report);
    problem.serve(task);
    PivotForecast pivots(problem.tiles(), true);
    task.foreseen = &pivots;
    const mercer_shape shape = problem.shape();
    const mercer_reducer_ops &ops = recipe.reducer()->reducer;
    mercer_want want{sizeof want, nullptr};
    if (ops.flags & MERCER_GIVES_ASSIGNMENT) {
        out.assignment.assign(static_cast<size_t>(shape.n), -1);
        want.assignment = out.assignment.data();
    }
    out.cost.struct_size = sizeof out.cost;
    const void *params = recipe.reducer_params().values();
    out.status = ops.forecast(&host_table(), &task, params, &shape, &out.cost);
    if (out.status == MERCER_OK) out.status = ops.reduce(&host_table(), &task, params, &shape, &want);
    out.error = task.error;
    out.m = got.m;
    out.kernel_evaluations = problem.kernel_evaluations();
    out.index.assign(got.index.begin(), got.index.end());
    for (int64_t k = static_cast<int64_t>(got.weights.size()); k < out.m; ++k)
        got.weights.push_back(out.index.empty() ? 1 : prepared.weights[static_cast<size_t>(got.index[size_t(k)])]);
    const double n = static_cast<double>(shape.n), sum = std::accumulate(got.weights.begin(), got.weights.end(), 0.0);
    if (sum > 0 && sum != n) scale_weights(got.weights, shape.n); // weights whose sum is n stay bitwise unchanged
    out.weights.assign(got.weights.begin(), got.weights.end());
    out.points = Matrix(out.m, rows.x.cols);
    for (int64_t k = 0; k < out.m * rows.x.cols; ++k)
        out.points.v[static_cast<size_t>(k)] =
            !out.index.empty() ? rows.x(out.index[static_cast<size_t>(k / rows.x.cols)], k % rows.x.cols)
                               : static_cast<double>(reinterpret_cast<const T *>(got.points.data())[k]);
    out.report = got.report;
    for (const auto &block : task.arena) out.allocated += block.size();
}

inline Outcome try_reduce(const Rows &rows, const Settings &settings, int64_t threads = 2) {
    static const auto registry = std::make_shared<Registry>();
    Recipe recipe(registry, "kpca");
    for (const auto &[name, value] : settings) recipe.set(name, value);
    mercer_run chosen{};
    chosen.struct_size = sizeof chosen, chosen.threads = threads;
    Run run({}, &chosen);
    run.stage("all");
    const Data data = rows.data();
    const Prepared prepared = prepare(run, recipe, data);
    const int64_t before = run.budget()->used();
    Outcome out;
    if (prepared.f32)
        reduce_as<float>(run, recipe, rows, data, prepared, out);
    else
        reduce_as<double>(run, recipe, rows, data, prepared, out);
    out.bytes = run.budget()->peak() - before;
    return out;
}

inline Outcome reduce_with(const Rows &rows, const Settings &settings, int64_t threads = 2) {
    Outcome out = try_reduce(rows, settings, threads);
    TEST_ASSERT_EQUAL_INT_MESSAGE(MERCER_OK, out.status, out.error.c_str());
    TEST_ASSERT_TRUE(out.allocated <= out.cost.bytes);
    TEST_ASSERT_TRUE(out.m <= out.cost.m);
    return out;
}

// Checks that the recipe or the reducer refuses the settings with an error that contains the words.
inline void refused(const Rows &rows, const Settings &settings, const char *words) {
    std::string said;
    try {
        const Outcome out = try_reduce(rows, settings);
        if (out.status == MERCER_OK) TEST_FAIL_MESSAGE(words);
        said = out.error;
    } catch (const Error &e) {
        TEST_ASSERT_EQUAL_INT(MERCER_E_VALUE, e.code());
        said = e.what();
    }
    TEST_ASSERT_NOT_NULL_MESSAGE(std::strstr(said.c_str(), words), said.c_str());
}

// Returns weights of which every third is 0 and the others lie between 0.5 and 2.5.
inline Vector some_weights(int64_t n) {
    oracle::Numbers numbers(5);
    Vector out;
    for (int64_t i = 0; i < n; ++i) out.push_back(i % 3 == 2 ? 0 : 0.5 + 2 * numbers.uniform());
    return out;
}

inline std::string text_of(double value) {
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", value);
    return text;
}

// Computes the squared distance by its definition: in double, in the order of the columns.
inline double square(const Matrix &x, int64_t i, int64_t j) {
    double sum = 0;
    for (int64_t k = 0; k < x.cols; ++k) sum += (x(i, k) - x(j, k)) * (x(i, k) - x(j, k));
    return sum;
}

// Returns the position of the centre that is nearest to a row; of equally near ones, the first.
inline int64_t nearest_of(const Matrix &x, const std::vector<int64_t> &centres, int64_t row) {
    int64_t best = 0;
    for (size_t k = 1; k < centres.size(); ++k)
        if (square(x, row, centres[k]) < square(x, row, centres[static_cast<size_t>(best)]))
            best = static_cast<int64_t>(k);
    return best;
}
