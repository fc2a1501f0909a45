// Pivots that a rule of a plugin chooses one at a time: rules with a score or an update of their
// own, and those that need MERCER_PIVOT_FULL.
#pragma once
#include "../host/task.h"
#include "partial_cholesky.h"

namespace mercer {

inline bool proceeds_in_rounds(const mercer_pivot_rule &rule) {
    return rule.needs != MERCER_PIVOT_FULL && !rule.score && !rule.update;
}

// What a rule sees of a factor, without the functions that only MERCER_PIVOT_FULL provides.
template <class T>
mercer_pivot_state pivot_state(const PartialCholesky<T> &factor);

// Returns false if a callback of a rule ended the selection; throws the error with which it failed.
bool continues(mercer_task &task, int32_t status);

// Grows a stored factor until the stop holds, the rule ends the selection, or no candidate is left.
// Calls all functions of the rule, including init. Returns true if no row above the rank floor is
// left.
template <class T>
bool grow_column_by_column(PartialCholesky<T> &factor, mercer_task &task, const mercer_pivot_rule &rule,
                           const PivotStop &stop);

// Bytes that this takes in addition to the factor.
inline int64_t column_by_column_bytes(int64_t n) { return 16 * n; }

} // namespace mercer
