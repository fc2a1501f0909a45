#include "model.h"

namespace mercer {

namespace {

std::map<std::string, TensorView> views_of(const Model &model) {
    std::map<std::string, TensorView> tensors;
    for (const auto &[name, tensor] : model.tensors()) tensors[name] = tensor;
    return tensors;
}

} // namespace

void write_model(const Model &model, const ByteSink &sink) {
    write_safetensors(sink, model.stored_text(), views_of(model));
}

std::string digest_of(const Model &model) { return safetensors_digest(model.stored_text(), views_of(model)); }

Json parse_model_text(const std::string &text, const std::string &what) {
    // The text of a model is nested 4 levels deep. A damaged or malicious file may have very many
    // levels, which would exhaust the stack in recursive functions that walk the text.
    constexpr int deepest = 32;
    bool deep = false;
    auto depth = [&deep](int level, Json::parse_event_t, Json &) { return !(deep |= level > deepest); };
    Json json = Json::parse(text, depth, false);
    if (deep) fail(MERCER_E_MODEL, "%s: header: the model's text is nested too deeply", what.c_str());
    if (json.is_discarded()) fail(MERCER_E_MODEL, "%s: header: the model's text is not JSON", what.c_str());
    return json;
}

std::shared_ptr<const Model> read_model(const ByteSource &source, int64_t known_size, const std::string &what,
                                        Registry &registry, const RunSettings &settings) {
    SafetensorsFile file = read_safetensors(source, known_size, what);
    Json text = parse_model_text(file.metadata_json, what);
    try {
        return Model::assemble(std::move(text), std::move(file.tensors), registry, settings, Plugins::wanted);
    } catch (const Error &e) {
        fail(e.code(), "%s: %s", what.c_str(), e.what());
    }
}

} // namespace mercer
