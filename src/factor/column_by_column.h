// Pivoted Cholesky by rules of plugins that choose one pivot at a time: rules with a score or an
// update of their own, and rules that need MERCER_PIVOT_FULL.
#pragma once
#include "../host/task.h"
#include "partial_cholesky.h"

namespace mercer {

inline bool proceeds_in_rounds(const mercer_pivot_rule &rule) {
    return rule.needs != MERCER_PIVOT_FULL && !rule.score && !rule.update;
}

// Returns the state of a factor as a rule sees it, without the functions that only
// MERCER_PIVOT_FULL provides.
template <class T>
mercer_pivot_state pivot_state(const PartialCholesky<T> &factor);

// Evaluates the status that a callback of a rule has returned: returns false if the callback ended
// the selection, and throws the callback's error if it failed.
bool continues(mercer_task &task, int32_t status);

// Grows a stored factor until the stop holds, the rule ends the selection, or no candidate is left.
// Calls all functions of the rule, including init. Returns true if growth ended because no row
// above the rank floor is left.
template <class T>
bool grow_column_by_column(PartialCholesky<T> &factor, mercer_task &task, const mercer_pivot_rule &rule,
                           const PivotStop &stop);

// Bytes that grow_column_by_column takes in addition to the factor: two f64 vectors.
inline int64_t column_by_column_bytes(int64_t n) { return 16 * n; }

} // namespace mercer
