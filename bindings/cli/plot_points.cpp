#include "commands.h"
#include "files.h"
#include "json.h"
#include "plot.h"
#include "report.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace cli {

namespace {

using namespace chart;

constexpr int64_t most_marks = 50000; // more make files that no viewer likes
constexpr size_t levels = 64;         // of a continuous colour

/* "usps.y" for folder/usps.y.npy. */
std::string stem_of(const std::string &path) {
    return is_stream(path) ? "label" : std::filesystem::path(path).stem().string();
}

/* The only column that the options leave of a file. */
Labels from_numbers(const Subject &subject, const InputOptions &options, const std::string &title) {
    const InputData file(subject.context, options, subject.run);
    const Array column = values_of(subject, file.get(), subject.labels, 1);
    Labels labels{title, {}, {}};
    for (int64_t i = 0; i < column.rows; ++i) {
        labels.values.push_back(column.at(i, 0));
        if (!std::isfinite(labels.values.back()))
            throw Failure(MERCER_E_DATA, subject.labels + ": row " + std::to_string(i) + " has no label");
    }
    return labels;
}

Labels from_file(const Subject &subject) {
    InputOptions options;
    options.path = subject.labels;
    return from_numbers(subject, options, stem_of(subject.labels));
}

/* More texts than classes can have are numbers with decimals, which the library gives as data only: read again. */
Labels from_column_of_numbers(const Subject &subject, size_t texts) {
    if (is_stream(subject.input.path))
        throw Failure(MERCER_E_UNSUPPORTED, subject.labels + " has " + std::to_string(texts) +
                                                " different texts, a picture can tell " + std::to_string(most_classes) +
                                                " apart");
    InputOptions options = subject.input;
    options.columns = subject.labels;
    options.labels.clear();
    return from_numbers(subject, options, subject.labels);
}

Labels from_column(const Subject &subject) {
    const mercer_data_facts facts = facts_of(subject.data);
    if (!facts.labels.data)
        throw Failure(MERCER_E_IO,
                      "--labels " + subject.labels + ": there is no such file, and DATA have no such column");
    Labels labels{subject.labels, {}, {}};
    const auto *values = static_cast<const int64_t *>(facts.labels.data);
    for (int64_t i = 0; i < facts.rows; ++i) labels.values.push_back(static_cast<double>(values[i]));
    for (const json::Value &name : json::member(json::parse(facts.names), "labels").members)
        labels.names.push_back(name.text);
    return labels.names.size() > most_classes ? from_column_of_numbers(subject, labels.names.size()) : labels;
}

std::vector<double> distinct(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
}

bool are_classes(const std::vector<double> &values) {
    return values.size() <= most_classes &&
           std::all_of(values.begin(), values.end(), [](double x) { return x == std::floor(x); });
}

/* Where a coordinate lies, with room around it. */
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
    if (are_classes(classes))
        colour_by_class(labels, classes);
    else
        colour_by_value(labels);
}

void Points::colour_by_class(const Labels &labels, const std::vector<double> &classes) {
    styles_.clear();
    for (size_t k = 0; k < classes.size(); ++k) {
        styles_.push_back(style_of_class(k));
        const bool named = classes[k] >= 0 && classes[k] < static_cast<double>(labels.names.size());
        keys_.push_back({named ? labels.names[static_cast<size_t>(classes[k])] : json::number(classes[k]), styles_[k]});
    }
    for (size_t i = 0; i < labels.values.size(); ++i)
        style_[i] =
            static_cast<uint32_t>(std::lower_bound(classes.begin(), classes.end(), labels.values[i]) - classes.begin());
}

void Points::colour_by_value(const Labels &labels) {
    colours_ = Axis{labels.title, padded(range_of(labels.values), 0), Axis::Kind::linear};
    styles_.clear();
    for (size_t k = 0; k < levels; ++k)
        styles_.push_back({colour_at((static_cast<double>(k) + 0.5) / levels), Shape::circle, false});
    for (size_t i = 0; i < labels.values.size(); ++i)
        style_[i] = static_cast<uint32_t>(std::clamp(colours_->share(labels.values[i]) * levels, 0.0, levels - 1.0));
}

void Points::add_to(Figure &figure, const Array &values, int64_t x, int64_t y, bool haloed) const {
    Panel &panel = figure.panels[0];
    const int64_t every = (rows_ + most_marks - 1) / most_marks;
    int64_t missing = 0;
    Marks marks;
    marks.styles = styles_;
    marks.haloed = haloed;
    for (int64_t i = 0; i < rows_; ++i) {
        const double at_x = x < 0 ? static_cast<double>(i) : values.at(i, x), at_y = values.at(i, y);
        const bool drawable = usable(at_x) && usable(at_y);
        missing += !drawable;
        if (!drawable || i % every != 0) continue;
        marks.x.push_back(at_x);
        marks.y.push_back(at_y);
        marks.style.push_back(style_[static_cast<size_t>(i)]);
    }
    fade(marks);
    if (haloed) marks.opacity = 1;
    if (haloed && keys_.empty() && !colours_) marks.styles[0].colour = "#222";
    panel.layers.push_back({std::move(marks), false});
    figure.legend.insert(figure.legend.end(), keys_.begin(), keys_.end());
    if (!haloed) panel.colours = colours_;
    if (missing > 0)
        figure.caption =
            std::to_string(missing) + " of " + std::to_string(rows_) + " rows left out, they have no finite values";
    if (every > 1)
        figure.caption += (figure.caption.empty() ? "" : "; ") + std::string("1 in ") + std::to_string(every) + " of " +
                          std::to_string(rows_) + " rows drawn";
}

Figure scatter(const Subject &subject) {
    auto summary = sized<mercer_summary>();
    check(mercer_model_summary(subject.model, &summary));
    std::vector<int64_t> components = subject.components;
    for (int64_t j = 1; subject.components.empty() && j <= std::min<int64_t>(summary.r, 2); ++j)
        components.push_back(j);
    if (components.empty()) throw Failure(MERCER_E_UNSUPPORTED, "the model has no components to draw");
    for (const int64_t component : components)
        if (component > summary.r)
            throw Failure(MERCER_E_VALUE,
                          "component " + std::to_string(component) + ", the model has " + std::to_string(summary.r));

    const Array scores = apply(subject.model, nullptr, subject.data, subject.run)[0].values;
    const bool over_rows = components.size() == 1;
    const int64_t x = over_rows ? -1 : components[0] - 1, y = components.back() - 1;
    Figure figure;
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
