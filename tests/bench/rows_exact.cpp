// Benchmark rows for exact kernel PCA. The time of a fit is compared with the least
// time that this machine needs for the same passes (problem.h).
#include "problem.h"

namespace {

constexpr double SIGMA = 5;
constexpr int64_t D = 16, R = 10;
const Settings COMPONENTS = {{"output.components", std::to_string(R)}};

template <class T>
constexpr double TOLERANCE = sizeof(T) == 4 ? 1e-5 : 1e-9; // of residuals, relative to lambda_1

template <class T>
double seconds_of_fit(const mercer::Recipe &recipe, const Problem<T> &problem, const mercer::Run &run, bool scores) {
    Clock clock;
    const mercer::Model model = mercer::Model::fit(recipe, problem.data, run);
    if (!scores) return clock.seconds();
    model.transform<T>(problem.data, nullptr, run);
    return clock.seconds();
}

// Returns max_j |lambda_j / exact_j - 1|, where the exact eigenvalues come from ARPACK on the
// stored f64 matrix.
double eigenvalue_error(Bench &bench, const Json &report, const std::string &path) {
    return ::eigenvalue_error(report["eigenvalues"].get<std::vector<double>>(),
                              bench.python.ask("eigenvalues", path, {SIGMA, double(R)}).values);
}

// Runs a first fit, which is not timed, and checks its memory and its residual. Returns its report,
// which lists the passes.
template <class T>
Json first_fit(const mercer::Recipe &recipe, const Problem<T> &problem, const mercer::Run &run, Row &row,
               double memory) {
    const Growth growth;
    const mercer::Model model = mercer::Model::fit(recipe, problem.data, run);
    const double grown = growth.mebibytes();
    const Json report = report_of(model);
    row.checks.push_back({"MiB beyond the data: by the report", report["peak_bytes"].get<double>() / 0x1p20, memory});
    row.checks.push_back({"  resident, BLAS's buffers included", grown, memory});
    row.checks.push_back({"residual / lambda_1", residual_of(problem, model), TOLERANCE<T>});
    return report;
}

template <class T>
void exact(Bench &bench, Row &row, bool scores) {
    auto problem = std::make_shared<Problem<T>>(bench, row, clusters<T>(bench.rows(10000), D, 20, 1), SIGMA);
    auto recipe = std::make_shared<mercer::Recipe>(recipe_of(bench, "kpca", SIGMA, COMPONENTS));
    const mercer::Run run = bench.run();
    row.ours = [=] { return seconds_of_fit(*recipe, *problem, run, scores); };
    const std::string path = problem->path;
    const std::vector<double> numbers = {SIGMA, double(R), TOLERANCE<T>};
    bench.against(row, bench.python, "scikit-learn KernelPCA", 10, scores ? "kpca_sklearn_scores" : "kpca_sklearn",
                  path, numbers);
    if (scores) {
        auto points = problem->template points<T>();
        auto passes = std::make_shared<Passes>(*problem, report_of(mercer::Model::fit(*recipe, problem->data, run)));
        row.limit = [=, threads = bench.options.threads] {
            return passes->seconds() + limit::transform(*points, *points, R, threads);
        };
        return;
    }

    const Json report = first_fit(*recipe, *problem, run, row, 100);
    auto passes = std::make_shared<Passes>(*problem, report);
    row.checks.push_back({"passes", double(passes->count()), sizeof(T) == 4 ? 3.0 : 5.0});
    row.checks.push_back({"  of these in f64", double(passes->count(MERCER_F64)), PRINTED});
    try {
        row.checks.push_back(
            {"relative error of eigenvalues", eigenvalue_error(bench, report, path), sizeof(T) == 4 ? 1e-5 : 1e-12});
    } catch (const Absent &) {
        row.checks.push_back({"relative error of eigenvalues (no ARPACK)", NAN, PRINTED});
    }
    row.limit = [passes] { return passes->seconds(); };
    row.allowed = 1.5;
    bench.against(row, bench.spectra, "Spectra, stored matrix", 5, "kpca", path, numbers);
    bench.against(row, bench.python, "NumPy + ARPACK, stored", NONE, "kpca_arpack", path, numbers);
    bench.against(row, bench.octave, "Octave eigs, stored", NONE, "kpca", path, numbers);
    bench.against(row, bench.r, "R RSpectra, stored", NONE, "kpca", path, numbers);
}

// Prints how many passes fits to data with other spectra take.
template <class T>
void passes(Bench &bench, Row &row) {
    const int64_t n = bench.rows(10000);
    const auto count = [&](const std::string &name, Table<T> x, double sigma) {
        const Problem<T> problem(bench, row, std::move(x), sigma);
        const mercer::Recipe recipe = recipe_of(bench, "kpca", sigma, COMPONENTS);
        Clock clock;
        const Json report = report_of(mercer::Model::fit(recipe, problem.data, bench.run()));
        const double seconds = clock.seconds();
        row.checks.push_back({name + ": passes", double(Passes(problem, report).count()), PRINTED});
        row.checks.push_back({"  seconds", seconds, PRINTED});
    };
    for (int64_t clusters_of : {1, 5, 20, 100})
        count(std::to_string(clusters_of) + " clusters", clusters<T>(n, D, clusters_of, 1), SIGMA);
    count("cube, sigma 1 (slow)", cube<T>(n, D, 1), 1);
}

// Measures fits of n = 50 000 rows in 1 GiB.
void budget(Bench &bench, Row &row) {
    auto problem = std::make_shared<Problem<float>>(bench, row, clusters<float>(bench.rows(50000), D, 20, 1), SIGMA);
    auto recipe = std::make_shared<mercer::Recipe>(recipe_of(bench, "kpca", SIGMA, COMPONENTS));
    const mercer::Run run = bench.run(int64_t{1} << 30);
    const Json report = first_fit(*recipe, *problem, run, row, 1024);
    auto passes = std::make_shared<Passes>(*problem, report);
    row.checks.push_back({"passes", double(passes->count()), 3});
    row.ours = [=] { return seconds_of_fit(*recipe, *problem, run, false); };
    row.limit = [passes] { return passes->seconds(); };
    row.allowed = 1.35;
    if (bench.options.full || bench.options.tiny)
        bench.against(row, bench.python, "NumPy + ARPACK, f32", 8, "kpca_arpack", problem->path,
                      {SIGMA, double(R), 1e-5});
    else
        row.peers.push_back({"NumPy + ARPACK, f32",
                             NONE,
                             nullptr,
                             "not measured without --full; once measured on 2 quiet cores: 42 s and 9.6 GB",
                             {}});
}

// Measures one fit of n = 1 000 000 rows from a file in 1 GiB. The limit is measured on every 100th
// tile of the kernel matrix.
void million(Bench &bench, Row &row) {
    const int64_t n = bench.rows(1000000);
    auto problem = std::make_shared<Problem<float>>(bench, row, clusters<float>(n, D, 20, 1), SIGMA);
    auto data = std::make_shared<mercer::Data>(mercer::Data::from_file(bench.context, problem->path));
    const mercer::Recipe recipe = recipe_of(bench, "kpca", SIGMA, COMPONENTS);
    const Growth growth;
    Clock clock;
    const mercer::Model model = mercer::Model::fit(recipe, *data, bench.run(int64_t{1} << 30));
    const double seconds = clock.seconds();
    row.checks.push_back({"MiB, resident", growth.mebibytes(), 1024 + 200}); // 200 for BLAS's buffers and the stacks
    const Json report = report_of(model);
    auto passes = std::make_shared<Passes>(*problem, report, bench.options.tiny ? 1 : 100);
    double residual = 0;
    for (const Json &value : report["residuals"])
        residual = larger(residual, value.get<double>() / (report["eigenvalues"].at(0).get<double>() * double(n)));
    row.checks.push_back({"residual / lambda_1, as reported", residual, 1e-5});
    row.checks.push_back({"passes", double(passes->count()), 3});
    row.rounds = 1;
    row.ours = [seconds] { return seconds; };
    row.limit = [passes] { return passes->seconds(); };
    row.allowed = 1.4;
}

} // namespace

std::vector<Entry> exact_rows() {
    return {
        {"kpca-f64", "exact KPCA n = 10 000, d = 16, r = 10, 20 clusters: whole fit", false,
         [](Bench &bench, Row &row) { exact<double>(bench, row, false); }},
        {"kpca-f32", "the same, f32 data", false, [](Bench &bench, Row &row) { exact<float>(bench, row, false); }},
        {"kpca-scores-f64", "the same fit and the scores of its data", false,
         [](Bench &bench, Row &row) { exact<double>(bench, row, true); }},
        {"kpca-scores-f32", "the same, f32 data", false,
         [](Bench &bench, Row &row) { exact<float>(bench, row, true); }},
        {"passes-f64", "passes of exact KPCA over other spectra, n = 10 000", false, passes<double>},
        {"passes-f32", "the same, f32 data", false, passes<float>},
        {"kpca-50k", "exact KPCA n = 50 000, f32, 20 clusters, budget 1 GiB (8 x ARPACK: with --full alone)", false,
         budget},
        {"kpca-1m", "exact KPCA n = 1 000 000 x 16 from an npy file, f32, budget 1 GiB", true, million},
    };
}
