// The table of methods: which driver, reducer and lift one name combines.
#pragma once
#include <vector>

namespace mercer {

struct Method {
    const char *name, *reducer, *lift, *summary, *reference;
    const char *weights = "";   // default of reducer.weights
    double alpha = 0, time = 0; // defaults of lift.alpha and lift.time
    bool cuts = false;          // finds clusters: its recipes have lift.clusters, its models labels
    const char *driver = "one fit";
};
const std::vector<Method> &methods();

} // namespace mercer
