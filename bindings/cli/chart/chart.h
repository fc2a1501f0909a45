#ifndef MERCER_CLI_CHART_CHART_H
#define MERCER_CLI_CHART_CHART_H

#include "layers.h"

#include <optional>

/* Charts as SVG text, self-contained: no script, no style sheet, no font but the reader's own. */
namespace cli::chart {

struct Panel {
    std::string title;
    Axis x, y;
    std::optional<Axis> right;
    std::optional<Axis> colours; // a bar of colour_at's colours beside the frame
    double white = 0;            // in these colours, and in a map's: for marks that are coloured as well
    std::vector<Layer> layers;
};

/* A line of the legend: a mark, a piece of line, or both. */
struct Key {
    std::string name;
    std::optional<Style> mark;
    std::string line = {}; // its colour, "" for none
    bool dashed = false, upright = false;
};

struct Figure {
    std::string title, caption;
    double width = 560;   // of the picture
    double aspect = 0.75; // height / width of a frame
    std::vector<Panel> panels;
    std::vector<Key> legend;
};

/* Of the picture that draw makes. */
double height_of(const Figure &figure);

/* The panels side by side, all frames of one size; the legend below them. */
std::string draw(const Figure &figure);

} // namespace cli::chart

#endif
