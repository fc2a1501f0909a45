// The suite of reducers, on the problem that a fit shows them: clustered rows under a Gaussian
// kernel that the suite provides. The kernel is so narrow that 300 distinct rows are numerically
// independent (nearest neighbours are about 0.6 apart, where k = 0.2). Therefore a reducer that is
// asked for m centres must find m. Landmarks are always attached, for the reducers that need them.
#include "../core/structs.h"
#include "../fit/prepare.h"
#include "../fit/reducer_view.h"
#include "check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace mercer {
namespace {

constexpr double rate = 4; // k = exp(-rate |x - y|^2)

void gaussian_map(const mercer_host *host, const void *, int32_t dtype, void *values, int64_t count) {
    auto scaled = [&](auto *v) {
        for (int64_t i = 0; i < count; ++i) v[i] *= -rate;
        return v;
    };
    if (dtype == MERCER_F32)
        host->exp_f32(scaled(static_cast<float *>(values)), count);
    else
        host->exp_f64(scaled(static_cast<double *>(values)), count);
}

void gaussian_facts(const mercer_host *, const void *, int64_t, mercer_kernel_facts *out) {
    out->h = 1 / std::sqrt(rate);
    out->kappa = 1;
    out->lo = 0;
    out->hi = 1;
    out->lipschitz = std::sqrt(2 * rate / std::exp(1.0));
    out->flags = int{MERCER_PSD} | MERCER_RADIAL;
}

Expression gaussian(Run &run, int64_t d) {
    auto plugin = std::make_shared<Plugin>();
    plugin->kind = Kind::kernel;
    plugin->name = "gaussian of the suite";
    plugin->params = std::make_shared<ParamTable>();
    plugin->kernel.form = MERCER_SQDIST;
    plugin->kernel.map = gaussian_map;
    plugin->kernel.facts = gaussian_facts;
    Registry nothing;
    Expression kernel(parse_expression("user"), nothing); // its only leaf is replaced below
    kernel.leaves[0].plugin = plugin;
    kernel.leaves[0].params = Params(plugin->params);
    kernel.leaves[0].form = MERCER_SQDIST;
    kernel.finish(run, d, [](const Leaf &, const std::string &) { return 0.0; });
    return kernel;
}

// ---- data

constexpr int64_t columns = 4;

// Makes n rows in six clusters. Each group of `copies` consecutive rows consists of equal rows.
std::vector<double> make_rows(int64_t n, int64_t copies) {
    std::vector<double> x(static_cast<size_t>(n * columns));
    for (int64_t i = 0; i < n; ++i)
        for (int64_t k = 0; k < columns; ++k) {
            const int64_t own = i / copies;
            x[static_cast<size_t>(i * columns + k)] =
                std::floor(8 * check_number(1000 + own % 6, k)) + 3 * check_number(own, k) - 1.5;
        }
    return x;
}

int32_t distances(void *user, const int64_t *i, const int64_t *j, int64_t count, double *values) {
    const double *x = static_cast<const double *>(user);
    for (int64_t k = 0; k < count; ++k) {
        double sum = 0;
        for (int64_t c = 0; c < columns; ++c) {
            double diff = x[i[k] * columns + c] - x[j[k] * columns + c];
            sum += diff * diff;
        }
        values[k] = std::sqrt(sum);
    }
    return 0;
}

enum class Given { rows, points };
enum class DataKind { vectors, objects };

// Data, and what a fit would have prepared from them. A scene cannot be moved, because its data
// have pointers into it.
struct Scene {
    std::string text;
    std::vector<double> rows, weights, landmark_points;
    std::vector<int64_t> landmark_rows;
    Data data;
    Prepared prepared;

    Scene(Run &run, std::string text, bool f32, int64_t n, int64_t copies = 1, Given landmarks = Given::rows,
          DataKind kind = DataKind::vectors)
        : text(std::move(text)), rows(make_rows(n, copies)) {
        for (int64_t i = 0; i < n; i += 37) landmark_rows.push_back((i * 7 + 1) % n);
        landmark_points.assign(rows.begin(), rows.begin() + std::min<int64_t>(n, 8) * columns);
        if (kind == DataKind::vectors)
            data.source = make_view_source(view_of_rows(MERCER_F64, n, columns, rows.data()));
        else
            data.source = std::make_shared<ObjectSource>(mercer_objects{sizeof(mercer_objects), n, MERCER_DISTANCE,
                                                                        MERCER_THREAD_SAFE, distances, nullptr,
                                                                        rows.data(), nullptr});
        data.landmarks =
            landmarks == Given::rows
                ? view_of_rows(MERCER_I64, static_cast<int64_t>(landmark_rows.size()), 1, landmark_rows.data())
                : view_of_rows(MERCER_F64, std::min<int64_t>(n, 8), columns, landmark_points.data());
        prepared.source = data.source;
        prepared.kernel = gaussian(run, data.source->cols());
        prepared.f32 = f32;
        prepared.weights = sample_weights(data, *prepared.source);
    }
    Scene(const Scene &) = delete;
    int64_t n() const { return prepared.source->rows(); }

    // Gives every third row the weight 0, the others weights from 0.5 to 2.5.
    void weigh() {
        for (int64_t i = 0; i < n(); ++i) weights.push_back(i % 3 == 2 ? 0 : 0.5 + 2 * check_number(500, i));
        data.weights = view_of_rows(MERCER_F64, n(), 1, weights.data());
        prepared.weights = sample_weights(data, *prepared.source);
    }
};

// ---- one reduction

struct Outcome {
    int32_t status = 0;
    std::string error;
    Reduction got;
    mercer_shape shape{};
    mercer_cost cost{};
    int64_t allocated = 0; // bytes that the reducer allocated
    std::vector<int64_t> assignment;
};

template <class T>
void reduce_as(Run &run, const Plugin &plugin, const Scene &scene, const Params &params, uint64_t seed, Outcome &out) {
    DataProblem<T> problem(run, scene.prepared, scene.data, {5}, out.got);
    mercer_task task(run, Random(seed, Stage::reducer), &problem, &out.got.report);
    problem.serve(task);
    PivotForecast pivots(problem.tiles(), true);
    task.foreseen = &pivots;
    out.shape = problem.shape();
    out.cost.struct_size = sizeof out.cost;
    // The task of the forecast has no problem, because a forecast has no access to the data.
    mercer_task ahead(run, Random(seed, Stage::reducer));
    ahead.foreseen = &pivots;
    out.status = plugin.reducer.forecast(&host_table(), &ahead, params.values(), &out.shape, &out.cost);
    out.error = ahead.error;
    if (out.status != MERCER_OK) return;
    mercer_want want{sizeof want, nullptr};
    if (plugin.reducer.flags & MERCER_GIVES_ASSIGNMENT) {
        out.assignment.assign(static_cast<size_t>(scene.n()), -1);
        want.assignment = out.assignment.data();
    }
    out.status = plugin.reducer.reduce(&host_table(), &task, params.values(), &out.shape, &want);
    // As in a fit, one row is given if the reducer searched for pivots and needed none.
    if (out.status == MERCER_OK) problem.give_first();
    out.error = task.error;
    for (const auto &block : task.arena) out.allocated += block.size();
}

Outcome reduce_once(Run &run, const Plugin &plugin, const Scene &scene, const Params &params, uint64_t seed = 1) {
    Outcome out;
    if (scene.prepared.f32)
        reduce_as<float>(run, plugin, scene, params, seed, out);
    else
        reduce_as<double>(run, plugin, scene, params, seed, out);
    return out;
}

// ---- what must hold

void check_centres(const Plugin &plugin, const Scene &scene, const Outcome &out) {
    const Reduction &got = out.got;
    const int64_t n = scene.n();
    if (got.m < 1 || got.m > n) broken("%d centres, must be 1 to n = %d", int(got.m), int(n));
    std::vector<bool> seen(static_cast<size_t>(n));
    for (int64_t row : got.index) { // the service give has checked that 0 <= row < n
        if (seen[static_cast<size_t>(row)]) broken("row %d is given twice", int(row));
        seen[static_cast<size_t>(row)] = true;
    }
    if (got.index.empty() && !(plugin.reducer.flags & MERCER_GIVES_POINTS))
        broken("it gives points, but does not declare MERCER_GIVES_POINTS");
    for (size_t i = 0; i < out.assignment.size(); ++i)
        if (out.assignment[i] < 0 || out.assignment[i] >= got.m)
            broken("row %d is assigned to centre %d of %d", int(i), int(out.assignment[i]), int(got.m));
}

// Checks the weights that the reducer gave or, if it gave none, those of the selected rows. They
// must be such that fit() can scale them to the sum n.
void check_weights(const Scene &scene, const Outcome &out) {
    CountedVector<double> weights = out.got.weights;
    if (!weights.empty() && static_cast<int64_t>(weights.size()) != out.got.m)
        broken("%d weights for %d centres", int(weights.size()), int(out.got.m));
    if (weights.empty())
        for (int64_t k = 0; k < out.got.m; ++k)
            weights.push_back(out.got.index.empty()
                                  ? 1
                                  : scene.prepared.weights[static_cast<size_t>(out.got.index[static_cast<size_t>(k)])]);
    const double n = static_cast<double>(scene.n()), sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    double scaled = 0;
    for (double weight : weights) {
        if (!(weight >= 0) || !std::isfinite(weight)) broken("a weight of %g", weight);
        scaled += weight * (n / sum);
    }
    if (!(std::fabs(scaled - n) <= 1e-12 * n))
        broken("its weights sum to %g, so they cannot be scaled to n = %g", sum, n);
}

// The figures of a forecast must be upper bounds. If a number m of centres was requested, it must
// be the forecast's m or, if the reducer searches for the number, its likely_m.
void check_cost(const Params &params, const Outcome &out) {
    const mercer_cost &cost = out.cost;
    if (cost.bytes < 0 || cost.kernel_evaluations < 0 || !(cost.flops >= 0))
        broken("forecast: bytes = %lld, kernel_evaluations = %lld, flops = %g", static_cast<long long>(cost.bytes),
               static_cast<long long>(cost.kernel_evaluations), cost.flops);
    if (cost.m < out.got.m) broken("forecast: m = %d, but it returned %d centres", int(cost.m), int(out.got.m));
    if (cost.bytes < out.allocated)
        broken("forecast: bytes = %lld, but it allocated %lld", static_cast<long long>(cost.bytes),
               static_cast<long long>(out.allocated));
    const int64_t row = params.table().find_flag(MERCER_CENTRES);
    int64_t asked = 0;
    if (row >= 0 && parse_number(params.get(row), &asked) && asked > 0 && cost.m != asked && cost.likely_m != asked)
        broken("forecast: m = %d, but m = %d was requested", int(cost.m), int(asked));
}

// Runs a reduction that must succeed, unless the reducer refuses the setting with E_VALUE.
Outcome legal(Suite &suite, const Scene &scene, const Setting &setting, uint64_t seed = 1) {
    suite.on(std::string(scene.prepared.f32 ? "f32, " : "f64, ") + scene.text + ", " + setting.text);
    Outcome out = reduce_once(suite.run, *suite.plugin, scene, setting.params, seed);
    if (out.status == MERCER_E_VALUE && setting.text != "defaults") {
        suite.note("left out: " + setting.text + ": " + out.error);
        return out;
    }
    if (out.status != MERCER_OK) broken("%s", returned("it", out.status, out.error).c_str());
    check_centres(*suite.plugin, scene, out);
    check_weights(scene, out);
    check_cost(setting.params, out);
    return out;
}

bool same(const Outcome &a, const Outcome &b) {
    const Reduction &x = a.got, &y = b.got;
    return a.status == b.status && x.m == y.m && x.index == y.index && x.weights == y.weights &&
           a.assignment == b.assignment && x.points.size() == y.points.size() &&
           std::equal(x.points.begin(), x.points.end(), y.points.begin());
}

// ---- checks

Setting with_m(const Plugin &plugin, int64_t m) {
    Setting setting{Params(plugin.params), "m = " + std::to_string(m)};
    const int64_t row = plugin.params->find_flag(MERCER_CENTRES);
    setting.params.set(row, std::to_string(m), plugin.params->rows()[static_cast<size_t>(row)].row.name);
    return setting;
}

// A = S H K H^T S in plain loops, row-major: A_ij = sqrt(w_i w_j) (K_ij - mu_i - mu_j + mubar),
// where mu_i is the weighted mean of row i of K and mubar the weighted mean of mu. Without the flag
// CENTRED the means are 0, without WEIGHTED the weights are 1.
std::vector<double> naive_gram(const Scene &scene, int32_t flags) {
    const int64_t n = scene.n();
    const bool centred = flags & MERCER_GRAM_CENTRED;
    auto w = [&](int64_t i) {
        return flags & MERCER_GRAM_WEIGHTED ? scene.prepared.weights[static_cast<size_t>(i)] : 1.0;
    };
    std::vector<double> a(static_cast<size_t>(n * n)), mean(static_cast<size_t>(n));
    auto at = [&](int64_t i, int64_t j) -> double & { return a[static_cast<size_t>(i * n + j)]; };
    double whole = 0;
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) {
            double square = 0;
            for (int64_t c = 0; c < columns; ++c) {
                const double diff =
                    scene.rows[static_cast<size_t>(i * columns + c)] - scene.rows[static_cast<size_t>(j * columns + c)];
                square += diff * diff;
            }
            at(i, j) = std::exp(-rate * square);
            const double part = centred ? w(j) * at(i, j) / static_cast<double>(n) : 0;
            mean[static_cast<size_t>(i)] += part;
            whole += w(i) * part / static_cast<double>(n);
        }
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) {
            at(i, j) += whole - mean[static_cast<size_t>(i)] - mean[static_cast<size_t>(j)];
            at(i, j) *= std::sqrt(w(i) * w(j));
        }
    return a;
}

// Checks the service gram on the problem that the reducer sees, against naive_gram. The tile engine
// leaves errors of at most v sqrt((d + 8) u) / 16 in a squared distance v (gram/tile.cpp), which
// are below 0.1 sqrt(u) in K. Centring adds the errors of three means, and sqrt(w_i w_j) is at most
// 4, so an entry of A has an error below 1.6 sqrt(u). The tolerance is 4 sqrt(u).
template <class T>
void gram_as(Suite &suite, const Scene &scene, int32_t flags) {
    Reduction got;
    DataProblem<T> problem(suite.run, scene.prepared, scene.data, {5}, got);
    mercer_task task(suite.run, Random(1, Stage::reducer), &problem);
    mercer_gram gram{};
    gram.struct_size = sizeof gram;
    const int64_t n = scene.n(), chosen[] = {n - 1, n / 2};
    const double entry = 4 * std::sqrt(sizeof(T) == 4 ? 0x1p-24 : 0x1p-53), count = static_cast<double>(n);
    std::vector<double> squares(static_cast<size_t>(n)), some(static_cast<size_t>(2 * n));
    int32_t status = host_table().gram(&task, flags, &gram);
    if (status == MERCER_OK) status = gram.row_squares(&gram, &task, squares.data());
    if (status == MERCER_OK) status = gram.columns(&gram, &task, chosen, 2, some.data(), n);
    if (status != MERCER_OK) broken("%s", returned("gram", status, task.error).c_str());
    const std::vector<double> a = naive_gram(scene, flags);
    for (int64_t i = 0; i < n; ++i) {
        double square = 0;
        for (int64_t j = 0; j < n; ++j) square += a[static_cast<size_t>(i * n + j)] * a[static_cast<size_t>(i * n + j)];
        const double found = squares[static_cast<size_t>(i)];
        if (!(std::fabs(found - square) <= 2 * entry * std::sqrt(count * square) + count * entry * entry))
            broken("gram: row_squares of row %d = %g, must be %g", int(i), found, square);
        for (int64_t k = 0; k < 2; ++k) {
            const double value = some[static_cast<size_t>(k * n + i)],
                         wanted = a[static_cast<size_t>(chosen[k] * n + i)];
            if (!(std::fabs(value - wanted) <= entry))
                broken("gram: entry (%d, %d) = %g, must be %g", int(i), int(chosen[k]), value, wanted);
        }
    }
}

void gram_matrix(Suite &suite, bool f32) {
    const bool vectors = suite.plugin->reducer.flags & MERCER_NEEDS_VECTORS;
    Scene scene(suite.run, "gram", f32, 60, 1, Given::rows, vectors ? DataKind::vectors : DataKind::objects);
    scene.weigh();
    for (int32_t flags = 0; flags < 8; ++flags) // all combinations of WEIGHTED, CENTRED and STORED
        f32 ? gram_as<float>(suite, scene, flags) : gram_as<double>(suite, scene, flags);
}

void sizes(Suite &suite, bool f32) {
    const Plugin &plugin = *suite.plugin;
    Scene scene(suite.run, "n = 300", f32, 300);
    for (int64_t m : {1, 7, 300}) {
        Setting setting = with_m(plugin, m);
        Outcome out = legal(suite, scene, setting);
        if (out.status != MERCER_OK) broken("%s", returned("it", out.status, out.error).c_str());
        if (out.got.m != m && out.cost.m == m)
            broken("%d centres, but %d were requested and the rows are independent", int(out.got.m), int(m));
    }
    Outcome out = reduce_once(suite.run, plugin, scene, with_m(plugin, 301).params);
    if (out.status == MERCER_OK && out.got.m > 300) broken("m = 301 of 300 rows: %d centres", int(out.got.m));
    if (out.status != MERCER_OK && out.status != MERCER_E_VALUE)
        broken("m = 301 of 300 rows: status %d, must be MERCER_E_VALUE", out.status);
}

void repeats(Suite &suite, bool f32, const std::vector<Setting> &settings) {
    Scene scene(suite.run, "n = 300", f32, 300);
    for (const Setting &setting : settings) {
        Outcome first = legal(suite, scene, setting, 3), second = legal(suite, scene, setting, 3);
        if (!same(first, second)) broken("the same seed gives a different result");
        legal(suite, scene, setting, 4);
        RunSettings threads;
        threads.run.threads = suite.run.threads() > 1 ? 1 : 2;
        Run other(threads, nullptr);
        if (!same(first, reduce_once(other, *suite.plugin, scene, setting.params, 3)))
            broken("another number of threads gives a different result");
    }
}

// A cancelled run must return E_CANCELLED or succeed: a reducer whose work is short need not check
// for cancellation.
void cancel(Suite &suite, bool f32) {
    Scene scene(suite.run, "n = 300", f32, 300);
    const int32_t flag = 1;
    RunSettings settings;
    settings.run.cancel = &flag;
    Run run(settings, nullptr);
    Outcome out = reduce_once(run, *suite.plugin, scene, Params(suite.plugin->params));
    if (out.status != MERCER_OK && out.status != MERCER_E_CANCELLED)
        broken("%s", returned("a cancelled run", out.status, out.error).c_str());
}

} // namespace

void check_reducer(Suite &suite) {
    const std::vector<Setting> settings = check_settings(*suite.plugin);
    auto both = [&](const char *title, const std::function<void(bool f32)> &body) {
        suite.check(title, [&] { body(false), body(true); });
    };
    auto on_scene = [&](Scene &&scene) {
        for (const Setting &setting : settings) legal(suite, scene, setting);
    };
    Run &run = suite.run;
    both("centres, weights, forecast", [&](bool f32) { on_scene(Scene(run, "n = 150", f32, 150)); });
    both("landmarks as points", [&](bool f32) { on_scene(Scene(run, "points", f32, 150, 1, Given::points)); });
    if (suite.plugin->params->find_flag(MERCER_CENTRES) < 0)
        suite.note("not present: m as requested");
    else
        both("m as requested", [&](bool f32) { sizes(suite, f32); });
    both("seed and threads", [&](bool f32) { repeats(suite, f32, settings); });
    both("sample weights", [&](bool f32) {
        Scene scene(run, "weights", f32, 150);
        scene.weigh();
        legal(suite, scene, settings[0]);
    });
    both("kernel matrix", [&](bool f32) { gram_matrix(suite, f32); });
    both("duplicates", [&](bool f32) { on_scene(Scene(run, "rows in threes", f32, 300, 3)); });
    both("all rows equal", [&](bool f32) { legal(suite, Scene(run, "n = 5", f32, 5, 5), settings[0]); });
    both("n = 1", [&](bool f32) { legal(suite, Scene(run, "n = 1", f32, 1), settings[0]); });
    if (!(suite.plugin->reducer.flags & MERCER_NEEDS_VECTORS))
        both("objects", [&](bool f32) {
            legal(suite, Scene(run, "objects", f32, 60, 1, Given::rows, DataKind::objects), settings[0]);
        });
    both("cancel", [&](bool f32) { cancel(suite, f32); });
}

} // namespace mercer
