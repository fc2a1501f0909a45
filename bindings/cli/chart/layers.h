#ifndef MERCER_CLI_CHART_LAYERS_H
#define MERCER_CLI_CHART_LAYERS_H

#include "axis.h"
#include "contour.h"
#include "palette.h"

#include <cstdint>
#include <variant>

// What a panel's frame may hold. Layers are drawn one over the other.
namespace cli::chart {

// Maps values to pixels in a frame, whose upper left corner is (0, 0).
struct Frame {
    double width, height;
    const Axis &x, &y;
    double white = 0; // share of white in the colours of a map

    double across(double value) const { return width * x.share(value); }
    double down(double value) const { return height * (1 - y.share(value)); }
};

// One mark for each point; all coordinates are usable numbers. `style` has the index in `styles` of
// each point's style; if it is empty, all points have the first style.
struct Marks {
    std::vector<double> x, y;
    std::vector<uint32_t> style;
    std::vector<Style> styles;
    double radius = 3, opacity = 1;
    bool haloed = false; // with a white rim, for marks on a coloured ground
};

// Makes marks smaller and more transparent the more there are.
void fade(Marks &marks);

struct Lines {
    std::vector<Polyline> pieces;
    std::string colour;
    bool dashed = false, haloed = false;
};

// Vertical bars from lower to upper. A bar that continues below the frame ends in an arrow.
struct ErrorBars {
    std::vector<double> x, lower, upper;
    std::string colour;
};

// Cells filled with the colours of colour_at. Cells whose values are not usable stay empty.
struct Map {
    Grid grid;
    Range scale;
};

struct Layer {
    std::variant<Marks, Lines, ErrorBars, Map> content;
    bool on_right = false; // values belong to the right axis
};

std::string paint(const Layer &layer, const Frame &frame);

// One mark, and the attributes of a line, as a legend needs them.
std::string mark_at(const Style &style, double x, double y, double radius);
std::string line_attributes(const std::string &colour, bool dashed);

} // namespace cli::chart

#endif
