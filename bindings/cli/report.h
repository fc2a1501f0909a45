#ifndef MERCER_CLI_REPORT_H
#define MERCER_CLI_REPORT_H

#include "npy.h"

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

// What the commands print for people.
namespace cli {

using Cells = std::vector<std::vector<std::string>>;

// Prints columns as wide as their widest cell, two blanks apart. `align` has an 'l' or an 'r' for
// each column.
void print_table(FILE *stream, const Cells &cells, const std::string &align);

std::string human_bytes(double bytes);
std::string human_count(double count);
std::string human_seconds(double seconds);
std::string percent(double share);

// What mercer_model_info says at a path such as "/timings/total"; "" if there is nothing. The path
// "" gives the whole report.
std::string fact_of(mercer_model *model, const std::string &path);

// The eigenvalues, or the variances of features that are not principal components, and the total
// variance of which they are shares. Empty if the model has neither.
struct Importance {
    const char *name = "eigenvalue";
    std::vector<double> values;
    double total = 0;
};
Importance importance_of(mercer_model *model);
// Prints the first `most` rows and the last, whose cumulative share is that of all components
// together.
void print_importance(FILE *stream, const Importance &importance, size_t most = 20);

// Prints how far, by the certificates, an eigenvalue may be from the exact one. Prints nothing if
// there are no certificates, or if the headline says it already. `tighter` is the flag that
// requests stronger certificates, or "".
void print_accuracy(FILE *stream, mercer_model *model, const std::string &tighter);

// Prints a line such as "kpca, kernel gaussian: 600 x 2 f64 -> 10 components on 600 centres".
void print_headline(FILE *stream, mercer_model *model);

// Prints the costs of a fit or a derivation, beside the forecast if there is one.
void print_costs(FILE *stream, mercer_model *model, const std::optional<mercer_forecast> &forecast, double seconds);

// Prints the outcome bits and the report's own warnings on standard error.
void warn_of_outcome(mercer_model *model);

// Prints a line on standard error and, if as_json, {"error": {"code", "name", "text"}} on standard
// output.
void print_failure(const Failure &failure, bool as_json);

} // namespace cli

#endif
