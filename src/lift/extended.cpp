// The lift `extended` (nystrom-full, wnystrom): the eigenfunctions of the weighted problem of the
// centres are evaluated at all rows, which the model keeps.
//
//   (A_C, b_C, lambda) of the lift `weighted`;  z(x) = A_C^T k_C(x) - b_C
//   phi_l(x) = z_l(x) / sqrt(lambda_l)
//   A_il = s_i phi_l(x_i) / (n sqrt(lambda_l)),  s: sample weights;  b = 0
//   centred: the mean of phi over the rows is subtracted first;  nu = s / n,  b = A^T K nu
//
// The product with the kernel matrix between rows and centres smooths the vectors of the centres'
// problem once; it is not a projection. A^T K A is not the identity, so such a model has no
// residual, and its eigenvalues are those of the centres' problem and are certified as such (unless
// lift.ritz refines the model, see ritz.cpp). If the centres are all n rows, once each, this is
// exact kernel PCA. Cost in addition to the centres' problem: n m kernel values, and n^2 / 2 for K
// nu; a new point costs n kernel values. Memory: n (d + r). The error of direction l is that of z_l
// divided by lambda_l.
#include "../gram/row_sums.h"
#include "ritz.h"
#include "solve.h"

#include <cmath>

namespace mercer {
namespace {

// Computes z at the rows, in the type of the model.
template <class T>
Tensor extended_scores(const LiftTask &task, const Centres &rows, const Tensor &a, const Tensor &b) {
    Run &run = task.run;
    const Expression &kernel = task.prepared.kernel;
    const int64_t r = a.cols;
    Points<T> x = points_of<T>(kernel, rows), c = points_of<T>(kernel, task.centres);
    x.lean();
    c.lean();
    const Tiles<T> tiles(kernel, x, c);
    Weights<T> w(run, a.rows, r);
    w.columns(0, tensor_data<T>(a), r);
    Tensor z = make_tensor<T>(rows.m(), r);
    RowSums<T>(run, tiles, false).evaluate(w, [&](const Panel<T> &panel, double *sums) {
        for (int64_t i = 0; i < panel.rows; ++i)
            for (int64_t j = 0; j < r; ++j)
                tensor_data<T>(z)[(panel.row0 + i) * r + j] =
                    static_cast<T>(sums[i * w.stride + j] - tensor_data<double>(b)[j]);
    });
    return z;
}

// Turns z into A, in place.
template <class T>
void to_coefficients(const Centres &rows, const Tensor &lambda, double total, bool centred, Tensor &z) {
    const int64_t n = rows.m(), r = z.cols;
    T *values = tensor_data<T>(z);
    for (int64_t j = 0; j < r; ++j) {
        double mean = 0;
        for (int64_t i = 0; centred && i < n; ++i)
            mean += rows.weights[static_cast<size_t>(i)] * static_cast<double>(values[i * r + j]) / total;
        auto entry = [&](int64_t i) {
            return rows.weights[static_cast<size_t>(i)] * (static_cast<double>(values[i * r + j]) - mean);
        };
        const double factor = sign_of(n, entry) / total / tensor_data<double>(lambda)[j];
        for (int64_t i = 0; i < n; ++i) values[i * r + j] = static_cast<T>(factor * entry(i));
    }
}

// One pass over the kernel matrix of all rows. It computes K nu if centred, and K A if a refinement
// follows.
template <class T>
class Products {
  public:
    Products(const LiftTask &task, const Centres &rows, const Tensor &a, double total, Lifted &out)
        : task_(task), rows_(rows), a_(a), total_(total), centred_(task.recipe.values().lift_centred != 0),
          refined_(task.recipe.values().ritz > 0), means_(refined_ ? a.cols : 0) {
        if (!centred_ && !refined_) return;
        const KernelMatrix matrix =
            make_operator<T>(task.run, rows.rows_of(task.prepared.kernel), {.base = task.plan.base});
        const Operator &gram = matrix.base();
        gram.product(
            task.run, false, centred_ + means_.size(),
            [&](int64_t row0, int64_t count, double *to, int64_t stride) { fill(row0, count, to, stride); },
            [&](double *y, int64_t stride) { take(y, stride, out); });
        out.kernel_evaluations += gram.kernel_evaluations();
        ++out.passes;
        if (!refined_) return;
        Buffer<double> self = task.run.buffer<double>(rows.m());
        gram.diagonal(task.run, self.data());
        for (int64_t i = 0; i < rows.m(); ++i) means_.self += nu(i) * self[i];
        if (centred_) means_.square = out.mean_square.value();
    }
    const ScoreMeans &means() const { return means_; }

  private:
    double nu(int64_t i) const { return rows_.weights[static_cast<size_t>(i)] / total_; }
    double entry(int64_t i, int64_t j) const { return static_cast<double>(tensor_data<T>(a_)[i * a_.cols + j]); }
    void fill(int64_t row0, int64_t count, double *to, int64_t stride) const {
        for (int64_t i = 0; i < count; ++i) {
            if (centred_) to[i * stride] = nu(row0 + i);
            for (int64_t j = 0; j < means_.size(); ++j) to[i * stride + centred_ + j] = entry(row0 + i, j);
        }
    }
    void take(double *y, int64_t stride, Lifted &out) {
        if (centred_) centre(y, stride, out);
        if (!refined_) return;
        const int64_t r = a_.cols;
        const double *b = tensor_data<double>(out.tensors["b"]);
        means_.gram.assign(static_cast<size_t>(r * r), 0.0);
        Buffer<double> a = task_.run.buffer<double>(tile_rows, r);
        for (int64_t row0 = 0; row0 < rows_.m(); row0 += tile_rows) {
            const int64_t count = std::min(tile_rows, rows_.m() - row0);
            double *rows = y + row0 * stride + centred_;
            std::copy_n(tensor_data<T>(a_) + row0 * r, count * r, a.data());
            gemm('N', 'T', r, r, count, 1.0, a.data(), r, rows, stride, 1.0, means_.gram.data(), r);
            for (int64_t i = 0; i < count; ++i)
                for (int64_t j = 0; j < r; ++j) rows[i * stride + j] -= b[j];
        }
        means_.add(y + centred_, stride, rows_.m(), rows_.weights.data(), total_);
    }
    // Computes nu, mean_square and b of the model.
    void centre(const double *y, int64_t stride, Lifted &out) const {
        std::vector<double> all, b(static_cast<size_t>(a_.cols));
        double square = 0;
        for (int64_t i = 0; i < rows_.m(); ++i) {
            const double kp = y[i * stride];
            all.push_back(nu(i));
            square += nu(i) * kp;
            for (int64_t j = 0; j < a_.cols; ++j) b[static_cast<size_t>(j)] += entry(i, j) * kp;
        }
        out.tensors["nu"] = vector_tensor(all);
        out.tensors["b"] = vector_tensor(b);
        out.mean_square = square;
    }

    const LiftTask &task_;
    const Centres &rows_;
    const Tensor &a_;
    double total_;
    bool centred_, refined_;
    ScoreMeans means_;
};

// The work in addition to the centres' problem. Flops are counted in columns of products with a
// matrix of the centres' order m: r columns of a product with the n x m matrix count as r n / m,
// and `width` columns of a product with the n x n matrix as width n^2 / m^2.
double columns_beyond(double n, double m, double r, double width) { return r * n / m + width * n * n / m / m; }

template <class T>
Lifted extended_as(const LiftTask &task) {
    const bool centred = task.recipe.values().lift_centred != 0;
    const double total = static_cast<double>(task.prepared.source->rows());
    const bool refined = task.recipe.values().ritz > 0;
    Lifted out = weighted_model(task);
    const bool reduced = task.recipe.reducer() && !out.exact && !out.approximate;
    Certificates quantisation;
    if (reduced) {
        task.run.stage("certify");
        quantisation = quantisation_certificates(reduced_model(task, out),
                                                 {.density = false, .values = !refined, .directions = false});
    }

    task.run.stage("lift");
    Landmarks all = all_rows(task.prepared);
    Centres rows = make_centres(task.run, task.prepared, all);
    Tensor a = extended_scores<T>(task, rows, out.tensors["A"], out.tensors["b"]);
    out.kernel_evaluations += rows.m() * task.centres.m();
    const double width = static_cast<double>(centred + (refined ? a.cols : 0));
    out.columns += columns_beyond(total, static_cast<double>(task.centres.m()), static_cast<double>(a.cols), width);
    to_coefficients<T>(rows, out.tensors["lambda"], total, centred, a);
    out.tensors["b"] = vector_tensor(std::vector<double>(static_cast<size_t>(a.cols)));
    const Products<T> products(task, rows, a, total, out);
    out.tensors["w"] = vector_tensor(rows.weights);
    out.tensors["A"] = std::move(a);
    for (auto &[name, tensor] : rows.tensors) out.tensors[name] = std::move(tensor);
    out.capabilities = MERCER_CAN_DENSITY | (centred && !out.approximate ? MERCER_CAN_MEAN : 0);
    if (out.approximate) out.mean_square.reset();
    out.total_variance->kind = "reduced-operator";
    // These belong to the centres' own model, of which this one shares only the eigenvalues.
    out.limits.reset(), out.mse.reset(), out.mse_components.reset(), out.ledger.reset();
    if (refined) refine(task, products.means(), out);
    if (reduced) certify_reduction(reduced_model(task, out), false, quantisation);
    return out;
}

} // namespace

Plan plan_extended(const PlanTask &task) {
    Plan plan = plan_weighted(task);
    const int64_t n = task.source.rows(), size = task.f32 ? 4 : 8, r = plan.most_pairs,
                  width = task.f32 ? padded_columns<float>(r) : padded_columns<double>(r),
                  refined = task.recipe.values().ritz > 0 ? r : 0,
                  passed = (task.recipe.values().lift_centred != 0) + refined;
    const Need pass = task.f32 ? need_of<float>(task.run, task.kernel, task.source, n, std::max<int64_t>(passed, 1))
                               : need_of<double>(task.run, task.kernel, task.source, n, std::max<int64_t>(passed, 1));
    // kept: all rows, their weights and A. own: the coefficients of the centres. The sums and the
    // product with K are computed one after the other, so only the larger of their memories is
    // added.
    const int64_t kept = base_bytes(task.source, false, n, task.f32) - base_bytes(task.source, false, 0, task.f32) +
                         n * (size * r + 8),
                  own = task.m * (size * r + 24);
    const Bytes sums = sweep_bytes(task.run, task.kernel, task.source, task.f32) + task.m * size * width +
                       task.run.threads() * tile_rows * width * (8 + size),
                product = passed > 0 ? Bytes(pass.vectors) + pass.scratch + pass.panels + 24 * n : Bytes(0),
                beyond = larger(sums, product) + (kept + own);
    plan.needs(beyond);
    // A is left out, because its number of columns depends on the data.
    plan.least_bytes = std::max(plan.least_bytes, kept - n * size * r);
    if (beyond.most > task.budget_left) plan.how = "all rows kept as centres";
    const double rows = static_cast<double>(n), m = static_cast<double>(task.m);
    const double values = rows * m + (passed > 0 ? static_cast<double>(pass_evaluations(n)) : 0),
                 columns = columns_beyond(rows, m, static_cast<double>(plan.most_pairs), static_cast<double>(passed));
    plan.add(&Cost::kernel_evaluations, values);
    plan.add(&Cost::columns, columns);
    plan.add(&Cost::passes, passed > 0);
    plan_certificates(task, kept + own, plan);
    return plan;
}

Lifted lift_extended(const LiftTask &task) {
    return task.prepared.f32 ? extended_as<float>(task) : extended_as<double>(task);
}

} // namespace mercer
