#include "../check/check.h"
#include "../core/blas.h"
#include "../core/threads.h"
#include "../core/vmath.h"
#include "../derive/derive.h"
#include "../host/modules.h"
#include "handles.h"

using namespace mercer;

namespace {

mercer_entry entry(mercer_context &context, const std::string &name, const std::string &aliases,
                   const std::string &summary, const std::string &reference, const std::string &path, int64_t value = 0,
                   const std::string &version = "", const char *takes = "") {
    return {.struct_size = sizeof(mercer_entry),
            .name = context.keep(name),
            .aliases = context.keep(aliases),
            .summary = context.keep(summary),
            .reference = context.keep(reference),
            .path = context.keep(path),
            .value = value,
            .version = context.keep(version),
            .takes = takes};
}

mercer_entry plugin_entry(mercer_context &context, const Registry::Listing &listing) {
    const Plugin *plugin = listing.loaded.get();
    return entry(context, listing.name, listing.aliases, plugin ? plugin->summary : "", plugin ? plugin->reference : "",
                 listing.path, 0, plugin ? plugin->version : "");
}

Kind kind_of(const std::string &what) {
    if (what == "kernels") return Kind::kernel;
    if (what == "reducers") return Kind::reducer;
    if (what == "solvers") return Kind::solver;
    fail_unknown("registry", what,
                 {"methods", "operations", "derivations", "kernels", "reducers", "lifts", "solvers", "statuses",
                  "folders", "files", "build"});
}

mercer_entry place_entry(mercer_context &context, const Registry::Place &place) {
    return entry(context, place.name, "", place.state, "", place.path, place.count);
}

std::vector<mercer_entry> build_entries(mercer_context &context) {
    const bool builtin = !builtin_modules().empty();
    const std::string rows[][2] = {
        {"version", MERCER_VERSION},
        {"abi", std::to_string(MERCER_ABI)},
        {"blas", blas_description()},
        {"simd", isa_name(best_isa())},
        {"threads", std::to_string(available_threads())},
        {"plugins", builtin ? "built in" : "shared modules"},
    };
    std::vector<mercer_entry> out;
    for (const auto &[name, text] : rows) out.push_back(entry(context, name, "", text, "", ""));
    return out;
}

std::vector<mercer_entry> entries(mercer_context &context, const std::string &what) {
    std::vector<mercer_entry> out;
    if (what == "methods")
        for (const Method &row : methods()) out.push_back(entry(context, row.name, "", row.summary, row.reference, ""));
    else if (what == "operations")
        for (const OutputTraits &row : outputs())
            out.push_back(entry(context, row.name, "", row.summary, "", "", 0, "", name_of(row.takes)));
    else if (what == "derivations")
        for (const Derivation &row : derivations())
            out.push_back(entry(context, row.name, "", row.summary, row.reference, ""));
    else if (what == "lifts")
        for (const LiftTraits &row : lifts())
            out.push_back(entry(context, row.name, "", row.summary, row.reference, ""));
    else if (what == "statuses")
        for (int64_t i = 0; const StatusText *row = status_text(i); ++i)
            out.push_back(entry(context, row->name, "", row->summary, "", "", row->code));
    else if (what == "folders")
        for (const Registry::Place &place : context.registry->folders()) out.push_back(place_entry(context, place));
    else if (what == "files")
        for (const Registry::Place &place : context.registry->files()) out.push_back(place_entry(context, place));
    else if (what == "build")
        out = build_entries(context);
    else
        for (const Registry::Listing &listing : context.registry->list(kind_of(what)))
            out.push_back(plugin_entry(context, listing));
    return out;
}

mercer_entry find_entry(mercer_context &context, const std::string &what, const std::string &name) {
    if (what == "kernels" || what == "reducers" || what == "solvers") {
        std::string own = context.registry->find(kind_of(what), name)->name;
        for (const mercer_entry &found : entries(context, what))
            if (own == found.name) return found;
    }
    std::vector<std::string> known;
    for (const mercer_entry &found : entries(context, what)) {
        if (name == found.name) return found;
        known.push_back(found.name);
    }
    fail_unknown(what.substr(0, what.size() - 1).c_str(), name, known);
}

} // namespace

const char *mercer_version(void) {
    static_assert(MERCER_ABI == 0);
    return MERCER_VERSION " (abi 0)";
}
const char *mercer_last_error(void) { return last_error(); }
void mercer_set_error(const char *text) { set_callback_error(text); }

int32_t mercer_context_create(mercer_context **out) {
    return construct(out, [] { return new mercer_context; });
}
void mercer_context_destroy(mercer_context *context) { delete context; }

int32_t mercer_context_add_plugins(mercer_context *context, const char *folder) {
    return guard([&] { need(context, "context").registry->add_folder(text_of(folder, "folder")); });
}

int32_t mercer_context_set_log(mercer_context *context, void (*log)(void *, int32_t, const char *), void *user) {
    return guard([&] { need(context, "context").settings.log = log, context->settings.log_user = user; });
}

int32_t mercer_context_set_run(mercer_context *context, const mercer_run *run) {
    return guard([&] { need(context, "context").settings.run = read_run(run); });
}

int32_t mercer_context_count(mercer_context *context, const char *what, int64_t *count) {
    return guard([&] {
        need(count, "count") = static_cast<int64_t>(entries(need(context, "context"), text_of(what, "what")).size());
    });
}

int32_t mercer_context_entry(mercer_context *context, const char *what, int64_t index, mercer_entry *out) {
    return guard([&] {
        std::vector<mercer_entry> all = entries(need(context, "context"), text_of(what, "what"));
        if (all.empty()) fail(MERCER_E_VALUE, "index = %" PRId64 ", but there are no entries", index);
        if (index < 0 || index >= static_cast<int64_t>(all.size()))
            fail(MERCER_E_VALUE, "index = %" PRId64 ", must be 0 to %zu", index, all.size() - 1);
        write_struct(out, all[static_cast<size_t>(index)], "entry");
    });
}

int32_t mercer_context_find(mercer_context *context, const char *what, const char *name, mercer_entry *out) {
    return guard([&] {
        write_struct(out, find_entry(need(context, "context"), text_of(what, "what"), text_of(name, "name")), "entry");
    });
}

int32_t mercer_plugin_check(mercer_context *context, const char *name) {
    return guard([&] { check_plugin(*need(context, "context").registry, context->settings, text_of(name, "name")); });
}
