// Benchmark rows for pivoted Cholesky and for the method auto.
#include "problem.h"

#include <filesystem>
#include <map>
#include <optional>

namespace {

constexpr double SIGMA = 5;
constexpr int64_t D = 16, R = 10;

// Returns the row indices of the model's centres, in the order of their selection.
std::vector<double> chosen_rows(const mercer::Model &model, const Table<double> &x) {
    std::map<std::vector<double>, int64_t> numbers;
    for (int64_t i = 0; i < x.n; ++i) numbers.emplace(std::vector<double>(x.row(i), x.row(i) + x.d), i);
    const mercer_view c = model.tensor("C");
    const auto *values = static_cast<const double *>(c.data);
    std::vector<double> out;
    for (int64_t i = 0; i < c.rows; ++i)
        out.push_back(static_cast<double>(numbers.at(std::vector<double>(values + i * x.d, values + (i + 1) * x.d))));
    return out;
}

// Measures the selection alone: timings/reduce in the report of a fit by subsampled, which does
// little else.
void selection(Bench &bench, Row &row, const std::string &reducer, int64_t size) {
    const int64_t m = bench.centres(size);
    auto problem = std::make_shared<Problem<double>>(bench, row, clusters<double>(bench.rows(50000), D, 20, 1), SIGMA);
    auto recipe = std::make_shared<mercer::Recipe>(
        recipe_of(bench, "subsampled", SIGMA, {{"reducer", reducer}, {"reducer.m", std::to_string(m)}}));
    auto points = problem->points<double>();
    const mercer::Run run = bench.run();
    const mercer::Model model = mercer::Model::fit(*recipe, problem->data, run);
    row.ours = [=] {
        return report_of(mercer::Model::fit(*recipe, problem->data, run))["timings"]["reduce"].get<double>();
    };
    row.limit = [=, threads = bench.options.threads] { return limit::factor(*points, m, threads); };
    const std::vector<double> numbers = {SIGMA, double(m)};
    if (reducer == "rpcholesky") {
        row.allowed = 1.6;
        bench.against(row, bench.python, "accelerated, NumPy, as published", 5, "rpcholesky_published", problem->path,
                      numbers);
        bench.against(row, bench.python, "accelerated, NumPy, tuned", NONE, "rpcholesky", problem->path, numbers);
        return;
    }
    row.allowed = 1.8;
    bench.against(row, bench.python, "pivoted Cholesky, NumPy", 8, "pivoted_cholesky", problem->path, numbers);
    const Json report = report_of(model);
    row.checks.push_back({"sweeps", report["reported"].value("reducer.sweeps", NAN), 18});
    try {
        std::vector<double> asked = chosen_rows(model, problem->x);
        asked.insert(asked.begin(), {SIGMA, static_cast<double>(asked.size())});
        const std::vector<double> worse = bench.python.ask("pivoted_cholesky", problem->path, asked).values;
        row.checks.push_back({"pivots that are not the naive ones, up to ties", static_cast<double>(worse.size()), 0});
    } catch (const Absent &) {
        row.checks.push_back({"pivots that are not the naive ones, up to ties (no NumPy)", NAN, PRINTED});
    }
}

// Returns the first of the two strategies that `auto` chooses from: exact passes. Their tolerance
// follows from the accuracy 0.01, but without the upper limit of 1e-6 that `auto` sets, so they may
// stop earlier.
mercer::Recipe iterated(Bench &bench, double sigma, const std::vector<double> &exact) {
    const double tol = 0.01 * exact.back() / exact.front() / 4;
    return recipe_of(bench, "kpca", sigma, {{"output.components", std::to_string(R)}, {"solver.tol", text_of(tol)}});
}

// Returns the second strategy: nystrom with m rows by rpcholesky. The certificates use `rows` rows
// of the residual, or only cheap bounds if rows = 0.
mercer::Recipe projected(Bench &bench, double sigma, int64_t m, int64_t rows) {
    return recipe_of(bench, "nystrom", sigma,
                     {{"reducer", "rpcholesky"},
                      {"reducer.m", std::to_string(m)},
                      {"report.certificates", rows > 0 ? "rows" : "cheap"},
                      {"report.rows", std::to_string(rows)},
                      {"output.components", std::to_string(R)}});
}

// Returns the largest relative error of an eigenvalue that its certified bounds allow. It is INFINITY
// if a lower bound is not positive, or if no eigenvalue has bounds.
double left_open(const Json &report) {
    double worst = 0;
    bool any = false;
    for (const Json &entry : report["certificates"]) {
        if (entry["name"] != "eigenvalue") continue;
        any = true;
        const double value = entry["value"], lower = entry["lower"], upper = entry["upper"];
        worst = larger(worst, lower > 0 ? larger(upper - value, value - lower) / lower : INFINITY);
    }
    return any ? worst : INFINITY;
}

// Returns a recipe of the second strategy that certifies the accuracy. If `auto` took this
// strategy, m and the number of rows of the residual are those of its fit. Otherwise m is doubled,
// from the m of auto's last attempt (or 128) on, until the accuracy is certified. If a quarter of
// the rows is not enough, there is no such recipe.
template <class Fit>
std::optional<mercer::Recipe> approximate(Bench &bench, double sigma, const Json &report, int64_t n, Fit &&fit) {
    const Json &attempts = report["strategy"]["attempts"];
    if (report["strategy"]["taken"] == "projected")
        return projected(bench, sigma, report["m"], attempts.empty() ? 0 : attempts.back().value("rows", int64_t{0}));
    for (int64_t m = attempts.empty() ? 128 : attempts.back()["m"].get<int64_t>(); m <= n / 4; m *= 2) {
        mercer::Recipe recipe = projected(bench, sigma, m, 4000);
        if (left_open(report_of(fit(recipe).second)) <= 0.01) return recipe;
    }
    return std::nullopt;
}

void automatic(Bench &bench, Row &row, Table<float> x, double sigma, bool peer) {
    auto problem = std::make_shared<Problem<float>>(bench, row, std::move(x), sigma);
    const mercer::Run run = bench.run();
    const auto fit = [problem, run](const mercer::Recipe &recipe) {
        Clock clock;
        mercer::Model model = mercer::Model::fit(recipe, problem->data, run);
        return std::pair(clock.seconds(), std::move(model));
    };
    auto recipe = std::make_shared<mercer::Recipe>(
        recipe_of(bench, "auto", sigma, {{"accuracy", "0.01"}, {"output.components", std::to_string(R)}}));
    const Json report = report_of(fit(*recipe).second);
    const auto exact =
        report_of(
            fit(recipe_of(bench, "kpca", sigma, {{"output.components", std::to_string(R)}})).second)["eigenvalues"]
            .get<std::vector<double>>();
    const double error = eigenvalue_error(report["eigenvalues"].get<std::vector<double>>(), exact);
    row.checks.push_back({"true relative error of eigenvalues", error, 0.01});
    row.checks.push_back({"sigma", sigma, PRINTED});

    auto cheaper = std::make_shared<mercer::Recipe>(iterated(bench, sigma, exact));
    const double all = fit(*cheaper).first;
    row.checks.push_back({"seconds of exact passes, forced", all, PRINTED});
    if (auto few = approximate(bench, sigma, report, problem->x.n, fit)) {
        const double seconds = fit(*few).first;
        row.checks.push_back({"seconds of nystrom, forced", seconds, PRINTED});
        if (seconds < all) *cheaper = std::move(*few);
    } else {
        row.checks.push_back({"no nystrom proves the accuracy: rows tried", double(problem->x.n / 4), PRINTED});
    }
    row.ours = [=] { return fit(*recipe).first; };
    row.limit = [=] { return fit(*cheaper).first; };
    row.physical = false;
    row.allowed = 1.3;
    if (peer) against_nystroem(bench, row, *problem, exact, error, 5);
}

void ijcnn1(Bench &bench, Row &row) {
    const std::string path = bench.options.data + "/ijcnn1.X.npy";
    if (bench.options.data.empty()) throw Skipped("no folder of data: set MERCER_DATA or give --data");
    if (!std::filesystem::exists(path)) throw Skipped("there is no " + path);
    Table<float> x = read_npy<float>(path);
    if (bench.options.tiny) x.n = 2000, x.values.resize(static_cast<size_t>(x.n * x.d));
    const double sigma = median_distance(x, 1);
    automatic(bench, row, std::move(x), sigma, true);
}

Entry select(const std::string &reducer, int64_t m) {
    return {reducer + "-" + std::to_string(m),
            reducer + " n = 50 000, d = 16, m = " + std::to_string(m) + ", f64: selection", false,
            [=](Bench &bench, Row &row) { selection(bench, row, reducer, m); }};
}

} // namespace

std::vector<Entry> reduced_rows() {
    return {
        select("rpcholesky", 500),
        select("rpcholesky", 1000),
        select("greedy", 500),
        select("greedy", 1000),
        {"auto-ijcnn1", "auto, accuracy 0.01, r = 10, f32: ijcnn1, all rows, sigma = median distance", false, ijcnn1},
        {"auto-clusters", "auto, accuracy 0.01, r = 10, f32: 20 clusters, n = 100 000 x 16", false,
         [](Bench &bench, Row &row) {
             automatic(bench, row, clusters<float>(bench.rows(100000), D, 20, 1), SIGMA, false);
         }},
    };
}
