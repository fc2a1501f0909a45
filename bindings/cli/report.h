#ifndef MERCER_CLI_REPORT_H
#define MERCER_CLI_REPORT_H

#include "npy.h"

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

/* What the commands print for people. */
namespace cli {

using Cells = std::vector<std::vector<std::string>>;

/* Columns as wide as their widest cell, two blanks apart; align has 'l' or 'r' for each. */
void print_table(FILE *stream, const Cells &cells, const std::string &align);

std::string human_bytes(double bytes);
std::string human_count(double count);
std::string human_seconds(double seconds);
std::string percent(double share);

/* What mercer_model_info says at a path, as "/timings/total"; "" where it says nothing. The path "" is all of it. */
std::string fact_of(mercer_model *model, const std::string &path);

/* Eigenvalues and their shares of the total variance. Empty where the model has none. */
struct Importance {
    std::vector<double> eigenvalues;
    double total = 0;
};
Importance importance_of(mercer_model *model);
/* The first `most` rows and the last, whose cumulative share is what was kept. */
void print_importance(FILE *stream, const Importance &importance, size_t most = 20);

/* How far an eigenvalue is at most from the exact one, by the certificates; nothing where the headline says it, or where there are
 * none. tighter: the flag that makes it certify more, or "". */
void print_accuracy(FILE *stream, mercer_model *model, const std::string &tighter);

/* "kpca, kernel gaussian: 600 x 2 f64 -> 10 components on 600 centres". */
void print_headline(FILE *stream, mercer_model *model);

/* The forecast (where there is one) beside what happened. */
void print_costs(FILE *stream, mercer_model *model, const std::optional<mercer_forecast> &forecast, double seconds);

/* The outcome bits and the report's own warnings, on standard error. */
void warn_of_outcome(mercer_model *model);

/* Status -> {"code", "name", "text"} on standard output (as_json) and a line on standard error. */
void print_failure(const Failure &failure, bool as_json);

} // namespace cli

#endif
