// Bounds of the error of replacing each row x_i by its centre c_i = c_alpha(i), one group for each
// level of evidence. q_i = |x_i - c_i|, delta_i = x_i - c_i; the sample weights s_i have sum n;
// k = f(|x - y|) with f decreasing and f(0) = kappa. eps is a radius that the reducer reported, Lip
// the Lipschitz constant of f. phi is the feature map of k, and phi_2 that of the kernel k^2.
// K = [k(x_i, x_j)], K_alpha = [k(c_i, c_j)], both n x n.
//
//   radius      mmd          sqrt(2 (kappa - f(eps)))
//               covariance   sqrt(2 (kappa^2 - f(eps)^2))
//               eigenvalues  sqrt2 Lip eps
//   distances   mmd          mean_i sqrt(2 (kappa - f(q_i)))
//               covariance   mean_i sqrt(2 (kappa^2 - f(q_i)^2))
//               eigenvalues  Lip sqrt(2 (mean q^2 - |mean delta|^2))
//   clusters    mmd          (1/n) sum_j |sum_{alpha(i) = j} s_i (phi(x_i) - phi(c_j))|
//               covariance   the same for the kernel k^2
//   pairs       covariance   sqrt(est + b^2 sqrt(2 ln(1/delta) / N)), wrong with probability delta:
//                            est = mean of <phi_2(x_i) - phi_2(c_i), phi_2(x_j) - phi_2(c_j)> over
//                            N random pairs (i, j), b^2 = max 2 (kappa^2 - f(q_i)^2)   (Hoeffding)
//   exact       mmd          |mean of phi over rows - weighted mean of phi over centres|
//               covariance   the same for phi_2
//               eigenvalues  |K - K_alpha|_F / n
//
// Each single eigenvalue also differs by at most the bound of the covariance. reduction.cpp derives
// the certificates from these bounds. Cost, in the order of the levels: 1; n d; d times the sum of
// the squared sizes of the clusters; N; n^2. Rounding: differences of sums of kernel values err by
// about (2 e + 4 log2 n) u kappa under the root, where e u is the error of a kernel value
// (points.h: value_error); the bounds include this error.
#include "reduction.h"

#include "../core/rounding.h"
#include "../core/slabs.h"
#include "../gram/tile.h"
#include "../operator/gram_cost.h"
#include "residual_samples.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace mercer {
namespace {

// The properties of f that are known.
struct Radial {
    bool falls; // f decreases with the distance; otherwise nothing is known about the kernel
    double kappa, lipschitz;

    Radial(const Expression &kernel, const Source &source)
        : falls(source.kind() != Source::Kind::objects && kernel.falls()), kappa(kernel.kappa()),
          lipschitz(falls ? kernel.leaves[0].facts.lipschitz * kernel.terms()[0].weight : NAN) {}
    // Bounds, including rounding, the distance in feature space between a row and a point if f is
    // the kernel value of the two: sqrt(2 (kappa - f)) for the kernel k, sqrt(2 (kappa^2 - f^2))
    // for the kernel k^2.
    double step(double f) const { return std::sqrt(2 * std::max(kappa - f, 0.0) + 16 * 0x1p-53 * kappa); }
    double step_of_squares(double f) const {
        return std::sqrt(2 * std::max(kappa * kappa - f * f, 0.0) + 32 * 0x1p-53 * kappa * kappa);
    }
};

struct ReducedRows {
    Run &run;
    const CoreValues &values;
    const Prepared &prepared;
    const Centres &centres;
    Radial radial;
    int64_t n, m;
    double total;

    explicit ReducedRows(const ReducedModel &of)
        : run(of.run), values(of.values), prepared(of.prepared), centres(of.centres),
          radial(of.prepared.kernel, *of.prepared.source), n(of.prepared.source->rows()), m(of.centres.m()),
          total(static_cast<double>(n)) {}
    double s(int64_t i) const { return prepared.weights[static_cast<size_t>(i)]; }
    double w(int64_t j) const { return centres.weights[static_cast<size_t>(j)]; }
    bool assigned() const { return centres.represents_rows; }
    // Returns the rounding error of a difference of sums whose magnitude is `scale`: the error of
    // the kernel values plus that of adding them.
    double rounding(double scale) const {
        return (2 * value_error(prepared.f32) + 4 * std::log2(total + 1)) * unit_roundoff(prepared.f32) * scale;
    }
};

// ---- distances

// squared: q_i^2 of each row; mean_squared: mean q_i^2; drift: |mean delta|^2; farthest: largest
// q_i^2.
struct Displacements {
    Buffer<double> squared;
    double mean_squared = 0, drift = 0, farthest = 0;
};

Displacements measure(const ReducedRows &of) {
    Points<double> x(of.prepared.source, of.prepared.map, {{MERCER_BLOCK, false, {}, {}}}),
        c(of.centres.source, {}, {{MERCER_BLOCK, false, {}, {}}});
    const int64_t d = x.cols();
    Buffer<double> centres = of.run.buffer<double>(of.m, d);
    for (int64_t b = 0; b < blocks_of(of.m); ++b) {
        const Panel<double> panel = c.load(of.run, b);
        std::copy_n(panel.mapped.data(), panel.rows * d, centres.data() + panel.row0 * d);
    }
    Displacements out{of.run.buffer<double>(of.n), 0, 0, 0};
    Buffer<double> mean = std::move(of.run.buffer<double>(d).zero());
    reduce_slabs<Buffer<double>>(
        of.run, {.n = of.n, .rows = tile_rows, .serial = x.source().in_passes()},
        [&](int64_t row0, int64_t rows, Buffer<double> &drift) {
            const Panel<double> panel = x.load(of.run, row0, rows);
            drift = std::move(of.run.buffer<double>(d).zero());
            for (int64_t i = 0; i < rows; ++i) {
                const int64_t row = row0 + i, centre = of.centres.assignment[row];
                double sum = 0;
                for (int64_t k = 0; centre >= 0 && k < d; ++k) {
                    const double delta = panel.mapped[i * d + k] - centres[centre * d + k];
                    sum += delta * delta;
                    drift[k] += of.s(row) * delta / of.total;
                }
                out.squared[row] = sum;
            }
        },
        [&](const Buffer<double> &drift) {
            for (int64_t k = 0; k < d; ++k) mean[k] += drift[k];
        });
    for (double value : mean) out.drift += value * value;
    for (int64_t i = 0; i < of.n; ++i) {
        out.mean_squared += of.s(i) / of.total * out.squared[i];
        if (of.s(i) > 0) out.farthest = std::max(out.farthest, out.squared[i]);
    }
    return out;
}

// A radius that the reducer reported is checked where distances are known: no row may be farther
// from its centre.
void check_radius(const Displacements &displacements, double radius) {
    const double farthest = std::sqrt(displacements.farthest);
    if (farthest > radius * (1 + 1e-6) + 1e-12 * farthest)
        fail(MERCER_E_PLUGIN,
             "the reducer reported 'epsilon' or 'radius' = %g, the largest distance of a row to its centre, but a row "
             "is %g away from its centre",
             radius, farthest);
}

Quantisation by_radius(const ReducedRows &of, double epsilon) {
    double f = epsilon * epsilon;
    of.prepared.kernel.radial(&f, 1);
    const double each = std::sqrt(2.0) * of.radial.lipschitz * epsilon;
    return {.by = "radius",
            .mmd = of.radial.step(f),
            .covariance = of.radial.step_of_squares(f),
            .eigenvalues = std::isfinite(each) ? each : NAN};
}

Quantisation by_distances(const ReducedRows &of, const Displacements &displacements) {
    Buffer<double> f = of.run.buffer<double>(of.n);
    std::copy(displacements.squared.begin(), displacements.squared.end(), f.begin());
    of.prepared.kernel.radial(f.data(), of.n);
    Quantisation out{.by = "distances", .mmd = 0, .covariance = 0};
    for (int64_t i = 0; i < of.n; ++i) {
        out.mmd += of.s(i) / of.total * of.radial.step(f[i]);
        out.covariance += of.s(i) / of.total * of.radial.step_of_squares(f[i]);
    }
    const double spread =
        std::max(displacements.mean_squared - displacements.drift, 0.0) + 0x1p-50 * displacements.mean_squared;
    out.eigenvalues = of.radial.lipschitz * std::sqrt(2 * spread);
    return out;
}

// ---- sums of kernel values

using Sums = std::array<double, 2>; // sums of u_i v_j k_ij and of u_i v_j k_ij^2

template <class T, class Left, class Right>
Sums sums_over(Run &run, const Tiles<T> &tiles, Left &&u, Right &&v, Range range) {
    std::vector<Sums> slabs(static_cast<size_t>(blocks_of(tiles.x().rows())));
    sweep<T>(
        run, tiles, 0, tiles.x().rows(),
        [&](const Tile<T> &tile) {
            Sums &sums = slabs[static_cast<size_t>(tile.slab)];
            const double twice = range == Range::upper && tile.y.row0 > tile.x.row0 ? 2 : 1;
            for (int64_t i = 0; i < tile.x.rows; ++i) {
                double one = 0, square = 0;
                for (int64_t j = 0; j < tile.y.rows; ++j) {
                    const double k = static_cast<double>(tile.values[i * tile_rows + j]), weight = v(tile.y.row0 + j);
                    one += weight * k, square += weight * k * k;
                }
                sums[0] += twice * u(tile.x.row0 + i) * one, sums[1] += twice * u(tile.x.row0 + i) * square;
            }
            return true;
        },
        range);
    Sums out{};
    for (const Sums &slab : slabs)
        for (size_t k = 0; k < 2; ++k) out[k] += slab[k];
    return out;
}

template <class T>
struct Parts {
    Points<T> x, c;
    explicit Parts(const ReducedRows &of)
        : x(of.prepared.source, of.prepared.map, leaf_specs(of.prepared.kernel)),
          c(points_of<T>(of.prepared.kernel, of.centres)) {
        x.lean();
        c.lean();
    }
};

// Scratch memory that tasks hand on to each other, because allocating it anew costs more than
// computing a small tile.
template <class T>
struct ScratchPool : Pool<TileScratch<T>> {
    ScratchPool(Run &run, const Tiles<T> &tiles)
        : Pool<TileScratch<T>>(
              [&run, &tiles] { return std::unique_ptr<TileScratch<T>>(new TileScratch<T>(tiles.scratch(run))); }) {}
};

// ---- clusters

template <class T>
Quantisation by_clusters(const ReducedRows &of, Lifted &model) {
    Parts<T> parts(of);
    CountedVector<int64_t> order;
    for (int64_t i = 0; i < of.n; ++i)
        if (of.centres.assignment[i] >= 0) order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return of.centres.assignment[a] < of.centres.assignment[b]; });
    Quantisation out{.by = "clusters", .mmd = 0, .covariance = 0};
    for (size_t first = 0, last = 0; first < order.size(); first = last) {
        const int64_t centre = of.centres.assignment[order[first]];
        while (last < order.size() && of.centres.assignment[order[last]] == centre) ++last;
        const int64_t size = static_cast<int64_t>(last - first);
        const int64_t *rows = order.data() + first;
        Points<T> own = parts.x.only(rows, size), head = parts.c.only(&centre, 1);
        auto s = [&](int64_t i) { return of.s(rows[i]); };
        const auto one = [](int64_t) { return 1.0; };
        const Sums among = sums_over<T>(of.run, Tiles<T>(of.prepared.kernel, own, own), s, s, Range::upper),
                   across = sums_over<T>(of.run, Tiles<T>(of.prepared.kernel, own, head), s, one, Range::all),
                   self = sums_over<T>(of.run, Tiles<T>(of.prepared.kernel, head, head), one, one, Range::all);
        model.kernel_evaluations += size * (size + 1) + 1;
        double weight = 0;
        for (int64_t i = 0; i < size; ++i) weight += s(i);
        for (size_t k = 0; k < 2; ++k) {
            const double square = among[k] - 2 * weight * across[k] + weight * weight * self[k],
                         scale = weight * weight * self[k];
            (k == 0 ? out.mmd : out.covariance) += std::sqrt(std::max(square, 0.0) + of.rounding(scale)) / of.total;
        }
    }
    return out;
}

// ---- pairs

constexpr int64_t pair_count = 100000, pair_edge = 16;
// Up to this many rows the level `exact` replaces the level `pairs`, because it needs at most about
// as many kernel values.
constexpr int64_t exact_up_to = 2000;

template <class T>
Quantisation by_pairs(const ReducedRows &of, const Displacements &displacements, double failure, Lifted &model) {
    Parts<T> parts(of);
    double f = displacements.farthest;
    of.prepared.kernel.radial(&f, 1);
    const double range = of.radial.step_of_squares(f) * of.radial.step_of_squares(f);
    CountedVector<double> before(static_cast<size_t>(of.n) + 1); // cumulative weights
    for (int64_t i = 0; i < of.n; ++i) before[static_cast<size_t>(i) + 1] = before[static_cast<size_t>(i)] + of.s(i);
    const Random random(static_cast<uint64_t>(of.values.seed), Stage::certificate);
    auto draw = [&](int64_t side, int64_t k) {
        const double at = random.uniform(side, k) * before.back();
        const auto above = std::upper_bound(before.begin(), before.end(), at);
        return std::min<int64_t>(above - before.begin() - 1, of.n - 1);
    };
    std::array<CountedVector<int64_t>, 2> rows, heads;
    for (size_t side = 0; side < 2; ++side)
        for (int64_t k = 0; k < pair_count; ++k) {
            rows[side].push_back(draw(100 + static_cast<int64_t>(side), k));
            heads[side].push_back(of.centres.assignment[rows[side].back()]);
        }
    constexpr int64_t edge = pair_edge, blocks = (pair_count + edge - 1) / edge;
    std::vector<double> sums(static_cast<size_t>(blocks));
    const Expression &kernel = of.prepared.kernel;
    auto sample = [&](int64_t first, int64_t some) {
        Points<T> x0 = parts.x.gathered(of.run, rows[0].data() + first, some),
                  x1 = parts.x.gathered(of.run, rows[1].data() + first, some),
                  c0 = parts.c.only(heads[0].data() + first, some), c1 = parts.c.only(heads[1].data() + first, some);
        const std::array<Tiles<T>, 4> tiles{Tiles<T>(kernel, x0, x1), Tiles<T>(kernel, x0, c1),
                                            Tiles<T>(kernel, c0, x1), Tiles<T>(kernel, c0, c1)};
        ScratchPool<T> pool(of.run, tiles[0]);
        parallel_for(
            of.run, (some + edge - 1) / edge,
            [&](int64_t b) {
                const int64_t at = b * edge, count = std::min(edge, some - at);
                const auto stored = pool.take();
                TileScratch<T> &scratch = *stored;
                double &sum = sums[static_cast<size_t>(first / edge + b)];
                for (size_t part = 0; part < 4; ++part) {
                    tiles[part].compute(tiles[part].x().load(of.run, at, count),
                                        tiles[part].y().load(of.run, at, count), scratch);
                    for (int64_t k = 0; k < count; ++k) {
                        const double value = static_cast<double>(scratch.tile[k * tile_rows + k]);
                        sum += (part == 0 || part == 3 ? 1 : -1) * value * value;
                    }
                }
            },
            tiles[0].serial());
        return true;
    };
    for_windows(of.run, pair_count, drawn_at_once(of.run, parts.x.source(), pair_count, 2, edge), sample);
    model.kernel_evaluations += 4 * pair_count * edge;
    const double count = static_cast<double>(pair_count), mean = std::accumulate(sums.begin(), sums.end(), 0.0) / count,
                 square = mean + range * std::sqrt(2 * std::log(1 / failure) / count) +
                          of.rounding(of.radial.kappa * of.radial.kappa);
    return {.by = "pairs", .covariance = std::sqrt(std::max(square, 0.0)), .failure = failure};
}

// ---- exact values

// Computes |K - K_alpha|_F^2, with rows and columns weighted by the roots of the sample weights.
template <class T>
double squared_difference(const ReducedRows &of, const Parts<T> &parts, const Tiles<T> &all) {
    CountedVector<int64_t> centres(of.centres.assignment.begin(), of.centres.assignment.end());
    for (int64_t &centre : centres) centre = std::max<int64_t>(centre, 0); // rows of weight 0 have no centre
    if (const int64_t *number = of.centres.numbers())
        for (int64_t &centre : centres) centre = number[centre]; // the number of the centre among the objects
    Points<T> heads = parts.c.only(centres.data(), of.n);
    const Tiles<T> other(of.prepared.kernel, heads, heads);
    ScratchPool<T> pool(of.run, other);
    std::vector<double> slabs(static_cast<size_t>(blocks_of(of.n)));
    sweep<T>(
        of.run, all, 0, of.n,
        [&](const Tile<T> &tile) {
            const auto scratch = pool.take();
            other.compute(heads.load(of.run, tile.x.row0, tile.x.rows), heads.load(of.run, tile.y.row0, tile.y.rows),
                          *scratch);
            double sum = 0;
            for (int64_t i = 0; i < tile.x.rows; ++i)
                for (int64_t j = 0; j < tile.y.rows; ++j) {
                    const double e = static_cast<double>(tile.values[i * tile_rows + j]) -
                                     static_cast<double>(scratch->tile[i * tile_rows + j]);
                    sum += of.s(tile.x.row0 + i) * of.s(tile.y.row0 + j) * e * e;
                }
            slabs[static_cast<size_t>(tile.slab)] += tile.y.row0 > tile.x.row0 ? 2 * sum : sum;
            return true;
        },
        Range::upper);
    return std::accumulate(slabs.begin(), slabs.end(), 0.0);
}

template <class T>
Quantisation exactly(const ReducedRows &of, Lifted &model) {
    Parts<T> parts(of);
    const Expression &kernel = of.prepared.kernel;
    const Tiles<T> xx(kernel, parts.x, parts.x), xc(kernel, parts.x, parts.c), cc(kernel, parts.c, parts.c);
    auto s = [&](int64_t i) { return of.s(i); };
    auto w = [&](int64_t j) { return of.w(j); };
    const Sums rows = sums_over<T>(of.run, xx, s, s, Range::upper), both = sums_over<T>(of.run, xc, s, w, Range::all),
               centres = sums_over<T>(of.run, cc, w, w, Range::upper);
    Quantisation out{.by = "exact"};
    for (size_t k = 0; k < 2; ++k) {
        const double square = rows[k] - 2 * both[k] + centres[k], scale = rows[k] + centres[k];
        (k == 0 ? out.mmd : out.covariance) =
            std::sqrt(std::max(square, 0.0) + of.rounding(std::fabs(scale))) / of.total;
        (k == 0 ? out.true_mmd : out.true_covariance) = std::sqrt(std::max(square, 0.0)) / of.total;
    }
    model.kernel_evaluations += pass_evaluations(of.n) + of.n * of.m + pass_evaluations(of.m);
    if (!of.assigned()) return out;
    const double u = unit_roundoff(of.prepared.f32);
    out.eigenvalues =
        std::sqrt(squared_difference<T>(of, parts, xx)) / of.total + 4 * u * std::fabs(rows[0]) / of.total;
    model.kernel_evaluations += 2 * pass_evaluations(of.n);
    return out;
}

// Which levels beside `radius` will be computed.
struct Effort {
    bool distances, clusters, pairs, exact;
};

Effort effort_of(const CoreValues &values, int64_t n, bool radial, bool assigned) {
    const CertificateLevel wanted = static_cast<CertificateLevel>(values.certificates);
    const bool all = wanted == CertificateLevel::exact || (wanted != CertificateLevel::none && n <= exact_up_to);
    return {radial && assigned && wanted != CertificateLevel::none, radial && assigned && all,
            radial && assigned && wanted != CertificateLevel::none && !all, all};
}

template <class T>
std::vector<Quantisation> found_as(const ReducedRows &of, Lifted &model) {
    std::vector<Quantisation> out;
    const bool radial = of.radial.falls;
    const Effort effort = effort_of(of.values, of.n, radial, of.assigned());
    for (const double radius : of.centres.radii)
        if (radial && of.assigned()) out.push_back(by_radius(of, radius));
    if (effort.distances) {
        const Displacements displacements = measure(of);
        for (const double radius : of.centres.radii) check_radius(displacements, radius);
        out.push_back(by_distances(of, displacements));
        if (effort.pairs) out.push_back(by_pairs<T>(of, displacements, of.values.delta, model));
    }
    if (effort.clusters) out.push_back(by_clusters<T>(of, model));
    if (effort.exact) out.push_back(exactly<T>(of, model));
    return out;
}

// The mean of k(x, x).
double mean_self(const Lifted &model) {
    return (model.total_variance ? model.total_variance->value : 0) + model.mean_square.value_or(0);
}

} // namespace

Levels quantise(const ReducedModel &model) {
    const ReducedRows of(model);
    return {of.prepared.f32 ? found_as<float>(of, model.model) : found_as<double>(of, model.model), of.radial.kappa,
            of.rounding(mean_self(model.model))};
}

void plan_quantisation(const PlanTask &task, Cost &cost) {
    if (!task.kernel.is_psd() && !task.kernel.has_user()) return; // a user kernel may turn out to be declared PSD
    const int64_t n = task.source.rows(), d = task.source.cols(), m = task.m;
    const Effort effort =
        effort_of(task.recipe.values(), n, Radial(task.kernel, task.source).falls, task.represents_rows);
    const double rows = static_cast<double>(n), centres = static_cast<double>(m),
                 all = (task.represents_rows ? 3 : 1) * static_cast<double>(pass_evaluations(n)) + rows * centres +
                       static_cast<double>(pass_evaluations(m)),
                 together = rows * (rows + 1) + centres, // values of level `clusters` if one cluster has all rows
        certain = (effort.pairs ? 4.0 * pair_count * pair_edge : 0) + (effort.exact ? all : 0);
    if (m < n) // if m = n, each row may be its own centre; then no certificates are computed
        cost.kernel_evaluations.likely += certain + (effort.clusters ? together / centres : 0);
    cost.kernel_evaluations.most += certain + (effort.clusters ? together : 0);
    const int64_t distances = effort.distances ? 8 * (m * d + 66 * d + 2 * n) : 0,
                  at_once = drawn_at_once(task.run, task.source, pair_count, 2, pair_edge),
                  pairs = effort.pairs ? 8 * (n + 4 * pair_count) + drawn_bytes(task.source, 2 * at_once) : 0,
                  clusters = effort.clusters ? 16 * n : 0;
    if (!effort.distances && !effort.exact) return;
    const Bytes bytes = sweep_bytes(task.run, task.kernel, task.source, task.f32, Others::all) +
                        (distances + std::max(pairs, clusters));
    // Twice, because tiles between rows and tiles between centres exist at the same time.
    cost.needs({bytes.likely, 2 * bytes.most});
}

} // namespace mercer
