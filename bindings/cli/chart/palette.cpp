#include "palette.h"
#include "svg.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace cli::chart {

namespace {

// Colours that people with any kind of colour vision can tell apart: those of Okabe and Ito, with
// grey in place of their yellow, which is too light on white. The last four differ from the others
// of their hue in lightness and, in the first twelve classes, in shape.
constexpr std::array<const char *, 12> colours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00",
                                                  "#7f7f7f", "#000000", "#882255", "#c8b400", "#332288", "#8b4513"};
constexpr size_t shapes = 4, of_one_shape = 8;
// Classes k, k + 12 and k + 24 have the same colour, but different shapes.
static_assert(most_classes == shapes * of_one_shape);

// The colour scale viridis of Smith and van der Walt at equal steps. Between these, colours are
// interpolated linearly, with errors below 2 of 255.
constexpr std::array<std::array<int, 3>, 9> anchors = {{{68, 1, 84},
                                                        {71, 45, 123},
                                                        {59, 82, 139},
                                                        {44, 114, 142},
                                                        {33, 145, 140},
                                                        {40, 174, 128},
                                                        {94, 201, 98},
                                                        {173, 220, 48},
                                                        {253, 231, 37}}};

} // namespace

Style style_of_class(size_t k) {
    return {colours[k % colours.size()], static_cast<Shape>(k / of_one_shape % shapes), false};
}

std::string colour_at(double share, double white) {
    const double place = std::clamp(share, 0.0, 1.0) * (anchors.size() - 1);
    const size_t begin = std::min(static_cast<size_t>(place), anchors.size() - 2);
    const double part = place - static_cast<double>(begin);
    std::string out = "#";
    for (size_t c = 0; c < 3; ++c) {
        const double full = (1 - part) * anchors[begin][c] + part * anchors[begin + 1][c];
        out += format("%02x", static_cast<unsigned>(std::lround(full + white * (255 - full))));
    }
    return out;
}

} // namespace cli::chart
