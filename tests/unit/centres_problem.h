// One reducer on rows of its own, as a fit would run it, with the assignment that a fit may not ask for.
#pragma once
#include "fit/problem.h"
#include "oracle.h"
#include "tolerances.h"
#include "unity_cpp.h"

#include <cstring>

using namespace mercer;
using oracle::Matrix;
using oracle::Vector;
using Settings = std::vector<std::pair<std::string, std::string>>;

// Stays where it is: data points into it.
struct Rows {
    Matrix x, points; // landmarks, if there are some
    Vector weights;
    Data data;
    explicit Rows(Matrix rows, Vector sample = {}, Matrix landmarks = {})
        : x(std::move(rows)), points(std::move(landmarks)), weights(std::move(sample)) {
        data.source = make_view_source(view_of(x));
        if (!weights.empty()) data.weights = {sizeof(mercer_view), MERCER_F64, 0, x.rows, 1, 1, 1, weights.data()};
        if (points.rows > 0) data.landmarks = view_of(points);
    }
    Rows(const Rows &) = delete;

  private:
    static mercer_view view_of(Matrix &m) {
        return {sizeof(mercer_view), MERCER_F64, 0, m.rows, m.cols, m.cols, 1, m.v.data()};
    }
};

struct Outcome {
    Reduction got;
    mercer_cost cost{};
    int64_t bytes = 0; // that the run held at most, beside the rows
    std::vector<int64_t> assignment;
    Vector weights; // as given, scaled to sum n
    Matrix points;  // the centres
};

template <class T>
void reduce_as(Run &run, const Recipe &recipe, const Rows &rows, const Prepared &prepared, Outcome &out) {
    const Plugin &plugin = *recipe.reducer();
    DataProblem<T> problem(run, prepared, rows.data, 5, out.got);
    mercer_task task(run, Random(static_cast<uint64_t>(recipe.values().seed), Stage::reducer), &problem,
                     &out.got.report);
    problem.serve(task);
    const mercer_shape shape = problem.shape();
    mercer_want want{sizeof want, nullptr};
    if (plugin.reducer.flags & MERCER_GIVES_ASSIGNMENT) {
        out.assignment.assign(static_cast<size_t>(rows.x.rows), -1);
        want.assignment = out.assignment.data();
    }
    out.cost.struct_size = sizeof out.cost;
    const void *params = recipe.reducer_params().values();
    task.check(plugin.reducer.forecast(&host_table(), &task, params, &shape, &out.cost), plugin);
    task.check(plugin.reducer.reduce(&host_table(), &task, params, &shape, &want), plugin);
    out.got.kernel_evaluations += problem.kernel_evaluations();
    out.points = Matrix(out.got.m, rows.x.cols);
    for (int64_t k = 0; k < out.got.m * rows.x.cols; ++k)
        out.points.v[static_cast<size_t>(k)] =
            !out.got.index.empty() ? rows.x(out.got.index[static_cast<size_t>(k / rows.x.cols)], k % rows.x.cols)
                                   : static_cast<double>(reinterpret_cast<const T *>(out.got.points.data())[k]);
}

inline Outcome reduce_with(const Rows &rows, const Settings &settings, int64_t threads = 2) {
    Recipe recipe(std::make_shared<Registry>(), "kpca");
    for (const auto &[name, value] : settings) recipe.set(name, value);
    mercer_run chosen{};
    chosen.struct_size = sizeof chosen, chosen.threads = threads;
    Run run({}, &chosen);
    run.stage("all");
    Outcome out;
    const Prepared prepared = prepare(run, recipe, rows.data);
    const int64_t before = run.budget()->used();
    if (prepared.f32)
        reduce_as<float>(run, recipe, rows, prepared, out);
    else
        reduce_as<double>(run, recipe, rows, prepared, out);
    out.bytes = run.budget()->peak() - before;
    CountedVector<double> weights = out.got.weights;
    for (size_t k = weights.size(); k < static_cast<size_t>(out.got.m); ++k)
        weights.push_back(out.got.index.empty() ? 1 : prepared.weights[static_cast<size_t>(out.got.index[k])]);
    scale_weights(weights, rows.x.rows);
    out.weights.assign(weights.begin(), weights.end());
    return out;
}

// Every third row counts nothing, the others 0.5 to 2.5; or all 1.
inline Vector some_weights(int64_t n) {
    oracle::Numbers numbers(5);
    Vector out;
    for (int64_t i = 0; i < n; ++i) out.push_back(i % 3 == 2 ? 0 : 0.5 + 2 * numbers.uniform());
    return out;
}

inline void refused(const Rows &rows, const Settings &settings, const char *words) {
    try {
        reduce_with(rows, settings);
        TEST_FAIL_MESSAGE(words);
    } catch (const Error &e) {
        TEST_ASSERT_TRUE_MESSAGE(std::strstr(e.what(), words), e.what());
    }
}
