// A reducer as a fit runs it, with the assignment, and what it gave.
#pragma once
#include "fit/problem.h"
#include "oracle.h"
#include "unity_cpp.h"

using Settings = std::vector<std::pair<std::string, std::string>>;
using oracle::Matrix;
using oracle::Vector;

struct Reduced {
    int32_t status = 0;
    std::string error;
    std::vector<int64_t> index, assignment;
    Vector weights;
    std::map<std::string, double> report;
    mercer_cost cost{};
    int64_t allocated = 0;
};

struct Scene { // f32: numbers are rounded to it, and given as such
    Matrix x;
    bool f32 = false;
    Vector weights = {};
    int64_t threads = 1;

    explicit Scene(Matrix rows, bool f32 = false) : x(std::move(rows)), f32(f32) {
        if (!f32) return;
        for (double &value : x.v) value = static_cast<double>(static_cast<float>(value));
        narrow.assign(x.v.begin(), x.v.end());
    }
    mercer::Data data() {
        mercer::Data out;
        out.source = mercer::make_view_source({sizeof(mercer_view), f32 ? MERCER_F32 : MERCER_F64, 0, x.rows, x.cols,
                                               x.cols, 1, f32 ? static_cast<void *>(narrow.data()) : x.v.data()});
        if (!weights.empty()) out.weights = {sizeof(mercer_view), MERCER_F64, 0, x.rows, 1, 1, 1, weights.data()};
        return out;
    }

  private:
    std::vector<float> narrow;
};

template <class T>
void reduce_as(mercer::Run &run, const mercer::Recipe &recipe, const mercer::Prepared &prepared,
               const mercer::Data &data, Reduced &out) {
    mercer::Reduction got;
    mercer::DataProblem<T> problem(run, prepared, data, 5, got);
    mercer_task task(run, mercer::Random(static_cast<uint64_t>(recipe.values().seed), mercer::Stage::reducer), &problem,
                     &got.report);
    problem.serve(task);
    const mercer_shape shape = problem.shape();
    out.assignment.assign(static_cast<size_t>(shape.n), -1);
    const mercer_want want{sizeof want, out.assignment.data()};
    const mercer_reducer_ops &ops = recipe.reducer()->reducer;
    out.cost.struct_size = sizeof out.cost;
    const void *params = recipe.reducer_params().values();
    out.status = ops.forecast(&mercer::host_table(), &task, params, &shape, &out.cost);
    if (out.status == MERCER_OK) out.status = ops.reduce(&mercer::host_table(), &task, params, &shape, &want);
    out.error = task.error;
    out.index.assign(got.index.begin(), got.index.end());
    out.weights.assign(got.weights.begin(), got.weights.end());
    out.report = got.report;
    for (const auto &block : task.arena) out.allocated += block.size();
}

inline Reduced reduce(Scene &scene, const Settings &settings) {
    static const auto registry = std::make_shared<mercer::Registry>();
    mercer::Recipe recipe(registry, "kpca");
    for (const auto &[name, value] : settings) recipe.set(name, value);
    mercer_run settings_of_run{};
    settings_of_run.struct_size = sizeof settings_of_run, settings_of_run.threads = scene.threads;
    mercer::Run run({}, &settings_of_run);
    run.stage("all");
    const mercer::Data data = scene.data();
    const mercer::Prepared prepared = mercer::prepare(run, recipe, data);
    Reduced out;
    if (prepared.f32)
        reduce_as<float>(run, recipe, prepared, data, out);
    else
        reduce_as<double>(run, recipe, prepared, data, out);
    return out;
}

inline Reduced reduced(Scene &scene, const Settings &settings) {
    Reduced out = reduce(scene, settings);
    TEST_ASSERT_EQUAL_INT_MESSAGE(MERCER_OK, out.status, out.error.c_str());
    TEST_ASSERT_TRUE(out.allocated <= out.cost.bytes);
    TEST_ASSERT_TRUE(static_cast<int64_t>(out.index.size()) <= out.cost.m);
    return out;
}

inline std::string text_of(double value) {
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", value);
    return text;
}

inline double weight_of(const Scene &scene, int64_t row) {
    return scene.weights.empty() ? 1 : scene.weights[static_cast<size_t>(row)];
}

// As it is written, in double and in the order of the columns.
inline double square(const Matrix &x, int64_t i, int64_t j) {
    double sum = 0;
    for (int64_t k = 0; k < x.cols; ++k) sum += (x(i, k) - x(j, k)) * (x(i, k) - x(j, k));
    return sum;
}

// The centre nearest to a row; ties to the first.
inline int64_t nearest_of(const Matrix &x, const std::vector<int64_t> &centres, int64_t row) {
    int64_t best = 0;
    for (size_t k = 1; k < centres.size(); ++k)
        if (square(x, row, centres[k]) < square(x, row, centres[static_cast<size_t>(best)]))
            best = static_cast<int64_t>(k);
    return best;
}
