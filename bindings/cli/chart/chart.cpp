#include "chart.h"
#include "svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

namespace cli::chart {

namespace {

constexpr double label_size = 12, title_size = 13, heading_size = 14, small_size = 11;
constexpr double tick_length = 4, minor_length = 2, tick_gap = 3, title_room = 22;
// The distance of a colour bar from the frame, and its width.
constexpr double bar_gap = 12, bar_width = 12;
constexpr const char *ink = "#333";

// The size of every frame and of the margins around it, in pixels.
struct Layout {
    double left = 60, right = 24, top = 12, bottom = 50;
    double width = 0, height = 0;

    double outer_width() const { return left + width + right; }
    double outer_height() const { return top + height + bottom; }
};

double room_beside(const Axis &axis, double height) {
    const double labels = ticks_of(axis, height, label_size, false).widest(label_size);
    return tick_length + tick_gap + labels + (axis.title.empty() ? 6 : title_room);
}

// Labels decide the margins, the margins decide the frame, and the frame decides the labels. Three
// rounds settle it.
Layout layout_of(const Figure &figure) {
    Layout layout;
    const double outer = figure.width / static_cast<double>(std::max<size_t>(figure.panels.size(), 1));
    for (const Panel &panel : figure.panels)
        if (!panel.title.empty()) layout.top = 34;
    const auto fit_frame = [&] {
        layout.width = std::max(outer - layout.left - layout.right, 60.0);
        layout.height = figure.aspect * layout.width;
    };
    for (int round = 0; round < 3; ++round) {
        fit_frame();
        layout.left = 0, layout.right = 24;
        for (const Panel &panel : figure.panels) {
            layout.left = std::max(layout.left, room_beside(panel.y, layout.height) + 6);
            if (panel.right) layout.right = std::max(layout.right, room_beside(*panel.right, layout.height) + 6);
            if (panel.colours)
                layout.right = std::max(layout.right, bar_gap + bar_width + room_beside(*panel.colours, layout.height));
        }
    }
    fit_frame();
    return layout;
}

std::string title_of(const Axis &axis, const Ticks &ticks) {
    return axis.title + (axis.title.empty() || ticks.unit.empty() ? "" : ", ") + ticks.unit;
}

// Ticks, labels and title below the frame.
std::string horizontal_axis(const Axis &axis, const Layout &layout) {
    const Ticks ticks = ticks_of(axis, layout.width, label_size, true);
    std::string marks, labels;
    for (const auto &tick : ticks.list) {
        const double x = layout.width * axis.share(tick.value);
        marks += step('M', x, layout.height) + step('v', tick.label.empty() ? minor_length : tick_length);
        if (tick.label.empty()) continue;
        labels += text(tick.label,
                       {x, layout.height + tick_length + tick_gap + 0.8 * label_size, Anchor::middle, label_size});
    }
    return format("<path class='ticks' stroke='%s' d='", ink) + marks + "'/>\n" + labels +
           text(title_of(axis, ticks), {layout.width / 2, layout.height + 38, Anchor::middle, title_size,
                                        layout.width + std::min(layout.left, layout.right)});
}

// Ticks, labels and title of an axis beside the frame, from x to the left (side = -1) or to the
// right (1).
std::string vertical_axis(const Axis &axis, double x, int side, double height) {
    const Ticks ticks = ticks_of(axis, height, label_size, false);
    std::string marks, labels;
    for (const auto &tick : ticks.list) {
        const double y = height * (1 - axis.share(tick.value));
        marks += step('M', x, y) + step('h', side * (tick.label.empty() ? minor_length : tick_length));
        if (tick.label.empty()) continue;
        labels += text(tick.label, {x + side * (tick_length + tick_gap), y + 0.36 * label_size,
                                    side < 0 ? Anchor::end : Anchor::start, label_size});
    }
    const double beside = tick_length + tick_gap + ticks.widest(label_size) + (side < 0 ? 10 : 18);
    return format("<path class='ticks' stroke='%s' d='", ink) + marks + "'/>\n" + labels +
           text(title_of(axis, ticks),
                {x + side * beside, height / 2, Anchor::middle, title_size, height + 20, false, true});
}

std::string colour_bar(const Axis &axis, double white, const Layout &layout) {
    constexpr int steps = 64;
    const double x = layout.width + bar_gap;
    std::string out = "<g class='colours' shape-rendering='crispEdges'>\n";
    for (int k = 0; k < steps; ++k) {
        const double top = layout.height * (steps - 1 - k) / steps, bottom = layout.height * (steps - k) / steps;
        out += "<rect x='" + px(x) + "' y='" + px(top) + "' width='" + px(bar_width) + "' height='" +
               px(bottom - top + 0.1) + "' fill='" + colour_at((k + 0.5) / steps, white) + "'/>\n";
    }
    return out + "</g>\n<rect x='" + px(x) + "' width='" + px(bar_width) + "' height='" + px(layout.height) +
           format("' fill='none' stroke='%s'/>\n", ink) + vertical_axis(axis, x + bar_width, 1, layout.height);
}

// The SVG text of a panel, with the upper left corner of its frame at (0, 0).
std::string panel_text(const Panel &panel, const Layout &layout) {
    std::string out;
    for (const Layer &layer : panel.layers) {
        const Axis &y = layer.on_right && panel.right ? *panel.right : panel.y;
        out += paint(layer, {layout.width, layout.height, panel.x, y, panel.white});
    }
    out += "<rect class='frame' width='" + px(layout.width) + "' height='" + px(layout.height) +
           format("' fill='none' stroke='%s'/>\n", ink);
    out += horizontal_axis(panel.x, layout) + vertical_axis(panel.y, 0, -1, layout.height);
    if (panel.right) out += vertical_axis(*panel.right, layout.width, 1, layout.height);
    if (panel.colours) out += colour_bar(*panel.colours, panel.white, layout);
    if (!panel.title.empty())
        out += text(panel.title, {0, -11, Anchor::start, heading_size, layout.width + layout.right, true});
    return out;
}

// The legend: names in rows of equal columns, centred.
class Legend {
  public:
    Legend(const std::vector<Key> &keys, double width) : keys_(keys), width_(width) {
        for (const Key &key : keys) column_ = std::max(column_, indent + gap + text_width(key.name, title_size));
        column_ = std::min(column_, width);
        columns_ = std::clamp<size_t>(static_cast<size_t>(width / column_), 1, std::max<size_t>(keys.size(), 1));
        const size_t rows = (keys.size() + columns_ - 1) / columns_;
        // Takes no more columns than this number of rows needs, so that the last row is not much
        // shorter.
        if (rows > 0) columns_ = (keys.size() + rows - 1) / rows;
    }

    double height() const {
        return keys_.empty() ? 0
                             : 8 + line * std::ceil(static_cast<double>(keys_.size()) / static_cast<double>(columns_));
    }

    std::string draw() const {
        const double begin = (width_ - column_ * static_cast<double>(columns_)) / 2;
        std::string out;
        for (size_t k = 0; k < keys_.size(); ++k) {
            const double x = begin + column_ * static_cast<double>(k % columns_);
            const double y = line * static_cast<double>(k / columns_) + 10;
            out += key_text(keys_[k], x + 4, y - 4.5) +
                   text(keys_[k].name, {x + indent, y, Anchor::start, title_size, column_ - indent});
        }
        return out;
    }

  private:
    static std::string key_text(const Key &key, double x, double y) {
        constexpr double length = 20;
        std::string out;
        if (!key.line.empty()) {
            const std::string path = key.upright ? step('M', x + length / 2 - 3, y - 6) + "h6m-3 0v12m-3 0h6"
                                                 : step('M', x, y) + step('h', length);
            out += "<path d='" + path + "' " + line_attributes(key.line, key.dashed) + "/>\n";
        }
        return key.mark ? out + mark_at(*key.mark, x + length / 2, y, 4) : out;
    }

    static constexpr double line = 20, indent = 30, gap = 14;
    const std::vector<Key> &keys_;
    double width_, column_ = indent + gap;
    size_t columns_;
};

// Splits a legend in two if at least four entries are marks alone. Their names are short, so they
// get columns of their own, below the entries with lines.
std::vector<std::vector<Key>> legend_parts(const Figure &figure) {
    constexpr std::ptrdiff_t many = 4;
    std::vector<std::vector<Key>> parts(2);
    for (const Key &key : figure.legend) parts[key.line.empty()].push_back(key);
    if (std::ssize(parts[1]) >= many) return parts;
    return {figure.legend};
}

// Vertical measures of a picture: the height of the heading, the place where the panels end, and
// the height of the whole.
struct Heights {
    double heading, below, all;
    Heights(const Figure &figure, const Layout &layout)
        : heading(figure.title.empty() ? 0 : 26), below(heading + layout.outer_height()) {
        double legends = 0;
        for (const std::vector<Key> &part : legend_parts(figure)) legends += Legend(part, figure.width).height();
        all = below + legends + (figure.caption.empty() ? 4 : 22);
    }
};

} // namespace

double height_of(const Figure &figure) { return Heights(figure, layout_of(figure)).all; }

std::string draw(const Figure &figure) {
    const Layout layout = layout_of(figure);
    const std::vector<std::vector<Key>> parts = legend_parts(figure);
    double legend_height = 0;
    std::string legends;
    for (const std::vector<Key> &part : parts) {
        const Legend legend(part, figure.width);
        legends += "<g transform='translate(0 " + px(legend_height) + ")'>\n" + legend.draw() + "</g>\n";
        legend_height += legend.height();
    }
    const auto [heading, below, height] = Heights(figure, layout);
    std::string out = "<svg xmlns='http://www.w3.org/2000/svg' width='" + px(figure.width) + "' height='" + px(height) +
                      "' viewBox='0 0 " + px(figure.width) + " " + px(height) +
                      "' font-family='Helvetica, Arial, sans-serif' fill='#222'>\n";
    if (!figure.title.empty()) out += "<title>" + escaped(figure.title) + "</title>\n";
    out += "<rect width='100%' height='100%' fill='#fff'/>\n";
    if (!figure.title.empty())
        out += text(figure.title, {figure.width / 2, 24, Anchor::middle, heading_size + 1, figure.width - 20, true});
    for (size_t k = 0; k < figure.panels.size(); ++k)
        out += "<g class='panel' transform='translate(" +
               px(static_cast<double>(k) * layout.outer_width() + layout.left) + " " + px(heading + layout.top) +
               ")'>\n" + panel_text(figure.panels[k], layout) + "</g>\n";
    if (!figure.legend.empty())
        out += "<g class='legend' transform='translate(0 " + px(below + 8) + ")'>\n" + legends + "</g>\n";
    if (!figure.caption.empty())
        out +=
            text(figure.caption, {layout.left, height - 10, Anchor::start, small_size, figure.width - layout.left - 4});
    return out + "</svg>\n";
}

} // namespace cli::chart
