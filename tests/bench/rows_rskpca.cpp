// Benchmark rows for kernel PCA of 100 000 rows of data through their shadow, compared with
// scikit-learn's Nystroem + PCA. Our fits compute no certificates, because the peer has none. The
// error of a fit is the largest relative error of its eigenvalues; the reference is exact kernel
// PCA of all rows.
//
// The data `uneven` suit a shadow: rows nearly repeat each other, and random rows miss the rare
// clusters. On clusters that are equally large and wide, a shadow has more landmarks between the
// clusters than random rows have, and its eigenvalues are less accurate. Benchmark rows on such
// data have names that end in `-clusters`, and their results are only printed.
#include "problem.h"

namespace {

constexpr double SIGMA = 5;
constexpr int64_t N = 100000, D = 16, R = 10, M = 500;

using Make = Table<float>(int64_t n, int64_t d, int64_t count, uint64_t seed);

std::shared_ptr<Problem<float>> problem_of(Bench &bench, Row &row, Make *make) {
    return std::make_shared<Problem<float>>(bench, row, make(bench.rows(N), D, 20, 1), SIGMA);
}

mercer::Recipe through_shadow(Bench &bench, const std::string &method, Settings settings) {
    settings.insert(settings.end(),
                    {{"reducer", "shadow"}, {"report.certificates", "none"}, {"output.components", std::to_string(R)}});
    return recipe_of(bench, method, SIGMA, std::move(settings));
}

// Returns the setting of ell at which the shadow has about m centres.
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

// Sets row.ours to a function that times a fit by the recipe. Returns the report of a first,
// untimed fit.
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

void projected(Bench &bench, Row &row, Make *make, bool judged) {
    auto problem = problem_of(bench, row, make);
    const Settings ell = ell_of(bench, *problem, bench.centres(M));
    const Json report = time_fits(bench, row, problem, through_shadow(bench, "nystrom", ell));
    const std::vector<double> exact = exact_eigenvalues(bench, *problem);
    const double error = eigenvalue_error(eigenvalues_of(report), exact);
    row.checks.push_back({"relative error of eigenvalues", error, PRINTED});
    const std::vector<double> numbers = {SIGMA, double(R), report["m"].get<double>()};
    try {
        const double theirs = eigenvalue_error(bench.python.ask("nystroem_pca", problem->path, numbers).values, exact);
        row.checks.push_back({"the same over the peer's", error / theirs, judged ? 1 : PRINTED});
    } catch (const Absent &) {
        row.checks.push_back({"the same over the peer's (absent)", NAN, PRINTED});
    }
    bench.against(row, bench.python, "Nystroem + PCA, the same m", judged ? 10 : NONE, "nystroem_pca", problem->path,
                  numbers);
}

void reduced_set(Bench &bench, Row &row, Make *make, int64_t m, const Settings &more, double demanded) {
    auto problem = problem_of(bench, row, make);
    Settings settings = ell_of(bench, *problem, bench.centres(m));
    settings.insert(settings.end(), more.begin(), more.end());
    const Json report = time_fits(bench, row, problem, through_shadow(bench, "rskpca", settings));
    const std::vector<double> exact = exact_eigenvalues(bench, *problem);
    const double error = eigenvalue_error(eigenvalues_of(report), exact);
    row.checks.push_back({"relative error of eigenvalues", error, PRINTED});
    against_nystroem(bench, row, *problem, exact, error, demanded);
}

void transforms(Bench &bench, Row &row) {
    auto problem = problem_of(bench, row, uneven<float>);
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
        {"shadow-projected",
         "nystrom through the shadow, uneven clusters, n = 100 000, d = 16, m near 500, r = 10, f32: whole fit", false,
         [](Bench &bench, Row &row) { projected(bench, row, uneven<float>, true); }},
        {"shadow-projected-clusters", "the same of 20 clusters that are alike", false,
         [](Bench &bench, Row &row) { projected(bench, row, clusters<float>, false); }},
        {"shadow-transform", "scores of 100 000 rows by the first of them", false, transforms},
        {"rskpca-uneven",
         "rskpca, uneven clusters, n = 100 000, d = 16, m near 2000, r = 10, f32: whole fit, peer as right", false,
         [](Bench &bench, Row &row) { reduced_set(bench, row, uneven<float>, 2000, {}, 10); }},
        {"rskpca-ritz", "the same, m near 500, with lift.ritz = 40", false,
         [](Bench &bench, Row &row) {
             reduced_set(bench, row, uneven<float>, M, {{"lift.ritz", "40"}}, 10);
         }},
        {"rskpca-clusters", "rskpca, m near 2000, of 20 clusters that are alike", false,
         [](Bench &bench, Row &row) { reduced_set(bench, row, clusters<float>, 2000, {}, NONE); }},
    };
}
