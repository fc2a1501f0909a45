#include "problem.h"

namespace {

template <class T>
double seconds_of_pass(const limit::Points<T> &x, int64_t width, int threads, int64_t stride) {
    Fresh<T> q(x.padded * width), y(x.padded * width);
    for (int64_t k = 0; k < x.n * width; ++k) q[k] = y[k] = static_cast<T>(k % 17) - 8;
    return limit::pass(x, q.data(), y.data(), width, threads, stride);
}

} // namespace

void against_nystroem(Bench &bench, Row &row, const Problem<float> &problem, const std::vector<double> &exact,
                      double error, double demanded) {
    const int64_t most = std::min<int64_t>(4096, problem.x.n);
    const auto is_right = [&](int64_t m) {
        const std::vector<double> numbers = {problem.sigma, double(exact.size()), double(m)};
        return eigenvalue_error(bench.python.ask("nystroem_pca", problem.path, numbers).values, exact) <= error;
    };
    try {
        int64_t m = 32;
        bool right = is_right(m);
        while (!right && 2 * m <= most) right = is_right(m *= 2);
        bench.against(row, bench.python,
                      "Nystroem + PCA, m = " + std::to_string(m) + (right ? "" : ", too few for our error"), demanded,
                      "nystroem_pca", problem.path, {problem.sigma, double(exact.size()), double(m)});
    } catch (const Absent &why) {
        row.peers.push_back({"Nystroem + PCA", demanded, nullptr, std::string("absent: ") + why.what(), {}});
    }
}

template <class T>
Passes::Passes(const Problem<T> &problem, const Json &report, int64_t stride)
    : threads_(static_cast<int>(problem.threads)), stride_(stride) {
    const auto add = [&](int64_t width, int dtype, int64_t times) {
        for (Kind &kind : kinds_)
            if (kind.width == width && kind.dtype == dtype) {
                kind.times += times;
                return;
            }
        kinds_.push_back({width, dtype, times});
    };
    const int own = sizeof(T) == 4 ? MERCER_F32 : MERCER_F64;
    if (report.contains("passes"))
        for (const Json &pass : report["passes"])
            add(pass["width"], pass["dtype"] == "f32" ? MERCER_F32 : MERCER_F64, 1);
    else // without "passes" in the report, they are assumed to have the default width of block-krylov
        add(report["r"].get<int64_t>() + 8, own, report["kernel_passes"]);
    for (const Kind &kind : kinds_)
        if (kind.dtype == MERCER_F32)
            f32_ = problem.template points<float>();
        else
            f64_ = problem.template points<double>();
}

int64_t Passes::count(int dtype) const {
    int64_t count = 0;
    for (const Kind &kind : kinds_)
        if (dtype == 0 || kind.dtype == dtype) count += kind.times;
    return count;
}

double Passes::seconds() const {
    double seconds = 0;
    for (const Kind &kind : kinds_)
        seconds += static_cast<double>(kind.times) * (kind.dtype == MERCER_F32
                                                          ? seconds_of_pass(*f32_, kind.width, threads_, stride_)
                                                          : seconds_of_pass(*f64_, kind.width, threads_, stride_));
    return seconds;
}

template <class T>
double residual_of(const Problem<T> &problem, const mercer::Model &model) {
    const auto shared = problem.template points<double>();
    const limit::Points<double> &points = *shared;
    const mercer_view a = model.tensor("A"), lambda = model.tensor("lambda");
    const int64_t n = problem.x.n, r = a.cols;
    if (a.rows != n) return NAN; // the model is not of method kpca
    Fresh<double> v(points.padded * r), y(points.padded * r);
    for (int64_t k = 0; k < n * r; ++k) v[k] = static_cast<double>(static_cast<const T *>(a.data)[k]);
    limit::pass(points, v.data(), y.data(), r, static_cast<int>(problem.threads));

    const auto *values = static_cast<const double *>(lambda.data);
    double worst = 0;
    for (int64_t j = 0; j < r; ++j) {
        double mean = 0, norm = 0, error = 0;
        for (int64_t i = 0; i < n; ++i) mean += y[i * r + j] / static_cast<double>(n);
        for (int64_t i = 0; i < n; ++i) {
            norm += v[i * r + j] * v[i * r + j];
            error += std::pow(y[i * r + j] - mean - static_cast<double>(n) * values[j] * v[i * r + j], 2);
        }
        worst = larger(worst, std::sqrt(error / norm) / (static_cast<double>(n) * values[0]));
    }
    return worst;
}

#define INSTANTIATE(T)                                                                                                 \
    template Passes::Passes(const Problem<T> &, const Json &, int64_t);                                                \
    template double residual_of(const Problem<T> &, const mercer::Model &)
INSTANTIATE(float);
INSTANTIATE(double);
