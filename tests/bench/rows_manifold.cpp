// Benchmark rows for diffusion maps and spectral clustering: fits of all rows, whose time is
// compared with the least time that this machine needs for the same passes (problem.h), and fits
// through a reducer.
#include "problem.h"

namespace {

constexpr double SIGMA = 5;
constexpr int64_t D = 16, R = 10;

template <class T>
std::function<double()> fits(std::shared_ptr<mercer::Recipe> recipe, std::shared_ptr<Problem<T>> problem,
                             mercer::Run run) {
    return [=] {
        Clock clock;
        const mercer::Model model = mercer::Model::fit(*recipe, problem->data, run);
        return clock.seconds();
    };
}

// Checks the eigenvalues lambda_1, lambda_2, ... of the random walk on the rows against ARPACK on
// the stored f64 matrix.
void check_walk(Bench &bench, Row &row, const Json &report, const std::string &path, double allowed) {
    try {
        const std::vector<double> exact = bench.python.ask("walk_eigenvalues", path, {SIGMA, double(R), 1}).values;
        row.checks.push_back({"relative error of eigenvalues",
                              eigenvalue_error(report["eigenvalues"].get<std::vector<double>>(), exact), allowed});
    } catch (const Absent &) {
        row.checks.push_back({"relative error of eigenvalues (no ARPACK)", NAN, PRINTED});
    }
}

template <class T>
void full(Bench &bench, Row &row) {
    auto problem = std::make_shared<Problem<T>>(bench, row, clusters<T>(bench.rows(10000), D, 20, 1), SIGMA);
    auto recipe = std::make_shared<mercer::Recipe>(
        recipe_of(bench, "diffusion", SIGMA, {{"output.components", std::to_string(R)}}));
    const Json report = report_of(mercer::Model::fit(*recipe, problem->data, bench.run()));
    auto passes = std::make_shared<Passes>(*problem, report);
    row.checks.push_back({"passes", double(passes->count()), PRINTED});
    row.checks.push_back({"MiB beyond the data", report["peak_bytes"].get<double>() / 0x1p20, 100});
    check_walk(bench, row, report, problem->path, sizeof(T) == 4 ? 1e-5 : 1e-9);
    row.ours = fits(recipe, problem, bench.run());
    row.limit = [passes] { return passes->seconds(); };
    row.allowed = 1.5;
    bench.against(row, bench.python, "scikit-learn SpectralEmbedding", 4, "spectral_embedding", problem->path,
                  {SIGMA, double(R)});
}

// Measures fits of n = 100 000 rows through a reducer. scikit-learn gets a tenth of the rows.
void reduced(Bench &bench, Row &row, const std::string &method, const Settings &reducer) {
    auto problem = std::make_shared<Problem<float>>(bench, row, clusters<float>(bench.rows(100000), D, 20, 1), SIGMA);
    Settings settings = reducer;
    settings.push_back({"output.components", std::to_string(R)});
    auto recipe = std::make_shared<mercer::Recipe>(recipe_of(bench, method, SIGMA, settings));
    const Json report = report_of(mercer::Model::fit(*recipe, problem->data, bench.run()));
    row.checks.push_back({"centres", report["m"].get<double>(), PRINTED});
    row.checks.push_back({"MiB beyond the data", report["peak_bytes"].get<double>() / 0x1p20, 1024});
    row.ours = fits(recipe, problem, bench.run());
    const Table<float> tenth = clusters<float>(bench.rows(10000), D, 20, 1);
    const std::string path = bench.file(row.name + ".tenth.npy");
    write_npy(path, tenth);
    bench.against(row, bench.python, "scikit-learn SpectralEmbedding, n / 10", 4, "spectral_embedding", path,
                  {SIGMA, double(R)});
}

} // namespace

std::vector<Entry> manifold_rows() {
    return {
        {"manifold-f64", "diffusion map n = 10 000, d = 16, r = 10, 20 clusters: whole fit", false, full<double>},
        {"manifold-f32", "the same, f32 data", false, full<float>},
        {"manifold-uniform", "diffusion map of n = 100 000 x 16 through 2000 random rows", false,
         [](Bench &bench, Row &row) {
             reduced(bench, row, "diffusion",
                     {{"reducer", "uniform"}, {"reducer.m", std::to_string(bench.centres(2000))}});
         }},
        {"manifold-shadow", "the same through its shadow, ell = 1.5", false,
         [](Bench &bench, Row &row) {
             reduced(bench, row, "diffusion", {{"reducer", "shadow"}, {"reducer.ell", "1.5"}});
         }},
        {"manifold-ncut", "20 clusters by normalised cuts, n = 100 000 x 16 through 2000 random rows", false,
         [](Bench &bench, Row &row) {
             reduced(
                 bench, row, "ncut",
                 {{"reducer", "uniform"}, {"reducer.m", std::to_string(bench.centres(2000))}, {"lift.clusters", "20"}});
         }},
    };
}
