#include "axis.h"
#include "svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace cli::chart {

namespace {

using Kind = Axis::Kind;

// The length factors[factor] x 10^power.
struct Step {
    static constexpr std::array<int, 3> factors = {1, 2, 5};
    size_t factor = 0;
    int power = 0;

    double times(double k) const {
        // A negative power is a divisor, so that decimals are exact: 3 / 10 is the number nearest
        // to 0.3, which 3*0.1 is not.
        const double whole = k * factors[factor];
        return power < 0 ? whole / std::pow(10, -power) : whole * std::pow(10, power);
    }
    Step next() const { return factor == 2 ? Step{0, power + 1} : Step{factor + 1, power}; }
};

Step least_step(double length) {
    Step step{0, static_cast<int>(std::floor(std::log10(length)))};
    while (step.times(1) < length) step = step.next();
    return step;
}

std::string power_of_ten(int exponent) {
    static constexpr std::array<const char *, 10> superscripts = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    std::string out = exponent < 0 ? "10⁻" : "10";
    for (const char digit : std::to_string(std::abs(exponent))) out += superscripts[static_cast<size_t>(digit - '0')];
    return out;
}

// The exponent of the power of ten that the labels leave out; 0 if they leave out none.
int exponent_of(const Range &range) {
    const int exponent = static_cast<int>(std::floor(std::log10(std::max(std::fabs(range.lo), std::fabs(range.hi)))));
    return exponent >= 5 || exponent <= -3 ? exponent : 0;
}

std::string label_of(double value, const Step &step, int exponent, Kind kind) {
    if (kind == Kind::percent) return format("%.*f %%", std::max(0, -step.power - 2), 100 * value);
    const int decimals = std::max(0, exponent - step.power);
    return (value < 0 ? "−" : "") + format("%.*f", decimals, std::fabs(value) / std::pow(10, exponent));
}

Ticks linear_ticks(const Axis &axis, const Step &step) {
    const Range &range = axis.range;
    const int exponent = axis.kind == Kind::percent ? 0 : exponent_of(range);
    // A tolerance, as a share of a step: a tick that lies outside the range only because of
    // rounding errors is kept.
    const double slack = 1e-9;
    Ticks ticks;
    if (exponent != 0) ticks.unit = "×" + power_of_ten(exponent);
    const double first = std::ceil(range.lo / step.times(1) - slack) + 0.0; // + 0.0 turns -0 into 0
    const double last = range.hi / step.times(1) + slack;
    for (double k = first; k <= last; ++k)
        ticks.list.push_back({step.times(k), label_of(step.times(k), step, exponent, axis.kind)});
    return ticks;
}

Ticks logarithmic_ticks(const Axis &axis, int every) {
    constexpr int most_subdivided = 6; // an axis of more decades has no small ticks
    const Range &range = axis.range;
    const int first = static_cast<int>(std::floor(std::log10(range.lo))),
              last = static_cast<int>(std::ceil(std::log10(range.hi)));
    const int digits = last - first <= most_subdivided ? 9 : 1;
    Ticks ticks;
    for (int exponent = first; exponent <= last; ++exponent)
        for (int digit = 1; digit <= digits; ++digit) {
            const double value = digit * std::pow(10, exponent);
            const bool labelled = digit == 1 && exponent % every == 0;
            if (value >= range.lo && value <= range.hi)
                ticks.list.push_back({value, labelled ? power_of_ten(exponent) : ""});
        }
    return ticks;
}

bool labels_are_apart(const Ticks &ticks, const Axis &axis, double length, double size, bool horizontal) {
    double end = -INFINITY; // where the last label ends
    for (const auto &tick : ticks.list) {
        if (tick.label.empty()) continue;
        const double half = horizontal ? text_width(tick.label, size) / 2 + 5 : 0.85 * size;
        const double middle = length * axis.share(tick.value);
        if (middle - half < end) return false;
        end = middle + half;
    }
    return true;
}

} // namespace

bool usable(double x) { return std::fabs(x) < 1e300; }

Range range_of(const std::vector<double> &values) {
    Range range = {INFINITY, -INFINITY};
    for (const double x : values)
        if (usable(x)) range = {std::min(range.lo, x), std::max(range.hi, x)};
    return range.lo <= range.hi ? range : Range{0, 1};
}

Range padded(const Range &range, double share) {
    const double magnitude = std::max(std::fabs(range.lo), std::fabs(range.hi));
    if (magnitude < 1e-290) return {-1, 1};
    // Values that differ by less than this have equal labels.
    const bool constant = range.length() < 1e-12 * magnitude;
    const double pad = constant ? 0.1 * magnitude : share * range.length();
    return {range.lo - pad, range.hi + pad};
}

void equalise(Range &x, Range &y, double aspect) {
    // The length that the range x must have, so that both ranges fit.
    const double unit = std::max(x.length(), y.length() / aspect);
    const auto widened = [](const Range &range, double length) {
        const double middle = (range.lo + range.hi) / 2;
        return Range{middle - length / 2, middle + length / 2};
    };
    x = widened(x, unit);
    y = widened(y, unit * aspect);
}

double Axis::share(double value) const {
    if (kind == Kind::logarithmic)
        return std::log10(std::max(value, range.lo) / range.lo) / std::log10(range.hi / range.lo);
    return (value - range.lo) / range.length();
}

double Ticks::widest(double size) const {
    double width = 0;
    for (const Tick &tick : list) width = std::max(width, text_width(tick.label, size));
    return width;
}

Ticks ticks_of(const Axis &axis, double length, double size, bool horizontal) {
    if (axis.kind == Kind::logarithmic) {
        for (int every = 1;; ++every)
            if (Ticks ticks = logarithmic_ticks(axis, every); labels_are_apart(ticks, axis, length, size, horizontal))
                return ticks;
    }
    // The least distance of ticks, in pixels.
    const double gap = axis.kind == Kind::whole ? 20 : horizontal ? 55 : 36;
    Step step = least_step(axis.range.length() * std::min(gap / length, 0.2));
    if (axis.kind == Kind::whole && step.power < 0) step = {0, 0};
    for (;; step = step.next())
        if (Ticks ticks = linear_ticks(axis, step); labels_are_apart(ticks, axis, length, size, horizontal))
            return ticks;
}

} // namespace cli::chart
