#include "check.h"

namespace mercer {

void check_plugin(Registry &registry, const RunSettings &, const std::string &name) { registry.load_file(name); }

} // namespace mercer
