// Benchmark rows that compare the methods on the same data. The values are only printed;
// docs/choosing.md uses them.
#include "problem.h"

namespace {

constexpr int64_t D = 16, R = 10;

void methods(Bench &bench, Row &row, const Table<float> &x, double sigma) {
    const Problem<float> problem(bench, row, x, sigma);
    const std::string r = std::to_string(R);
    const auto few = [&](int64_t m) { return std::to_string(bench.centres(m)); };
    const std::vector<std::pair<std::string, Settings>> ways = {
        {"kpca", {}},
        {"auto", {}},
        {"gkpca", {{"reducer.m", few(500)}}},
        {"nystrom", {{"reducer.m", few(500)}}},
        {"nystrom", {{"reducer", "rpcholesky"}, {"reducer.m", few(500)}}},
        {"nystrom", {{"reducer.m", few(2000)}}},
        {"subsampled", {{"reducer.m", few(2000)}}},
    };
    std::vector<double> exact; // the eigenvalues of the first entry of ways, kpca
    for (auto [method, settings] : ways) {
        std::string name = method;
        for (const auto &[key, value] : settings) name += " " + value;
        settings.push_back({"output.components", r});
        const mercer::Recipe recipe = recipe_of(bench, method, sigma, settings);
        Clock clock;
        const Json report = report_of(mercer::Model::fit(recipe, problem.data, bench.run()));
        const double seconds = clock.seconds();
        const auto values = report["eigenvalues"].get<std::vector<double>>();
        if (exact.empty()) exact = values;
        row.checks.push_back({name + ": seconds", seconds, PRINTED});
        row.checks.push_back({"  MiB", report["peak_bytes"].get<double>() / 0x1p20, PRINTED});
        row.checks.push_back({"  centres", report["m"].get<double>(), PRINTED});
        row.checks.push_back({"  largest relative error of an eigenvalue", eigenvalue_error(values, exact), PRINTED});
    }
}

} // namespace

std::vector<Entry> method_rows() {
    return {
        {"methods-clusters", "all methods, r = 10, f32: 20 clusters, n = 50 000 x 16, a spectrum that falls", false,
         [](Bench &bench, Row &row) { methods(bench, row, clusters<float>(bench.rows(50000), D, 20, 1), 5); }},
        {"methods-cube", "the same, uniform in the cube, sigma 0.5: a spectrum that hardly falls", false,
         [](Bench &bench, Row &row) { methods(bench, row, cube<float>(bench.rows(50000), D, 1), 0.5); }},
    };
}
