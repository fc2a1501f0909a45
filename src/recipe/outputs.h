// The table of output operations: names, and the options that a recipe with them has. What they compute is in model/transform.cpp.
#pragma once
#include "../core/params.h"

namespace mercer {

// The options of all operations; each has rows for its own.
struct OutputOptions {
    int32_t whiten = 0;
};

struct OutputTraits {
    const char *name, *summary;
    std::shared_ptr<const ParamTable> rows; // of its OutputOptions
};
const std::vector<OutputTraits> &outputs(); // the first is what NULL means: scores

// Operations in the order that the caller named them.
using Operations = std::vector<const OutputTraits *>;
// The options of all of them.
std::shared_ptr<const ParamTable> rows_of(const Operations &asked);

} // namespace mercer
