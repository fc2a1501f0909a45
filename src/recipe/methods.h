// The table of methods. The name of a method stands for a driver, a reducer and a lift.
#pragma once
#include <vector>

namespace mercer {

struct Method {
    const char *name, *reducer, *lift, *summary, *reference;
    const char *weights = "";   // default of reducer.weights; "": that of the parameter itself
    double alpha = 0, time = 0; // defaults of lift.alpha and lift.time
    bool cuts = false;          // true: it finds clusters, so recipes have lift.clusters and models have labels
    const char *driver = "one fit";
};
const std::vector<Method> &methods();

} // namespace mercer
