#include "chart/svg.h"
#include "json.h"
#include "plot.h"
#include "report.h"

#include <cmath>

namespace cli {

namespace {

using namespace chart;

// The number of features at the elbow: the point of the curve that lies farthest below the straight
// line from its first to its last point, in the units of the picture. 0: the curve has no elbow.
size_t elbow_of(const std::vector<double> &height) {
    const double count = static_cast<double>(height.size() - 1), fall = height.front() - height.back();
    if (!(fall > 0)) return 0;
    size_t elbow = 0;
    double farthest = 0;
    for (size_t k = 0; k < height.size(); ++k) {
        const double below = 1 - static_cast<double>(k) / count - (height[k] - height.back()) / fall;
        if (below > farthest) farthest = below, elbow = k;
    }
    return elbow;
}

} // namespace

Figure errors(const Subject &subject) {
    std::vector<double> error, count;
    for (const json::Value &value : json::parse(fact_of(subject.model, "/errors")).members)
        error.push_back(number_of(value)), count.push_back(static_cast<double>(count.size()));
    if (error.size() < 2)
        throw Failure(MERCER_E_UNSUPPORTED,
                      "the model has no errors by number of features: only models of the lift 'triangular' have them, "
                      "such as those of the method 'akfa'");
    const double first = error.front(), last = error.back();
    const bool logarithmic = last > 0 && first > log_from * last;
    std::vector<double> height;
    for (const double value : error) height.push_back(logarithmic ? std::log(value) : value);
    const size_t elbow = elbow_of(height);

    Figure figure;
    figure.panels.resize(1);
    Panel &panel = figure.panels[0];
    const Style dot = {style_of_class(0).colour, Shape::circle, false},
                ring = {style_of_class(1).colour, Shape::circle, true};
    panel.x = {"features", {-0.5, count.back() + 0.5}, Axis::Kind::whole};
    panel.y = {"mean squared error", logarithmic ? Range{last / 1.4, first * 1.4} : Range{0, 1.06 * first},
               logarithmic ? Axis::Kind::logarithmic : Axis::Kind::linear};
    const double radius = radius_of(error.size());
    panel.layers.push_back({Lines{{polyline(count, error)}, dot.colour, false, false}, false});
    panel.layers.push_back({Marks{count, error, {}, {dot}, radius, 1, false}, false});
    figure.legend.push_back({"mean squared distance of the rows to the features", dot, dot.colour, false, false});
    if (elbow > 0) {
        panel.layers.push_back({Marks{{count[elbow]}, {error[elbow]}, {}, {ring}, 2 * radius, 1, false}, false});
        figure.legend.push_back(
            {format("elbow: %zu features, %.1f %% of the error left", elbow, 100 * error[elbow] / first), ring, "",
             false, false});
    }
    return figure;
}

} // namespace cli
