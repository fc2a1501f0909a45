#ifndef MERCER_CLI_CHART_LAYERS_H
#define MERCER_CLI_CHART_LAYERS_H

#include "axis.h"
#include "contour.h"
#include "palette.h"

#include <cstdint>
#include <variant>

/* What a panel's frame may hold, one over the other. */
namespace cli::chart {

/* Where values lie in a frame, whose upper left corner is (0, 0). */
struct Frame {
    double width, height;
    const Axis &x, &y;
    double white = 0; // in the colours of a map

    double across(double value) const { return width * x.share(value); }
    double down(double value) const { return height * (1 - y.share(value)); }
};

/* One mark a point; all are usable numbers. style: one of styles for each point; empty: the first for all. */
struct Marks {
    std::vector<double> x, y;
    std::vector<uint32_t> style;
    std::vector<Style> styles;
    double radius = 3, opacity = 1;
    bool haloed = false; // a white rim, for a coloured ground
};

/* The more marks there are, the smaller and the more transparent. */
void fade(Marks &marks);

struct Lines {
    std::vector<Polyline> pieces;
    std::string colour;
    bool dashed = false, haloed = false;
};

/* A bar that goes on below the frame ends in an arrow. */
struct ErrorBars {
    std::vector<double> x, lower, upper;
    std::string colour;
};

/* Cells filled with colour_at; values that are not usable stay empty. */
struct Map {
    Grid grid;
    Range scale;
};

struct Layer {
    std::variant<Marks, Lines, ErrorBars, Map> content;
    bool on_right = false; // measured on the right axis
};

std::string paint(const Layer &layer, const Frame &frame);

/* One mark and a piece of line as they stand in a legend. */
std::string mark_at(const Style &style, double x, double y, double radius);
std::string line_attributes(const std::string &colour, bool dashed);

} // namespace cli::chart

#endif
