// What stands behind the opaque handles, and how arguments are read. The functions themselves are one guard call each.
#pragma once
#include "../fit/fit.h"

#include <cinttypes>
#include <cstring>
#include <set>

struct mercer_context {
    std::shared_ptr<mercer::Registry> registry = std::make_shared<mercer::Registry>();
    mercer::RunSettings settings;
    std::set<std::string> texts; // handed out by entries; each once
    const char *keep(const std::string &text) { return texts.insert(text).first->c_str(); }
};

struct mercer_data {
    mercer::Data data;
};

struct mercer_recipe {
    mercer::Recipe recipe;
    mercer::RunSettings settings;
};

struct mercer_model {
    std::shared_ptr<const mercer::Model> model;
    std::atomic<int64_t> owners{1};
};

namespace mercer {

template <class T> T &need(T *handle, const char *name) {
    if (!handle) fail(MERCER_E_ARGUMENT, "%s is NULL", name);
    return *handle;
}

inline const char *text_of(const char *text, const char *name) { return &need(text, name); }

// A caller's struct, as large as it was when the caller was compiled, in ours; required is what it must at least hold.
template <class T> T read_struct(const T *from, const char *name, size_t required) {
    need(from, name);
    if (from->struct_size < static_cast<int64_t>(required) || from->struct_size > 4096)
        fail(MERCER_E_ARGUMENT, "%s: struct_size = %" PRId64 ", must be sizeof(mercer_%s) = %zu", name, from->struct_size, name, sizeof(T));
    T out{};
    std::memcpy(&out, from, std::min(static_cast<size_t>(from->struct_size), sizeof(T)));
    return out;
}

// Fills the caller's struct as far as it reaches; its struct_size stays what it says.
template <class T> void write_struct(T *to, const T &from, const char *name) {
    need(to, name);
    if (to->struct_size < static_cast<int64_t>(sizeof(int64_t)) || to->struct_size > 4096)
        fail(MERCER_E_ARGUMENT, "%s: struct_size = %" PRId64 ", must be sizeof the struct = %zu", name, to->struct_size, sizeof(T));
    const int64_t size = to->struct_size;
    std::memcpy(to, &from, std::min(static_cast<size_t>(size), sizeof(T)));
    to->struct_size = size;
}

// The body of a constructor: *out is NULL unless make() returns.
template <class Handle, class F> int32_t construct(Handle **out, F &&make) noexcept {
    if (out) *out = nullptr;
    return guard([&] {
        need(out, "out");
        *out = make();
    });
}

inline mercer_model *new_model(std::shared_ptr<const Model> model) {
    auto *handle = new mercer_model;
    handle->model = std::move(model);
    return handle;
}

} // namespace mercer
