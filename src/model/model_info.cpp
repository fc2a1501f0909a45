// What a model tells about itself: its report, with the facts that follow from its tensors.
#include "../core/structs.h"
#include "../core/threads.h"
#include "model.h"

namespace mercer {
namespace {

// Fails with E_NAME, and lists what the deepest existing value on the path contains. Keys come from
// a file, so those that are longer than any key of the library are neither listed nor followed.
[[noreturn]] void fail_unknown_path(const Json &all, const std::string &path) {
    constexpr size_t longest = 80;
    Json::json_pointer at;
    while (true) {
        const Json &node = all.at(at);
        if (node.is_array())
            fail(MERCER_E_NAME, "unknown path '%.80s': '%.80s' has %zu values, counted from 0", path.c_str(),
                 at.to_string().c_str(), node.size());
        std::vector<std::string> known;
        std::optional<Json::json_pointer> next;
        for (const auto &item : node.items()) {
            if (!node.is_object() || item.key().size() > longest) continue;
            known.push_back((at / item.key()).to_string());
            if (path.starts_with(known.back() + "/")) next = at / item.key();
        }
        if (!next) fail_unknown("path", path, known);
        at = *next;
    }
}

} // namespace

void Model::write_info() {
    Json info = text_;
    // The text has these keys if a caller made the model from the info of a loaded one.
    for (const char *here : {"missing", "changed"}) info.erase(here);
    if (!changed_.empty()) info["changed"] = changed_;
    if (missing_.empty())
        info["capabilities"] = capability_names(summary_.capabilities);
    else
        info["missing"] = missing_;
    info["dtype"] = dtype_name(dtype());
    info["n"] = n();
    info["d"] = d();
    info["d_mapped"] = d_mapped();
    info["m"] = m();
    info["r"] = r();
    const auto list = [&](const char *name, Json &shares) {
        Json values = Json::array();
        const Tensor *found = tensor(name);
        for (int64_t k = 0; found && k < found->rows; ++k) {
            const double value = tensor_data<double>(*found)[k];
            values.push_back(value);
            shares.push_back(summary_.total_variance > 0 ? value / summary_.total_variance : 0);
        }
        return values;
    };
    Json shares = Json::array();
    info["eigenvalues"] = list("lambda", shares);
    if (tensor("variance")) info["variances"] = list("variance", shares);
    info["explained_ratio"] = shares;
    Json shapes = Json::object();
    for (const auto &[name, value] : *tensors_)
        shapes[name] =
            record({{"dtype", dtype_name(value.dtype)},
                    {"shape", value.vector ? Json::array({value.rows}) : Json::array({value.rows, value.cols})}});
    info["tensors"] = shapes;
    info_ = std::make_shared<Info>();
    info_->all = std::move(info);
}

// Each text is made on request, because all texts of a hostile file together could be very large.
const char *Model::info(const std::string &path) const {
    std::lock_guard hold(handles_lock());
    auto found = info_->texts.find(path);
    if (found != info_->texts.end()) return found->second.c_str();
    const Json *node = nullptr;
    try {
        node = &info_->all.at(Json::json_pointer(path));
    } catch (const Json::exception &) {
        fail_unknown_path(info_->all, path);
    }
    std::string text = node->is_string()
                           ? node->get<std::string>()
                           : node->dump(node->is_structured() ? 2 : -1, ' ', false, Json::error_handler_t::replace);
    return info_->texts.emplace(path, std::move(text)).first->second.c_str();
}

} // namespace mercer
