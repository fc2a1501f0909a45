// A checkpoint is one safetensors file, like a model. The text holds the identity of the job and,
// for each registered state (a section), its identity and plain values; the tensors are those of
// the states, named SECTION.NAME. They are written straight from the memory of the states, and the
// file then replaces the old one, so a process that is killed at any moment leaves a complete file.
// All states are written at one moment and so fit each other. A failed write, mostly for lack of
// disk space, is only a warning: the job is worth more than its checkpoint.
//
// Cost: the first call of save() always writes. A later one writes only if ten times the duration
// of the last write has passed since then, so that writing takes about a tenth of the time at most.
#include "checkpoint.h"

#include "../io/files.h"
#include "model.h"

#include <algorithm>

namespace mercer {
namespace {

// The file is written again only after this many times the duration of the last write.
constexpr double sparing = 10;

constexpr int format_number = 2; // files of format 1 had no sections and stored only a solver's state

std::string shown(const Json &value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

// Collects the differences between two identities; parameters appear by their names.
void differences(const Json &there, const Json &here, const std::string &group, std::vector<std::string> &out) {
    auto note = [&](const std::string &name, const Json *other, const Json *own) {
        const std::string text = group == "data"
                                     ? "the data differ (" + name + ")"
                                     : name + (other ? " = " + shown(*other) : " is not set") + " in the checkpoint, " +
                                           (own ? shown(*own) : "not set") + " in this fit";
        if (std::find(out.begin(), out.end(), text) == out.end()) out.push_back(text);
    };
    for (const auto &[name, value] : here.items()) {
        const bool known = there.is_object() && there.contains(name);
        if (known && there[name] == value) continue;
        if (value.is_object())
            differences(known ? there[name] : Json(), value, name, out);
        else
            note(name, known ? &there[name] : nullptr, &value);
    }
    for (const auto &[name, value] : there.items())
        if (!here.contains(name)) note(name, &value, nullptr);
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
    try {
        read();
    } catch (const Json::exception &) {
        refuse("its text is incomplete");
    } catch (const Error &e) {
        if (e.code() != MERCER_E_BUDGET) throw;
        fail(MERCER_E_BUDGET, "%s: %s", shown_name().c_str(), e.what());
    }
}

std::string Checkpoint::shown_name() const { return "checkpoint '" + shown_path(path_) + "'"; }

void Checkpoint::refuse(const char *why) const { fail(MERCER_E_MODEL, "%s: %s", shown_name().c_str(), why); }

// Tensors are named SECTION.NAME. The identity is compared before any of them is read.
void Checkpoint::read() {
    const InputFile input(path_);
    Json sections;
    SafetensorsFile file =
        read_safetensors(from_start(input), input.size(), shown_name(), [&](const std::string &metadata) {
            Json text = parse_model_text(metadata, shown_name());
            if (!text.is_object() || !text.contains("checkpoint") || !text.contains("fit"))
                refuse("the file is not a checkpoint");
            if (text["checkpoint"] != Json(format_number))
                refuse("another version of the library wrote it, in another format: remove it to start again");
            compare(path_, text["fit"], identity_);
            sections = std::move(text.at("sections"));
        });
    for (auto &[name, section] : sections.items())
        stored_[name] = {std::move(section.at("identity")), std::move(section.at("values")), {}};
    for (auto &[name, tensor] : file.tensors) {
        const size_t dot = name.find('.');
        const auto owner = stored_.find(name.substr(0, dot));
        if (dot == std::string::npos || owner == stored_.end()) refuse("it contains a tensor that belongs to no state");
        owner->second.tensors[name.substr(dot + 1)] = std::move(tensor);
    }
}

Checkpoint::Section Checkpoint::add(const std::string &name, CheckpointState &state) {
    if (const auto found = stored_.find(name); found != stored_.end()) {
        compare(path_, found->second.identity, state.identity());
        try {
            state.restore(found->second.values, std::move(found->second.tensors));
        } catch (const Json::exception &) {
            refuse(("the state '" + name + "' is incomplete").c_str());
        } catch (const Error &e) {
            fail(e.code(), "%s: %s", shown_name().c_str(), e.what());
        }
        stored_.erase(found);
    }
    states_[name] = &state;
    return {*this, name};
}

void Checkpoint::save() {
    const Clock::time_point begin = Clock::now();
    auto seconds = [](auto time) { return std::chrono::duration<double>(time).count(); };
    if (cost_ >= 0 && seconds(begin - written_) < sparing * cost_) return;
    try {
        write();
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

void Checkpoint::write() {
    Json sections = Json::object();
    TensorViews tensors;
    auto add = [&](const std::string &name, Json identity, Json values, const TensorViews &own) {
        sections[name] = record({{"identity", std::move(identity)}, {"values", std::move(values)}});
        for (const auto &[tensor, view] : own) tensors[name + "." + tensor] = view;
    };
    for (const auto &[name, stored] : stored_)
        add(name, stored.identity, stored.values, TensorViews(stored.tensors.begin(), stored.tensors.end()));
    for (const auto &[name, state] : states_) {
        Json values = Json::object();
        TensorViews own;
        state->store(values, own);
        add(name, state->identity(), std::move(values), own);
    }
    const Json text = record({{"checkpoint", format_number}, {"fit", identity_}, {"sections", std::move(sections)}});
    replace_file(path_, [&](const Writer &write) { write_safetensors(write, text.dump(), tensors); });
}

} // namespace mercer
