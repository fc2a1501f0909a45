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

/* So many classes look different. */
constexpr size_t most_classes = 32;
Style style_of_class(size_t k);

/* A scale of colours for 0 to 1 that grows evenly in lightness; white: so much of that is mixed in. */
std::string colour_at(double share, double white = 0);

} // namespace cli::chart

#endif
