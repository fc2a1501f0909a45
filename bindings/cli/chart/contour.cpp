#include "contour.h"

#include <algorithm>
#include <array>
#include <map>

// Marching squares. The corners of a square are the middles of four neighbouring cells, and the
// level crosses 0, 2 or 4 of its edges. The crossed edges are the nodes of a graph, in which each
// square joins the two edges that are crossed. At a saddle, where all four are crossed, the mean of
// the corners decides which two pairs of edges are joined. Every node has at most two neighbours,
// so the graph consists of chains and rings. Cost: O(cells), and a logarithm of the number of
// crossings for each crossing.
namespace cli::chart {

namespace {

// The map is ordered, so that the picture is the same each time.
using Graph = std::map<size_t, std::vector<size_t>>;

class Squares {
  public:
    Squares(const Grid &grid, double level) : grid_(grid), level_(level) {}

    Graph graph() const {
        Graph graph;
        for (size_t j = 0; j + 1 < grid_.rows; ++j)
            for (size_t i = 0; i + 1 < grid_.columns; ++i) join(graph, i, j);
        return graph;
    }

    std::pair<double, double> crossing(size_t edge) const {
        const size_t node = edge / 2, up = edge % 2;
        const size_t i = node % grid_.columns, j = node / grid_.columns;
        const double a = grid_.values[node], b = grid_.values[node + (up ? grid_.columns : 1)];
        const double part = (level_ - a) / (b - a);
        return {grid_.middle_x(static_cast<double>(i) + (up ? 0 : part)),
                grid_.middle_y(static_cast<double>(j) + (up ? part : 0))};
    }

  private:
    void join(Graph &graph, size_t i, size_t j) const {
        const size_t node = j * grid_.columns + i, above = node + grid_.columns;
        // Corners in order around the square; edges[k] joins corners[k] and corners[k + 1].
        const std::array<size_t, 4> corners = {node, node + 1, above + 1, above};
        const std::array<size_t, 4> edges = {2 * node, 2 * (node + 1) + 1, 2 * above, 2 * node + 1};
        double sum = 0;
        std::vector<size_t> crossed;
        for (size_t k = 0; k < 4; ++k) {
            const double value = grid_.values[corners[k]];
            if (!usable(value)) return;
            sum += value;
            if (is_high(value) != is_high(grid_.values[corners[(k + 1) % 4]])) crossed.push_back(edges[k]);
        }
        // At a saddle whose mean is on the other side of the level than the first corner, a line
        // cuts off that corner (and the opposite one).
        if (crossed.size() == 4 && is_high(sum / 4) != is_high(grid_.values[node]))
            std::rotate(crossed.begin(), crossed.begin() + 1, crossed.end());
        for (size_t k = 0; k + 1 < crossed.size(); k += 2) {
            const size_t a = crossed[k], b = crossed[k + 1];
            graph[a].push_back(b);
            graph[b].push_back(a);
        }
    }

    bool is_high(double value) const { return value > level_; }

    const Grid &grid_;
    double level_;
};

// Follows the graph from a node as far as possible, and removes the nodes on the way. A ring ends
// with its first node.
std::vector<size_t> walk(Graph &graph, size_t node) {
    std::vector<size_t> path = {node};
    for (;;) {
        const auto found = graph.find(path.back());
        const auto neighbours = found->second;
        graph.erase(found);
        const auto next =
            std::find_if(neighbours.begin(), neighbours.end(), [&](size_t n) { return graph.count(n) > 0; });
        if (next == neighbours.end()) {
            if (path.size() > 2 && std::count(neighbours.begin(), neighbours.end(), node)) path.push_back(node);
            return path;
        }
        path.push_back(*next);
    }
}

} // namespace

std::vector<Polyline> contour(const Grid &grid, double level) {
    const Squares squares(grid, level);
    Graph graph = squares.graph();
    // Walks begin at the ends of chains first, so that only rings are left for the other nodes.
    std::vector<size_t> begins;
    for (const auto &[node, neighbours] : graph)
        if (neighbours.size() == 1) begins.push_back(node);
    for (const auto &entry : graph) begins.push_back(entry.first);
    std::vector<Polyline> lines;
    for (const size_t begin : begins) {
        if (!graph.count(begin)) continue;
        lines.emplace_back();
        for (const size_t edge : walk(graph, begin)) lines.back().push_back(squares.crossing(edge));
    }
    return lines;
}

} // namespace cli::chart
