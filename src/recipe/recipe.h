// A recipe: a method, one or more output operations, or a derivation, and its parameters. The
// caller sees one list of rows, one row for each parameter: those of the core, those of a
// derivation, and those of the kernel, the reducer and the solver that the recipe names. Each value
// is stored once, in the Params of its owner.
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
    const Method *method() const { return method_; }             // nullptr: the recipe is not of a method
    bool is_operation() const { return !operations_.empty(); }   // true: the recipe is of output operations
    const Operations &operations() const { return operations_; } // several if the name was such as "scores,t2"
    const Derivation *derivation() const { return derivation_; } // nullptr: the recipe is not of a derivation
    // Says, for messages, which function takes this recipe: "'compress' is a derivation, for ...".
    std::string who_takes() const;
    // options() may be called only if is_operation(), values() only otherwise.
    const OutputOptions &options() const { return *static_cast<const OutputOptions *>(core_.values()); }
    const CoreValues &values() const { return *static_cast<const CoreValues *>(core_.values()); }
    const Expression &kernel() const { return *kernel_; }                     // only if is_method()
    const std::shared_ptr<const Plugin> &reducer() const { return reducer_; } // nullptr: all rows are centres
    const Params &reducer_params() const { return reducer_params_; }
    const std::shared_ptr<const Plugin> &solver() const { return solver_; } // nullptr: the fit chooses one
    const Params &solver_params() const { return solver_params_; }
    const Params &derivation_params() const { return own_; } // the derivation's own rows
    Registry &registry() const { return *registry_; }

    void set(const std::string &name, const std::string &value);
    // Sets all pairs of name and value, or none if one of them fails.
    void set_many(const std::vector<std::pair<std::string, std::string>> &pairs);
    const char *get(const std::string &name); // the text is valid until the next call of get
    // Sets the user's kernel function. If the kernel has no leaf "user", the kernel becomes "user".
    void set_user(std::shared_ptr<const UserKernel> user);

    struct Row {
        Params *params;
        int64_t index;
        std::string prefix; // such as "kernel."; "" for rows with complete names, of the core or a derivation
        std::string name() const { return prefix + params->table().rows()[static_cast<size_t>(index)].row.name; }
        const mercer_row &row() const { return params->table().rows()[static_cast<size_t>(index)].row; }
    };
    std::vector<Row> rows();
    mercer_row public_row(int64_t index); // its texts are valid until a part of the recipe changes

    // Returns all values that are set or have a default, by name. A model stores them.
    std::map<std::string, std::string> stored() const;

  private:
    Row find(const std::string &name);
    bool has_core_row(size_t index) const;
    void refuse_elsewhere(const std::string &name) const;
    void refuse_other_plugins(const std::string &name) const;
    void refuse_share(const Row &row, const std::string &text) const;
    void set_part(const std::string &part, const std::string &value);
    const char *default_reducer() const;
    // The default of a core row in this recipe; "": that of the row itself.
    std::string own_default(const std::string &row) const;

    std::shared_ptr<Registry> registry_;
    Operations operations_;
    const Derivation *derivation_ = nullptr;
    const Method *method_ = nullptr;
    Params core_; // its values are an OutputOptions if is_operation(), and a CoreValues otherwise
    Params own_;  // the rows that only this derivation has
    std::shared_ptr<Expression> kernel_;
    std::shared_ptr<const Plugin> reducer_, solver_;
    Params reducer_params_, solver_params_;
    std::string got_;                          // the text that get() returned last
    std::map<std::string, std::string> shown_; // the texts that public_row() has returned
};

// Returns the values of a derivation's own rows. T: the struct of their table.
template <class T>
const T &derivation_values(const Recipe &recipe) {
    return *static_cast<const T *>(recipe.derivation_params().values());
}

// If the recipe is of a derivation, lift_of returns a lift for which all traits are false. If it is
// not of a method, driver_of returns such a driver.
const LiftTraits &lift_of(const Recipe &recipe);
const DriverTraits &driver_of(const Recipe &recipe);

} // namespace mercer
