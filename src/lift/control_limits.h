// Control limits for monitoring: the values of T2 and of the residual that 5 % and 1 % of the
// training points exceed.
#pragma once
#include "../factor/nystrom_span.h"
#include "../model/lifted.h"

namespace mercer {

// Returns the limits {p95, p99} of an output, from its values at the n weighted points that a model
// was fitted on. weights = nullptr: all weights are 1; the function then reorders `values`.
Quantiles limits_of(Run &run, int64_t n, double *values, const double *weights);
// Returns the limits of residual and T2 over the points x, for the model with centres c. kind: the
// word by which the report describes the limits: "exact" if x are all rows, "centres" if x are the
// centres.
template <class T>
Limits limits_at(Run &run, const Expression &kernel, Points<T> x, Points<T> c, const Lifted &model,
                 const double *weights, const char *kind);

// Returns the limits of residual and T2 over all rows of a projection, for its first r directions.
// T2 is left out if the whitening does not exist. projection.residual is empty afterwards, because
// its memory is used for the residuals of the model.
template <class T>
Limits limits_in_span(Run &run, const SpanRows<T> &span, Projection &projection, int64_t r, const Whitening &whitening,
                      const double *weights);

} // namespace mercer
