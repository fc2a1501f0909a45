#ifndef MERCER_CLI_CHART_CONTOUR_H
#define MERCER_CLI_CHART_CONTOUR_H

#include "axis.h"

#include <utility>
#include <vector>

namespace cli::chart {

using Polyline = std::vector<std::pair<double, double>>;

// Values at the middles of equal cells, row by row. The first row has the least y.
struct Grid {
    Range x, y;
    size_t columns = 0, rows = 0;
    std::vector<double> values;

    double middle_x(double column) const { return x.lo + x.length() * (column + 0.5) / static_cast<double>(columns); }
    double middle_y(double row) const { return y.lo + y.length() * (row + 0.5) / static_cast<double>(rows); }
};

// The lines on which the values cross a level, interpolated linearly between the middles.
std::vector<Polyline> contour(const Grid &grid, double level);

} // namespace cli::chart

#endif
