// The table of methods: which reducer, lift and solver one name combines.
#pragma once
#include <vector>

namespace mercer {

struct Method {
    const char *name, *reducer, *lift, *summary, *reference;
    const char *weights = "";   // default of reducer.weights
    double alpha = 0, time = 0; // defaults of lift.alpha and lift.time
    bool cuts = false;          // finds clusters: its recipes have lift.clusters, its models labels
    bool searches = false;      // grows a factor until an accuracy is certified (fit/auto_search)
};
const std::vector<Method> &methods();

} // namespace mercer
