// Control limits of per-point outputs, for monitoring: values that 5 % and 1 % of the training
// points exceed.
#pragma once
#include "../factor/nystrom_span.h"
#include "../model/lifted.h"

namespace mercer {

// Returns the limits {p95, p99} of an output, from its values at the n weighted points that a model
// was fitted on. The order of the values is lost. weights nullptr: all 1.
Quantiles limits_of(Run &run, int64_t n, double *values, const double *weights);
// Returns the limits of residual and T2 at the points x, for an expansion on the centres c. kind:
// what the report says of the limits, "exact" if x are all rows, "centres" if x are the centres.
template <class T>
Limits limits_at(Run &run, const Expression &kernel, Points<T> x, Points<T> c, const Lifted &model,
                 const double *weights, const char *kind);

// Returns the limits of residual and T2 over all rows of a projection, for as many components as
// `lambda` has entries. lambda: the variances of the components. projection.residual is used up,
// because its memory serves for the residuals of the model.
template <class T>
Limits limits_in_span(Run &run, const SpanRows<T> &span, Projection &projection, const std::vector<double> &lambda,
                      const double *weights);

} // namespace mercer
