// The report of a fit: what its stages found, the recipe, and what the forecast said beside what happened.
#pragma once
#include "fit_rows.h"

namespace mercer {

Json report_text(const Run &run, const Recipe &recipe, const Fitted &fitted);

} // namespace mercer
