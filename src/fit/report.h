// The report of a model: the JSON text that is stored with it.
#pragma once
#include "../lift/lift.h"

namespace mercer {

// Parameters in the form in which the report stores them.
Json parameter_json(const std::map<std::string, std::string> &stored);
Json timings_json(const Run &run);

// How the method `auto` came to its decision.
struct AutoReport {
    // A look at the factor: the largest relative error of an eigenvalue that each kind of evidence
    // certifies; infinite if it certifies none.
    struct Look {
        int64_t m;                                    // columns of the factor
        double trace = NAN, norm = NAN, proved = NAN; // by the trace, by the norm, by all evidence; NAN: not tried
        int64_t directions = 0, rows = 0, needed = 0; // of the sample of residual rows; 0: none was drawn
    };
    double accuracy = 0;
    std::vector<Look> looks;
    bool exact = true;
    std::string why;
};
Json auto_json(const AutoReport &report);

// Writes what a lift or a derivation found, and the numbers that a reducer reported.
void write_facts(const Lifted &lifted, const std::map<std::string, double> &reducer, Json &text);

// Adds a warning if the components do not explain the requested share of the variance, because
// their number is limited or because there are too few centres.
void warn_of_share(const CoreValues &asked, int64_t n, int64_t m, Lifted &lifted);

} // namespace mercer
