#ifndef MERCER_CLI_CHART_CHART_H
#define MERCER_CLI_CHART_CHART_H

#include "layers.h"

#include <optional>

// Charts as SVG text that needs nothing else: no script, no style sheet, no font but the reader's
// own.
namespace cli::chart {

struct Panel {
    std::string title;
    Axis x, y;
    std::optional<Axis> right;
    std::optional<Axis> colours; // a bar beside the frame with the colours of colour_at
    // The share of white in these colours and those of a map, so that coloured marks stand out.
    double white = 0;
    std::vector<Layer> layers;
};

// An entry of the legend: a mark, a piece of line, or both.
struct Key {
    std::string name;
    std::optional<Style> mark;
    std::string line = {};                // the colour of the line; "": none
    bool dashed = false, upright = false; // upright: drawn as an error bar
};

struct Figure {
    std::string title, caption;
    double width = 560;   // of the picture, in pixels
    double aspect = 0.75; // height / width of a frame
    std::vector<Panel> panels;
    std::vector<Key> legend;
};

// The height of the picture that draw() makes, in pixels.
double height_of(const Figure &figure);

// Draws the panels side by side, all frames of one size, and the legend below them.
std::string draw(const Figure &figure);

} // namespace cli::chart

#endif
