// Cluster labels from the coordinates of a random walk: a linear rule that applies to new points too.
#pragma once
#include "../model/model.h"

namespace mercer {

// Each node of the graph becomes a point e = (1, f_1 ... f_p) / |.|, and the rule assigns a label
// to each point:
//   label = the first j that maximises  sum_l rule_jl e_l - rule_j,p+1
// Clusters are numbered in order of decreasing weight.
struct Clusters {
    Tensor rule;   // clusters x (p + 2)
    Tensor labels; // of the nodes
    Json report;
};

// The nodes in the order of their f, and the weights of the edges between them.
struct Nodes {
    const CountedVector<int64_t> &order;
    const double *f, *weights, *degrees, *own; // by node; own: weights of edges to themselves, included in degrees
    const double *later;                       // by place in the order: sum of a node's edges to later nodes
    double equal;                              // values of f that differ by at most this count as equal
};
// Finds two clusters, by the threshold of f that minimises cut / vol(A) + cut / vol(B) (Shi and
// Malik 2000).
Clusters cut_in_two(const Nodes &nodes);

// Finds k clusters by k-means of the points e (Ng, Jordan and Weiss 2002): m x (p + 1), row-major.
// There are fewer clusters if fewer than k points differ.
Clusters part_directions(Run &run, int64_t m, int64_t p, const double *e, const double *weights, int64_t k,
                         uint64_t seed);

} // namespace mercer
