// Benchmark rows for the selection of centres by k-means, herding, thinning and leverage scores.
// Only the reduction of n = 100 000 rows in 1 GiB is timed.
#include "problem.h"

#include <numeric>

namespace {

constexpr double SIGMA = 5;
constexpr int64_t N = 100000, D = 16, M = 500;

template <class T>
Table<T> data_of(const Bench &bench, bool cubic) {
    return cubic ? cube<T>(bench.rows(N), D, 1) : clusters<T>(bench.rows(N), D, 20, 1);
}

// Sets row.ours to a function that times the reduction (/timings/reduce) in a fit by subsampled,
// which does little else. Returns the report of a first, untimed fit.
template <class T>
Json time_reduction(Bench &bench, Row &row, std::shared_ptr<Problem<T>> problem, Settings settings,
                    std::shared_ptr<std::vector<int64_t>> landmarks = nullptr) {
    auto recipe = std::make_shared<mercer::Recipe>(recipe_of(bench, "subsampled", SIGMA, std::move(settings)));
    const mercer::Run run = bench.run(int64_t{1} << 30);
    row.ours = [=, kept = std::move(landmarks)] {
        return report_of(mercer::Model::fit(*recipe, problem->data, run))["timings"]["reduce"].template get<double>();
    };
    Json report = report_of(mercer::Model::fit(*recipe, problem->data, run));
    row.checks.push_back({"MiB beyond the data", report["peak_bytes"].get<double>() / 0x1p20, 1024});
    return report;
}

// Both k-means start from the same rows, and scikit-learn stops after as many iterations as ours
// took.
void kmeans(Bench &bench, Row &row, bool cubic) {
    const int64_t m = bench.centres(M);
    auto problem = std::make_shared<Problem<double>>(bench, row, data_of<double>(bench, cubic), SIGMA);
    auto start = std::make_shared<std::vector<int64_t>>(static_cast<size_t>(m));
    std::iota(start->begin(), start->end(), 0);
    problem->data.attach("landmarks", {sizeof(mercer_view), MERCER_I64, 0, m, 1, 1, 1, start->data()});
    const Json report =
        time_reduction(bench, row, problem, {{"reducer", "kmeans"}, {"reducer.start", "landmarks"}}, start);
    const double iterations = report["reported"]["reducer.iterations"], inertia = report["reported"]["reducer.inertia"];
    row.checks.push_back({"iterations", iterations, PRINTED});
    const std::vector<double> numbers = {double(m), iterations};
    try {
        const std::vector<double> theirs = bench.python.ask("kmeans", problem->path, numbers).values;
        row.checks.push_back({"inertia over scikit-learn's", inertia / theirs.at(0), 1.001});
        row.checks.push_back({"scikit-learn's iterations", theirs.at(1), PRINTED});
    } catch (const Absent &) {
        row.checks.push_back({"inertia over scikit-learn's (absent)", NAN, PRINTED});
    }
    bench.against(row, bench.python, "scikit-learn KMeans, lloyd", 1, "kmeans", problem->path, numbers);
}

// Compares the time of a reducer with the time that its kernel values alone would take. Their
// number comes from the report, and the time of one value from those between all rows and 512
// centres.
void by_kernel(Bench &bench, Row &row, const std::string &reducer, double allowed, Settings more) {
    const int64_t m = bench.centres(M);
    auto problem = std::make_shared<Problem<float>>(bench, row, data_of<float>(bench, false), SIGMA);
    more.insert(more.end(), {{"reducer", reducer}, {"reducer.m", std::to_string(m)}});
    const Json report = time_reduction(bench, row, problem, std::move(more));
    for (const auto &[name, value] : report["reported"].items())
        row.checks.push_back({name, value.get<double>(), PRINTED});
    const double order = report["m"].get<double>(),
                 values = report["kernel_evaluations"].get<double>() - order * order; // the lift takes m^2
    row.checks.push_back({"kernel values over n m", values / (double(problem->x.n) * double(m)), PRINTED});
    auto points = problem->points<float>();
    const int64_t centres = std::min<int64_t>(512, problem->x.n);
    auto some = std::make_shared<limit::Points<float>>(problem->x.values.data(), centres, *points);
    const double times = values / (double(problem->x.n) * double(centres));
    row.limit = [=, threads = bench.options.threads] { return times * limit::transform(*points, *some, 1, threads); };
    row.allowed = allowed;
    row.rounds = 2;
}

Entry entry(const std::string &reducer, const std::string &what, double allowed, const Settings &more = {}) {
    return {reducer + (more.empty() ? "" : "-optimal"), what + ": n = 100 000, d = 16, m = 500, f32, selection, 1 GiB",
            false, [=](Bench &bench, Row &row) { by_kernel(bench, row, reducer, allowed, more); }};
}

} // namespace

std::vector<Entry> centre_rows() {
    return {
        {"kmeans-clusters", "k-means n = 100 000, d = 16, m = 500, f64, 20 clusters, to the end: reduction", false,
         [](Bench &bench, Row &row) { kmeans(bench, row, false); }},
        {"kmeans-cube", "the same, uniform in the cube, 100 iterations", false,
         [](Bench &bench, Row &row) { kmeans(bench, row, true); }},
        entry("herding", "kernel herding", NONE),
        entry("herding", "the same with optimal weights", NONE, {{"reducer.optimal", "true"}}),
        entry("thinning", "kernel thinning", NONE),
        entry("leverage", "recursive leverage scores", NONE),
    };
}
