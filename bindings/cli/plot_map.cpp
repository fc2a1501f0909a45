#include "chart/svg.h"
#include "commands.h"
#include "plot.h"
#include "report.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace cli {

namespace {

using namespace chart;

constexpr size_t columns = 160, rows = 120; // number of cells of a map
// How far the map extends beyond the points at each side, as a share of their range.
constexpr double outlook = 0.15;

std::vector<double> column_of(const Array &values, int64_t column) {
    std::vector<double> out;
    for (int64_t i = 0; i < values.rows; ++i) out.push_back(values.at(i, column));
    return out;
}

// The name of a column if the model knows it, such as "width", otherwise its number: "column 0".
std::string column_title(mercer_model *model, int64_t column) {
    const std::string number = std::to_string(column), name = fact_of(model, "/columns/" + number);
    return name.empty() ? "column " + number : name;
}

// The model's centres in the units of the data: undoes the input map by x = c / scale + shift.
Array centres_of(mercer_model *model) {
    const Array shift = tensor_of(model, "T.shift"), scale = tensor_of(model, "T.scale");
    Array centres = tensor_of(model, "C").as_f64();
    if (centres.rows == 0 || centres.cols != 2)
        throw Failure(MERCER_E_UNSUPPORTED,
                      "the model does not store its centres as points: give DATA to draw the map over");
    for (int64_t i = 0; i < centres.rows; ++i)
        for (int64_t j = 0; j < centres.cols; ++j) {
            double x = centres.at(i, j);
            if (scale.rows > 0) x /= scale.at(j, 0);
            if (shift.rows > 0) x += shift.at(j, 0);
            std::memcpy(centres.bytes.data() + static_cast<size_t>(i * centres.cols + j) * sizeof x, &x, sizeof x);
        }
    return centres;
}

// A grid of cells around the points. The cells are squares if the ranges of the two columns differ
// by less than a factor of 3.
Grid grid_around(const Array &points) {
    constexpr double comparable = 3;
    Grid grid;
    grid.x = padded(range_of(column_of(points, 0)), outlook);
    grid.y = padded(range_of(column_of(points, 1)), outlook);
    const double ratio = grid.y.length() / grid.x.length();
    if (ratio < comparable && ratio > 1 / comparable) equalise(grid.x, grid.y, Figure().aspect);
    grid.columns = columns;
    grid.rows = rows;
    return grid;
}

// Evaluates the operation at the middles of the cells.
void evaluate(Grid &grid, const Subject &subject, mercer_recipe *operation) {
    std::vector<double> middles;
    for (size_t j = 0; j < rows; ++j)
        for (size_t i = 0; i < columns; ++i) {
            middles.push_back(grid.middle_x(static_cast<double>(i)));
            middles.push_back(grid.middle_y(static_cast<double>(j)));
        }
    auto view = sized<mercer_view>();
    view.dtype = MERCER_F64;
    view.rows = rows * columns;
    view.cols = view.row_stride = 2;
    view.col_stride = 1;
    view.data = middles.data();
    const Data points = make<Data>(mercer_data_from_view, subject.context, &view);
    grid.values = column_of(apply(subject.model, operation, points.get(), subject.run)[0].values, 0);
}

void add_limit(Figure &figure, const Grid &grid, mercer_model *model, const std::string &operation,
               const std::string &level, bool dashed) {
    const std::string limit = fact_of(model, "/limits/" + operation + "/p" + level);
    if (limit.empty()) return;
    const double value = std::strtod(limit.c_str(), nullptr);
    constexpr const char *black = "#000";
    figure.panels[0].layers.push_back({Lines{contour(grid, value), black, dashed, true}, false});
    figure.legend.push_back(
        {format("%s %% of the training rows are below %.3g", level.c_str(), value), {}, black, dashed, false});
}

} // namespace

Figure map(const Subject &subject, const std::string &operation) {
    auto summary = sized<mercer_summary>();
    check(mercer_model_summary(subject.model, &summary));
    if (summary.d != 2)
        throw Failure(MERCER_E_UNSUPPORTED,
                      "a " + operation + " map needs a model of data with 2 columns; the data of this model have " +
                          std::to_string(summary.d));
    const Recipe recipe = make<Recipe>(mercer_recipe_create, subject.context, operation.c_str());
    const Array points = subject.data ? values_of(subject, subject.data, "DATA", 2) : centres_of(subject.model);
    Grid grid = grid_around(points);
    evaluate(grid, subject, recipe.get());

    Figure figure;
    figure.panels.resize(1);
    Panel &panel = figure.panels[0];
    panel.x = {column_title(subject.model, 0), grid.x, Axis::Kind::linear};
    panel.y = {column_title(subject.model, 1), grid.y, Axis::Kind::linear};
    Range scale = range_of(grid.values);
    if (scale.lo > 0) scale.lo = 0;
    if (!(scale.length() > 0)) scale = padded(scale, 0);
    panel.colours = Axis{operation, scale, Axis::Kind::linear};
    panel.layers.push_back({Map{grid, scale}, false});
    add_limit(figure, grid, subject.model, operation, "95", false);
    add_limit(figure, grid, subject.model, operation, "99", true);
    if (subject.data) Points(subject, points.rows).add_to(figure, points, 0, 1, true);
    return figure;
}

} // namespace cli
