// Cluster labels from the coordinates of a random walk: a linear rule that applies to new points too.
#pragma once
#include "../model/model.h"

namespace mercer {

// Each node of the graph becomes a point e = (1, f_1 ... f_p) / |.|; the rule assigns labels to points:
//   label = the first j of largest  sum_l rule_jl e_l - rule_j,p+1,   clusters numbered in order of decreasing weight.
struct Clusters {
    Tensor rule;   // clusters x (p + 2)
    Tensor labels; // of the nodes
    Json report;
};

// Nodes in the order of their f, and the weights of the edges between them.
struct Nodes {
    const CountedVector<int64_t> &order;
    const double *f, *weights, *degrees, *own; // by node; own: edges to themselves, which degrees contain
    const double *later;                       // by place in the order: sum of a node's edges to those behind it
    double equal;                              // values of f that differ by at most this count as equal
};
// Two clusters, by the threshold of f that minimises cut / vol(A) + cut / vol(B) (Shi and Malik 2000).
Clusters cut_in_two(const Nodes &nodes);

// k-means of the points e (Ng, Jordan and Weiss 2002): m x (p + 1), row-major. Fewer than k clusters if fewer points differ.
Clusters part_directions(Run &run, int64_t m, int64_t p, const double *e, const double *weights, int64_t k,
                         uint64_t seed);

} // namespace mercer
