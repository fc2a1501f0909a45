// A checkpoint is one safetensors file, like a model. The text holds the identity of the fit and
// the host's numbers; the tensors are the solver's numbers ("solver.state"), the solver's columns
// ("solver.columns.K", in the type in which blocks store them) and the host's tensors. The file is
// written straight from the blocks and then replaces the old one, so a process that is killed at
// any moment leaves a complete file.
// A failed write, mostly for lack of disk space, is only a warning: the fit is worth more than its
// checkpoint.
// Cost: the first cycle is always written; a later one only after ten times the duration of the
// last write.
#include "checkpoint.h"

#include "../core/block.h"
#include "../io/files.h"

#include <algorithm>
#include <cstring>

namespace mercer {
namespace {

constexpr double sparing = 10; // seconds of work per second of writing

std::string name_of(int64_t range) { return "solver.columns." + std::to_string(range); }

std::string shown(const Json &value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

// Collects the differences between two identities; parameters appear by their names.
void differences(const Json &there, const Json &here, const std::string &prefix, std::vector<std::string> &out) {
    auto note = [&](const std::string &name, const Json *other, const Json *own) {
        const std::string text = prefix == "data."
                                     ? "the data differ (" + name + ")"
                                     : name + (other ? " = " + shown(*other) : " is not set") + " in the checkpoint, " +
                                           (own ? shown(*own) : "not set") + " in this fit";
        if (std::find(out.begin(), out.end(), text) == out.end()) out.push_back(text);
    };
    for (const auto &[name, value] : here.items()) {
        const bool known = there.is_object() && there.contains(name);
        if (known && there[name] == value) continue;
        if (value.is_object())
            differences(known ? there[name] : Json(), value, name == "recipe" ? "" : prefix + name + ".", out);
        else
            note(prefix + name, known ? &there[name] : nullptr, &value);
    }
    for (const auto &[name, value] : there.items())
        if (!here.contains(name)) note(prefix + name, &value, nullptr);
}

void compare(const std::string &path, const Json &there, const Json &here) {
    constexpr size_t shown_at_most = 4;
    std::vector<std::string> found;
    differences(there, here, "", found);
    if (found.empty()) return;
    std::string text;
    for (size_t k = 0; k < std::min(found.size(), shown_at_most); ++k) text += (k > 0 ? "; " : "") + found[k];
    if (found.size() > shown_at_most) text += format("; and %zu more", found.size() - shown_at_most);
    fail(MERCER_E_VALUE, "checkpoint '%s' belongs to another fit: %s", shown_path(path).c_str(), text.c_str());
}

} // namespace

Checkpoint::Checkpoint(Run &run, std::string path, Json identity)
    : run_(run), path_(std::move(path)), identity_(std::move(identity)) {
    check_replaceable(path_);
    if (!file_exists(path_)) return;
    const std::string what = "checkpoint '" + shown_path(path_) + "'";
    const InputFile input(path_);
    try {
        file_ = read_safetensors(from_start(input), input.size(), what, [&](const std::string &metadata) {
            Json text = parse_model_text(metadata, what);
            if (!text.is_object() || !text.contains("checkpoint") || !text.contains("fit"))
                fail(MERCER_E_MODEL, "%s: the file is not a checkpoint", what.c_str());
            compare(path_, text["fit"], identity_);
            said_ = std::move(text["checkpoint"]);
        });
    } catch (const Error &e) {
        if (e.code() != MERCER_E_BUDGET) throw;
        fail(MERCER_E_BUDGET, "%s: %s", what.c_str(), e.what());
    }
}

const Tensor *Checkpoint::tensor(const std::string &name) const {
    const auto found = file_.tensors.find(name);
    return found == file_.tensors.end() ? nullptr : &found->second;
}

bool Checkpoint::resume(double *numbers, int64_t count, const Columns *columns, int64_t ranges) {
    const Tensor *state = tensor("solver.state");
    if (!state) return false;
    auto fits = [&](const Tensor *tensor, int32_t dtype, int64_t rows, int64_t cols) {
        if (!tensor || tensor->dtype != dtype || tensor->rows != rows || tensor->cols != cols)
            fail(MERCER_E_MODEL, "checkpoint '%s': it does not contain the state of this solver",
                 shown_path(path_).c_str());
    };
    fits(state, MERCER_F64, count, 1);
    std::memcpy(numbers, state->bytes.data(), static_cast<size_t>(8 * count));
    for (int64_t k = 0; k < ranges; ++k) {
        Block &block = *columns[k].block;
        const std::string name = name_of(k);
        fits(tensor(name), block.f32() ? MERCER_F32 : MERCER_F64, columns[k].count, block.n());
        block.use(columns[k].first, columns[k].count);
        std::memcpy(block.bytes(columns[k].first), file_.tensors[name].bytes.data(),
                    static_cast<size_t>(file_.tensors[name].bytes.size()));
        file_.tensors.erase(name);
    }
    if (ranges > 0) file_.tensors.clear(); // a state is resumed once: the next solve starts afresh
    return true;
}

void Checkpoint::save(const double *numbers, int64_t count, const Columns *columns, int64_t ranges) {
    const Clock::time_point begin = Clock::now();
    auto seconds = [](auto time) { return std::chrono::duration<double>(time).count(); };
    if (cost_ >= 0 && seconds(begin - written_) < sparing * cost_) return;
    Json text = record({{"fit", identity_}, {"checkpoint", Json::object()}});
    std::map<std::string, TensorView> tensors;
    auto add = [&](const std::string &name, int32_t dtype, int64_t rows, int64_t cols, const void *data) {
        TensorView &view = tensors[name];
        view.dtype = dtype, view.rows = rows, view.cols = cols, view.vector = cols == 1, view.data = data;
        view.bytes = rows * cols * dtype_size(dtype);
    };
    add("solver.state", MERCER_F64, count, 1, numbers);
    for (int64_t k = 0; k < ranges; ++k) {
        Block &block = *columns[k].block;
        block.use(columns[k].first, columns[k].count);
        add(name_of(k), block.f32() ? MERCER_F32 : MERCER_F64, columns[k].count, block.n(),
            block.bytes(columns[k].first));
    }
    if (say) say(text["checkpoint"], tensors);
    try {
        replace_file(path_, [&](const Writer &write) { write_safetensors(write, text.dump(), tensors); });
        failing_ = false;
    } catch (const Error &e) {
        if (e.code() != MERCER_E_IO) throw;
        if (!failing_)
            run_.log(2, (std::string("the fit continues, but the checkpoint was not updated: ") + e.what()).c_str());
        failing_ = true;
    }
    written_ = Clock::now();
    cost_ = seconds(written_ - begin);
}

} // namespace mercer
