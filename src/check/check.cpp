#include "check.h"

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstdarg>
#include <cstdio>

namespace mercer {
namespace {

// Returns a value inside the range of a numeric parameter, chosen by the counter `at`. A lower end
// of at most -1000 and an upper end of at least 1000 count as far. A real value of a wide range is
// near the lower end; if this end is far, near the upper end; if both are far, near 0. A whole
// number is at most 5 above the lower end. If this end is far, the number is at most 1000 below h,
// where h is the upper end or, if that is far, 1000.
std::string interior(const mercer_row &row, int64_t at) {
    const double u = check_number(at, 0), far = 1000;
    if (row.type == MERCER_INT) {
        double hi = std::min(row.hi, far), lo = std::max(row.lo, hi - far);
        if (row.lo > -far) lo = row.lo, hi = std::min(row.hi, row.lo + 5);
        return number_text(
            static_cast<int64_t>(std::ceil(lo) + std::floor(u * (std::floor(hi) - std::ceil(lo) + 0.999))));
    }
    if (row.hi - row.lo < far) return number_text(row.lo + (0.2 + 0.6 * u) * (row.hi - row.lo));
    if (row.lo > -far) return number_text(row.lo + 0.4 + 1.6 * u);
    if (row.hi < far) return number_text(row.hi - 0.4 - 1.6 * u);
    return number_text(4 * u - 2);
}

// Returns all values at which the parameter of this row is tested.
std::vector<std::string> values_of(const mercer_row &row, int64_t at) {
    switch (row.type) {
    case MERCER_REAL: {
        // A wide range that starts near 0 or above is also tested close to its lower end and far
        // above it.
        constexpr double small = 0.06, large = 12;
        std::vector<std::string> values = {interior(row, at)};
        if (row.lo > -large && row.hi - row.lo > 2 * large)
            for (const double step : {small, large}) values.push_back(number_text(row.lo + step));
        return values;
    }
    case MERCER_INT: return {interior(row, at)};
    case MERCER_BOOL: return {"false", "true"};
    case MERCER_CHOICE: return split(row.choices, '|');
    default: return {};
    }
}

// Sets all parameters that have test values at once, but only one of each group, whose members
// exclude one another. `at` decides which one, and chooses the values.
Setting full_setting(const Plugin &plugin, int64_t at) {
    Setting setting{Params(plugin.params), ""};
    const auto &rows = plugin.params->rows();
    std::map<std::string, std::vector<size_t>> groups;
    for (size_t i = 0; i < rows.size(); ++i)
        groups[*rows[i].row.group ? rows[i].row.group : "row " + std::to_string(i)].push_back(i);
    for (auto &[name, members] : groups) {
        const int64_t first = at + static_cast<int64_t>(members[0]);
        const size_t of = members[static_cast<size_t>(check_number(first, 1) * static_cast<double>(members.size()))];
        std::vector<std::string> values = values_of(rows[of].row, first);
        if (values.empty()) continue;
        const std::string &value =
            values[static_cast<size_t>(check_number(first, 2) * static_cast<double>(values.size()))];
        setting.params.set(static_cast<int64_t>(of), value, rows[of].row.name);
        setting.text += (setting.text.empty() ? "" : ", ") + std::string(rows[of].row.name) + " = " + value;
    }
    return setting;
}

// Returns true if this thread's arithmetic rounds to nearest and keeps subnormal numbers.
bool usual_arithmetic() {
    volatile double least = 0x1p-1022;
    volatile double below = least / 4;
    return std::fegetround() == FE_TONEAREST && below != 0 && below * 4 == least;
}

// Saves the caller's floating-point mode and restores it at the end of its life.
struct KeptMode {
    KeptMode() { std::fegetenv(&mode); }
    ~KeptMode() { std::fesetenv(&mode); }
    KeptMode(const KeptMode &) = delete;
    std::fenv_t mode;
};

} // namespace

std::vector<Setting> check_settings(const Plugin &plugin) {
    std::vector<Setting> settings = {{Params(plugin.params), "defaults"}};
    const auto &rows = plugin.params->rows();
    for (size_t i = 0; i < rows.size(); ++i)
        for (const std::string &value : values_of(rows[i].row, 10 * static_cast<int64_t>(i))) {
            Setting setting{Params(plugin.params), std::string(rows[i].row.name) + " = " + value};
            setting.params.set(static_cast<int64_t>(i), value, rows[i].row.name);
            settings.push_back(std::move(setting));
        }
    for (int64_t k = 0; rows.size() > 1 && k < 3; ++k) settings.push_back(full_setting(plugin, 1000 * (k + 1)));
    return settings;
}

void broken(const char *format, ...) {
    char text[512];
    va_list args;
    va_start(args, format);
    std::vsnprintf(text, sizeof text, format, args);
    va_end(args);
    throw Broken(MERCER_E_PLUGIN, text);
}

std::string returned(const char *what, int32_t status, const std::string &error) {
    const StatusText *known = status_text(status);
    return std::string(what) + " returned " + std::to_string(status) + " (" + (known ? known->name : "no status") +
           (error.empty() ? "), without a text from host->fail" : "): " + error);
}

void Suite::need(int32_t status, const mercer_task &task, const char *operation) const {
    if (status == MERCER_OK) return;
    broken("%s", returned(operation, status, task.error).c_str());
}

void Suite::check(const char *title, const std::function<void()> &body) {
    case_.clear();
    run.progress(0);
    run.log(0, format("check: %s", title).c_str());
    const std::string owner = std::string(kind_name(plugin->kind)) + " " + plugin->name + ": ";
    const KeptMode mode;
    const bool usual = usual_arithmetic();
    try {
        body();
        if (usual_arithmetic() != usual) broken("it changed the floating-point mode");
    } catch (const std::bad_alloc &) {
        throw;
    } catch (const Error &e) {
        if (e.code() == MERCER_E_MEMORY || e.code() == MERCER_E_BUDGET) throw;
        // progress() throws if the caller cancelled. Otherwise the plugin returned E_CANCELLED
        // without cause, which is a fault.
        if (e.code() == MERCER_E_CANCELLED) run.progress(0);
        std::string text = e.what();
        if (text.rfind(owner, 0) == 0) text.erase(0, owner.size());
        fail(MERCER_E_PLUGIN, "%s%s: %s%s%s%s", owner.c_str(), title, text.c_str(), case_.empty() ? "" : " [",
             case_.c_str(), case_.empty() ? "" : "]");
    } catch (const std::exception &e) {
        fail(MERCER_E_PLUGIN, "%s%s: it threw an exception: %s", owner.c_str(), title, e.what());
    } catch (...) {
        fail(MERCER_E_PLUGIN, "%s%s: it threw an exception", owner.c_str(), title);
    }
    note(std::string("pass: ") + title);
}

void check_plugin(Registry &registry, const RunSettings &settings, const std::string &name) {
    std::shared_ptr<const Plugin> plugin;
    if (!name.empty() && name[0] == '/') plugin = registry.load_file(name);
    for (Kind kind : {Kind::kernel, Kind::reducer, Kind::solver}) {
        const std::string prefix = std::string(kind_name(kind)) + "-";
        if (!plugin && name.rfind(prefix, 0) == 0) plugin = registry.find(kind, name.substr(prefix.size()));
    }
    if (!plugin)
        fail(MERCER_E_NAME, "plugin '%s': must be kernel-NAME, reducer-NAME, solver-NAME or an absolute path",
             name.c_str());
    Run run(settings, nullptr);
    run.stage("check");
    Suite suite(run, plugin);
    switch (plugin->kind) {
    case Kind::kernel: return check_kernel(suite);
    case Kind::reducer: return check_reducer(suite);
    case Kind::solver: return check_solver(suite);
    }
}

} // namespace mercer
