#include "chart/svg.h"
#include "json.h"
#include "plot.h"
#include "report.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace cli {

namespace {

using namespace chart;
using json::member;

const std::string blue = style_of_class(0).colour, red = style_of_class(1).colour, grey = style_of_class(6).colour;
std::vector<double> numbers(const json::Value &list) {
    std::vector<double> out;
    for (const json::Value &value : list.members) out.push_back(number_of(value));
    return out;
}

// What is known of the errors of the eigenvalues.
struct Intervals {
    std::string name; // of the intervals, for the legend; "": none are drawn
    std::vector<double> component, lower, upper;
    double noise = 0; // the level up to which eigenvalues count as noise; 0: not measured
    std::vector<bool> in_noise;
};

Intervals from_bootstrap(const json::Value &report) {
    Intervals out;
    out.lower = numbers(member(report, "lower"));
    out.upper = numbers(member(report, "upper"));
    for (size_t j = 0; j < out.lower.size(); ++j) out.component.push_back(static_cast<double>(j + 1));
    for (const json::Value &value : member(report, "overlaps_noise").members)
        out.in_noise.push_back(value.text == "true");
    out.noise = number_of(member(report, "noise"));
    out.name = format("%g %% interval (bootstrap)", 100 * number_of(member(report, "level")));
    return out;
}

Intervals from_certificates(const json::Value &report) {
    constexpr double narrow = 1e-3; // relative width up to which a bar cannot be seen
    Intervals out;
    double probability = 1, widest = 0;
    for (const json::Value &entry : report.members) {
        if (member(entry, "name").text != "eigenvalue") continue;
        out.component.push_back(number_of(member(entry, "component")) + 1);
        out.lower.push_back(number_of(member(entry, "lower")));
        out.upper.push_back(number_of(member(entry, "upper")));
        probability = std::min(probability, number_of(member(entry, "probability")));
        widest = std::max(widest, out.upper.back() / std::max(out.lower.back(), 1e-300) - 1);
    }
    if (widest > narrow)
        out.name =
            probability < 1 ? format("certified bounds (probability %g %%)", 100 * probability) : "certified bounds";
    return out;
}

Intervals intervals_of(mercer_model *model) {
    const json::Value bootstrap = json::parse(fact_of(model, "/error_bars"));
    if (!bootstrap.members.empty()) return from_bootstrap(bootstrap);
    return from_certificates(json::parse(fact_of(model, "/certificates")));
}

Axis eigenvalue_axis(const std::vector<double> &values, const Intervals &intervals) {
    const auto [least, largest] = std::minmax_element(values.begin(), values.end());
    const bool logarithmic = *least > 0 && *largest > log_from * *least;
    std::vector<double> all = values;
    // A logarithmic axis does not extend to ends of bars below this floor: a bar down to 0, or to
    // rounding errors, would make the axis far too long.
    const double floor = logarithmic ? 0.1 * *least : -INFINITY;
    const auto take = [&](double x) {
        if (x > floor) all.push_back(x);
    };
    if (intervals.noise > 0) take(intervals.noise);
    if (!intervals.name.empty())
        for (const auto *ends : {&intervals.lower, &intervals.upper}) std::for_each(ends->begin(), ends->end(), take);
    Range range = range_of(all);
    if (logarithmic) return {"eigenvalue", {range.lo / 1.4, range.hi * 1.4}, Axis::Kind::logarithmic};
    if (range.lo >= 0) range = range.hi > 1e-290 ? Range{0, 1.06 * range.hi} : Range{0, 1};
    return {"eigenvalue", range.lo < 0 ? padded(range, 0.06) : range, Axis::Kind::linear};
}

void add_share(Figure &figure, const std::vector<double> &component, const Importance &importance, double radius) {
    std::vector<double> share;
    double sum = 0;
    for (const double value : importance.values) share.push_back((sum += value) / importance.total);
    Panel &panel = figure.panels[0];
    const Style square{red, Shape::square, false};
    panel.right = Axis{
        "cumulative share of the variance", {0, std::max(1.06, 1.06 * sum / importance.total)}, Axis::Kind::percent};
    panel.layers.push_back({Lines{{polyline(component, share)}, red, false, false}, true});
    panel.layers.push_back({Marks{component, share, {}, {square}, 0.85 * radius, 1, false}, true});
    figure.legend.push_back({"cumulative share", square, red, false, false});
}

void add_intervals(Figure &figure, const Intervals &intervals) {
    if (intervals.name.empty()) return;
    Panel &panel = figure.panels[0];
    panel.layers.push_back({ErrorBars{intervals.component, intervals.lower, intervals.upper, blue}, false});
    figure.legend.push_back({intervals.name, {}, blue, false, true});
    // The noise level is drawn only if it was measured and lies above the lower end of the axis.
    if (!(intervals.noise > std::max(panel.y.range.lo, 0.0))) return;
    const Range &x = panel.x.range;
    panel.layers.push_back({Lines{{{{x.lo, intervals.noise}, {x.hi, intervals.noise}}}, grey, true, false}, false});
    figure.legend.push_back({"noise level", {}, grey, true, false});
}

// The figure of a model without components: that of a single row, or of rows that are all equal.
Figure no_components() {
    Figure figure;
    figure.panels.resize(1);
    figure.panels[0].x = {"component", {0.5, 1.5}, Axis::Kind::whole};
    figure.panels[0].y = {"eigenvalue", {0, 1}, Axis::Kind::linear};
    figure.caption = without_components;
    return figure;
}

} // namespace

Figure scree(const Subject &subject) {
    const Importance importance = importance_of(subject.model);
    const std::vector<double> &values = importance.values;
    auto summary = sized<mercer_summary>();
    check(mercer_model_summary(subject.model, &summary));
    if (summary.r == 0) return no_components();
    if (values.empty()) throw Failure(MERCER_E_UNSUPPORTED, "the model has no eigenvalues to draw");
    const Intervals intervals = intervals_of(subject.model);
    const double radius = radius_of(values.size());
    std::vector<double> component;
    std::vector<uint32_t> style;
    for (size_t j = 0; j < values.size(); ++j) {
        component.push_back(static_cast<double>(j + 1));
        style.push_back(j < intervals.in_noise.size() && intervals.in_noise[j]);
    }
    const Style full{blue, Shape::circle, false}, hollow{blue, Shape::circle, true};

    Figure figure;
    figure.panels.resize(1);
    Panel &panel = figure.panels[0];
    panel.x = {"component", {0.5, static_cast<double>(values.size()) + 0.5}, Axis::Kind::whole};
    panel.y = eigenvalue_axis(values, intervals);
    panel.y.title = importance.name;
    figure.legend.push_back({importance.name, full, blue, false, false});
    add_intervals(figure, intervals);
    if (importance.total > 0) add_share(figure, component, importance, radius);
    panel.layers.push_back({Lines{{polyline(component, values)}, blue, false, false}, false});
    panel.layers.push_back({Marks{component, values, style, {full, hollow}, radius, 1, false}, false});
    if (std::count(style.begin(), style.end(), 1U) > 0)
        figure.legend.push_back({"overlaps noise", hollow, "", false, false});
    return figure;
}

} // namespace cli
