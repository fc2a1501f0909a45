// The kernel is a sum of weighted products of leaves. A leaf is a kernel plugin (or the caller's
// function) with its parameters and the columns that it sees. In text form:
// "gaussian[0-7] * hamming[8-11] + 0.1 linear".
#pragma once
#include "../host/task.h"

#include <functional>

namespace mercer {

// The parsed text, before any plugin is looked up.
struct ExpressionText {
    struct Leaf {
        std::string name;
        std::vector<int64_t> columns; // empty: all
    };
    struct Term {
        double weight = 1;
        std::vector<Leaf> leaves;
    };
    std::vector<Term> terms;
};
// Fails with E_VALUE; the message says what was expected, and where.
ExpressionText parse_expression(const std::string &text);
std::string expression_text(const ExpressionText &expression);

// The caller's tile function, which is released together with its last owner.
class UserKernel {
  public:
    explicit UserKernel(const mercer_user_kernel &kernel) : kernel_(kernel) {}
    ~UserKernel() {
        if (owned_ && kernel_.release) kernel_.release(kernel_.user);
    }
    UserKernel(const UserKernel &) = delete;
    // Makes the destructor release the function. The API call that received the function calls
    // own() when it has succeeded; until then the caller remains responsible.
    void own() { owned_ = true; }
    bool thread_safe() const { return kernel_.flags & MERCER_THREAD_SAFE; }
    bool psd() const { return kernel_.flags & MERCER_PSD; }
    void tile(const mercer_view &x, const mercer_view &y, const mercer_view &k) const;

  private:
    mercer_user_kernel kernel_;
    bool owned_ = false;
};

struct Leaf {
    std::shared_ptr<const Plugin> plugin; // nullptr: the leaf "user"
    Params params;
    std::vector<int64_t> columns; // empty: all
    int32_t form = MERCER_BLOCK;
    mercer_kernel_facts facts{};
    bool slope_falls = false; // |dk/dv| decreases as the squared distance v grows
    // One number per column of the leaf; empty: none. Only dense leaves of form sqdist have a
    // shift.
    std::vector<double> shift;
    const void *values() const { return params.values(); }
    // The plugin's operations, which replace `count` form values in place: map by values of k
    // (without a map, k is the form value), log_map by log k, derivative by the derivative of k by
    // the form value. log_map and derivative must not be called if the plugin does not provide
    // them.
    void map(int32_t dtype, void *of, int64_t count) const;
    void log_map(int32_t dtype, void *of, int64_t count) const;
    void derivative(int32_t dtype, void *of, int64_t count) const;
    // True if dk/dx can be computed: the core knows the derivative of this form by x, and the
    // plugin knows the derivative of k by the form value.
    bool has_derivative() const {
        return plugin && (form == MERCER_DOT || form == MERCER_SQDIST) &&
               (plugin->kernel.derivative || !plugin->kernel.map);
    }
};

class Expression {
  public:
    Expression() = default; // no leaf yet
    // Creates the leaves with default parameters.
    Expression(const ExpressionText &text, Registry &registry);

    std::vector<Leaf> leaves;
    std::shared_ptr<const UserKernel> user; // the function of leaves "user"; nullptr: not given

    struct Term {
        double weight;
        std::vector<size_t> leaves;
    };
    const std::vector<Term> &terms() const { return terms_; }
    std::string text() const;
    // Returns the prefix of the names of a leaf's parameters: "kernel." for a lone leaf,
    // "kernel.2." for the second of several.
    std::string prefix(size_t leaf) const;
    std::map<std::string, std::string> stored() const; // all parameters, with prefixes

    // choose_forms() lets every leaf choose its form. finish() calls it first, and then completes
    // the parameters and facts of every leaf for rows that have d columns after the input map
    // (d = 0: objects). For each leaf whose bandwidth is given by a rule, it calls
    // bandwidth(leaf, rule) to compute the value.
    void choose_forms();
    using BandwidthRule = std::function<double(const Leaf &leaf, const std::string &rule)>;
    void finish(Run &run, int64_t d, const BandwidthRule &bandwidth);

    // Properties of the whole kernel, available after finish.
    bool is_psd() const;
    // Fails with E_UNSUPPORTED unless all leaves are declared positive semi-definite. who: what
    // needs this, for the message; but: text that is appended to the message.
    void need_psd(const char *who, const char *but = "") const;
    double kappa() const;   // k(x, x) if it is constant, else NaN
    bool is_radial() const; // a function of the distance over all columns
    bool falls() const;     // radial, and decreases with the distance
    // Turns squared distances into values of k, in place. Any thread may call it. Fails with
    // E_UNSUPPORTED if the kernel is not radial.
    void radial(double *values, int64_t count) const;
    bool calls_back() const; // some leaf must run on the calling thread
    bool has_user() const;
    bool has_block() const; // some leaf computes whole tiles itself
    int64_t leaf_columns(const Leaf &leaf, int64_t d) const {
        return leaf.columns.empty() ? d : static_cast<int64_t>(leaf.columns.size());
    }

  private:
    std::vector<Term> terms_;
    ExpressionText text_;
};

} // namespace mercer
