// The report of a fit: the results of its stages, the recipe, and the forecast compared with what
// the fit really took.
#pragma once
#include "fit_rows.h"

namespace mercer {

Json report_text(const Run &run, const Recipe &recipe, const Fitted &fitted);

} // namespace mercer
