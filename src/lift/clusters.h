// Finds clusters of the nodes of a graph from the coordinates that a random walk gives them, and a
// linear rule that assigns labels to new points, too.
#pragma once
#include "../model/model.h"

namespace mercer {

// Each node of the graph, with its coordinates f_1 ... f_p, becomes the point e = (1, f_1 ... f_p),
// scaled to length 1. The rule assigns a label to each point:
//   label = the first j that maximises  sum_l rule_jl e_l - rule_j,p+1   (l = 0 ... p)
// Clusters are numbered from 0 in order of decreasing weight.
struct Clusters {
    Tensor rule;   // clusters x (p + 2)
    Tensor labels; // the cluster of each node
    Json report;
};

// The nodes of the graph in ascending order of their coordinate f, and the weights of the edges
// between them.
struct Nodes {
    const CountedVector<int64_t> &order;
    // By node: its coordinate, its weight as a centre, its degree (the sum of the weights of all
    // its edges), and the weight of its edge to itself, which the degree includes.
    const double *f, *weights, *degrees, *own;
    const double *later; // later[t]: the sum of the edges from node order[t] to the nodes after it
    double equal;        // values of f are taken as equal if they differ by at most this
};
// Finds two clusters A and B, on either side of the threshold of f that minimises
// cut / vol(A) + cut / vol(B), where vol is the sum of the degrees (Shi and Malik 2000).
Clusters cut_in_two(const Nodes &nodes);

// Finds k clusters by k-means of the points e (Ng, Jordan and Weiss 2002). e: m x (p + 1),
// row-major. There are fewer clusters if fewer than k points differ.
Clusters part_directions(Run &run, int64_t m, int64_t p, const double *e, const double *weights, int64_t k,
                         uint64_t seed);

} // namespace mercer
