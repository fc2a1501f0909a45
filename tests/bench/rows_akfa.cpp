// Benchmark rows for features in order of selection: akfa and skfa, exact and in the span of random
// rows. The selection (/timings/reduce) is timed, in a fit by the method.
#include "problem.h"

#include <lapacke.h>

#include <numbers>
#include <numeric>
#include <thread>

namespace {

// The noisy circle of the paper: radius 8, standard deviation 1 in both columns.
template <class T>
Table<T> circle(int64_t n) {
    const Table<double> noise = clusters<double>(n, 2, 1, 5); // one cluster: its centre, plus N(0, 1)
    double centre[2] = {};
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < 2; ++j) centre[j] += noise.row(i)[j] / static_cast<double>(n);
    Table<T> out{n, 2, std::vector<T>(static_cast<size_t>(2 * n))};
    for (int64_t i = 0; i < n; ++i) {
        const double angle = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(n);
        out.values[static_cast<size_t>(2 * i)] = static_cast<T>(8 * std::cos(angle) + noise.row(i)[0] - centre[0]);
        out.values[static_cast<size_t>(2 * i + 1)] = static_cast<T>(8 * std::sin(angle) + noise.row(i)[1] - centre[1]);
    }
    return out;
}

template <class T>
std::vector<double> kernel_matrix(const Table<T> &x, double sigma) {
    std::vector<double> k(static_cast<size_t>(x.n * x.n));
    for (int64_t i = 0; i < x.n; ++i)
        for (int64_t j = 0; j < x.n; ++j) {
            double sum = 0;
            for (int64_t c = 0; c < x.d; ++c) {
                const double e = static_cast<double>(x.row(i)[c]) - static_cast<double>(x.row(j)[c]);
                sum += e * e;
            }
            k[static_cast<size_t>(i * x.n + j)] = std::exp(-sum / (2 * sigma * sigma));
        }
    return k;
}

// Subtracts own times the column from a row of the residual, and returns the sum of the squares of
// the result.
double update_row(double *row, int64_t n, double own, const double *column) {
    double sum[8] = {};
    int64_t t = 0;
    for (; t + 8 <= n; t += 8)
        for (int64_t l = 0; l < 8; ++l) {
            row[t + l] -= own * column[t + l];
            sum[l] += row[t + l] * row[t + l];
        }
    for (; t < n; ++t) row[t] -= own * column[t], sum[0] += row[t] * row[t];
    return std::accumulate(sum, sum + 8, 0.0);
}

// AKFA by updating the Gram matrix, with the scores of the next step in the same pass over it: the
// best that a step can do that writes K. Returns the seconds without those for the kernel values.
double updating(const std::vector<double> &kernel, int64_t n, int64_t m, int threads) {
    std::vector<double> k = kernel, energy(static_cast<size_t>(n)), column(energy);
    const Clock clock;
    for (int64_t step = 0; step <= m; ++step) {
        const auto rows = [&](int64_t first, int64_t end) {
            for (int64_t j = first; j < end; ++j)
                energy[static_cast<size_t>(j)] =
                    update_row(k.data() + j * n, n, column[static_cast<size_t>(j)], column.data());
        };
        std::vector<std::thread> team;
        for (int64_t part = 0; part < threads; ++part)
            team.emplace_back(rows, n * part / threads, n * (part + 1) / threads);
        for (std::thread &one : team) one.join();
        if (step == m) break;
        int64_t best = 0;
        double score = -1;
        for (int64_t j = 0; j < n; ++j) {
            const double d = k[static_cast<size_t>(j * n + j)],
                         now = d > 1e-10 ? energy[static_cast<size_t>(j)] / d : 0;
            if (now > score) score = now, best = j;
        }
        const double root = std::sqrt(k[static_cast<size_t>(best * n + best)]);
        for (int64_t t = 0; t < n; ++t) column[static_cast<size_t>(t)] = k[static_cast<size_t>(best * n + t)] / root;
    }
    return clock.seconds();
}

// All eigenvectors of the kernel matrix by LAPACK. Returns the seconds without those for the kernel
// values.
double eigensolver(const std::vector<double> &kernel, int64_t n) {
    std::vector<double> k = kernel, values(static_cast<size_t>(n));
    const Clock clock;
    if (LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'L', static_cast<int>(n), k.data(), static_cast<int>(n), values.data()) !=
        0)
        throw Skipped("dsyevd failed");
    return clock.seconds();
}

template <class T>
std::function<double()> selection(Bench &bench, const std::shared_ptr<Problem<T>> &problem, const std::string &method,
                                  const Settings &settings, Json &report) {
    auto recipe = std::make_shared<mercer::Recipe>(recipe_of(bench, method, problem->sigma, settings));
    const mercer::Run run = bench.run();
    report = report_of(mercer::Model::fit(*recipe, problem->data, run));
    return [=] {
        return report_of(mercer::Model::fit(*recipe, problem->data, run))["timings"]["reduce"].template get<double>();
    };
}

double reported(const Json &report, const char *name) { return report["reported"][name].get<double>(); }

// The least time of this number of products of the kernel matrix with one vector.
template <class T>
std::function<double()> passes_of(Bench &bench, const std::shared_ptr<Problem<T>> &problem, double count,
                                  int64_t stride) {
    const auto points = problem->template points<T>();
    auto q = std::make_shared<std::vector<T>>(static_cast<size_t>(points->padded), T(1)),
         y = std::make_shared<std::vector<T>>(q->size());
    return [=, threads = bench.options.threads] {
        return count * limit::pass<T>(*points, q->data(), y->data(), 1, threads, stride);
    };
}

template <class T>
void exact(Bench &bench, Row &row, double allowed) {
    const int64_t n = bench.rows(3500), m = 10;
    auto problem = std::make_shared<Problem<T>>(bench, row, circle<T>(n), 4);
    Json report;
    row.ours = selection(bench, problem, "akfa", {{"components", std::to_string(m)}}, report);
    row.limit = passes_of(bench, problem, static_cast<double>(m), 1);
    row.allowed = allowed;
    row.checks.push_back({"passes, less refreshes",
                          reported(report, "reducer.passes") - reported(report, "reducer.refreshes"),
                          static_cast<double>(m)});
    row.checks.push_back({"columns formed for each pick", reported(report, "reducer.columns") / static_cast<double>(m),
                          sizeof(T) == 8 ? 2 : PRINTED});
    auto kernel = std::make_shared<std::vector<double>>(kernel_matrix(problem->x, 4));
    row.peers.push_back({"AKFA that updates the Gram matrix, one fused pass a step",
                         2.5,
                         [=, threads = bench.options.threads] { return updating(*kernel, n, m, threads); },
                         "",
                         {}});
    row.peers.push_back({"all eigenvectors by LAPACK", 100, [=] { return eigensolver(*kernel, n); }, "", {}});
}

void sparse(Bench &bench, Row &row) {
    const int64_t n = 300;
    auto problem = std::make_shared<Problem<double>>(bench, row, circle<double>(n), 4);
    Json report;
    row.ours = selection(bench, problem, "skfa", {{"components", "50"}}, report);
    auto kernel = std::make_shared<std::vector<double>>(kernel_matrix(problem->x, 4));
    row.peers.push_back({"all eigenvectors by LAPACK", 1, [=] { return eigensolver(*kernel, n); }, "", {}});
    row.checks.push_back({"features", static_cast<double>(report["r"].get<int64_t>()), PRINTED});
}

template <class T>
void streamed(Bench &bench, Row &row) {
    const int64_t n = bench.rows(100000), m = 10;
    auto problem = std::make_shared<Problem<T>>(bench, row, clusters<T>(n, 16, 20, 1), 5);
    Json report;
    row.ours = selection(bench, problem, "akfa", {{"components", std::to_string(m)}, {"selection", "exact"}}, report);
    row.limit = passes_of(bench, problem, reported(report, "reducer.passes"), 8);
    row.allowed = 1.3;
    row.rounds = 2;
}

template <class T>
void in_factor(Bench &bench, Row &row, double seconds) {
    const int64_t n = bench.rows(1000000), m = 50;
    auto problem = std::make_shared<Problem<T>>(bench, row, clusters<T>(n, 16, 20, 1), 5);
    Json report;
    row.ours =
        selection(bench, problem, "akfa", {{"components", std::to_string(m)}, {"selection", "in-factor"}}, report);
    const auto points = problem->template points<T>();
    // Only the factor of the random rows; the covariance of its rows and the factor of the selected
    // rows come on top.
    row.limit = [=, threads = bench.options.threads] { return limit::factor<T>(*points, 4 * m, threads); };
    row.rounds = 2;
    row.checks.push_back({"GiB", report["peak_bytes"].get<double>() / 0x1p30, sizeof(T) == 8 ? 2.4 : 1.3});
    row.checks.push_back({"seconds that the specification asks for", seconds, PRINTED});
}

} // namespace

std::vector<Entry> akfa_rows() {
    return {
        {"akfa-f64", "akfa on the noisy circle, n = 3500, 10 features: selection", false,
         [](Bench &bench, Row &row) { exact<double>(bench, row, 1.7); }},
        {"akfa-f32", "the same in f32", false, [](Bench &bench, Row &row) { exact<float>(bench, row, 2); }},
        {"skfa-300", "skfa on the noisy circle, n = 300, 50 features: selection", false, sparse},
        {"akfa-in-factor-f64", "akfa in the span of 200 rows, n = 1 000 000, d = 16, 50 features: selection", false,
         [](Bench &bench, Row &row) { in_factor<double>(bench, row, 2.2); }},
        {"akfa-in-factor-f32", "the same in f32", false,
         [](Bench &bench, Row &row) { in_factor<float>(bench, row, 1.2); }},
        {"akfa-100k-f64", "akfa, every pass streamed, n = 100 000, d = 16, 10 features: selection", true,
         streamed<double>},
        {"akfa-100k-f32", "the same in f32", true, streamed<float>},
    };
}
