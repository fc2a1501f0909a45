// The table of output operations: their names and their options. model/transform.cpp computes them.
#pragma once
#include "../core/params.h"

namespace mercer {

// The values of the options of all output operations.
struct OutputOptions {
    int32_t whiten = 0;
};

// What an operation is computed from: the rows of the data, before the input map; the scores of the
// rows; or the kernel values k(x, C) between the rows and the centres.
enum class Takes { rows, scores, kernel_rows };
const char *name_of(Takes takes);

struct OutputTraits {
    const char *name, *summary;
    Takes takes;
    std::shared_ptr<const ParamTable> rows; // the options of this operation, as rows of a recipe
};
const std::vector<OutputTraits> &outputs(); // the first one, scores, is the default

// Operations in the order in which the caller named them.
using Operations = std::vector<const OutputTraits *>;
// The table of the options that at least one of these operations has.
std::shared_ptr<const ParamTable> rows_of(const Operations &asked);

} // namespace mercer
