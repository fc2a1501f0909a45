// The kernel: a sum of weighted products of leaves; a leaf is a kernel plugin (or the caller's function) with its parameters
// and columns. As text: "gaussian[0-7] * hamming[8-11] + 0.1 linear".
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
    int64_t leaf_count() const;
};
ExpressionText parse_expression(const std::string &text); // E_VALUE: the message says what was expected, and where
std::string expression_text(const ExpressionText &expression);

// The caller's tile function, released with its last owner.
class UserKernel {
  public:
    explicit UserKernel(const mercer_user_kernel &kernel) : kernel_(kernel) {}
    ~UserKernel() {
        if (owned_ && kernel_.release) kernel_.release(kernel_.user);
    }
    UserKernel(const UserKernel &) = delete;
    void own() { owned_ = true; } // the call that took it succeeded
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
    bool slope_falls = false;  // |dk/dv| falls with the squared distance v
    std::vector<double> shift; // one a column of the leaf; empty: none. Only dense leaves of form sqdist have one.
    const void *values() const { return params.values(); }
    // The plugin's operations, in place: form values to values of k (which they are already without a map), to log k, to the
    // derivative of k by the form value. The latter two are there only if the plugin has them.
    void map(int32_t dtype, void *of, int64_t count) const;
    void log_map(int32_t dtype, void *of, int64_t count) const;
    void derivative(int32_t dtype, void *of, int64_t count) const;
    // dk/dx is known: form values have a derivative by x here, and k one by the form value in the plugin.
    bool has_derivative() const {
        return plugin && (form == MERCER_DOT || form == MERCER_SQDIST) &&
               (plugin->kernel.derivative || !plugin->kernel.map);
    }
};

class Expression {
  public:
    Expression() = default; // no leaf yet
    // Leaves at their defaults.
    Expression(const ExpressionText &text, Registry &registry);

    std::vector<Leaf> leaves;
    std::shared_ptr<const UserKernel> user; // behind leaves "user"; nullptr: not given (yet)

    struct Term {
        double weight;
        std::vector<size_t> leaves;
    };
    const std::vector<Term> &terms() const { return terms_; }
    std::string text() const;
    // "kernel.sigma" of a lone leaf, "kernel.2.sigma" of the second of several.
    std::string prefix(size_t leaf) const;
    std::map<std::string, std::string> stored() const; // all leaves' parameters, with their prefix

    // Lets every leaf choose its form, then finish; d columns after the input map (0: objects). bandwidth(leaf, rule) is
    // asked where a rule is to be resolved.
    void choose_forms();
    using BandwidthRule = std::function<double(const Leaf &leaf, const std::string &rule)>;
    void finish(Run &run, int64_t d, const BandwidthRule &bandwidth);

    // Of the whole, after finish.
    bool is_psd() const;
    // Fails with E_UNSUPPORTED unless the kernel is positive semi-definite. who: names what needs that; but: ends the message.
    void need_psd(const char *who, const char *but = "") const;
    double kappa() const;                             // k(x, x) where it is constant, else NaN
    bool is_radial() const;                           // a function of the distance over all columns
    bool falls() const;                               // radial, and falls with the distance
    void radial(double *values, int64_t count) const; // squared distances to k in place, any thread; else E_UNSUPPORTED
    bool calls_back() const;                          // has a leaf that must run on the calling thread
    bool has_user() const;
    bool has_block() const; // a leaf that computes whole tiles itself
    int64_t leaf_columns(const Leaf &leaf, int64_t d) const {
        return leaf.columns.empty() ? d : static_cast<int64_t>(leaf.columns.size());
    }

  private:
    std::vector<Term> terms_;
    ExpressionText text_;
};

} // namespace mercer
