#ifndef MERCER_CLI_PLOT_H
#define MERCER_CLI_PLOT_H

#include "chart/chart.h"
#include "input.h"
#include "npy.h"

#include <string>
#include <vector>

/* What the pictures of `mercer plot` are made of. */
namespace cli {

/* What a picture shows. */
struct Subject {
    mercer_context *context;
    mercer_model *model;
    mercer_data *data;               // or null
    std::string labels;              // "" for none, a file, or the name of the column that the data took them from
    std::vector<int64_t> components; // counted from 1; empty: the first ones
    const mercer_run *run;
};

/* Each makes a figure with one panel. */
chart::Figure scree(const Subject &subject);
chart::Figure scatter(const Subject &subject);
chart::Figure map(const Subject &subject, const std::string &operation); // over the plane of two columns

/* A label a row. */
struct Labels {
    std::string title;
    std::vector<double> values;
    std::vector<std::string> names; // of the labels 0, 1 ..., where they were text
};

/* Rows as points of a panel: they join its layers, its legend or its colour bar; the caption says who is missing. */
class Points {
  public:
    /* Label 0 for all rows where the subject has no labels. rows: how many there are. */
    Points(const Subject &subject, int64_t rows);

    /* Column x and column y of values, or with x < 0 the row's number. haloed: on a coloured ground, which has the
     * panel's colour bar. */
    void add_to(chart::Figure &figure, const Array &values, int64_t x, int64_t y, bool haloed) const;

  private:
    void colour_by_class(const Labels &labels, const std::vector<double> &classes);
    void colour_by_value(const Labels &labels);

    int64_t rows_;
    std::vector<uint32_t> style_; // of each row
    std::vector<chart::Style> styles_;
    std::vector<std::pair<size_t, chart::Key>> keys_; // with their styles; the legend lists those that are drawn
    std::optional<chart::Axis> colours_;
};

/* The rows of data as numbers, whatever file they came from; E_SHAPE where they have not so many columns. */
Array values_of(const Subject &subject, mercer_data *data, const std::string &name, int64_t columns);

/* Where --labels is the name of a file, not of a column. */
bool is_label_file(const std::string &labels);

/* The caption where a model has none, as that of one point. */
constexpr const char *without_components = "the model has no components: all variances are below rounding";

/* "component 2 (34.2 % of the variance)". */
std::string component_title(mercer_model *model, int64_t component);

} // namespace cli

#endif
