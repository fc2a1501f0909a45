#ifndef MERCER_CLI_HANDLES_H
#define MERCER_CLI_HANDLES_H

#include "failure.h"

#include <memory>
#include <mercer/mercer.h>
#include <utility>

namespace cli {

template <auto destroy>
struct Destroyer {
    template <class Handle>
    void operator()(Handle *handle) const {
        destroy(handle);
    }
};

using Context = std::unique_ptr<mercer_context, Destroyer<mercer_context_destroy>>;
using Data = std::unique_ptr<mercer_data, Destroyer<mercer_data_destroy>>;
using Recipe = std::unique_ptr<mercer_recipe, Destroyer<mercer_recipe_destroy>>;
using Model = std::unique_ptr<mercer_model, Destroyer<mercer_model_destroy>>;

// Calls a constructor of mercer.h and returns the owner of the handle, as in
// make<Model>(mercer_model_load, context.get(), path).
template <class Owner, class Constructor, class... Arguments>
Owner make(Constructor constructor, Arguments &&...arguments) {
    typename Owner::pointer handle = nullptr;
    check(constructor(&handle, std::forward<Arguments>(arguments)...));
    return Owner(handle);
}

// A struct of mercer.h with its size filled in and all else 0.
template <class Struct>
Struct sized() {
    Struct s = {};
    s.struct_size = sizeof s;
    return s;
}

} // namespace cli

#endif
