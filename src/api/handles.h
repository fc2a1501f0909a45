// The structs behind the opaque handles, and functions that read arguments. Each C function itself
// is one call of guard or construct.
#pragma once
#include "../core/structs.h"
#include "../gram/data.h"
#include "../io/csv.h"
#include "../model/model.h"
#include "../recipe/recipe.h"

#include <set>

struct mercer_context {
    std::shared_ptr<mercer::Registry> registry = std::make_shared<mercer::Registry>();
    mercer::RunSettings settings;
    std::set<std::string> texts; // the texts to which mercer_entry structs point, each stored once
    const char *keep(const std::string &text) { return texts.insert(text).first->c_str(); }
};

struct mercer_data {
    mercer::Data data;
    mercer::CsvFile file;                                // owns the arrays to which data refers
    std::string names = R"({"columns":[],"labels":[]})"; // text for mercer_data_inspect
    bool integers = false;                               // the file holds integers
    mercer::RunSettings settings{};                      // apply where the caller's mercer_run sets nothing
};

struct mercer_recipe {
    mercer::Recipe recipe;
    mercer::RunSettings settings;
    std::string strategy = {}; // the text to which the last mercer_forecast points
};

struct mercer_model {
    std::shared_ptr<const mercer::Model> model;
    std::atomic<int64_t> owners{1};
};

namespace mercer {

// Returns the recipe of the handle, which must be that of a method.
inline const Recipe &method_recipe(mercer_recipe *handle) {
    const Recipe &recipe = need(handle, "recipe").recipe;
    if (!recipe.is_method()) fail(MERCER_E_ARGUMENT, "recipe: %s; must be a method", recipe.who_takes().c_str());
    return recipe;
}

// The body of a C function that creates a handle. If make() fails, *out is NULL.
template <class Handle, class F>
int32_t construct(Handle **out, F &&make) noexcept {
    if (out) *out = nullptr;
    return guard([&] {
        need(out, "out");
        *out = make();
    });
}

// Checks the flags of a kernel or of objects.
inline void check_flags(const char *what, int32_t flags) {
    if (flags & ~(MERCER_THREAD_SAFE | MERCER_PSD))
        fail(MERCER_E_ARGUMENT, "%s: flags = %d, must be a combination of MERCER_THREAD_SAFE and MERCER_PSD", what,
             flags);
}

inline mercer_user_kernel read_user_kernel(const mercer_user_kernel *given) {
    mercer_user_kernel kernel = read_struct(given, "user_kernel", sizeof(mercer_user_kernel));
    need(kernel.tile, "user_kernel: tile");
    check_flags("user_kernel", kernel.flags);
    if (kernel.reserved != 0) fail(MERCER_E_ARGUMENT, "user_kernel: reserved = %d, must be 0", kernel.reserved);
    return kernel;
}

inline mercer_model *new_model(std::shared_ptr<const Model> model) {
    auto *handle = new mercer_model;
    handle->model = std::move(model);
    return handle;
}

} // namespace mercer
