// Parts of the report of a model, the JSON text that is stored with it.
#pragma once
#include "../lift/lift.h"

namespace mercer {

// Parameters in the form in which the report stores them.
Json parameter_json(const std::map<std::string, std::string> &stored);
Json timings_json(const Run &run);

// Writes what a lift or a derivation found, and the numbers that a reducer reported.
void write_facts(const Lifted &lifted, const std::map<std::string, double> &reducer, Json &text);

// Adds a warning if the components do not explain the requested share of the variance
// (output.variance), because their number is limited or because there are too few centres. n: rows;
// m: centres.
void warn_of_share(const CoreValues &asked, int64_t n, int64_t m, Lifted &lifted);

} // namespace mercer
