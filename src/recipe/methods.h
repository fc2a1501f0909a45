// The table of methods: which reducer, lift and solver one name combines.
#pragma once
#include <vector>

namespace mercer {

struct Method {
    const char *name, *reducer, *lift, *summary, *reference;
    const char *weights = ""; // default of reducer.weights
};
const std::vector<Method> &methods();

} // namespace mercer
