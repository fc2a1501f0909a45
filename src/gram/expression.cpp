#include "expression.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>

namespace mercer {
namespace {

// A recursive descent parser of this grammar:
//     sum = product ('+' product)*
//     product = [number] leaf ('*' leaf)*
//     leaf = name ['[' columns ']']
class Parser {
  public:
    explicit Parser(const std::string &text) : text_(text) {}

    ExpressionText run() {
        ExpressionText out;
        do {
            out.terms.push_back(product());
        } while (take('+'));
        blanks();
        if (at_ != text_.size()) expected("'+', '*' or the end");
        return out;
    }

  private:
    ExpressionText::Term product() {
        ExpressionText::Term term;
        blanks();
        if (at_ < text_.size() && (is_digit(text_[at_]) || text_[at_] == '.')) term.weight = number();
        if (!(term.weight > 0) || !std::isfinite(term.weight))
            fail(MERCER_E_VALUE, "kernel = %s: a weight of %g, must be > 0", shown(), term.weight);
        do {
            term.leaves.push_back(leaf());
        } while (take('*'));
        return term;
    }

    ExpressionText::Leaf leaf() {
        blanks();
        size_t from = at_;
        while (at_ < text_.size() &&
               ((text_[at_] >= 'a' && text_[at_] <= 'z') || is_digit(text_[at_]) || text_[at_] == '-'))
            ++at_;
        ExpressionText::Leaf out;
        out.name = text_.substr(from, at_ - from);
        if (!is_name(out.name)) expected("a kernel's name");
        if (!take('[')) return out;
        do {
            int64_t first = whole(), last = take('-') ? whole() : first;
            constexpr int64_t most = 1'000'000; // limit on the columns of all leaves together
            if (last < first || last >= INT32_MAX) expected("columns like 0-7 in ascending order");
            if ((columns_ += last - first + 1) > most)
                fail(MERCER_E_VALUE, "kernel = %.200s ...: more than %" PRId64 " columns are listed", shown(), most);
            for (int64_t k = first; k <= last; ++k) out.columns.push_back(k);
        } while (take(','));
        if (!take(']')) expected("']'");
        refuse_twice(out);
        return out;
    }

    void refuse_twice(const ExpressionText::Leaf &leaf) const {
        std::vector<int64_t> sorted = leaf.columns;
        std::sort(sorted.begin(), sorted.end());
        const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
        if (twice != sorted.end())
            fail(MERCER_E_VALUE, "kernel = %.200s: column %" PRId64 " of %.60s is listed twice, must be once", shown(),
                 *twice, leaf.name.c_str());
    }

    double number() {
        size_t from = at_;
        while (at_ < text_.size() &&
               (is_digit(text_[at_]) || text_[at_] == '.' || text_[at_] == 'e' || text_[at_] == 'E' ||
                ((text_[at_] == '-' || text_[at_] == '+') && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E'))))
            ++at_;
        double value = 0;
        if (!parse_number(std::string_view(text_).substr(from, at_ - from), &value)) expected("a number");
        return value;
    }

    int64_t whole() {
        blanks();
        size_t from = at_;
        while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
        int64_t value = 0;
        if (!parse_number(std::string_view(text_).substr(from, at_ - from), &value)) expected("a column's number");
        return value;
    }

    bool take(char c) {
        blanks();
        if (at_ >= text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }
    void blanks() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    }
    static bool is_digit(char c) { return c >= '0' && c <= '9'; }
    const char *shown() const { return text_.c_str(); }
    [[noreturn]] void expected(const char *what) const {
        fail(MERCER_E_VALUE, "kernel = %.200s: expected %s at character %zu", shown(), what, at_ + 1);
    }

    const std::string &text_;
    size_t at_ = 0;
    int64_t columns_ = 0;
};

std::string columns_text(const std::vector<int64_t> &columns) {
    std::string out;
    for (size_t k = 0; k < columns.size();) {
        size_t last = k;
        while (last + 1 < columns.size() && columns[last + 1] == columns[last] + 1) ++last;
        out += (out.empty() ? "" : ",") + std::to_string(columns[k]);
        if (last > k) out += "-" + std::to_string(columns[last]);
        k = last + 1;
    }
    return "[" + out + "]";
}

} // namespace

ExpressionText parse_expression(const std::string &text) { return Parser(text).run(); }

std::string expression_text(const ExpressionText &expression) {
    std::string out;
    for (const auto &term : expression.terms) {
        if (!out.empty()) out += " + ";
        if (term.weight != 1) out += number_text(term.weight) + " ";
        for (size_t l = 0; l < term.leaves.size(); ++l) {
            if (l) out += " * ";
            out += term.leaves[l].name;
            if (!term.leaves[l].columns.empty()) out += columns_text(term.leaves[l].columns);
        }
    }
    return out;
}

void UserKernel::tile(const mercer_view &x, const mercer_view &y, const mercer_view &k) const {
    call_back("the user kernel", [&] { return kernel_.tile(kernel_.user, &x, &y, &k); });
}

void Leaf::map(int32_t dtype, void *of, int64_t count) const {
    if (!plugin || !plugin->kernel.map) return;
    operate(*plugin, "map", [&] { plugin->kernel.map(&host_table(), values(), dtype, of, count); });
}

void Leaf::log_map(int32_t dtype, void *of, int64_t count) const {
    operate(*plugin, "log_map", [&] { plugin->kernel.log_map(&host_table(), values(), dtype, of, count); });
}

void Leaf::derivative(int32_t dtype, void *of, int64_t count) const {
    operate(*plugin, "derivative", [&] { plugin->kernel.derivative(&host_table(), values(), dtype, of, count); });
}

Expression::Expression(const ExpressionText &text, Registry &registry) : text_(text) {
    for (auto &term : text_.terms) {
        Term out{term.weight, {}};
        for (auto &from : term.leaves) {
            Leaf leaf;
            leaf.columns = from.columns;
            if (from.name != "user") {
                leaf.plugin = registry.find(Kind::kernel, from.name);
                leaf.params = Params(leaf.plugin->params);
                leaf.form = leaf.plugin->kernel.form;
                from.name = leaf.plugin->name; // an alias is replaced by the kernel's name
            }
            out.leaves.push_back(leaves.size());
            leaves.push_back(std::move(leaf));
        }
        terms_.push_back(std::move(out));
    }
}

std::string Expression::text() const { return expression_text(text_); }

std::string Expression::prefix(size_t leaf) const {
    return leaves.size() == 1 ? "kernel." : "kernel." + std::to_string(leaf + 1) + ".";
}

std::map<std::string, std::string> Expression::stored() const {
    std::map<std::string, std::string> out;
    for (size_t l = 0; l < leaves.size(); ++l)
        for (auto &[name, value] : leaves[l].params.stored()) out[prefix(l) + name] = value;
    return out;
}

void Expression::choose_forms() {
    for (Leaf &leaf : leaves)
        if (leaf.plugin && leaf.plugin->kernel.choose_form) {
            leaf.form =
                operate(*leaf.plugin, "choose_form", [&] { return leaf.plugin->kernel.choose_form(leaf.values()); });
            if (leaf.form < MERCER_DOT || leaf.form > MERCER_BLOCK ||
                (leaf.form == MERCER_BLOCK && !leaf.plugin->kernel.block))
                fail(MERCER_E_PLUGIN, "kernel %s: choose_form returned %d, which is not a form",
                     leaf.plugin->name.c_str(), leaf.form);
        }
}

void Expression::finish(Run &run, int64_t d, const BandwidthRule &bandwidth) {
    choose_forms();
    for (Leaf &leaf : leaves) {
        for (int64_t column : leaf.columns)
            if (column >= d)
                fail(MERCER_E_VALUE, "kernel = %s: column %" PRId64 ", the data have %" PRId64, text().c_str(), column,
                     d);
        int64_t own = leaf_columns(leaf, d);
        const mercer_kernel_facts none{.struct_size = sizeof(mercer_kernel_facts),
                                       .h = NAN,
                                       .kappa = NAN,
                                       .lo = -INFINITY,
                                       .hi = INFINITY,
                                       .lipschitz = NAN,
                                       .flags = 0,
                                       .reserved = 0};
        leaf.facts = none;
        if (!leaf.plugin) {
            leaf.facts.flags = user && user->psd() ? MERCER_PSD : 0;
            continue;
        }
        mercer_kernel_input input{sizeof input, own, 0};
        int64_t rule = leaf.params.table().find("bandwidth");
        if (rule >= 0 && !leaf.params.group_is_set(rule)) input.bandwidth = bandwidth(leaf, leaf.params.get(rule));
        mercer_task task(run, Random(0, Stage::gram));
        if (leaf.plugin->kernel.finish)
            task.perform(*leaf.plugin, "finish", [&] {
                return leaf.plugin->kernel.finish(&host_table(), &task, leaf.params.values(), &input);
            });
        auto ask = [&](int64_t columns, mercer_kernel_facts *out) {
            operate(*leaf.plugin, "facts",
                    [&] { leaf.plugin->kernel.facts(&host_table(), leaf.values(), columns, out); });
        };
        ask(own, &leaf.facts);
        // A radial kernel that is positive definite for any number of columns is completely
        // monotone in the squared distance (Schoenberg 1938), so the magnitude of its derivative
        // decreases. A plugin that declares this for 2^30 columns is taken to declare it for any
        // number.
        mercer_kernel_facts any = none;
        ask(int64_t{1} << 30, &any);
        leaf.slope_falls = any.flags & MERCER_PSD && any.flags & MERCER_RADIAL;
    }
}

bool Expression::is_psd() const {
    return std::all_of(leaves.begin(), leaves.end(), [](const Leaf &leaf) { return leaf.facts.flags & MERCER_PSD; });
}

void Expression::need_psd(const char *who, const char *but) const {
    if (is_psd()) return;
    const bool undeclared = std::any_of(leaves.begin(), leaves.end(), [](const Leaf &leaf) {
        return !leaf.plugin && !(leaf.facts.flags & MERCER_PSD);
    });
    fail(MERCER_E_UNSUPPORTED, "kernel = %s: %s needs a positive semi-definite kernel%s%s", text().c_str(), who, but,
         undeclared ? "; declare MERCER_PSD if it is" : "");
}

double Expression::kappa() const {
    double sum = 0;
    for (const Term &term : terms_) {
        double product = term.weight;
        for (size_t l : term.leaves) product *= leaves[l].facts.kappa;
        sum += product;
    }
    return sum;
}

bool Expression::is_radial() const {
    return leaves.size() == 1 && leaves[0].plugin && leaves[0].columns.empty() && leaves[0].form == MERCER_SQDIST &&
           leaves[0].facts.flags & MERCER_RADIAL;
}

bool Expression::falls() const { return is_radial() && leaves[0].slope_falls; }

void Expression::radial(double *values, int64_t count) const {
    if (!is_radial()) fail(MERCER_E_UNSUPPORTED, "kernel %s is not radial", text().c_str());
    leaves[0].map(MERCER_F64, values, count);
    for (int64_t i = 0; i < count; ++i) values[i] *= terms_[0].weight;
}

bool Expression::calls_back() const { return has_user() && !(user && user->thread_safe()); }

bool Expression::has_block() const {
    return std::any_of(leaves.begin(), leaves.end(), [](const Leaf &leaf) { return leaf.form == MERCER_BLOCK; });
}

bool Expression::has_user() const {
    return std::any_of(leaves.begin(), leaves.end(), [](const Leaf &leaf) { return !leaf.plugin; });
}

} // namespace mercer
