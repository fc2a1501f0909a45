// Two clusters: A has the nodes up to a threshold of f, and B has the others. One sweep over the m
// sorted nodes tries all thresholds. When a node moves from B to A, the cut gains the edges of the
// node to B and loses those to A, so that it grows by later - (degree - own - later). Cost: O(m),
// after the caller has sorted the nodes and computed the sums `later`. Rounding changes the cut by
// about m u times the sum of all degrees.
//
// More clusters: Lloyd's k-means (1982) with the seeds of Arthur and Vassilvitskii (2007), the best
// of several starts. The score c.e - |c|^2 / 2 of the rule is largest for the centroid c that is
// nearest to e. (The reducer `kmeans` is a plugin for rows of data and very many clusters, which
// saves distances by bounds. Here rows and clusters are few, so all distances are computed, and the
// best of several starts is taken.) Cost: 2 m k p flops per iteration. The rows are processed in
// slabs, whose sums are added in order, so that the result is bit-identical for any number of
// threads.
#include "clusters.h"

#include "../core/blas.h"
#include "../core/rng.h"
#include "../core/threads.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mercer {
namespace {

// Renumbers the clusters in order of decreasing weight and leaves out those without weight. labels:
// for each node, the number of its row of `rule`; some rows may have no node.
Clusters by_weight(const std::vector<std::vector<double>> &rule, const CountedVector<int64_t> &labels,
                   const double *weights) {
    std::vector<double> mass(rule.size());
    // The first node of each cluster, which decides the order of clusters of equal weight.
    std::vector<size_t> first(rule.size(), labels.size());
    for (size_t i = 0; i < labels.size(); ++i) {
        const size_t j = static_cast<size_t>(labels[i]);
        mass[j] += weights[i];
        first[j] = std::min(first[j], i);
    }
    std::vector<size_t> order;
    for (size_t j = 0; j < rule.size(); ++j)
        if (mass[j] > 0) order.push_back(j);
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return mass[a] != mass[b] ? mass[a] > mass[b] : first[a] < first[b]; });
    std::vector<int64_t> number(rule.size());
    const int64_t cols = static_cast<int64_t>(rule[0].size());
    Clusters out{make_tensor<double>(static_cast<int64_t>(order.size()), cols),
                 make_tensor<int64_t>(static_cast<int64_t>(labels.size()), 1, true), Json::object()};
    for (size_t j = 0; j < order.size(); ++j) {
        number[order[j]] = static_cast<int64_t>(j);
        std::copy_n(rule[order[j]].data(), cols, tensor_data<double>(out.rule) + static_cast<int64_t>(j) * cols);
        out.report["weights"].push_back(mass[order[j]]);
    }
    std::transform(labels.begin(), labels.end(), tensor_data<int64_t>(out.labels),
                   [&](int64_t label) { return number[static_cast<size_t>(label)]; });
    return out;
}

constexpr int64_t slab_rows = 2048, most_iterations = 100, starts = 8;

struct UnitRows {
    int64_t m, q; // m rows of q numbers; each row has Euclidean length 1
    const double *e, *weights;
    const double *row(int64_t i) const { return e + i * q; }
};

// k centroids, each followed by the offset |c|^2 / 2 of its score: k x (q + 1), row-major.
using Centroids = std::vector<double>;

struct Partition {
    Centroids centroids;
    CountedVector<int64_t> labels;
    double inertia = INFINITY;
};

void set_offset(double *centroid, int64_t q) {
    centroid[q] = std::inner_product(centroid, centroid + q, centroid, 0.0) / 2;
}

// Draws the seeds: the first is a row drawn in proportion to the weights, and each further seed is
// a row drawn in proportion to its weight times its squared distance to the nearest seed so far.
Centroids seeds_of(const UnitRows &rows, int64_t k, const Random &random, int64_t start) {
    Centroids out;
    // The weight of each row times its squared distance to the nearest seed. Before the first seed,
    // the weight alone.
    CountedVector<double> mass(rows.weights, rows.weights + rows.m);
    const double rounding = 1e-14 * std::accumulate(mass.begin(), mass.end(), 0.0);
    for (int64_t j = 0; j < k; ++j) {
        const double total = std::accumulate(mass.begin(), mass.end(), 0.0);
        if (!(total > rounding)) break; // all rows coincide with seeds
        double left = random.uniform(start, j) * total;
        int64_t drawn = 0;
        while (drawn + 1 < rows.m && (left -= mass[static_cast<size_t>(drawn)]) >= 0) ++drawn;
        while (drawn > 0 && mass[static_cast<size_t>(drawn)] == 0) --drawn;
        const double *c = rows.row(drawn);
        out.insert(out.end(), c, c + rows.q);
        out.push_back(0);
        set_offset(out.data() + j * (rows.q + 1), rows.q);
        for (int64_t i = 0; i < rows.m; ++i) {
            const double distance = std::max(2 - 2 * std::inner_product(c, c + rows.q, rows.row(i), 0.0), 0.0);
            double &kept = mass[static_cast<size_t>(i)];
            kept = j == 0 ? rows.weights[i] * distance : std::min(kept, rows.weights[i] * distance);
        }
    }
    return out;
}

// Assigns each row to the cluster whose score is largest. `sums` receives for each cluster the
// weighted sum of its rows and the sum of their weights, and after all clusters a number that is
// above 0 if a label has changed, and the inertia. Returns true if a label has changed.
bool assign(Run &run, const UnitRows &rows, Partition &partition, std::vector<double> &sums) {
    const int64_t q = rows.q, stride = q + 1, k = static_cast<int64_t>(partition.centroids.size()) / stride,
                  slabs = (rows.m + slab_rows - 1) / slab_rows, part = k * stride + 2;
    Buffer<double> parts = std::move(run.buffer<double>(part, slabs).zero());
    parallel_for(run, slabs, [&](int64_t s) {
        const int64_t first = s * slab_rows, count = std::min(slab_rows, rows.m - first);
        double *own = parts.data() + s * part;
        Buffer<double> scores = run.buffer<double>(k, count);
        gemm('T', 'N', k, count, q, 1.0, partition.centroids.data(), stride, rows.row(first), q, 0.0, scores.data(), k);
        for (int64_t i = 0; i < count; ++i) {
            const double *score = scores.data() + i * k, weight = rows.weights[first + i];
            int64_t best = 0;
            auto of = [&](int64_t j) { return score[j] - partition.centroids[static_cast<size_t>(j * stride + q)]; };
            for (int64_t j = 1; j < k; ++j)
                if (of(j) > of(best)) best = j;
            int64_t &label = partition.labels[static_cast<size_t>(first + i)];
            if (label != best) own[k * stride] = 1;
            label = best;
            own[k * stride + 1] += weight * std::max(1 - 2 * of(best), 0.0);
            for (int64_t l = 0; l < q; ++l) own[best * stride + l] += weight * rows.row(first + i)[l];
            own[best * stride + q] += weight;
        }
    });
    sums.assign(static_cast<size_t>(part), 0.0);
    for (int64_t s = 0; s < slabs; ++s)
        for (int64_t l = 0; l < part; ++l) sums[static_cast<size_t>(l)] += parts[s * part + l];
    partition.inertia = sums[static_cast<size_t>(part - 1)];
    return sums[static_cast<size_t>(part - 2)] > 0;
}

Partition lloyd(Run &run, const UnitRows &rows, Centroids centroids) {
    const int64_t q = rows.q, stride = q + 1;
    Partition out{std::move(centroids), CountedVector<int64_t>(static_cast<size_t>(rows.m), -1)};
    std::vector<double> sums;
    for (int64_t k = 0; assign(run, rows, out, sums) && k < most_iterations; ++k)
        for (int64_t j = 0; j < static_cast<int64_t>(out.centroids.size()); j += stride) {
            const double weight = sums[static_cast<size_t>(j + q)];
            if (!(weight > 0)) continue; // an empty cluster keeps its centroid
            double *c = out.centroids.data() + j;
            for (int64_t l = 0; l < q; ++l) c[l] = sums[static_cast<size_t>(j + l)] / weight;
            set_offset(c, q);
        }
    return out;
}

} // namespace

Clusters cut_in_two(const Nodes &nodes) {
    const CountedVector<int64_t> &order = nodes.order;
    double volume = 0, passed = 0, cut = 0, best = INFINITY, threshold = INFINITY;
    for (int64_t i : order) volume += nodes.degrees[i];
    for (size_t t = 0; t + 1 < order.size(); ++t) {
        const int64_t i = order[t];
        passed += nodes.degrees[i];
        cut += 2 * nodes.later[t] + nodes.own[i] - nodes.degrees[i];
        const double here = nodes.f[i], next = nodes.f[order[t + 1]],
                     value = std::max(cut, 0.0) / passed + std::max(cut, 0.0) / (volume - passed);
        if (next - here > nodes.equal && value < best) best = value, threshold = here + (next - here) / 2;
    }
    CountedVector<int64_t> labels(order.size());
    for (size_t i = 0; i < labels.size(); ++i) labels[i] = nodes.f[i] > threshold;
    const bool parted = std::isfinite(best);
    Clusters out = by_weight({{0, 0, 0}, {parted ? -threshold : 0, parted ? 1.0 : 0, 0}}, labels, nodes.weights);
    if (parted) out.report["ncut"] = best, out.report["threshold"] = threshold;
    return out;
}

Clusters part_directions(Run &run, int64_t m, int64_t p, const double *e, const double *weights, int64_t k,
                         uint64_t seed) {
    const UnitRows rows{m, p + 1, e, weights};
    const Random random(seed, Stage::clusters);
    Partition best;
    for (int64_t s = 0; s < starts; ++s) {
        Partition found = lloyd(run, rows, seeds_of(rows, k, random, s));
        if (found.inertia < best.inertia) best = std::move(found);
    }
    std::vector<std::vector<double>> rule;
    for (size_t j = 0; j < best.centroids.size(); j += static_cast<size_t>(p + 2))
        rule.emplace_back(best.centroids.begin() + static_cast<int64_t>(j),
                          best.centroids.begin() + static_cast<int64_t>(j) + p + 2);
    Clusters out = by_weight(rule, best.labels, weights);
    out.report["inertia"] = best.inertia;
    return out;
}

} // namespace mercer
