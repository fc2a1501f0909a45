// Block Krylov iteration on L^T diag(w) L (nystrom_operator.h). It starts from the leading vectors
// of a sample of s rows, which a few passes over that sample give. These vectors are within about
// (r / s)^1/2 of those of all rows, and save two or three passes out of five.
//
// The iteration stops when residuals are below tol theta_1 or below the level of rounding, 16 u sum
// w k(x, x), whichever is larger, but this limit never exceeds ten times tol theta_1. Kernel values
// err by u k(x, x), and the coordinates L_B^-1 k(B, x) therefore by u k(x, x) / min L_B,kk. If this
// exceeds the tolerance, or if residuals stay above it, the dense problem is solved instead
// (factor/nystrom_span.h), whose substitution is backward stable. Cost: 2 to 9 passes of n m kernel
// values and 4 n m p flops each, where p is the width of a block; the dense problem takes 2 n m^2
// flops.
#include "projected_krylov.h"

#include "../core/rounding.h"
#include "../core/tall.h"
#include "../factor/nystrom_operator.h"
#include "../factor/nystrom_start.h"
#include "gram_plan.h"
#include "solve.h"

#include <algorithm>
#include <cmath>

namespace mercer {
namespace {

constexpr int64_t most_passes = 16;
constexpr double sample_tol = 1e-2; // residuals of the sample, relative to its first eigenvalue
constexpr double sample_passes = 5; // likely number of passes over the sample
constexpr double loosest = 10;      // if rounding requires it, tol is raised by at most this factor

int64_t sample_of(int64_t n, int64_t m) {
    const int64_t s = std::max(n / 16, 4 * m);
    return 4 * s <= n ? s : 0;
}

// Rows drawn at random, one from each of equally large parts of the data, and the operator that
// gives their leading eigenpairs.
template <class T>
struct Sample {
    Buffer<int64_t> index;
    Buffer<double> weights;
    Points<T> rows;
    SpanOperator<T> op;

    static Buffer<int64_t> drawn(const LiftTask &task, int64_t n, int64_t count) {
        const Random random(seed_of(task), Stage::solver);
        Buffer<int64_t> out = task.run.buffer<int64_t>(count);
        for (int64_t s = 0; s < count; ++s) out[s] = row_of_part(random, s, count, n);
        return out;
    }
    static Buffer<double> weighed(const LiftTask &task, const Buffer<int64_t> &index) {
        Buffer<double> out = task.run.buffer<double>(index.size());
        for (int64_t s = 0; s < out.size(); ++s) out[s] = task.prepared.weights[static_cast<size_t>(index[s])];
        return out;
    }
    Sample(const LiftTask &task, const Points<T> &all, const SpanRows<T> &span, int64_t count)
        : index(drawn(task, all.rows(), count)), weights(weighed(task, index)), rows(all.only(index.data(), count)),
          op(task.run, span, rows, weights.data(), task.recipe.values().lift_centred != 0) {}
    bool counts() const {
        return std::any_of(weights.begin(), weights.end(), [](double w) { return w > 0; });
    }
};

// Approximations of the mean, of the leading vectors and of the largest eigenvalue divided by the
// number of rows. They are empty if the sample gives none.
struct Beginning {
    std::vector<double> mean;
    Block vectors;
    double largest = 0;
};

template <class T>
Beginning begin_with(const LiftTask &task, const Points<T> &rows, const SpanRows<T> &span, int64_t count, double trace,
                     Lifted &out) {
    Beginning found;
    if (count == 0 || span.rank() <= task.plan.start_columns) return found;
    const Sample<T> sample(task, rows, span, count);
    if (!sample.counts()) return found;
    Plan plan = task.plan;
    plan.tol = sample_tol;
    const Counted counted(task.run, sample.op, 0, sample_passes);
    std::map<std::string, double> unreported;
    Eigenpairs pairs = solve(task.run, task.recipe, plan, counted, trace * static_cast<double>(count),
                             plan.start_columns, {}, unreported, nullptr);
    out.kernel_evaluations += sample.op.kernel_evaluations();
    return {sample.op.mean(), std::move(pairs.vectors), pairs.values[0] / static_cast<double>(count)};
}

} // namespace

bool goes_by_passes(const PlanTask &task) {
    const CoreValues &values = task.recipe.values();
    const Components choice(values, task.m);
    return !task.handed && static_cast<CertificateLevel>(values.certificates) == CertificateLevel::none &&
           !choice.is_open() && !choice.wants_bars() && streams_well(task.kernel, task.source) &&
           8 * (choice.ask() + 8) <= task.m && 4 * task.m <= task.source.rows();
}

Plan plan_iterated(const PlanTask &task, const TileBytes &tiles, const Bytes &made_again, const mercer_figure &values) {
    const int64_t n = task.source.rows(), m = task.m, size = task.f32 ? 4 : 8,
                  r = Components(task.recipe.values(), m).ask(), sample = sample_of(n, m);
    Plan plan;
    plan.f32 = task.f32;
    plan.tol = task.f32 ? 1e-5 : 1e-9;
    plan.max_passes = most_passes;
    plan.solver = task.recipe.registry().find(Kind::solver, "block-krylov");
    plan.solver_params = Params(plan.solver->params);
    plan.most_pairs = r;
    ask_solver(task, r, 0, plan);
    // The start vectors fill the first product, except for one random column.
    if (sample > 0) {
        plan.start_columns = std::max<int64_t>(plan.solver_cost.first_columns - 1, 0);
        ask_solver(task, r, plan.start_columns, plan);
    }
    plan.how = "eigenpairs by passes over the kernel values between rows and centres";
    const mercer_cost &cost = plan.solver_cost;
    const int64_t width = std::max(cost.columns, cost.first_columns), m2 = 8 * m * m;
    const Bytes pass = task.f32 ? SpanOperator<float>::bytes(task.run, n, m, width, tiles)
                                : SpanOperator<double>::bytes(task.run, n, m, width, tiles);
    const int64_t usual = std::min(cost.first_blocks + 2 * cost.columns * cost.likely_passes, cost.blocks);
    const Bytes solver(cost.likely_bytes + usual * m * size, cost.bytes + cost.blocks * m * size),
        span = 3 * m2 + size * m * m + tiles.stored(blocks_of(m), m) + 16 * sample + m * width * (size + 8),
        limits = (task.weighted ? 24 : 16) * n + padded_columns<float>(r + 1) * m * size +
                 sweep_bytes(task.run, task.kernel, task.source, task.f32),
        all = span + larger(larger(pass + solver, limits), 8 * n);
    plan.likely_bytes = all.likely, plan.bytes = std::max(all.most, made_again.most);
    const double rows = static_cast<double>(n), order = static_cast<double>(m), pairs = rows * order,
                 share = static_cast<double>(sample) / rows,
                 likely = static_cast<double>(cost.likely_passes) + sample_passes * share,
                 most = most_passes * (1 + share);
    plan.kernel_evaluations = {order * order + (likely + 1) * pairs, values.most + (most + 1) * pairs};
    plan.passes = {likely, most};
    // The upper limit includes the fallback to the dense problem, whose 2 n m^2 flops are those of
    // m / (2 width) products.
    plan.products = {likely, most + order / static_cast<double>(2 * width)};
    plan.flops_each = 4 * pairs * static_cast<double>(width) + cost.flops / most_passes;
    plan.dense_order = order;
    return plan;
}

// True if rounding in products with L_B^-1 stays below residuals of this relative size.
template <class T>
bool well_conditioned(Run &run, const SpanRows<T> &span, double tol) {
    const Buffer<double> triangle = span.triangle(run);
    double least = INFINITY, most = 0;
    for (int64_t k = 0; k < span.rank(); ++k) {
        const double root = triangle[k + k * span.rank()];
        least = std::min(least, root), most = std::max(most, root);
    }
    return unit_roundoff(sizeof(T) == 4) * most <= tol * least;
}

template <class T>
bool iterate(const LiftTask &task, const Points<T> &rows, const SpanRows<T> &span, int64_t count, Projection &found,
             Lifted &out) {
    Run &run = task.run;
    if (count == 0) return false;
    auto leave_it = [&](const char *why) {
        run.log(1, format("%s: the dense solver is used instead", why).c_str());
        out.columns = 0; // counts products with the kernel matrix of the centres; none was made
        out.solver = "dense";
        return false;
    };
    if (!well_conditioned(run, span, loosest * task.plan.tol))
        return leave_it("some centres are nearly linearly dependent");
    const double *weights = task.prepared.weighted() ? task.prepared.weights.data() : nullptr;
    const bool centred = task.recipe.values().lift_centred != 0;
    const int64_t n = rows.rows();
    const double uncentred = span.sum_of_self(run, weights);
    double total = 0;
    for (int64_t i = 0; i < n; ++i) total += weights ? weights[i] : 1;
    const double floor = rounding_floor(sizeof(T) == 4, span.rank()) * uncentred;
    const int64_t sampled = sample_of(n, task.centres.m());
    const double share = sample_passes * static_cast<double>(sampled) / static_cast<double>(n),
                 begins = share / (share + task.plan.products.likely);
    Beginning begun;
    {
        Run::Span beginning(run, 0, begins);
        begun = begin_with(task, rows, span, sampled, uncentred / static_cast<double>(n), out);
    }
    Plan plan = task.plan; // the plan with a tolerance that rounding allows
    if (begun.largest > 0)
        plan.tol = std::clamp(floor / static_cast<double>(n) / begun.largest, plan.tol, loosest * plan.tol);
    const Start start{begun.vectors.cols(),
                      [&](Columns to) { tall_copy(run, columns(begun.vectors, 0, to.count), to); }};
    std::map<std::string, double> report;
    const SpanOperator<T> op(run, span, rows, weights, centred, std::move(begun.mean));
    const Counted counted(run, op, begins, plan.products.likely);
    const Eigenpairs pairs = solve(run, task.recipe, plan, counted, uncentred, count, start, report, nullptr);
    note_passes(plan, counted, out);
    out.columns = 0; // counts products with the kernel matrix of the centres; none was made
    out.kernel_evaluations += op.kernel_evaluations();
    if (*std::max_element(pairs.residuals.begin(), pairs.residuals.end()) >
        std::max(loosest * task.plan.tol * pairs.values[0], 2 * floor))
        return leave_it("the residuals of the eigenpairs remain above the tolerance");
    out.solver_report = std::move(report);
    found.mean = op.mean();
    found.uncentred = uncentred;
    found.trace = uncentred - total * found.mean_square();
    found.floor = floor;
    found.theta = pairs.values;
    found.v = run.buffer<double>(span.rank(), count);
    pairs.each(run, count,
               [&](int64_t j, const double *v) { std::copy_n(v, pairs.m(), found.v.data() + j * pairs.m()); });
    for (double residual : pairs.residuals) out.residuals.push_back(residual / total);
    return true;
}

template bool iterate(const LiftTask &, const Points<float> &, const SpanRows<float> &, int64_t, Projection &,
                      Lifted &);
template bool iterate(const LiftTask &, const Points<double> &, const SpanRows<double> &, int64_t, Projection &,
                      Lifted &);

} // namespace mercer
