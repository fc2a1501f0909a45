#include "commands.h"
#include "files.h"
#include "json.h"
#include "plot.h"
#include "report.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>

namespace cli {

namespace {

using namespace chart;

constexpr int64_t most_marks = 50000; // a file with more marks is too large for most viewers
// Up to this number, marks on a map are drawn in full size, with a white rim.
constexpr size_t most_haloed = 300;
constexpr size_t levels = 64; // number of colours for labels that are continuous values

// The title of labels from a file: "usps.y" for folder/usps.y.npy.
std::string stem_of(const std::string &path) {
    return is_stream(path) ? "label" : std::filesystem::path(path).stem().string();
}

// Labels from a file with one column of numbers.
Labels from_file(const Subject &subject) {
    InputOptions options;
    options.path = subject.labels;
    const InputData file(subject.context, options, subject.run);
    const Array column = values_of(subject, file.get(), subject.labels, 1);
    Labels labels{stem_of(subject.labels), {}, {}};
    for (int64_t i = 0; i < column.rows; ++i) {
        const double value = column.at(i, 0);
        labels.values.push_back(std::isfinite(value) ? value : NAN);
    }
    return labels;
}

// Labels from a column of DATA. Texts are classes. A column of more classes than a picture can
// distinguish must consist of numbers, which are then drawn as values.
Labels from_column(const Subject &subject) {
    const mercer_data_facts facts = facts_of(subject.data);
    if (!facts.labels.data)
        throw Failure(MERCER_E_IO, "--labels " + subject.labels + ": neither a file nor a column of DATA");
    const json::Value names = json::parse(facts.names);
    const std::vector<json::Value> &texts = json::member(names, "labels").members,
                                   &values = json::member(names, "label_values").members;
    const auto is_text = [](const json::Value &value) { return value.kind == json::Kind::text; };
    const bool many = texts.size() > most_classes;
    if (many && (values.empty() || std::any_of(values.begin(), values.end(), is_text)))
        throw Failure(MERCER_E_UNSUPPORTED,
                      "column '" + subject.labels + "' has more than " + std::to_string(most_classes) +
                          " classes, which a picture cannot distinguish: it has " + std::to_string(texts.size()));
    Labels labels{subject.labels, {}, {}};
    if (!many)
        for (const json::Value &name : texts) labels.names.push_back(name.text);
    const auto *codes = static_cast<const int64_t *>(facts.labels.data);
    for (int64_t i = 0; i < facts.rows; ++i) {
        const auto label = static_cast<size_t>(codes[i]);
        const bool missing = label < values.size() && values[label].kind == json::Kind::null;
        const double value = many ? json::number_of(values[label]) : static_cast<double>(codes[i]);
        labels.values.push_back(missing ? NAN : value);
    }
    return labels;
}

std::vector<double> distinct(std::vector<double> values) {
    values.erase(std::remove_if(values.begin(), values.end(), [](double x) { return std::isnan(x); }), values.end());
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The digits from `at` on, without leading zeros. Moves `at` behind them.
std::string digits_at(const std::string &text, size_t &at) {
    const size_t from = std::min(text.find_first_not_of('0', at), text.size());
    while (at < text.size() && is_digit(text[at])) ++at;
    return from < at ? text.substr(from, at - from) : "";
}

// Orders names as people do: numbers first, by value, and "run 9" before "run 10".
bool comes_before(const std::string &a, const std::string &b) {
    const auto number = [](const std::string &text) {
        double x = NAN;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), x);
        return error == std::errc() && end == text.data() + text.size() ? x : NAN;
    };
    const double x = number(a), y = number(b);
    if (!std::isnan(x) && !std::isnan(y)) return x < y;
    if (std::isnan(x) != std::isnan(y)) return std::isnan(y);
    size_t i = 0, j = 0;
    while (i < a.size() && j < b.size()) {
        if (is_digit(a[i]) && is_digit(b[j])) {
            const std::string p = digits_at(a, i), q = digits_at(b, j);
            if (p != q) return p.size() != q.size() ? p.size() < q.size() : p < q;
        } else if (a[i] != b[j]) {
            return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
        } else {
            ++i, ++j;
        }
    }
    return i == a.size() && j < b.size();
}

bool are_whole(const std::vector<double> &values) {
    return std::all_of(values.begin(), values.end(), [](double x) { return x == std::floor(x); });
}

// The axis of a coordinate, with some room on both sides of its values.
Axis axis_over(const std::string &title, const std::vector<double> &values) {
    return {title, padded(range_of(values), 0.05), Axis::Kind::linear};
}

} // namespace

bool is_label_file(const std::string &labels) {
    return is_stream(labels) || labels.ends_with(".npy") || std::filesystem::exists(labels);
}

Points::Points(const Subject &subject, int64_t rows) : rows_(rows), style_(static_cast<size_t>(rows), 0) {
    styles_ = {style_of_class(0)};
    if (subject.labels.empty()) return;
    const Labels labels = is_label_file(subject.labels) ? from_file(subject) : from_column(subject);
    if (static_cast<int64_t>(labels.values.size()) != rows)
        throw Failure(MERCER_E_SHAPE, subject.labels + " has " + std::to_string(labels.values.size()) +
                                          " rows, must be one label for each of " + std::to_string(rows) + " rows");
    const std::vector<double> classes = distinct(labels.values);
    if (classes.empty()) throw Failure(MERCER_E_DATA, subject.labels + ": no row has a label");
    const bool few = classes.size() <= most_classes, whole = are_whole(classes);
    if (whole && !few)
        std::fprintf(stderr,
                     "mercer: warning: %s has more than %zu classes: they are drawn as values on a colour scale\n",
                     subject.labels.c_str(), most_classes);
    if (whole && few)
        colour_by_class(labels, classes);
    else
        colour_by_value(labels);
    if (std::none_of(labels.values.begin(), labels.values.end(), [](double x) { return std::isnan(x); })) return;
    for (size_t i = 0; i < style_.size(); ++i)
        if (std::isnan(labels.values[i])) style_[i] = static_cast<uint32_t>(styles_.size());
    styles_.push_back({"#b0b0b0", Shape::circle, false});
    keys_.emplace_back(styles_.size() - 1, Key{"no label", styles_.back()});
}

// Classes get their styles in the order of their names, not of their first rows, so that the same
// classes look the same in every picture.
void Points::colour_by_class(const Labels &labels, const std::vector<double> &classes) {
    std::vector<std::pair<std::string, double>> named;
    // If the classes are -1, 0, 1 ..., -1 means rows in no cluster: `--what labels` marks these by
    // -1, as other packages mark noise.
    const bool clusters = labels.names.empty() && classes.size() > 1 && classes[0] == -1 && classes[1] == 0;
    for (const double value : classes) {
        const bool has_name = value >= 0 && value < static_cast<double>(labels.names.size());
        const std::string number = json::number(value) + (clusters && value < 0 ? ": in no cluster" : "");
        named.emplace_back(has_name ? labels.names[static_cast<size_t>(value)] : number, value);
    }
    std::stable_sort(named.begin(), named.end(),
                     [](const auto &a, const auto &b) { return comes_before(a.first, b.first); });
    std::map<double, uint32_t> style_of;
    styles_.clear();
    for (const auto &[name, value] : named) {
        style_of[value] = static_cast<uint32_t>(styles_.size());
        styles_.push_back(style_of_class(styles_.size()));
        keys_.emplace_back(styles_.size() - 1, Key{name, styles_.back()});
    }
    for (size_t i = 0; i < labels.values.size(); ++i)
        if (const auto found = style_of.find(labels.values[i]); found != style_of.end()) style_[i] = found->second;
}

void Points::colour_by_value(const Labels &labels) {
    colours_ = Axis{labels.title, padded(range_of(labels.values), 0), Axis::Kind::linear};
    styles_.clear();
    for (size_t k = 0; k < levels; ++k)
        styles_.push_back({colour_at((static_cast<double>(k) + 0.5) / levels), Shape::circle, false});
    for (size_t i = 0; i < labels.values.size(); ++i)
        if (!std::isnan(labels.values[i]))
            style_[i] =
                static_cast<uint32_t>(std::clamp(colours_->share(labels.values[i]) * levels, 0.0, levels - 1.0));
}

void Points::add_to(Figure &figure, const Array &values, int64_t x, int64_t y, bool haloed) const {
    Panel &panel = figure.panels[0];
    const int64_t every = (rows_ + most_marks - 1) / most_marks;
    int64_t missing = 0;
    Marks marks;
    marks.styles = styles_;
    marks.haloed = haloed;
    std::vector<bool> is_drawn(styles_.size());
    for (int64_t i = 0; i < rows_; ++i) {
        const double at_x = x < 0 ? static_cast<double>(i) : values.at(i, x), at_y = values.at(i, y);
        const bool drawable = usable(at_x) && usable(at_y);
        missing += !drawable;
        if (!drawable || i % every != 0) continue;
        marks.x.push_back(at_x);
        marks.y.push_back(at_y);
        marks.style.push_back(style_[static_cast<size_t>(i)]);
        is_drawn[marks.style.back()] = true;
    }
    fade(marks);
    const bool coloured = !keys_.empty() || colours_;
    if (haloed && !coloured) marks.styles[0].colour = "#222";
    if (haloed && marks.x.size() > most_haloed) {
        // Many points are drawn small and without rims, so that the map can be seen between them.
        marks.haloed = false, marks.radius *= 0.5;
        if (coloured) panel.white = 0.5;
    } else if (haloed) {
        marks.opacity = 1;
    }
    panel.layers.push_back({std::move(marks), false});
    for (const auto &[style, key] : keys_)
        if (is_drawn[style]) figure.legend.push_back(key);
    if (!haloed) panel.colours = colours_;
    const auto say = [&](const std::string &text) { figure.caption += (figure.caption.empty() ? "" : "; ") + text; };
    const std::string of_rows = " of " + std::to_string(rows_) + " rows ";
    if (missing > 0) say(std::to_string(missing) + of_rows + "omitted because their values are not finite");
    if (every > 1) say("1 in " + std::to_string(every) + of_rows + "drawn");
}

Figure scatter(const Subject &subject) {
    auto summary = sized<mercer_summary>();
    check(mercer_model_summary(subject.model, &summary));
    std::vector<int64_t> components = subject.components;
    for (int64_t j = 1; subject.components.empty() && j <= std::min<int64_t>(summary.r, 2); ++j)
        components.push_back(j);
    for (const int64_t component : components)
        if (component > summary.r)
            throw Failure(MERCER_E_VALUE,
                          "component " + std::to_string(component) + ", the model has " + std::to_string(summary.r));

    Array scores = apply(subject.model, nullptr, subject.data, subject.run)[0].values;
    const bool none = components.empty();
    if (none)
        // Without components all rows have one place, the origin.
        components = {1, 2}, scores = array_like(MERCER_F64, scores.rows, 2);
    const bool over_rows = components.size() == 1;
    const int64_t x = over_rows ? -1 : components[0] - 1, y = components.back() - 1;
    Figure figure;
    if (none) figure.caption = without_components;
    figure.panels.resize(1);
    Points(subject, scores.rows).add_to(figure, scores, x, y, false);
    Panel &panel = figure.panels[0];
    const Marks &marks = std::get<Marks>(panel.layers[0].content);
    panel.x = axis_over(over_rows ? "row" : component_title(subject.model, x + 1), marks.x);
    panel.y = axis_over(component_title(subject.model, y + 1), marks.y);
    if (over_rows) panel.x.kind = Axis::Kind::whole;
    return figure;
}

} // namespace cli
