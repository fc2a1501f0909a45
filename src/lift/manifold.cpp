// The lift `manifold`: diffusion maps, Laplacian eigenmaps and normalised cuts on centres C with
// weights w, alpha in [0, 1], time t >= 0.
//
//   q = K w,  v = w q^-alpha,  h = K v;   S = D^1/2 K D^1/2,  D = diag(v / h);   S U = U Lambda
//   f_l(c_i) = sqrt(vol) u_il / sqrt(v_i h_i),  vol = v^T h
//   f_l(x) = sum_j v_j f_l(c_j) k(x, c_j) / (lambda_l v^T k_C(x))
//
// The coordinates are lambda_l^t f_l, so that A_jl = lambda_l^(t-1) v_j f_l(c_j) and g(x) = v^T
// k_C(x). At the centres, f_l(x) reproduces f_l(c_i). The graph has the edges W_ij = v_i k_ij v_j
// and the degrees v_i h_i. These are the edges of the kernel ka_ij = k_ij (q_i q_j)^-alpha. A new
// point x needs no q(x), because q(x)^-alpha would cancel in f_l(x).
//
// lambda_0 = 1 belongs to u_0 = sqrt(v h / vol), for which f_0 = 1. The solver receives S - u_0
// u_0^T, which has all other eigenpairs of S. This also holds for a graph in several parts, where 1
// is a multiple eigenvalue and a solver may return any mixture of its vectors.
//
// Weighted centres give the result for all rows with each row moved to its centre; all rows as
// centres give the ordinary algorithm. Cost: that of the lift `weighted`, one product for h and,
// unless alpha = 0, one for q; for two clusters one more sweep. Because the entries of S are >= 0
// and its norm is 1, entries that err by a few u change S by a few u in norm. Eigenvalues are
// therefore above rounding, and count towards the rank, if lambda > 16 u_tile + m u_64. Error of
// direction l: about the sum of this bound and the solver's residual, divided by the gap; in A the
// error is also divided by lambda_l.
#include "../core/threads.h"
#include "../operator/low_rank.h"
#include "clusters.h"
#include "isolated.h"
#include "solve.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <numeric>

namespace mercer {
namespace {

struct Walk {
    double alpha, time;
    int64_t clusters; // 0: not requested
    int64_t products() const { return 1 + (alpha > 0); }
};

Walk walk_of(const Recipe &recipe) {
    const CoreValues &values = recipe.values();
    const Method &method = *recipe.method();
    return {std::isnan(values.alpha) ? method.alpha : values.alpha, std::isnan(values.time) ? method.time : values.time,
            method.cuts ? values.clusters : 0};
}

// Refuses kernels with negative values, because edges of a graph cannot be negative. The weights of
// the terms of a kernel expression are never negative, so that its kernels alone decide.
void refuse_negative(const Expression &kernel) {
    for (const Leaf &leaf : kernel.leaves)
        if (leaf.plugin && leaf.facts.lo < 0)
            fail(MERCER_E_UNSUPPORTED, "lift manifold: values of the kernel '%s' can be negative, must be >= 0",
                 leaf.plugin->name.c_str());
}

// Refuses negative values of a user kernel. All its values are computed for this check, because
// nothing else is known about the kernel.
template <class T>
void refuse_negative_values(const LiftTask &task) {
    Points<T> points = points_of<T>(task.prepared.kernel, task.centres);
    points.lean();
    const Tiles<T> tiles(task.prepared.kernel, points, points);
    auto body = [](const Tile<T> &tile) {
        for (int64_t i = 0; i < tile.x.rows; ++i)
            for (int64_t j = 0; j < tile.y.rows; ++j)
                if (const T value = tile.values[i * tile_rows + j]; !(value >= 0))
                    fail(MERCER_E_DATA,
                         "lift manifold: the kernel value of centres %" PRId64 " and %" PRId64 " is %g, must be >= 0",
                         tile.x.row0 + i, tile.y.row0 + j, static_cast<double>(value));
        return true;
    };
    sweep<T>(task.run, tiles, 0, points.rows(), body, Range::upper);
}

Buffer<double> times(Run &run, const Operator &k, const Buffer<double> &x) {
    Buffer<double> out = run.buffer<double>(k.n());
    auto fill = [&](int64_t row0, int64_t rows, double *to, int64_t stride) {
        for (int64_t i = 0; i < rows; ++i) to[i * stride] = x[row0 + i];
    };
    k.product(run, false, 1, fill, [&](const double *y, int64_t stride) {
        for (int64_t i = 0; i < k.n(); ++i) out[i] = y[i * stride];
    });
    for (int64_t i = 0; i < k.n(); ++i)
        if (!(out[i] > 0) || !std::isfinite(out[i]))
            fail(MERCER_E_DATA,
                 "lift manifold: the kernel values of centre %" PRId64 " add up to %g, must be > 0 and finite", i,
                 out[i]);
    return out;
}

// The quantities of the formulas above: v, scaled to the sum of the weights (the scale of v has no
// effect on the model); scale = sqrt(v / h); volume = vol. It follows that sqrt(v h) = v / scale.
struct Degrees {
    Buffer<double> v, scale;
    double volume = 0;
    Degrees(Run &run, const Operator &k, const CountedVector<double> &weights, double alpha)
        : v(run.buffer<double>(k.n())), scale(run.buffer<double>(k.n())) {
        std::copy(weights.begin(), weights.end(), v.data());
        if (alpha > 0) {
            const Buffer<double> q = times(run, k, v);
            const double largest = *std::max_element(q.begin(), q.end());
            double sum = 0, total = 0;
            for (int64_t i = 0; i < k.n(); ++i) total += v[i], v[i] *= std::pow(largest / q[i], alpha), sum += v[i];
            for (double &value : v) value *= total / sum;
        }
        const Buffer<double> h = times(run, k, v);
        for (int64_t i = 0; i < k.n(); ++i) scale[i] = std::sqrt(v[i] / h[i]), volume += v[i] * h[i];
    }
    double root(int64_t i) const { return v[i] / scale[i]; } // square root of the degree v h
    Block trivial(Run &run) const {                          // u_0
        Block u(run, v.size(), 1, false);
        u.use(0, 1);
        for (int64_t i = 0; i < v.size(); ++i) u.column(0)[i] = root(i) / std::sqrt(volume);
        return u;
    }
};

// Computes A in the model's type, and for the first `wanted` columns also f at the centres,
// column-major.
template <class T>
Tensor coefficients(Run &run, const Eigenpairs &pairs, const Degrees &degrees, double time, int64_t kept,
                    int64_t wanted, Buffer<double> &f) {
    const int64_t m = pairs.m();
    Tensor a = make_tensor<T>(m, kept);
    f = run.buffer<double>(m, wanted);
    pairs.each(run, kept, [&](int64_t j, const double *u) {
        const double root = std::sqrt(degrees.volume), lambda = pairs.values[static_cast<size_t>(j)],
                     sign = sign_of(m, [&](int64_t i) { return degrees.scale[i] * u[i]; });
        const double factor = sign * root * std::pow(lambda, time - 1);
        for (int64_t i = 0; i < m; ++i)
            tensor_data<T>(a)[i * kept + j] = static_cast<T>(factor * degrees.scale[i] * u[i]);
        for (int64_t i = 0; j < wanted && i < m; ++i) f[i + j * m] = sign * root * u[i] / degrees.root(i);
    });
    return a;
}

// Returns for each centre the sum of its edges to all centres that come after it in `order`. The
// result is in that order, too.
template <class T>
Buffer<double> later_sums(const LiftTask &task, const CountedVector<int64_t> &order, const Buffer<double> &v) {
    const Centres &centres = task.centres;
    const int64_t m = centres.m();
    CountedVector<int64_t> numbers(order);
    if (centres.numbers())
        for (int64_t &number : numbers) number = centres.numbers()[number];
    Points<T> points(centres.source, {}, leaf_specs(task.prepared.kernel), numbers.data(), m);
    points.lean();
    const Tiles<T> tiles(task.prepared.kernel, points, points);
    CountedVector<double> sorted;
    for (int64_t i : order) sorted.push_back(v[i]);
    Buffer<double> out = std::move(task.run.buffer<double>(m).zero());
    auto body = [&](int64_t, const Panel<T> &x, const Panel<T> &y, TileScratch<T> &scratch) {
        tiles.strips(x, y, scratch, [&](const auto &strip) {
            for (int64_t i = 0; i < strip.rows; ++i) {
                const int64_t place = x.row0 + strip.row0 + i;
                const double *weights = sorted.data() + y.row0;
                double sum = 0;
                for (int64_t j = std::max<int64_t>(place + 1 - y.row0, 0); j < y.rows; ++j)
                    sum += static_cast<double>(scratch.tile[i * tile_rows + j]) * weights[j];
                out[place] += sorted[static_cast<size_t>(place)] * sum;
            }
        });
        return true;
    };
    sweep_panels<T>(task.run, tiles, 0, m, body, Range::upper);
    return out;
}

template <class T>
Clusters two_clusters(const LiftTask &task, const Operator &gram, const Degrees &degrees, const Buffer<double> &f) {
    const int64_t m = task.centres.m();
    CountedVector<int64_t> order(static_cast<size_t>(m));
    std::iota(order.begin(), order.end(), int64_t{0});
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return f[a] < f[b]; });
    const Buffer<double> later = later_sums<T>(task, order, degrees.v);
    Buffer<double> own = task.run.buffer<double>(m), degree = task.run.buffer<double>(m);
    gram.diagonal(task.run, own.data());
    for (int64_t i = 0; i < m; ++i)
        own[i] *= degrees.v[i] * degrees.v[i], degree[i] = degrees.root(i) * degrees.root(i);
    const double largest = std::max(-f[order.front()], f[order.back()]);
    // The solver may return values that differ by up to its tolerance for coordinates that are
    // equal.
    return cut_in_two({order, f.data(), task.centres.weights.data(), degree.data(), own.data(), later.data(),
                       task.plan.tol * largest});
}

// Computes the vector (1, f_1 ... f_p) of each centre, scaled to length 1. The rows of U, u_0
// included, would give the same: a row of f is a row of U times a factor that depends on the degree
// of the centre, and scaling removes this factor.
Buffer<double> directions(Run &run, int64_t m, int64_t p, const Buffer<double> &f) {
    Buffer<double> e = run.buffer<double>(m, p + 1);
    for (int64_t i = 0; i < m; ++i) {
        double *row = e.data() + i * (p + 1), square = 1;
        for (int64_t j = 0; j < p; ++j) square += f[i + j * m] * f[i + j * m];
        for (int64_t j = 0; j <= p; ++j) row[j] = (j == 0 ? 1 : f[i + (j - 1) * m]) / std::sqrt(square);
    }
    return e;
}

template <class T>
void write_clusters(const LiftTask &task, const Operator &gram, const Degrees &degrees, const Buffer<double> &f,
                    int64_t clusters, Lifted &out) {
    const int64_t m = task.centres.m(), p = f.size() / m;
    const double *weights = task.centres.weights.data();
    Clusters found;
    if (clusters == 2 && p == 1) {
        found = two_clusters<T>(task, gram, degrees, f);
        if (m > 1) out.kernel_evaluations += pass_evaluations(m), ++out.passes;
    } else {
        found = part_directions(task.run, m, p, directions(task.run, m, p, f).data(), weights, clusters, seed_of(task));
    }
    out.tensors["clusters"] = std::move(found.rule);
    out.tensors["labels"] = std::move(found.labels);
    out.details["clusters"] = std::move(found.report);
    out.capabilities |= MERCER_CAN_LABELS;
}

void write_facts(const Walk &walk, const Eigenpairs &pairs, int64_t kept, Lifted &out) {
    out.details["manifold"] = record({{"alpha", walk.alpha}, {"time", walk.time}, {"mu", Json::array()}});
    for (int64_t j = 0; j < kept; ++j) {
        out.details["manifold"]["mu"].push_back(1 - pairs.values[static_cast<size_t>(j)]);
        out.residuals.push_back(pairs.residuals[static_cast<size_t>(j)]);
    }
    out.most_negative = pairs.most_negative;
    out.uncertified = "bounds on eigenvalues of the kernel matrix do not carry over to the normalised operator";
}

// Lists the first ten numbers, as "1, 2 and 7", and says how many more there are.
std::string listed(const CountedVector<int64_t> &numbers, int64_t first) {
    const size_t shown = std::min<size_t>(10, numbers.size()), rest = numbers.size() - shown;
    std::string out;
    for (size_t k = 0; k < shown; ++k)
        out += (k == 0 ? "" : k + 1 == numbers.size() ? " and " : ", ") + number_text(first + numbers[k]);
    return rest > 0 ? out + " and " + number_text(static_cast<int64_t>(rest)) + " more" : out;
}

// Pictures and clusters use the first coordinates. If these only separate rows that are far from
// all others, the report lists the rows, and a warning suggests remedies. One of them is a smaller
// alpha: the weights v = w q^-alpha grow for rows of small density q, and a large v_i keeps the
// walk at i, because 1 / P_ii - 1 is the sum of v_j k_ij / (v_i k_ii) over all other j.
void report_isolated(const LiftTask &task, const Operator &gram, const Degrees &degrees, const Eigenpairs &pairs,
                     const Walk &walk, int64_t kept, Lifted &out) {
    constexpr int64_t looked_at = 3;
    const int64_t m = task.centres.m();
    Buffer<double> stay = task.run.buffer<double>(m);
    gram.diagonal(task.run, stay.data());
    for (int64_t i = 0; i < m; ++i) stay[i] *= degrees.scale[i] * degrees.scale[i];
    const Isolated found = find_isolated(task.run, pairs, std::min(kept, std::max(looked_at, walk.clusters - 1)),
                                         task.centres.weights, stay);
    if (found.coordinates.empty()) return;
    const bool rows = task.centres.rows; // otherwise centres are new points, which have no row numbers
    CountedVector<int64_t> numbers(found.centres), coordinates(found.coordinates.begin(), found.coordinates.end()),
        chosen;
    for (size_t k = 0; rows && k < task.reduction.index.size(); ++k)
        if (task.reduction.weights[k] > 0) chosen.push_back(task.prepared.source->number(task.reduction.index[k]));
    for (size_t k = 0; rows && k < numbers.size(); ++k) numbers[k] = chosen[static_cast<size_t>(numbers[k])];
    out.details["manifold"]["isolated"] = record({{rows ? "rows" : "centres", numbers}, {"components", coordinates}});
    const bool one = numbers.size() == 1;
    out.warnings.push_back(format("component%s %s only set%s apart %s%s %s (counted from 0), hardly connected "
                                  "to the others: use a wider kernel (sigma of a gaussian)%s, or leave %s out",
                                  coordinates.size() == 1 ? "" : "s", listed(coordinates, 1).c_str(),
                                  coordinates.size() == 1 ? "s" : "", rows ? "row" : "centre", one ? "" : "s",
                                  listed(numbers, 0).c_str(), walk.alpha > 0 ? ", lift.alpha = 0" : "",
                                  one ? "it" : "them"));
}

// Returns the share of the stage `solve` that is spent on the degrees, which are computed before
// the start vectors.
double degrees_share(const LiftTask &task, const Walk &walk, double started) {
    return (1 - started) * Counted::filled * static_cast<double>(walk.products()) / task.plan.products.likely;
}

Degrees degrees_of(const LiftTask &task, const KernelMatrix &gram, const Walk &walk, double share) {
    Run::Span span(task.run, 0, share);
    return Degrees(task.run, gram.base(), task.centres.weights, walk.alpha);
}

// Computes the leading eigenpairs of S except u_0, as many as `choice` requests, and adds their
// cost to out.
Eigenpairs solve_walk(const LiftTask &task, const KernelMatrix &gram, const Degrees &degrees, const Walk &walk,
                      double started, Components &choice, Lifted &out) {
    Run &run = task.run;
    const int64_t m = task.centres.m();
    const double begun = degrees_share(task, walk, started);
    WeightedOperator symmetric(run, gram.both(), degrees.scale.data(), false);
    const Block trivial = degrees.trivial(run);
    const RankOperator rest(symmetric, columns(trivial), {-1});
    Counted op(run, rest, started, task.plan.products.likely);
    for (int64_t k = 0; k < walk.products(); ++k) op.passed(1, gram.base().f32());
    int64_t starting = 0;
    SolveProgress progress(task, record({{"alpha", walk.alpha}}), symmetric, op, choice,
                           [&] { return starting + gram.evaluations(); });
    if (progress.solver()) out.checkpointed = true;
    Buffer<double> squares = run.buffer<double>(m);
    std::transform(degrees.scale.begin(), degrees.scale.end(), squares.begin(), [](double s) { return s * s; });
    std::map<std::string, double> report;
    Eigenpairs pairs =
        solve_for({task, op, 1, nystrom_start(task, {squares.data(), false, false}, begun, begun + started, starting),
                   choice, report, progress.solver(), [] { return 1.0; }});
    out.solver_report = std::move(report);
    note_passes(task.plan, op, out);
    out.kernel_evaluations = progress.evaluations();
    return pairs;
}

// Writes the tensors of the model. Returns the coordinates f from which clusters are found.
Buffer<double> write_tensors(const LiftTask &task, const Eigenpairs &pairs, const Degrees &degrees, const Walk &walk,
                             int64_t kept, Lifted &out) {
    const int64_t wanted = walk.clusters > 0 ? std::min(walk.clusters - 1, kept) : 0;
    Buffer<double> f;
    out.tensors["A"] = task.prepared.f32 ? coefficients<float>(task.run, pairs, degrees, walk.time, kept, wanted, f)
                                         : coefficients<double>(task.run, pairs, degrees, walk.time, kept, wanted, f);
    out.tensors["b"] = vector_tensor(std::vector<double>(static_cast<size_t>(kept)));
    out.tensors["lambda"] = vector_tensor(std::vector<double>(pairs.values.begin(), pairs.values.begin() + kept));
    out.tensors["w"] = vector_tensor(task.centres.weights);
    out.tensors["v"] = vector_tensor(degrees.v);
    out.capabilities = MERCER_CAN_DENSITY;
    return f;
}

template <class T>
Lifted manifold_as(const LiftTask &task) {
    Run &run = task.run;
    const int64_t m = task.centres.m();
    const Walk walk = walk_of(task.recipe);
    Lifted out;

    run.stage("gram");
    const bool unknown = task.prepared.kernel.has_user();
    if (unknown) refuse_negative_values<T>(task);
    const KernelMatrix gram = kernel_matrix_of<T>(task);

    run.stage("solve");
    const double started = start_share(*task.centres.source, task.plan, m);
    const Degrees degrees = degrees_of(task, gram, walk, degrees_share(task, walk, started));
    Components choice(task.recipe.values(), m);
    choice.room_for(task.plan.most_pairs);
    const Eigenpairs pairs = solve_walk(task, gram, degrees, walk, started, choice, out);
    if (unknown) out.kernel_evaluations += pass_evaluations(m), ++out.passes;

    const int64_t rank = resolved_rank(task, pairs, 1, 1, &out.outcome),
                  kept = choice.kept(pairs.values, rank, 1, nullptr);
    if (choice.is_short(kept, rank)) out.outcome |= MERCER_RANK_REACHED;
    if (choice.lacks_memory()) report_lack_of_memory(task, out);
    const Buffer<double> f = write_tensors(task, pairs, degrees, walk, kept, out);
    write_facts(walk, pairs, kept, out);
    report_isolated(task, gram.base(), degrees, pairs, walk, kept, out);
    if (walk.clusters > 0) write_clusters<T>(task, gram.base(), degrees, f, walk.clusters, out);
    return out;
}

} // namespace

Plan plan_manifold(const PlanTask &task) {
    refuse_negative(task.kernel);
    const CoreValues &values = task.recipe.values();
    if (values.components == 0 && std::isnan(values.threshold))
        fail(MERCER_E_VALUE, "output.components = 0 needs error bars, which manifold methods do not provide: set it to "
                             "> 0, or set output.threshold");
    const Walk walk = walk_of(task.recipe);
    if (walk.clusters > task.m)
        fail(MERCER_E_VALUE, "lift.clusters = %" PRId64 ", must be at most the number of centres, %" PRId64,
             walk.clusters, task.m);
    // The memory of this lift: v, scale and its square; u_0 or, later, the buffers to detect
    // isolated rows; for clusters also f, directions and the buffers of the clustering.
    const int64_t own = 8 * task.m * (6 + (walk.clusters > 0 ? 2 * walk.clusters + 12 : 0));
    PlanTask rest = task;
    rest.budget_left -= own;
    Plan plan = plan_weighted(rest);
    plan.bytes += own;
    plan.likely_bytes += own, plan.least_bytes += own;
    const double degrees = static_cast<double>(walk.products()),
                 sweeps = (walk.clusters == 2) + (task.kernel.has_user() ? 1.0 : 0.0),
                 passes = sweeps + (plan.store != Store::matrix || plan.rough ? degrees : 0);
    plan.add(&Cost::kernel_evaluations, passes * static_cast<double>(pass_evaluations(task.m)));
    plan.add(&Cost::passes, passes);
    plan.add(&Cost::columns, degrees);
    plan.add(&Cost::products, degrees);
    return plan;
}

Lifted lift_manifold(const LiftTask &task) {
    return task.plan.f32 ? manifold_as<float>(task) : manifold_as<double>(task);
}

} // namespace mercer
