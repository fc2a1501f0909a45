// A recipe: a method, an output operation or a derivation, and its parameters. The caller sees one
// list of rows (one for each parameter): those of the core and those of the kernel, the reducer and
// the solver that the recipe names. Each value is stored once, in the Params of its owner.
#pragma once
#include "../gram/expression.h"
#include "drivers.h"
#include "methods.h"
#include "outputs.h"
#include "parameters.h"
#include "traits.h"

namespace mercer {

class Recipe {
  public:
    Recipe(std::shared_ptr<Registry> registry, const std::string &name);

    bool is_method() const { return method_ != nullptr; }
    const Method *method() const { return method_; }             // nullptr: an output operation, or a derivation
    bool is_operation() const { return !operations_.empty(); }   // on data, with a model
    const Operations &operations() const { return operations_; } // one, or several that were named "scores,t2"
    const Derivation *derivation() const { return derivation_; } // nullptr: a method, or an output operation
    std::string who_takes() const;                               // "'compress' is a derivation, ..."
    const OutputOptions &options() const {
        return *static_cast<const OutputOptions *>(core_.values());
    } // only if is_operation()
    const CoreValues &values() const { return *static_cast<const CoreValues *>(core_.values()); }
    const Expression &kernel() const { return *kernel_; }                     // only if is_method()
    const std::shared_ptr<const Plugin> &reducer() const { return reducer_; } // nullptr: all rows
    const Params &reducer_params() const { return reducer_params_; }
    const std::shared_ptr<const Plugin> &solver() const { return solver_; } // nullptr: chosen by the fit
    const Params &solver_params() const { return solver_params_; }
    const Params &derivation_params() const { return own_; } // the derivation's own rows
    Registry &registry() const { return *registry_; }

    void set(const std::string &name, const std::string &value);
    void set_many(const std::vector<std::pair<std::string, std::string>> &pairs); // all or none
    const char *get(const std::string &name);                                     // borrowed until the next call
    void set_user(std::shared_ptr<const UserKernel> user); // the kernel becomes "user" unless it has such a leaf

    struct Row {
        Params *params;
        int64_t index;
        std::string prefix; // such as "kernel."; "" for the core's rows, whose names are complete
        std::string name() const { return prefix + params->table().rows()[static_cast<size_t>(index)].row.name; }
        const mercer_row &row() const { return params->table().rows()[static_cast<size_t>(index)].row; }
    };
    std::vector<Row> rows();
    mercer_row public_row(int64_t index); // texts live until a part changes

    // All values that are set or have a default, by name: what a model stores.
    std::map<std::string, std::string> stored() const;

  private:
    Row find(const std::string &name);
    bool has_core_row(size_t index) const;
    void refuse_elsewhere(const std::string &name) const;
    void refuse_share(const Row &row, const std::string &text) const;
    void set_part(const std::string &part, const std::string &value);
    const char *default_reducer() const;
    std::string default_weights() const; // "": the default in the row

    std::shared_ptr<Registry> registry_;
    Operations operations_;
    const Derivation *derivation_ = nullptr;
    const Method *method_ = nullptr;
    Params core_; // CoreValues; of an output operation its OutputOptions
    Params own_;  // rows that only this derivation has
    std::shared_ptr<Expression> kernel_;
    std::shared_ptr<const Plugin> reducer_, solver_;
    Params reducer_params_, solver_params_;
    std::string got_;
    std::map<std::string, std::string> shown_; // names and choices handed out by public_row
};

// The values of a derivation's own rows; T is the struct of their table.
template <class T>
const T &derivation_values(const Recipe &recipe) {
    return *static_cast<const T *>(recipe.derivation_params().values());
}

const LiftTraits &lift_of(const Recipe &recipe);     // of a derivation: a lift without any trait
const DriverTraits &driver_of(const Recipe &recipe); // of what is not a method: a driver without any trait

} // namespace mercer
