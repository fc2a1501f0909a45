#include "model.h"

#include "../core/structs.h"
#include "../core/threads.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <optional>
#include <set>

namespace mercer {
namespace {

struct BitName {
    uint32_t bit;
    const char *name;
};
constexpr BitName outcome_bits[] = {
    {MERCER_RANK_REACHED, "rank_reached"}, {MERCER_INDEFINITE, "indefinite"}, {MERCER_NOT_CONVERGED, "not_converged"}};
constexpr BitName capability_bits[] = {{MERCER_CAN_ORTHONORMAL, "orthonormal"},
                                       {MERCER_CAN_MEAN, "mean"},
                                       {MERCER_CAN_MERGE, "mergeable"},
                                       {MERCER_CAN_DENSITY, "density"},
                                       {MERCER_CAN_RESIDUAL, "residual"},
                                       {MERCER_CAN_GRADIENT, "gradient"},
                                       {MERCER_CAN_LABELS, "labels"}}; // MERCER_CAN_SHARE is not stored

template <size_t N>
Json names(const BitName (&bits)[N], uint32_t set) {
    Json out = Json::array();
    for (const BitName &bit : bits)
        if (set & bit.bit) out.push_back(bit.name);
    return out;
}

template <size_t N>
uint32_t bits_of(const BitName (&bits)[N], const Json &list, const char *what) {
    uint32_t set = 0;
    for (const Json &item : list) {
        bool known = false;
        for (const BitName &bit : bits)
            if (item.is_string() && item.get<std::string>() == bit.name) set |= bit.bit, known = true;
        if (!known) fail(MERCER_E_MODEL, "header: %s '%s' is unknown to this version", what, item.dump().c_str());
    }
    return set;
}

[[noreturn]] void bad_text(const char *key) {
    fail(MERCER_E_MODEL, "header: '%s' is missing or has the wrong type", key);
}

std::string text_at(const Json &json, const char *key, const char *otherwise) {
    if (!json.contains(key)) return otherwise ? otherwise : (bad_text(key), "");
    if (!json[key].is_string()) bad_text(key);
    return json[key].get<std::string>();
}

constexpr double largest_count = 0x1p53;

double number_at(const Json &json, const char *key, double otherwise) {
    if (!json.contains(key)) return otherwise;
    if (!json[key].is_number()) bad_text(key);
    return json[key].get<double>();
}

int64_t count_at(const Json &json, const char *key, int64_t otherwise) {
    double value = number_at(json, key, static_cast<double>(otherwise));
    if (!(value >= 0 && value <= largest_count)) bad_text(key);
    return static_cast<int64_t>(value);
}

// Names the kernel plugins that are not available, each once with the reason; returns "" if none is
// missing. A hostile text may name any number of plugins, so the list is limited.
std::string missing_plugins(const ExpressionText &text, Registry &registry) {
    constexpr size_t most = 4;
    std::map<std::string, std::string> why;
    for (const auto &term : text.terms)
        for (const auto &leaf : term.leaves)
            if (leaf.name != "user" && why.size() < most && why.count(leaf.name) == 0)
                if (std::string fault = registry.why_missing(Kind::kernel, leaf.name); !fault.empty())
                    why[leaf.name] = std::move(fault);
    std::string out;
    for (const auto &[name, fault] : why) out += (out.empty() ? "" : "; ") + fault;
    return out;
}

// Returns the file and version of each leaf's plugin: "/usr/lib/.../kernel-gaussian.so, version 0.1.0".
std::string plugin_files(const Expression &kernel) {
    std::set<std::string> files;
    for (const Leaf &leaf : kernel.leaves)
        if (const Plugin *plugin = leaf.plugin.get())
            files.insert((plugin->path.empty() ? plugin->name : plugin->path) + ", version " + plugin->version);
    std::string out;
    for (const std::string &file : files) out += (out.empty() ? "" : " and ") + file;
    return out;
}

bool is_plugin_version(const Json &need) {
    return need.is_object() && need.size() == 2 && need.contains("kernel") && need["kernel"].is_string() &&
           need.contains("version") && need["version"].is_string();
}

} // namespace

Json required_plugins(const Expression &kernel) {
    Json out = Json::array();
    std::set<std::string> seen;
    for (const Leaf &leaf : kernel.leaves)
        if (const Plugin *plugin = leaf.plugin.get(); plugin && plugin->version != MERCER_VERSION)
            if (seen.insert(plugin->name).second)
                out.push_back(record({{"kernel", plugin->name}, {"version", plugin->version}}));
    return out;
}

Json outcome_names(uint32_t outcome) { return names(outcome_bits, outcome); }
Json capability_names(uint32_t capabilities) { return names(capability_bits, capabilities); }

const Tensor *Model::tensor(const std::string &name) const {
    auto found = tensors_->find(name);
    return found == tensors_->end() ? nullptr : &found->second;
}

mercer_view Model::tensor_view(const std::string &name) const {
    const Tensor *found = tensor(name);
    if (!found) {
        std::vector<std::string> known;
        for (const auto &[key, value] : *tensors_) known.push_back(key);
        fail_unknown("tensor", name, known);
    }
    return view_of_rows(found->dtype, found->rows, found->cols, found->bytes.data());
}

const int64_t *Model::indices() const {
    const Tensor *found = tensor("indices");
    return found ? tensor_data<int64_t>(*found) : nullptr;
}

std::shared_ptr<const Model> Model::assemble(Json text, Tensors tensors, Registry &registry,
                                             const RunSettings &settings, Plugins plugins) {
    std::shared_ptr<Model> model(new Model);
    model->settings_.run.threads = settings.run.threads; // no callbacks: the caller may free them after this call
    model->settings_.run.memory = settings.run.memory;
    model->text_ = std::move(text);
    model->tensors_ = std::make_shared<const Tensors>(std::move(tensors));
    try {
        model->read_centres();
        model->read_text();
        model->check_shapes();
        model->whitening_ = std::make_shared<const Whitening>(*model->tensors_);
        model->read_kernel(registry, plugins);
        model->check_centres();
        model->compare_plugins();
        model->read_map();
        model->see_ledger();
        model->see_capabilities();
        model->write_info();
    } catch (const Json::exception &e) {
        fail(MERCER_E_MODEL, "header: %s", e.what());
    }
    if (!model->changed_.empty() && settings.log) settings.log(settings.log_user, 2, model->changed_.c_str());
    return model;
}

std::shared_ptr<const Model> Model::bind(std::shared_ptr<const UserKernel> user) const {
    if (!kernel().has_user())
        fail(MERCER_E_UNSUPPORTED, "the model's kernel is '%s': it has no leaf 'user'", kernel_.text().c_str());
    std::shared_ptr<Model> model(new Model(*this));
    model->kernel_.user = std::move(user);
    model->lazy_ = std::make_shared<Lazy>();
    model->see_capabilities();
    return model;
}

// Uses the rows of one dense tensor as centres or frequencies.
void Model::read_dense_centres(const char *name, const Tensor &centres) {
    if (centres.dtype != summary_.dtype) fail(MERCER_E_MODEL, "tensor '%s' does not have the type of 'A'", name);
    summary_.m = centres.rows;
    summary_.d_mapped = centres.cols;
    centres_ = make_view_source(tensor_view(name));
}

void Model::read_sparse_centres(const Tensor &values) {
    const Tensor *columns = tensor("C.columns"), *offsets = tensor("C.offsets");
    if (!columns || !offsets || columns->dtype != MERCER_I64 || offsets->dtype != MERCER_I64 ||
        values.dtype != summary_.dtype || offsets->rows < 1 || columns->rows != values.rows || values.cols != 1 ||
        columns->cols != 1 || offsets->cols != 1)
        fail(MERCER_E_MODEL, "tensors 'C.values', 'C.columns' and 'C.offsets' do not match each other");
    summary_.m = offsets->rows - 1;
    summary_.d_mapped = count_at(text_, "d", 0);
    if (summary_.d_mapped > INT32_MAX)
        fail(MERCER_E_MODEL, "header: d = %" PRId64 ", sparse rows have at most 2147483647 columns", summary_.d_mapped);
    try {
        centres_ = std::make_shared<SparseSource>(mercer_sparse{.struct_size = sizeof(mercer_sparse),
                                                                .layout = MERCER_CSR,
                                                                .dtype = values.dtype,
                                                                .index_dtype = MERCER_I64,
                                                                .base = 0,
                                                                .rows = summary_.m,
                                                                .cols = summary_.d_mapped,
                                                                .count = values.rows,
                                                                .offsets = offsets->bytes.data(),
                                                                .indices = columns->bytes.data(),
                                                                .values = values.bytes.data()});
    } catch (const Error &e) {
        fail(MERCER_E_MODEL, "tensor 'C.values': %s", e.what());
    }
}

void Model::read_centres() {
    const Tensor *a = tensor("A");
    if (!a) fail(MERCER_E_MODEL, "tensor 'A' is missing");
    if (a->dtype == MERCER_I64) fail(MERCER_E_MODEL, "tensor 'A' has type i64, must be f32 or f64");
    summary_.dtype = a->dtype;
    summary_.r = a->cols;
    int sets = 0;
    if (const Tensor *c = tensor("C")) ++sets, read_dense_centres("C", *c);
    if (const Tensor *w = tensor("frequencies")) {
        ++sets;
        read_dense_centres("frequencies", *w);
        frequencies_ = true;
    }
    if (const Tensor *i = tensor("indices")) {
        ++sets;
        if (i->dtype != MERCER_I64 || i->cols != 1) fail(MERCER_E_MODEL, "tensor 'indices' must be one column of i64");
        summary_.m = i->rows;
    }
    if (const Tensor *values = tensor("C.values")) ++sets, read_sparse_centres(*values);
    if (centres_ && summary_.d_mapped < 1)
        fail(MERCER_E_MODEL, "the centres have %" PRId64 " columns, must be >= 1", summary_.d_mapped);
    summary_.d = summary_.d_mapped; // T scales columns one by one, so it does not change their number
    if (sets != 1)
        fail(MERCER_E_MODEL, "a model has one of the tensors 'C', 'C.values', 'indices', 'frequencies', not %d", sets);
}

void Model::read_text() {
    if (!text_.is_object()) fail(MERCER_E_MODEL, "header: the model's text is not a JSON object");
    if (number_at(text_, "format", 1) != 1)
        fail(MERCER_E_MODEL, "header: format %s, but this version reads format 1", text_["format"].dump().c_str());
    if (text_.contains("requires"))
        for (const Json &need : text_["requires"])
            if (!is_plugin_version(need))
                fail(MERCER_E_MODEL, "header: the model requires %s, which this version does not support",
                     need.dump().c_str());
    summary_.struct_size = sizeof summary_;
    int64_t fewest = summary_.m; // the fit had at least m rows, and the rows with the numbers in indices()
    for (int64_t k = 0; indices() && k < summary_.m; ++k)
        fewest = std::max(fewest, indices()[k] < INT64_MAX ? indices()[k] + 1 : 0);
    summary_.n = count_at(text_, "n", fewest);
    summary_.outcome = bits_of(outcome_bits, text_.value("outcome", Json::array()), "outcome");
    summary_.capabilities = bits_of(capability_bits, text_.value("capabilities", Json::array()), "capability");
    const Json total = text_.value("total_variance", Json::object());
    summary_.total_variance = total.is_object() ? number_at(total, "value", 0) : number_at(text_, "total_variance", 0);
    mean_square_ = number_at(text_, "mean_square", 0);
    leaves_missing_ = text_.value("parameters", Json::object()).value("data.missing", "") == "rows";
    if (summary_.n < 1) fail(MERCER_E_MODEL, "header: n = %" PRId64 ", must be >= 1", summary_.n);
    if (summary_.m == 0 && summary_.r > 0)
        fail(MERCER_E_MODEL, "header: %" PRId64 " components without a centre", summary_.r);
}

// Reports faults of the text as E_MODEL; the error of an unknown or refused plugin keeps its code.
void Model::read_kernel(Registry &registry, Plugins plugins) {
    try {
        const ExpressionText text = parse_expression(text_at(text_, "kernel", nullptr));
        if (plugins == Plugins::wanted) missing_ = missing_plugins(text, registry);
        if (!missing_.empty()) return;
        kernel_ = Expression(text, registry);
        try {
            read_parameters();
        } catch (const Error &e) {
            if (plugins == Plugins::needed || e.code() != MERCER_E_VALUE) throw;
            missing_ = "its parameters do not match those of " + plugin_files(kernel_) + ": " + e.what();
            return;
        }
        RunSettings quiet;
        quiet.run.threads = 1;
        quiet.run.memory = int64_t{1} << 40;
        Run run(quiet, nullptr);
        kernel_.finish(run, d_mapped(), [](const Leaf &leaf, const std::string &) -> double {
            fail(MERCER_E_MODEL, "the parameters of kernel %s lack its bandwidth", leaf.plugin->name.c_str());
        });
    } catch (const Error &e) {
        fail(e.code() == MERCER_E_VALUE ? MERCER_E_MODEL : e.code(), "header: %s", e.what());
    }
    for (size_t l = 0; l < kernel_.leaves.size(); ++l) {
        Leaf &leaf = kernel_.leaves[l];
        const Tensor *shift = tensor("shift." + std::to_string(l + 1));
        if (!shift) continue;
        if (shift->dtype != MERCER_F64 || shift->rows != kernel_.leaf_columns(leaf, d_mapped()) || shift->cols != 1 ||
            leaf.form != MERCER_SQDIST)
            fail(MERCER_E_MODEL, "tensor 'shift.%zu' does not match its leaf", l + 1);
        leaf.shift.assign(tensor_data<double>(*shift), tensor_data<double>(*shift) + shift->rows);
    }
}

// Notes in changed_ which plugins have another version than in the fit, because values may differ.
void Model::compare_plugins() {
    if (!missing_.empty() || !text_.contains("requires")) return;
    std::map<std::string, std::string> made_with;
    for (const Json &need : text_["requires"]) made_with[need["kernel"]] = need["version"];
    const auto shown = [](const std::string &version) {
        if (version == MERCER_VERSION) return std::string("the library's own");
        return "version " + Json(version.substr(0, 40)).dump(-1, ' ', true, Json::error_handler_t::replace);
    };
    std::set<std::string> seen;
    for (const Leaf &leaf : kernel_.leaves) {
        const Plugin *plugin = leaf.plugin.get();
        if (!plugin || !seen.insert(plugin->name).second) continue; // the leaf `user` has no plugin
        const std::string &listed = made_with.try_emplace(plugin->name, MERCER_VERSION).first->second;
        const std::string then = shown(listed), now = shown(plugin->version);
        if (then != now)
            changed_ +=
                format("%sthe model was fitted with the kernel '%s', %.80s, and %.300s is %.80s: its values may differ",
                       changed_.empty() ? "" : "; ", plugin->name.c_str(), then.c_str(),
                       plugin->path.empty() ? "the one built in" : plugin->path.c_str(), now.c_str());
    }
}

// Sets the stored parameters of the kernel's plugins. Fails with E_VALUE if a plugin refuses them,
// which means that its parameter table differs from that of the plugin that wrote them.
void Model::read_parameters() {
    const Json stored = text_.value("parameters", Json::object());
    std::set<std::string> known;
    for (size_t l = 0; l < kernel_.leaves.size(); ++l) {
        Params &params = kernel_.leaves[l].params;
        for (size_t row = 0; row < params.table().rows().size(); ++row) {
            const std::string name = kernel_.prefix(l) + params.table().rows()[row].row.name;
            known.insert(name);
            if (!stored.contains(name)) continue;
            const Json &value = stored[name];
            params.set(static_cast<int64_t>(row), value.is_string() ? value.get<std::string>() : value.dump(),
                       name.c_str());
        }
    }
    for (const auto &[name, value] : stored.items())
        if (name.rfind("kernel.", 0) == 0 && known.count(name) == 0)
            fail(MERCER_E_VALUE, "the kernel '%.200s' has no parameter '%.80s'", kernel_.text().c_str(), name.c_str());
}

void Model::read_map() {
    if (const Tensor *scale = tensor("T.scale")) {
        const Tensor *shift = tensor("T.shift");
        map_.scale.assign(tensor_data<double>(*scale), tensor_data<double>(*scale) + scale->rows);
        map_.shift.assign(tensor_data<double>(*shift), tensor_data<double>(*shift) + shift->rows);
    }
}

std::string Model::why_no_gradient() const {
    if (has_frequencies()) return "its features are random frequencies";
    if (tensor("v")) return "it has a denominator g (tensor 'v')";
    if (indices()) return "objects have no coordinates";
    if (centres_->kind() == Source::Kind::sparse) return "its centres are sparse";
    for (const Leaf &leaf : kernel_.leaves)
        if (!leaf.has_derivative())
            return format("the kernel '%s' has no derivative", leaf.plugin ? leaf.plugin->name.c_str() : "user");
    return "";
}

void Model::see_capabilities() {
    if (!missing_.empty()) {
        summary_.capabilities = 0;
        return;
    }
    summary_.capabilities &= ~uint32_t{MERCER_CAN_SHARE | MERCER_CAN_GRADIENT};
    if (!kernel_.calls_back()) summary_.capabilities |= MERCER_CAN_SHARE;
    if (why_no_gradient().empty()) summary_.capabilities |= MERCER_CAN_GRADIENT;
}

const RowScores *Model::row_scores() const {
    if (!lazy_->made.load(std::memory_order_acquire)) { // not call_once: it hangs under TSAN after an exception
        const std::lock_guard<std::mutex> lock(lazy_->mutex);
        if (!lazy_->made) lazy_->row = make_row_scores(*this);
        lazy_->made.store(true, std::memory_order_release);
    }
    return lazy_->row.get();
}

} // namespace mercer
