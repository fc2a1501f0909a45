// Kernel PCA of 100 000 rows through their shadow, against scikit-learn's Nystroem + PCA; no proofs, as the peer has none. How
// right a fit is: the largest relative error of its eigenvalues, those of exact kernel PCA of all rows being right.
#include "problem.h"

namespace {

constexpr double SIGMA = 5;
constexpr int64_t N = 100000, D = 16, R = 10, M = 500;

std::shared_ptr<Problem<float>> problem_of(Bench &bench, Row &row) {
    return std::make_shared<Problem<float>>(bench, row, clusters<float>(bench.rows(N), D, 20, 1), SIGMA);
}

mercer::Recipe through_shadow(Bench &bench, const std::string &method, Settings settings) {
    settings.insert(settings.end(),
                    {{"reducer", "shadow"}, {"report.certificates", "none"}, {"output.components", std::to_string(R)}});
    return recipe_of(bench, method, SIGMA, std::move(settings));
}

// The ell that gives about m centres.
Settings ell_of(Bench &bench, const Problem<float> &problem, int64_t m) {
    const mercer::Recipe recipe = through_shadow(bench, "rskpca", {{"reducer.m", std::to_string(m)}});
    const Json report = report_of(mercer::Model::fit(recipe, problem.data, bench.run()));
    return {{"reducer.ell", text_of(report["reported"]["reducer.ell"].get<double>())}};
}

std::vector<double> eigenvalues_of(const Json &report) { return report["eigenvalues"].get<std::vector<double>>(); }

std::vector<double> exact_eigenvalues(Bench &bench, const Problem<float> &problem) {
    const mercer::Recipe recipe = recipe_of(bench, "kpca", SIGMA, {{"output.components", std::to_string(R)}});
    return eigenvalues_of(report_of(mercer::Model::fit(recipe, problem.data, bench.run())));
}

// Whole fits by the recipe; what the first one reports.
Json time_fits(Bench &bench, Row &row, const std::shared_ptr<Problem<float>> &problem, mercer::Recipe recipe) {
    auto kept = std::make_shared<mercer::Recipe>(std::move(recipe));
    row.ours = [=, run = bench.run()] {
        const Clock clock;
        const mercer::Model model = mercer::Model::fit(*kept, problem->data, run);
        return clock.seconds();
    };
    Json report = report_of(mercer::Model::fit(*kept, problem->data, bench.run()));
    row.checks.push_back({"centres", report["m"].get<double>(), PRINTED});
    for (const auto &[stage, seconds] : report["timings"].items())
        row.checks.push_back({"seconds of " + stage, seconds.get<double>(), PRINTED});
    return report;
}

void projected(Bench &bench, Row &row) {
    auto problem = problem_of(bench, row);
    const Settings ell = ell_of(bench, *problem, bench.centres(M));
    const Json report = time_fits(bench, row, problem, through_shadow(bench, "nystrom", ell));
    const std::vector<double> exact = exact_eigenvalues(bench, *problem);
    const double error = eigenvalue_error(eigenvalues_of(report), exact);
    row.checks.push_back({"relative error of eigenvalues", error, PRINTED});
    const std::vector<double> numbers = {SIGMA, double(R), report["m"].get<double>()};
    try {
        const double theirs = eigenvalue_error(bench.python.ask("nystroem_pca", problem->path, numbers).values, exact);
        row.checks.push_back({"the same over the peer's", error / theirs, 1});
    } catch (const Absent &) {
        row.checks.push_back({"the same over the peer's (absent)", NAN, PRINTED});
    }
    bench.against(row, bench.python, "Nystroem + PCA, the same m", 10, "nystroem_pca", problem->path, numbers);
}

void reduced_set(Bench &bench, Row &row, int64_t m, const Settings &more) {
    auto problem = problem_of(bench, row);
    Settings settings = ell_of(bench, *problem, bench.centres(m));
    settings.insert(settings.end(), more.begin(), more.end());
    const Json report = time_fits(bench, row, problem, through_shadow(bench, "rskpca", settings));
    const std::vector<double> exact = exact_eigenvalues(bench, *problem);
    const double error = eigenvalue_error(eigenvalues_of(report), exact);
    row.checks.push_back({"relative error of eigenvalues", error, PRINTED});
    against_nystroem(bench, row, *problem, exact, error, 10);
}

void transforms(Bench &bench, Row &row) {
    auto problem = problem_of(bench, row);
    auto model = std::make_shared<mercer::Model>(mercer::Model::fit(
        through_shadow(bench, "nystrom", ell_of(bench, *problem, bench.centres(M))), problem->data, bench.run()));
    auto scores = std::make_shared<std::vector<float>>(static_cast<size_t>(problem->x.n * R));
    row.ours = [=, run = bench.run()] {
        const Clock clock;
        model->transform(problem->data, {mercer::row_major(scores->data(), problem->x.n, R)}, nullptr, run);
        return clock.seconds();
    };
    const double m = report_of(*model)["m"];
    row.checks.push_back({"centres", m, PRINTED});
    bench.against(row, bench.python, "Nystroem + PCA, the same m", 4, "nystroem_pca_transform", problem->path,
                  {SIGMA, double(R), m});
}

} // namespace

std::vector<Entry> rskpca_rows() {
    return {
        {"shadow-projected", "nystrom through the shadow, n = 100 000, d = 16, m near 500, r = 10, f32: whole fit",
         false, projected},
        {"shadow-transform", "scores of 100 000 rows by that model", false, transforms},
        {"rskpca-clusters", "rskpca, n = 100 000, d = 16, m near 2000, r = 10, f32: whole fit, peer as right", false,
         [](Bench &bench, Row &row) { reduced_set(bench, row, 2000, {}); }},
        {"rskpca-ritz", "the same, m near 500, with lift.ritz = 40", false,
         [](Bench &bench, Row &row) {
             reduced_set(bench, row, M, {{"lift.ritz", "40"}});
         }},
    };
}
