#ifndef MERCER_CLI_CHART_AXIS_H
#define MERCER_CLI_CHART_AXIS_H

#include <string>
#include <vector>

namespace cli::chart {

struct Range {
    double lo = 0, hi = 1;
    double length() const { return hi - lo; }
};

// Whether x is finite, and so small that differences of such numbers are finite too.
bool usable(double x);

// The range of the usable values; [0, 1] if there are none.
Range range_of(const std::vector<double> &values);

// The range, extended by `share` of its length at both ends; a range of useful length if all values
// are equal.
Range padded(const Range &range, double share);

// Widens one of the ranges, so that a unit has the same length on both axes of a frame whose height
// is `aspect` times its width.
void equalise(Range &x, Range &y, double aspect);

struct Axis {
    enum class Kind { linear, whole, percent, logarithmic };
    std::string title;
    Range range;
    Kind kind = Kind::linear;

    // Where a value lies: 0 at the beginning of the axis, 1 at its end.
    double share(double value) const;
};

struct Ticks {
    struct Tick {
        double value;
        std::string label; // "" for a small tick between others
    };
    std::vector<Tick> list;
    std::string unit; // a power of ten that the labels leave out, such as "×10³"

    double widest(double size) const;
};

// Ticks at the multiples of a step, which is 1, 2 or 5 times a power of ten. On a logarithmic axis
// they are at the powers of ten, with small ticks between them if there are few powers. The step is
// large enough that labels of this size do not touch on an axis of this length, both in pixels.
Ticks ticks_of(const Axis &axis, double length, double size, bool horizontal);

} // namespace cli::chart

#endif
