// The lift `projected` (nystrom, gkpca): kernel PCA of all rows, with weights w and p = w / n, on
// the span of the centres B. No other model on the same centres explains more of the variance of
// the rows.
//
//   K_BB = L_B L_B^T;  L = K_nB L_B^-T;  mu = L^T p;  sum w (l - mu)(l - mu)^T = V diag(theta) V^T
//   A = L_B^-T V,  b = V^T mu,  nu = L_B^-T mu,  lambda = theta / n            (uncentred: mu = 0)
//
// A centre in the span of others has coefficients 0. Total variance: mean k(x, x) - |mu|^2, which
// is at least the true one because |mu| is at most the length of the mean in feature space.
// mse = mean (k(x, x) - |l|^2) is the loss by the span, and 0 <= lambda_i(exact) - lambda_i <= mse;
// the report has better bounds (bounds.h). m = n is exact kernel PCA. Cost: n m kernel values, 2 n
// m^2 flops; memory: n m for the factor, or slabs of it that are recomputed, and O(m^2).
#include "projected.h"

#include "../certify/bootstrap.h"
#include "../factor/basis.h"
#include "components.h"
#include "control_limits.h"
#include "projected_krylov.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace mercer {
template <class T>
std::unique_ptr<SpanRows<T>> span_of(const LiftTask &task, const Points<T> &rows,
                                     std::shared_ptr<PartialCholesky<T>> &stored) {
    const Centres &centres = task.centres;
    const Prepared &prepared = task.prepared;
    if (auto *handed = std::get_if<std::shared_ptr<PartialCholesky<T>>>(&task.reduction.factor)) stored = *handed;
    if (stored && stored->count() == centres.m()) return std::make_unique<SpanRows<T>>(*stored);
    const int64_t m = centres.m();
    if (task.plan.store_factor) {
        CountedVector<int64_t> given;
        for (int64_t k = 0; k < task.reduction.m; ++k)
            if (task.reduction.weights[static_cast<size_t>(k)] > 0)
                given.push_back(task.reduction.index[static_cast<size_t>(k)]);
        const KernelRows all{prepared.source,         prepared.map,           prepared.kernel, nullptr,
                             prepared.source->rows(), prepared.weights.data()};
        stored = std::make_shared<PartialCholesky<T>>(task.run, all, m);
        stored->append(given.data(), m);
        return std::make_unique<SpanRows<T>>(*stored);
    }
    return std::make_unique<SpanRows<T>>(task.run, prepared.kernel, rows, points_of<T>(prepared.kernel, centres),
                                         basis_of<T>(task.run, centres.rows_of(prepared.kernel)));
}

template <class T>
CountedVector<int64_t> columns_of(const LiftTask &task, const SpanRows<T> &span) {
    const Reduction &reduction = task.reduction;
    const bool numbers_of_rows = task.centres.rows && !span.recomputed();
    // The number by which span.index() refers to each centre, and the place of the centre.
    CountedVector<std::pair<int64_t, int64_t>> names;
    for (int64_t k = 0; k < reduction.m; ++k) {
        if (!(reduction.weights[static_cast<size_t>(k)] > 0)) continue;
        const int64_t place = static_cast<int64_t>(names.size());
        names.emplace_back(numbers_of_rows ? reduction.index[static_cast<size_t>(k)] : place, place);
    }
    std::sort(names.begin(), names.end());
    CountedVector<int64_t> out(static_cast<size_t>(task.centres.m()), -1);
    for (int64_t k = 0; k < span.rank(); ++k)
        out[static_cast<size_t>(
            std::lower_bound(names.begin(), names.end(), std::pair<int64_t, int64_t>(span.index()[k], -1))->second)] =
            k;
    return out;
}

template std::unique_ptr<SpanRows<float>> span_of(const LiftTask &, const Points<float> &,
                                                  std::shared_ptr<PartialCholesky<float>> &);
template std::unique_ptr<SpanRows<double>> span_of(const LiftTask &, const Points<double> &,
                                                   std::shared_ptr<PartialCholesky<double>> &);
template CountedVector<int64_t> columns_of(const LiftTask &, const SpanRows<float> &);
template CountedVector<int64_t> columns_of(const LiftTask &, const SpanRows<double> &);

namespace {

// L_B L_B^T differs from K_BB by rounding in the type of L, so that A^T K_BB A differs from the
// identity. Returns an estimate of this difference for components scaled by their standard
// deviations sigma,
//   max_j sigma_j^2 sum_i A_ij^2 k(b_i, b_i) u,   k(b_i, b_i) = |row i of L_B|^2.
// Measured differences were at most 5 times the estimate, and exceeded it by at most 2 u.
// x: (A, nu)^T at the pivots, column-major.
double lost_orthonormality(const Buffer<double> &triangle, const Buffer<double> &x, const Projection &projection,
                           int64_t kept, bool f32) {
    const int64_t rank = x.size() / (kept + 1);
    std::vector<double> sums(static_cast<size_t>(kept));
    for (int64_t i = 0; i < rank; ++i) {
        double self = 0;
        for (int64_t k = 0; k <= i; ++k) self += triangle[i + k * rank] * triangle[i + k * rank];
        for (int64_t j = 0; j < kept; ++j) {
            const double entry = x[j + i * (kept + 1)];
            sums[static_cast<size_t>(j)] += entry * entry * self;
        }
    }
    double worst = 0;
    for (size_t j = 0; j < sums.size(); ++j) worst = std::max(worst, projection.theta[j] * sums[j]);
    return worst * unit_roundoff(f32);
}

// Computes A = L_B^-T V and nu = L_B^-T mu at the places of the pivots, and b = A^T K nu = V^T mu.
// Returns how far A is from orthonormal.
template <class T>
double coefficients(const LiftTask &task, const SpanRows<T> &span, const Projection &projection, int64_t kept,
                    Lifted &out) {
    const int64_t m = task.centres.m(), rank = span.rank();
    const Buffer<double> triangle = span.triangle(task.run);
    Buffer<double> x = task.run.buffer<double>(kept + 1, rank); // (V, mu)^T, column-major
    for (int64_t k = 0; k < rank; ++k) {
        for (int64_t j = 0; j < kept; ++j) x[j + k * (kept + 1)] = projection.v[k + j * rank];
        x[kept + k * (kept + 1)] = projection.mean[static_cast<size_t>(k)];
    }
    std::vector<double> b(static_cast<size_t>(kept));
    CountedVector<double> nu(static_cast<size_t>(m));
    for (int64_t k = 0; k < rank; ++k)
        for (int64_t j = 0; j < kept; ++j)
            b[static_cast<size_t>(j)] += projection.v[k + j * rank] * projection.mean[static_cast<size_t>(k)];
    trsm('N', kept + 1, rank, triangle.data(), rank, x.data(), kept + 1);
    const CountedVector<int64_t> columns = columns_of(task, span);
    auto entry = [&](int64_t j, int64_t place) { // returns an entry of A without its sign or, for j = kept, of nu
        const int64_t k = columns[static_cast<size_t>(place)];
        return k < 0 ? 0.0 : x[j + k * (kept + 1)];
    };
    std::vector<double> sign;
    for (int64_t j = 0; j < kept; ++j) sign.push_back(sign_of(m, [&](int64_t place) { return entry(j, place); }));
    Tensor a = make_tensor<T>(m, kept);
    for (int64_t place = 0; place < m; ++place) {
        for (int64_t j = 0; j < kept; ++j)
            tensor_data<T>(a)[place * kept + j] = static_cast<T>(sign[static_cast<size_t>(j)] * entry(j, place));
        nu[static_cast<size_t>(place)] = entry(kept, place);
    }
    for (int64_t j = 0; j < kept; ++j) b[static_cast<size_t>(j)] *= sign[static_cast<size_t>(j)];
    out.tensors["A"] = std::move(a);
    out.tensors["b"] = vector_tensor(b);
    if (task.recipe.values().lift_centred) out.tensors["nu"] = vector_tensor(nu);
    return lost_orthonormality(triangle, x, projection, kept, sizeof(T) == 4);
}

// Computes error bars from the scores of all rows.
template <class T>
ErrorBars bars_of(const LiftTask &task, Components &choice, const SpanRows<T> &span, const Projection &projection,
                  int64_t rank) {
    const CoreValues &values = task.recipe.values();
    const int64_t n = task.prepared.source->rows(),
                  p = std::min(rank,
                               choice.behind_bars(choice.kept(projection.theta, rank, projection.trace, nullptr)));
    const double *weights = task.prepared.weighted() ? task.prepared.weights.data() : nullptr;
    Block z(task.run, n, p, false);
    directions(task.run, span, projection, weights, columns(z));
    for (int64_t j = 0; j < p; ++j)
        for (int64_t i = 0; i < n; ++i) {
            const double root = weights ? std::sqrt(std::max(weights[i], 1e-300)) : 1;
            z.column(j)[i] *= std::sqrt(projection.theta[static_cast<size_t>(j)]) / root;
        }
    return choice.bars(task.run, n, p, z.column(0), weights, values.lift_centred != 0,
                       static_cast<uint64_t>(values.seed));
}

template <class T>
Lifted projected_as(const LiftTask &task) {
    Run &run = task.run;
    const CoreValues &values = task.recipe.values();
    const Prepared &prepared = task.prepared;
    const int64_t n = prepared.source->rows();
    const double total = static_cast<double>(n);
    const double *weights = prepared.weighted() ? prepared.weights.data() : nullptr;
    prepared.kernel.need_psd("the lift 'projected'");
    if (static_cast<CertificateLevel>(values.certificates) >= CertificateLevel::rows && !prepared.squares_hold)
        fail(MERCER_E_DATA,
             "report.certificates = rows or exact: the squares of the kernel values of these data overflow f64");
    Lifted out;

    run.stage("gram");
    Points<T> rows(prepared.source, prepared.map, leaf_specs(prepared.kernel));
    Findings own;
    Findings &found = task.reduction.findings ? *task.reduction.findings : own;
    std::shared_ptr<PartialCholesky<T>> stored;
    const std::unique_ptr<SpanRows<T>> span = span_of<T>(task, rows, stored);
    if (stored && !task.reduction.owns(stored)) out.kernel_evaluations += stored->evaluations();

    run.stage("solve");
    Components choice(values, span->rank());
    const int64_t looked_at = std::min(span->rank(), 2 * choice.most_ask() + 20);
    const bool proved = !found.projection.theta.empty(),
               iterated = task.plan.solver &&
                          iterate(task, rows, *span, std::min(span->rank(), choice.ask()), found.projection, out);
    if (!proved && !iterated) found.projection = project(run, *span, weights, values.lift_centred != 0, looked_at);
    const Projection &projection = found.projection;
    const int64_t rank = projection.above(projection.floor);
    ErrorBars bars;
    if (choice.wants_bars() && rank > 0) bars = bars_of(task, choice, *span, projection, rank);
    int64_t kept = choice.kept(projection.theta, rank, projection.trace, choice.wants_bars() ? &bars : nullptr);
    if (proved) kept = std::min(kept, found.proof.r());
    if (choice.is_short(kept, rank)) out.outcome |= MERCER_RANK_REACHED;
    if (choice.wants_bars() && rank > 0) out.error_bars = bars.first(kept, 1);

    run.stage("certify");
    std::vector<double> lambda(projection.theta.begin(), projection.theta.begin() + kept), scatter = lambda;
    if (kept > 0 && !iterated) {
        const Proof proof =
            proved ? found.proof : prove<T>({run, prepared.kernel, values, weights}, rows, *span, projection, kept);
        for (int64_t j = 0; j < kept; ++j) lambda[static_cast<size_t>(j)] = proof.bounds.value[static_cast<size_t>(j)];
        out.certificates = proof.report(total, kept);
        if (proof.refuted) {
            out.uncertified = refuted_text;
            run.log(2, refuted_text);
        }
        out.kernel_evaluations += proof.evaluations;
    }
    run.stage("lift");
    const double lost = coefficients(task, *span, projection, kept, out);
    const bool estimated = lambda != scatter;
    for (std::vector<double> *values : {&lambda, &scatter})
        for (double &value : *values) value /= total;
    out.tensors["lambda"] = vector_tensor(lambda);
    if (estimated) out.tensors["scatter"] = vector_tensor(scatter);
    out.tensors["w"] = vector_tensor(task.centres.weights);
    out.capabilities = MERCER_CAN_DENSITY | MERCER_CAN_ORTHONORMAL | MERCER_CAN_RESIDUAL;
    if (values.lift_centred) {
        out.capabilities |= MERCER_CAN_MEAN;
        out.mean_square = projection.mean_square();
    }
    out.total_variance = {std::max(projection.trace / total, 0.0), span->rank() == n ? "exact" : "upper-bound"};
    const double explained = std::accumulate(projection.theta.begin(), projection.theta.begin() + kept, 0.0);
    if (iterated) {
        out.limits = limits_at<T>(run, prepared.kernel, rows, points_of<T>(prepared.kernel, task.centres), out, weights,
                                  "exact");
        out.kernel_evaluations += n * task.centres.m();
    } else {
        out.limits = limits_in_span(run, *span, found.projection, kept, Whitening(scatter), weights);
        out.mse = projection.left / total;
        const double share = static_cast<double>(span->rank()) / static_cast<double>(task.centres.m());
        // flops shrink in this proportion if the rank is lower than m
        out.products = share * share;
    }
    out.mse_components = std::max(projection.trace - explained, 0.0) / total;
    // If eigenpairs were computed by passes, the loss by the span is unknown. Then everything that
    // the components do not explain counts as resid, and lost is 0.
    const double resid = out.mse.value_or(*out.mse_components);
    if (lost <= (prepared.f32 ? 5e-8 : 5e-14) * projection.uncentred)
        make_mergeable(
            prepared, {.self = projection.uncentred / total, .lost = *out.mse_components - resid, .resid = resid}, out);
    out.rank = span->rank();
    out.kernel_evaluations += span->evaluations();
    return out;
}

} // namespace

namespace {

// The memory of a factor of task.m columns: that of the complete factor, and what is needed in
// addition while it grows.
std::pair<int64_t, Bytes> factor_bytes(const PlanTask &task, int64_t rows, const TileBytes &tiles) {
    auto bytes = [&](auto type) {
        using Pivots = PartialCholesky<decltype(type)>;
        return std::pair(Pivots::stored_bytes_of(rows, task.m, false, tiles),
                         Pivots::growing_bytes(rows, task.m, false, task.run.threads(), tiles));
    };
    return task.f32 ? bytes(0.0F) : bytes(0.0);
}

} // namespace

SpanBytes span_bytes(const PlanTask &task, const PlannedEvidence &planned) {
    const int64_t n = task.source.rows(), m = task.m, size = task.f32 ? 4 : 8, threads = task.run.threads(),
                  drawn = planned.rows, width = planned.width;
    const bool nested = find_lift(task.recipe.values().lift).nested; // all m features are kept, and no eigenvalues
    const Components choice(task.recipe.values(), m);
    const int64_t r = nested ? m : choice.most_ask(), p = std::min(m, 2 * r + 20),
                  active = std::min(threads, (n + span_slab - 1) / span_slab);
    SpanBytes out{};
    const TileBytes &tiles = out.tiles =
        task.f32 ? tiles_of<float>(task.kernel, task.source) : tiles_of<double>(task.kernel, task.source);
    std::tie(out.factor, out.growing) = factor_bytes(task, n, tiles);
    out.stored = projection_bytes(n, m, p);
    out.project = project_bytes(n, m, p, threads, size);
    // Besides A and nu, memory holds first the triangle L_B and the solutions of its triangular
    // systems, and later V, slabs of scores and the outputs for the limits.
    const int64_t each = task.weighted ? 8 : 0,
                  limits = (8 + each) * n + size * padded_columns<float>(r) * (m + active * span_slab);
    out.evidence = m * (size * r + 16) + std::max(8 * m * (m + r + 1), limits);
    if (!nested && choice.wants_bars())
        out.evidence = larger(out.evidence, Bytes(bootstrap_bytes(n, r, 1), bootstrap_bytes(n, r, threads)));
    out.evidence = larger(out.evidence, 8 * m * (m + 2 * p)); // to bound the rounding error of the factor
    if (!planned.norm) return out;
    if (planned.all_entries || Evidence<double>::takes_all(n)) {
        const int64_t entries =
            threads * (tiles.scratch + 2 * tiles.stored(1, tile_rows) + norm_bytes(n, m, size, true));
        out.evidence = larger(out.evidence, Bytes(entries, entries + threads * tiles.loading(tile_rows)));
    } else {
        // Sampled pairs are computed in panels of gathered rows, which may lie far apart in the
        // data. They need the rows of L of both members of each pair.
        const int64_t edge = pairs_at_once(task.kernel, task.source.kind() == Source::Kind::objects),
                      at_once = drawn_at_once(task.run, task.source, Evidence<double>::pairs, 2, edge),
                      pairs = (8 + each) * n + Evidence<double>::pairs * 24 + drawn_bytes(task.source, 2 * at_once),
                      strips = threads * (tiles.scratch + 2 * (tiles.stored(1, strip_rows) + strip_rows * m * size)),
                      loading = threads * (tiles.loading(strip_rows) + 2 * strip_rows * task.source.cols() * size);
        out.evidence = larger(out.evidence, Bytes(pairs + strips, pairs + strips + loading));
    }
    if (drawn > 0) {
        const int64_t few = padded_columns<float>(std::min(r, width)), most = padded_columns<float>(std::min(p, width)),
                      panels = tiles.stored(blocks_of(n), n);
        auto rows = [&](int64_t columns) {
            return (16 + each) * n + n * columns * (8 + size) + drawn * (8 * columns + 8) +
                   drawn_bytes(task.source, drawn) +
                   threads *
                       (tiles.scratch + tiles.stored(1, strip_rows) + strip_rows * (m * (8 + size) + columns * 16));
        };
        out.evidence = larger(out.evidence, Bytes(rows(few) + panels,
                                                  rows(most) + std::max(panels, threads * tiles.stored(1, tile_rows)) +
                                                      threads * tiles.loading(tile_rows)));
    }
    return out;
}

SpanPlan plan_on_span(const PlanTask &task, CertificateLevel certificates, int64_t drawn, int64_t beyond) {
    const int64_t n = task.source.rows(), m = task.m, size = task.f32 ? 4 : 8,
                  active = std::min(task.run.threads(), (n + span_slab - 1) / span_slab);
    const CoreValues &values = task.recipe.values();
    Plan plan;
    plan.f32 = task.f32;
    const SpanBytes of = span_bytes(
        task, {.rows = drawn, .width = m, .norm = certificates != CertificateLevel::none, .all_entries = drawn == n});
    const Bytes later = larger(of.project, of.stored + of.evidence) + beyond,
                with_factor = task.handed ? task.handed + later : of.factor + larger(of.growing, later);
    const auto [basis, growing] = factor_bytes(task, m, of.tiles);
    const int64_t own = basis + size * m * m + of.tiles.stored(blocks_of(m), m),
                  slabs =
                      active * (span_slab * m * size + of.tiles.scratch + of.tiles.stored(1, std::min(n, tile_rows))),
                  loading = task.run.threads() *
                            (of.tiles.scratch + of.tiles.stored(1, tile_rows) + of.tiles.loading(tile_rows));
    const Bytes made_again = own + larger(growing, larger(8 * m * m, later + Bytes(slabs, slabs + loading)));
    plan.store_factor = task.rows && with_factor.most <= std::max(task.budget_left, made_again.most);
    plan.how = plan.store_factor ? "including their factor" : "with their factor recomputed";
    const Bytes bytes = plan.store_factor ? with_factor : made_again;
    plan.likely_bytes = bytes.likely, plan.bytes = bytes.most;
    // If the rank is less than m, all memory except that of the stored factor shrinks, so only the
    // factor is needed whatever the data are.
    plan.least_bytes = plan.store_factor && !task.handed ? of.factor : 0;

    // Building the factor takes n m kernel values and a few more within its rounds. Recomputing it
    // takes n m in each sweep over all rows and, if centred, those of the first slab once more.
    const double rows = static_cast<double>(n), order = static_cast<double>(m),
                 pairs = certificates == CertificateLevel::none ? 0 : norm_values(task.kernel, task.source, drawn == n),
                 gathered = certificates == CertificateLevel::none ? 0 : norm_gathers(n, drawn == n),
                 sampled = static_cast<double>(drawn) * rows;
    auto made = [&](double n_made) { return n_made * (order + 1) + 4 * 256 * order; };
    const double looks = rows * (2 + (drawn > 0) + (values.replicates > 0)) +
                         (values.lift_centred ? static_cast<double>(std::min(n, span_slab)) : 0),
                 again = pairs + sampled + order * (gathered + static_cast<double>(drawn) + looks);
    const mercer_figure recomputed{order * order + again, made(order) + again};
    if (plan.store_factor) {
        plan.kernel_evaluations = {pairs + sampled + (task.handed ? 0 : rows * order), pairs + sampled + made(rows)};
    } else {
        plan.kernel_evaluations = recomputed;
    }
    plan.products = {1, 1};
    plan.flops_each = rows * order * order * (task.handed && plan.store_factor ? 1 : 2);
    plan.dense_order = order;
    plan.certify_cost = (pairs + sampled) * value_cost(task.source.cols());
    return {std::move(plan), of.tiles, made_again, recomputed};
}

Plan plan_projected(const PlanTask &task) {
    const CoreValues &values = task.recipe.values();
    auto [plan, tiles, made_again, recomputed] = plan_on_span(task, static_cast<CertificateLevel>(values.certificates),
                                                              rows_looked_at(values, task.source.rows()), 0);
    // A fit by passes may fall back to the dense problem, so its plan includes the memory and the
    // kernel values of that problem.
    if (goes_by_passes(task))
        if (Plan few = plan_iterated(task, tiles, made_again, recomputed);
            few.bytes <= std::max(task.budget_left, plan.bytes))
            return few;
    return plan;
}

Lifted lift_projected(const LiftTask &task) {
    return task.prepared.f32 ? projected_as<float>(task) : projected_as<double>(task);
}

} // namespace mercer
