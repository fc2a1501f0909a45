// Benchmark rows for kernel matrices, and for BLAS alone.
#include "problem.h"

namespace {

constexpr double SIGMA = 5;

// Returns the largest error of 2000 entries, compared with the formula in long double.
template <class T>
double largest_error(const Table<T> &x, double sigma, const Fresh<T> &k) {
    double worst = 0;
    for (int64_t pair = 0; pair < 2000; ++pair) {
        const int64_t i = pair * 7919 % x.n, j = pair * 104729 % x.n;
        long double r2 = 0;
        for (int64_t c = 0; c < x.d; ++c) {
            const long double by = static_cast<long double>(x.row(i)[c]) - static_cast<long double>(x.row(j)[c]);
            r2 += by * by;
        }
        const auto exact = static_cast<double>(std::exp(-r2 / (2 * static_cast<long double>(sigma * sigma))));
        worst = larger(worst, std::fabs(static_cast<double>(k[i * x.n + j]) - exact));
    }
    return worst;
}

template <class T>
void kernel_matrix(Bench &bench, Row &row, int64_t d, double sklearn) {
    const int64_t n = bench.rows(10000);
    const double sigma = SIGMA * std::sqrt(static_cast<double>(d) / 16);
    auto problem = std::make_shared<Problem<T>>(bench, row, clusters<T>(n, d, 20, 1), sigma);
    auto recipe = std::make_shared<mercer::Recipe>(recipe_of(bench, "kpca", sigma, {}));
    auto points = problem->template points<T>();
    {
        Fresh<T> k(n * n);
        recipe->kernel(problem->data, nullptr, mercer::row_major(k.data(), n, n));
        // The error of the exponent is a few roundings of |x|^2 / sigma^2, which is at most 14
        // here.
        row.checks.push_back(
            {"largest error of an entry", largest_error(problem->x, sigma, k), sizeof(T) == 4 ? 1e-5 : 1e-14});
    }
    row.ours = [=] {
        Clock clock;
        Fresh<T> k(n * n);
        recipe->kernel(problem->data, nullptr, mercer::row_major(k.data(), n, n));
        return clock.seconds();
    };
    row.limit = [points, threads = bench.options.threads] { return limit::kernel_matrix(*points, threads); };
    row.allowed = 1.5;
    bench.against(row, bench.python, "scikit-learn rbf_kernel", sklearn, "kernel_sklearn", problem->path, {sigma});
    bench.against(row, bench.python, "NumPy formula", NONE, "kernel_numpy", problem->path, {sigma});
}

double best_of(int times, const auto &seconds) {
    double best = INFINITY;
    for (int k = 0; k < times; ++k) best = std::min(best, seconds());
    return best;
}

// Prints the time of the matrix of each kernel of the registry, relative to the limit of the
// Gaussian. Parameters have their defaults. The data are not negative, as some kernels require.
template <class T>
void all_kernels(Bench &bench, Row &row) {
    const int64_t n = bench.rows(10000);
    const Problem<T> problem(bench, row, cube<T>(n, 16, 1), 1);
    const auto points = problem.template points<T>();
    const double entries = static_cast<double>(n) * static_cast<double>(n);
    const double limit = best_of(5, [&] { return limit::kernel_matrix(*points, bench.options.threads); });
    row.checks.push_back({"limit of the Gaussian, ns an entry", 1e9 * limit / entries, PRINTED});
    for (const mercer_entry &kernel : bench.context.entries("kernels")) {
        const std::string name = kernel.name;
        mercer::Recipe recipe(bench.context, "kpca");
        recipe.set("kernel", name);
        const std::vector<mercer_row> rows = recipe.rows();
        const auto is_width = [](const mercer_row &one) { return one.name == std::string("kernel.sigma"); };
        // Without a width, the library would choose one from the data, which takes time.
        if (std::any_of(rows.begin(), rows.end(), is_width)) recipe.set("kernel.sigma", 1);
        const double seconds = best_of(3, [&] {
            Clock clock;
            Fresh<T> k(n * n);
            recipe.kernel(problem.data, nullptr, mercer::row_major(k.data(), n, n));
            return clock.seconds();
        });
        char text[80];
        std::snprintf(text, sizeof text, "%s, %.2f ns: times that", name.c_str(), 1e9 * seconds / entries);
        row.checks.push_back({text, seconds / limit, PRINTED});
    }
}

template <class T>
void blas(Bench &bench, Row &row) {
    const int64_t n = bench.rows(4096);
    row.ours = [n, threads = bench.options.threads] { return limit::gemm<T>(n, threads, true); };
    row.peers.push_back({"one threaded call",
                         NONE,
                         [n, threads = bench.options.threads] { return limit::gemm<T>(n, threads, false); },
                         "",
                         {}});
}

} // namespace

std::vector<Entry> kernel_rows() {
    return {
        {"blas-f64", "GEMM n = 4096: single-threaded calls on row tiles in one region, against a threaded call", false,
         blas<double>},
        {"blas-f32", "the same in f32", false, blas<float>},
        {"kernel-f64", "Gaussian matrix n = 10 000, d = 16, into fresh memory", false,
         [](Bench &bench, Row &row) { kernel_matrix<double>(bench, row, 16, 6); }},
        {"kernel-f32", "the same in f32", false,
         [](Bench &bench, Row &row) { kernel_matrix<float>(bench, row, 16, 8); }},
        {"kernel-f64-d256", "Gaussian matrix n = 10 000, d = 256, into fresh memory", false,
         [](Bench &bench, Row &row) { kernel_matrix<double>(bench, row, 256, NONE); }},
        {"kernel-f32-d256", "the same in f32", false,
         [](Bench &bench, Row &row) { kernel_matrix<float>(bench, row, 256, NONE); }},
        {"kernels-f64", "matrices of all kernels, n = 10 000, d = 16, into fresh memory", false, all_kernels<double>},
        {"kernels-f32", "the same in f32", false, all_kernels<float>},
    };
}
