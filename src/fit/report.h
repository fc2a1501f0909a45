// The report of a model: the JSON text that is stored with it.
#pragma once
#include "../lift/lift.h"

namespace mercer {

// In the form in which a model's report stores them.
Json parameter_json(const std::map<std::string, std::string> &stored);
Json timings_json(const Run &run);

// What a fit knows when its model is finished.
struct FitFacts {
    const Run &run;
    const Recipe &recipe;
    const Prepared &prepared;
    const Reduction &reduction;
    const Centres &centres;
    const Plan &plan;
    const Lifted &lifted;
    const mercer_forecast &ahead;
};
Json report_text(const FitFacts &facts);
// A warning where the limit on components kept a requested share of the variance out of reach.
void warn_of_limit(const CoreValues &asked, const Tensors &tensors, Json &text);

} // namespace mercer
