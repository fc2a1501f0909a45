#include "svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace cli::svg {

namespace {

/* All lengths in pixels. */
constexpr double side = 300; // of a panel's frame
constexpr double left = 72, right = 18, top = 38, bottom = 56;
constexpr double tick = 4, letter = 6.6; // letter: mean width at the legend's size

/* Okabe and Ito's colours, told apart by all kinds of colour vision. */
constexpr std::array<const char *, 8> colours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                 "#56b4e9", "#e69f00", "#7f7f7f", "#000000"};

__attribute__((format(printf, 1, 2))) std::string format(const char *pattern, ...) {
    char text[256];
    va_list list;
    va_start(list, pattern);
    std::vsnprintf(text, sizeof text, pattern, list);
    va_end(list);
    return text;
}

/* Of the k-th series: a full dot, and a ring once the colours are used up. */
std::string paint_of(size_t k, double opacity) {
    const char *colour = colours[k % colours.size()];
    if (k / colours.size() % 2 == 0) return format("fill='%s' fill-opacity='%g'", colour, opacity);
    return format("fill='none' stroke='%s' stroke-opacity='%g'", colour, opacity);
}

std::string escaped(const std::string &text) {
    std::string out;
    for (const char c : text) out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
    return out;
}

struct Range {
    double lo, hi;
    double length() const { return hi - lo; }
};

Range range_of(const Panel &panel, std::vector<double> Series::*axis) {
    Range range = {INFINITY, -INFINITY};
    for (const Series &series : panel.series)
        for (const double x : series.*axis)
            if (std::isfinite(x)) range = {std::min(range.lo, x), std::max(range.hi, x)};
    if (!(range.lo <= range.hi)) range = {0, 1};
    const double pad = range.length() > 0 ? 0.06 * range.length() : std::max(1e-3, 0.1 * std::fabs(range.lo));
    return {range.lo - pad, range.hi + pad};
}

Range widened(const Range &range, double length) {
    const double middle = (range.lo + range.hi) / 2;
    return {middle - length / 2, middle + length / 2};
}

/* 1, 2 or 5 times a power of ten, so that a range has three to six. */
double step_of(const Range &range) {
    const double rough = range.length() / 6.5, power = std::pow(10, std::floor(std::log10(rough)));
    for (const double factor : {1.0, 2.0, 5.0})
        if (factor * power >= rough) return factor * power;
    return 10 * power;
}

/* The power of ten that the labels of an axis leave out: 0 where they are short without that. */
int exponent_of(const Range &range) {
    const int exponent = static_cast<int>(std::floor(std::log10(std::max(std::fabs(range.lo), std::fabs(range.hi)))));
    return exponent >= 4 || exponent <= -3 ? exponent : 0;
}

std::string power_text(int exponent) {
    static constexpr std::array<const char *, 10> superscripts = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    if (exponent == 0) return "";
    std::string out = exponent < 0 ? ", ×10⁻" : ", ×10";
    for (const char digit : std::to_string(std::abs(exponent))) out += superscripts[static_cast<size_t>(digit - '0')];
    return out;
}

std::string tick_label(double value, double step, int exponent) {
    const double unit = std::pow(10, exponent);
    const int decimals = std::max(0, static_cast<int>(-std::floor(std::log10(step / unit) + 1e-9)));
    const double shown = std::fabs(value) < step / 2 ? 0 : value / unit;
    return (shown < 0 ? "−" : "") + format("%.*f", decimals, std::fabs(shown));
}

/* One panel, its frame's upper left corner at (0, 0). */
class Painter {
  public:
    explicit Painter(const Panel &panel)
        : panel_(panel), x_(range_of(panel, &Series::x)), y_(range_of(panel, &Series::y)) {
        if (panel.equal) {
            const double length = std::max(x_.length(), y_.length());
            x_ = widened(x_, length);
            y_ = widened(y_, length);
        }
    }

    std::string paint() const {
        return points() +
               format("<rect width='%g' height='%g' fill='none' stroke='#333' stroke-width='1'/>\n", side, side) +
               ticks(x_, true) + ticks(y_, false) + titles();
    }

  private:
    std::string points() const {
        size_t count = 1;
        for (const Series &series : panel_.series) count += series.x.size();
        const double radius = std::clamp(4.6 - 0.8 * std::log10(static_cast<double>(count)), 1.0, 4.0);
        std::string out;
        for (size_t k = 0; k < panel_.series.size(); ++k) {
            const Series &series = panel_.series[k];
            out += "<g " + paint_of(k, 0.65) + ">\n";
            for (size_t i = 0; i < std::min(series.x.size(), series.y.size()); ++i)
                if (std::isfinite(series.x[i]) && std::isfinite(series.y[i]))
                    out += format("<circle cx='%.2f' cy='%.2f' r='%.2f'/>\n", across(series.x[i]), down(series.y[i]),
                                  radius);
            out += "</g>\n";
        }
        return out;
    }

    double across(double x) const { return side * (x - x_.lo) / x_.length(); }
    double down(double y) const { return side * (y_.hi - y) / y_.length(); }

    std::string ticks(const Range &range, bool horizontal) const {
        const double step = step_of(range);
        const int exponent = exponent_of(range);
        std::string out;
        for (auto k = static_cast<int64_t>(std::ceil(range.lo / step)); static_cast<double>(k) * step <= range.hi;
             ++k) {
            const double value = static_cast<double>(k) * step;
            const std::string label = tick_label(value, step, exponent);
            if (horizontal)
                out += format(
                    "<path d='M%.2f %g v%g' stroke='#333'/><text x='%.2f' y='%g' text-anchor='middle'>%s</text>\n",
                    across(value), side, tick, across(value), side + tick + 13, label.c_str());
            else
                out +=
                    format("<path d='M0 %.2f h%g' stroke='#333'/><text x='%g' y='%.2f' text-anchor='end'>%s</text>\n",
                           down(value), -tick, -tick - 4, down(value) + 4, label.c_str());
        }
        return out;
    }

    std::string titles() const {
        const std::string middle = "text-anchor='middle' font-size='13'";
        return format("<text x='0' y='-12' font-size='14' font-weight='bold'>") + escaped(panel_.title) + "</text>\n" +
               format("<text x='%g' y='%g' ", side / 2, side + 40) + middle + ">" + escaped(panel_.x_title) +
               power_text(exponent_of(x_)) + "</text>\n" +
               format("<text transform='translate(%g %g) rotate(-90)' ", -left + 16, side / 2) + middle + ">" +
               escaped(panel_.y_title) + power_text(exponent_of(y_)) + "</text>\n";
    }

    const Panel &panel_;
    Range x_, y_;
};

/* Names in rows of equal columns, centred. */
class Legend {
  public:
    Legend(const std::vector<Series> &series, double width) : series_(series), width_(width) {
        size_t longest = 0;
        for (const Series &s : series) longest = std::max(longest, s.name.size());
        column_ = 38 + letter * static_cast<double>(longest);
        columns_ = std::clamp<size_t>(static_cast<size_t>(width / column_), 1, std::max<size_t>(series.size(), 1));
    }

    double height() const {
        return series_.size() < 2
                   ? 0
                   : 14 + line * std::ceil(static_cast<double>(series_.size()) / static_cast<double>(columns_));
    }

    std::string paint() const {
        const double begin = (width_ - column_ * static_cast<double>(columns_)) / 2 + 10;
        std::string out;
        for (size_t k = 0; k < series_.size(); ++k) {
            const double x = begin + column_ * static_cast<double>(k % columns_);
            const double y = line * static_cast<double>(k / columns_) + 10;
            out += format("<circle cx='%.1f' cy='%.1f' r='4' %s/>", x + 5, y - 4, paint_of(k, 1).c_str()) +
                   format("<text x='%.1f' y='%.1f' font-size='13'>", x + 15, y) + escaped(series_[k].name) +
                   "</text>\n";
        }
        return out;
    }

  private:
    static constexpr double line = 20;
    const std::vector<Series> &series_;
    double width_, column_;
    size_t columns_;
};

} // namespace

std::string scatter(const std::vector<Panel> &panels) {
    const double panel_width = left + side + right;
    const double width = panel_width * static_cast<double>(panels.size());
    const std::vector<Series> none;
    const Legend legend(panels.empty() ? none : panels[0].series, width);
    const double height = top + side + bottom + legend.height();
    std::string out = format("<svg xmlns='http://www.w3.org/2000/svg' width='%g' height='%g' viewBox='0 0 %g %g' ",
                             width, height, width, height) +
                      "font-family='Helvetica, Arial, sans-serif' font-size='12' fill='#222'>\n" +
                      format("<rect width='%g' height='%g' fill='#fff'/>\n", width, height);
    for (size_t k = 0; k < panels.size(); ++k)
        out += format("<g transform='translate(%g %g)'>\n", static_cast<double>(k) * panel_width + left, top) +
               Painter(panels[k]).paint() + "</g>\n";
    if (legend.height() > 0)
        out += format("<g transform='translate(0 %g)'>\n", top + side + bottom) + legend.paint() + "</g>\n";
    return out + "</svg>\n";
}

} // namespace cli::svg
