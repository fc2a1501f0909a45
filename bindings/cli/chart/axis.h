#ifndef MERCER_CLI_CHART_AXIS_H
#define MERCER_CLI_CHART_AXIS_H

#include <string>
#include <vector>

namespace cli::chart {

struct Range {
    double lo = 0, hi = 1;
    double length() const { return hi - lo; }
};

/* Finite, and differences of such numbers are too. */
bool usable(double x);

/* What the usable values span; [0, 1] where there are none. */
Range range_of(const std::vector<double> &values);

/* Longer by a share of it at both ends; of a useful length where all values are one. */
Range padded(const Range &range, double share);

/* Widens one of them so that a unit is as long on both axes of a frame with aspect = height / width. */
void equalise(Range &x, Range &y, double aspect);

struct Axis {
    enum class Kind { linear, whole, percent, logarithmic };
    std::string title;
    Range range;
    Kind kind = Kind::linear;

    /* Where a value lies: 0 at the axis' begin, 1 at its end. */
    double share(double value) const;
};

struct Ticks {
    struct Tick {
        double value;
        std::string label; // "": a small one between others
    };
    std::vector<Tick> list;
    std::string unit; // a power of ten that the labels leave out: "×10³"

    double widest(double size) const;
};

/* Ticks at 1, 2 or 5 times powers of ten (logarithmic: at the powers), as close as labels of this size stay apart on
 * an axis of this length. */
Ticks ticks_of(const Axis &axis, double length, double size, bool horizontal);

} // namespace cli::chart

#endif
