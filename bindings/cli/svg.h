#ifndef MERCER_CLI_SVG_H
#define MERCER_CLI_SVG_H

#include <string>
#include <vector>

/* Scatter plots as SVG text, self-contained: no script, no style sheet, no font but the reader's own. */
namespace cli::svg {

struct Series {
    std::string name; // in the legend
    std::vector<double> x, y;
};

struct Panel {
    std::string title, x_title, y_title;
    bool equal = false; // one unit is as long on both axes
    std::vector<Series> series;
};

/* The panels side by side; series of one place in their lists share colour and legend. Points that are not finite are
 * left out. */
std::string scatter(const std::vector<Panel> &panels);

} // namespace cli::svg

#endif
