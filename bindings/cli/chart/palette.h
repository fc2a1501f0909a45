#ifndef MERCER_CLI_CHART_PALETTE_H
#define MERCER_CLI_CHART_PALETTE_H

#include <string>

namespace cli::chart {

enum class Shape { circle, triangle, square, diamond };

struct Style {
    std::string colour;
    Shape shape = Shape::circle;
    bool open = false;
};

// The number of classes that look different.
constexpr size_t most_classes = 32;
Style style_of_class(size_t k);

// The colour of a share from 0 to 1, on a scale whose lightness grows evenly. `white` is the share
// of white that is mixed in.
std::string colour_at(double share, double white = 0);

} // namespace cli::chart

#endif
