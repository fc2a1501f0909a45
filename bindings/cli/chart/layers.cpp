#include "layers.h"
#include "svg.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace cli::chart {

namespace {

constexpr double line_width = 1.4, halo_width = 3.2;

// Shapes of about equal area.
std::string shape_at(Shape shape, double x, double y, double r) {
    const auto path = [](const std::string &steps) { return "<path d='" + steps + "z'/>"; };
    switch (shape) {
    case Shape::triangle: return path(step('M', x, y - 1.35 * r) + step('l', 1.2 * r, 2.05 * r) + step('h', -2.4 * r));
    case Shape::diamond: {
        const double half = 1.35 * r;
        return path(step('M', x, y - half) + step('l', half, half) + step('l', -half, half) + step('l', -half, -half));
    }
    case Shape::square:
        return "<rect x='" + px(x - 0.9 * r) + "' y='" + px(y - 0.9 * r) + "' width='" + px(1.8 * r) + "' height='" +
               px(1.8 * r) + "'/>";
    default: return "<circle cx='" + px(x) + "' cy='" + px(y) + "' r='" + px(r) + "'/>";
    }
}

std::string style_attributes(const Style &style, double opacity, bool haloed) {
    const std::string share = opacity < 1 ? format("%.2f", opacity) : "";
    if (style.open) return "fill='#fff' stroke='" + style.colour + "' stroke-width='1.3'";
    return "fill='" + style.colour + "'" + (share.empty() ? "" : " fill-opacity='" + share + "'") +
           (haloed ? " stroke='#fff' stroke-width='0.6'" : "");
}

// Each class is drawn a part at a time, so that no class hides those before it.
std::string paint(const Marks &marks, const Frame &frame) {
    const size_t count = marks.x.size(), rounds = count > 1000 ? 8 : 1;
    std::vector<std::vector<size_t>> members(marks.styles.size());
    for (size_t i = 0; i < count; ++i) members[marks.style.empty() ? 0 : marks.style[i]].push_back(i);
    std::string out = "<g class='marks'>\n";
    for (size_t round = 0; round < rounds; ++round)
        for (size_t k = 0; k < members.size(); ++k) {
            if (members[k].size() <= round) continue;
            const Style &style = marks.styles[k];
            out += "<g " + style_attributes(style, marks.opacity, marks.haloed) + ">\n";
            for (size_t m = round; m < members[k].size(); m += rounds) {
                const size_t i = members[k][m];
                out += shape_at(style.shape, frame.across(marks.x[i]), frame.down(marks.y[i]), marks.radius) + "\n";
            }
            out += "</g>\n";
        }
    return out + "</g>\n";
}

std::string paint(const Lines &lines, const Frame &frame) {
    std::string path;
    for (const Polyline &piece : lines.pieces) {
        char command = 'M';
        for (const auto &[x, y] : piece) {
            path += step(command, frame.across(x), frame.down(y));
            command = 'L';
        }
    }
    if (path.empty()) return "";
    const std::string halo = "<path d='" + path + "' fill='none' stroke='#fff' stroke-opacity='0.75' stroke-width='" +
                             px(halo_width) + "'/>\n";
    return (lines.haloed ? halo : "") + "<path d='" + path + "' " + line_attributes(lines.colour, lines.dashed) +
           "/>\n";
}

std::string paint(const ErrorBars &bars, const Frame &frame) {
    const double cap = std::clamp(frame.width / static_cast<double>(bars.x.size() + 1) / 4, 1.0, 4.0);
    std::string path;
    for (size_t i = 0; i < bars.x.size(); ++i) {
        const auto down = [&](double value) {
            return frame.down(std::clamp(value, frame.y.range.lo, frame.y.range.hi));
        };
        const double x = frame.across(bars.x[i]), low = down(bars.lower[i]), high = down(bars.upper[i]);
        const bool goes_on = bars.lower[i] < frame.y.range.lo, is_seen = bars.upper[i] >= frame.y.range.lo;
        if (is_seen) path += step('M', x - cap, high) + step('h', 2 * cap);
        path += step('M', x, high) + step('V', low);
        path += goes_on ? step('M', x - cap, low - cap) + step('L', x, low) + step('L', x + cap, low - cap)
                        : step('M', x - cap, low) + step('h', 2 * cap);
    }
    return "<path class='bars' d='" + path + "' " + line_attributes(bars.colour, false) + "/>\n";
}

// Neighbouring cells of one colour in a row are one rectangle, and all rectangles of a colour are
// one path, so that the file stays small.
std::string paint(const Map &map, const Frame &frame) {
    constexpr size_t levels = 64, none = levels;
    const Grid &grid = map.grid;
    const auto level_at = [&](size_t i, size_t j) {
        const double value = grid.values[j * grid.columns + i];
        if (!usable(value)) return none;
        const double share = (value - map.scale.lo) / map.scale.length();
        return static_cast<size_t>(std::clamp(share * levels, 0.0, levels - 1.0));
    };
    const auto edge = [](size_t k, size_t count, double length) {
        return length * static_cast<double>(k) / static_cast<double>(count);
    };
    std::array<std::string, levels + 1> paths;
    for (size_t j = 0; j < grid.rows; ++j)
        for (size_t i = 0, end = 0; i < grid.columns; i = end) {
            const size_t level = level_at(i, j);
            while (end < grid.columns && level_at(end, j) == level) ++end;
            const double left = edge(i, grid.columns, frame.width), right = edge(end, grid.columns, frame.width);
            const double top = edge(grid.rows - j - 1, grid.rows, frame.height);
            const double bottom = edge(grid.rows - j, grid.rows, frame.height);
            paths[level] += step('M', left, top) + step('H', right) + step('V', bottom) + step('H', left) + "z";
        }
    std::string out = "<g class='map' shape-rendering='crispEdges'>\n";
    for (size_t level = 0; level < levels; ++level)
        if (!paths[level].empty())
            out += "<path fill='" + colour_at((static_cast<double>(level) + 0.5) / levels, frame.white) + "' d='" +
                   paths[level] + "'/>\n";
    return out + "</g>\n";
}

} // namespace

void fade(Marks &marks) {
    const double digits = std::log10(static_cast<double>(marks.x.size() + 1));
    marks.radius = std::clamp(4.6 - 0.75 * digits, 1.2, 4.0);
    marks.opacity = std::clamp(1.2 - 0.2 * digits, 0.25, 0.9);
}

std::string mark_at(const Style &style, double x, double y, double radius) {
    return "<g " + style_attributes(style, 1, false) + ">" + shape_at(style.shape, x, y, radius) + "</g>\n";
}

std::string line_attributes(const std::string &colour, bool dashed) {
    return "fill='none' stroke='" + colour + "' stroke-width='" + px(line_width) + "'" +
           (dashed ? " stroke-dasharray='5 3'" : "");
}

std::string paint(const Layer &layer, const Frame &frame) {
    return std::visit([&](const auto &content) { return paint(content, frame); }, layer.content);
}

} // namespace cli::chart
