#ifndef MERCER_CLI_PLOT_H
#define MERCER_CLI_PLOT_H

#include "chart/chart.h"
#include "input.h"
#include "npy.h"

#include <string>
#include <vector>

// The content of the pictures of `mercer plot`.
namespace cli {

// What a picture is made from.
struct Subject {
    mercer_context *context;
    mercer_model *model;
    mercer_data *data; // or null
    // A file, or the name of the column that `data` took its labels from; "" for none.
    std::string labels;
    std::vector<int64_t> components; // those to draw, counted from 1; empty: the first two
    const mercer_run *run;
};

// Each of these makes a figure with one panel.
chart::Figure scree(const Subject &subject);
// The mean squared error by number of features, with its elbow.
chart::Figure errors(const Subject &subject);
chart::Figure scatter(const Subject &subject);
// A map over the plane of the model's two columns.
chart::Figure map(const Subject &subject, const std::string &operation);

// One label for each row.
struct Labels {
    std::string title;
    std::vector<double> values;
    std::vector<std::string> names; // of the labels 0, 1 ..., if they are classes from a column
};

// The rows of data as points of a panel. They add their marks to its layers, and their labels to
// its legend or its colour bar. The caption says how many rows are not drawn.
class Points {
  public:
    // `rows` is the number of rows. All of them have label 0 if the subject has no labels.
    Points(const Subject &subject, int64_t rows);

    // Draws the points at column x (or, if x < 0, the number of the row) and column y of `values`.
    // haloed: the points lie on a coloured map, to which the panel's colour bar belongs.
    void add_to(chart::Figure &figure, const Array &values, int64_t x, int64_t y, bool haloed) const;

  private:
    void colour_by_class(const Labels &labels, const std::vector<double> &classes);
    void colour_by_value(const Labels &labels);

    int64_t rows_;
    std::vector<uint32_t> style_; // the index in styles_ of each row's style
    std::vector<chart::Style> styles_;
    // The entries of the legend, each with the index of its style. Those whose style is not drawn
    // are left out.
    std::vector<std::pair<size_t, chart::Key>> keys_;
    std::optional<chart::Axis> colours_;
};

// The rows of data as numbers. Throws a Failure with MERCER_E_SHAPE if they do not have `columns`
// columns; the text of the failure calls the data `name`.
Array values_of(const Subject &subject, mercer_data *data, const std::string &name, int64_t columns);

// Whether --labels is the name of a file, not of a column.
bool is_label_file(const std::string &labels);

// If the ratio of the largest value to the smallest exceeds this, an axis is logarithmic, because a
// linear one would hide the small values.
constexpr double log_from = 100;
chart::Polyline polyline(const std::vector<double> &x, const std::vector<double> &y);
double radius_of(size_t marks); // of the marks of a curve, smaller if there are many

// The caption of a picture of a model without components, such as that of a single point.
constexpr const char *without_components = "the model has no components: all variances are below rounding";

// "component 2 (34.2 % of the variance)".
std::string component_title(mercer_model *model, int64_t component);

} // namespace cli

#endif
