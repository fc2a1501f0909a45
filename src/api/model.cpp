#include "../derive/derive.h"
#include "../fit/fit.h"
#include "../io/files.h"
#include "../model/outputs.h"
#include "handles.h"

using namespace mercer;

namespace {

const Model &model_of(mercer_model *handle) { return *need(handle, "model").model; }

struct Asked {
    Operations operations;
    OutputOptions options;
    std::vector<Output> outputs(const Model &model) const {
        // Fails if the kernel is missing, even where this call would not evaluate it: such a model
        // can only be inspected.
        model.need_kernel();
        return outputs_of(operations, model, options);
    }
    std::string names() const {
        std::string out;
        for (const OutputTraits *operation : operations) {
            if (!out.empty()) out += ',';
            out += operation->name;
        }
        return out;
    }
};

// Returns true if only scores are requested, without whitening.
bool asks_scores(mercer_recipe *what) {
    return !what || (what->recipe.is_operation() && !what->recipe.options().whiten &&
                     what->recipe.operations() == Operations{&outputs().front()});
}

Asked read_operation(mercer_recipe *what) {
    if (!what) return {{&mercer::outputs().front()}, {}};
    if (!what->recipe.is_operation())
        fail(MERCER_E_ARGUMENT, "what: %s; must be an operation", what->recipe.who_takes().c_str());
    return {what->recipe.operations(), what->recipe.options()};
}

std::string number_of(const std::vector<Output> &outputs) {
    return format("%zu output%s", outputs.size(), outputs.size() == 1 ? "" : "s");
}

void describe_output(mercer_model *handle, mercer_recipe *what, mercer_data *data, int64_t index, mercer_output *out,
                     int64_t *count) {
    const Model &model = model_of(handle);
    const Asked asked = read_operation(what);
    const std::vector<Output> outputs = asked.outputs(model);
    need(count, "count");
    const int64_t rows = need(data, "data").data.source->rows();
    if (rows < 0) fail(MERCER_E_UNSUPPORTED, "data: the number of rows is unknown until they are read");
    if (index < 0 || index >= static_cast<int64_t>(outputs.size()))
        fail(MERCER_E_VALUE, "index = %" PRId64 ", '%s' has %s", index, asked.names().c_str(),
             number_of(outputs).c_str());
    const Output &output = outputs[static_cast<size_t>(index)];
    write_struct(out,
                 mercer_output{sizeof(mercer_output), output.name, output.doc, rows, output.cols,
                               output.dtype ? output.dtype : model.dtype(), 0},
                 "output");
    *count = static_cast<int64_t>(outputs.size());
}

// Returns the views of the caller. An output whose data is NULL is not requested, and its view is
// empty.
std::vector<mercer_view> read_outputs(const mercer_view *outs, int64_t count) {
    std::vector<mercer_view> views;
    // Elements are outs->struct_size bytes apart, which is the size of mercer_view in the version
    // with which the caller was compiled.
    const char *at = reinterpret_cast<const char *>(&need(outs, "outs"));
    for (int64_t k = 0; k < count; ++k, at += outs->struct_size) {
        const auto *view = reinterpret_cast<const mercer_view *>(at);
        const bool wanted = view->data || view->struct_size != static_cast<int64_t>(sizeof(mercer_view));
        views.push_back(wanted ? read_view(format("outs[%" PRId64 "]", k).c_str(), view,
                                           1u << MERCER_F32 | 1u << MERCER_F64 | 1u << MERCER_I64)
                               : mercer_view{});
    }
    return views;
}

// Computes the scores of a few rows by a short path, which needs no Run and no tiles. Returns
// false if the general path must be taken: if this model, these data or these outputs need it, or
// if a value of a row is not finite or a score is beyond the range of its output, which the general
// path then reports.
bool transform_rows(const Model &model, const Source &data, const mercer_view *outs, int64_t count) {
    if (count != 1 || !outs || !outs->data || data.rows() < 1 || data.kind() != Source::Kind::dense ||
        !data.at_will() || data.cols() != model.d() || !model.row_scores() ||
        data.rows() > model.row_scores()->most_rows())
        return false;
    mercer_view out = read_view("outs[0]", outs, 1u << MERCER_F32 | 1u << MERCER_F64);
    if (out.rows != data.rows() || out.cols < model.r() || (out.dtype != model.dtype() && out.dtype != MERCER_F64))
        return false; // the general path reports what is wrong
    out.cols = model.r();
    check_apart("out", out, "data", data);
    return model.row_scores()->scores(data, out);
}

void run_transform(mercer_model *handle, mercer_recipe *what, mercer_data *data, const mercer_view *outs, int64_t count,
                   const mercer_run *run) {
    const Model &model = model_of(handle);
    const bool scores = asks_scores(what);
    const mercer_run given_run = read_run(run);
    const bool watched = given_run.progress || given_run.cancel;
    if (scores && !watched && transform_rows(model, *need(data, "data").data.source, outs, count)) return;
    const Asked asked = read_operation(what);
    const std::vector<Output> outputs = asked.outputs(model);
    if (count != static_cast<int64_t>(outputs.size()))
        fail(MERCER_E_ARGUMENT, "count = %" PRId64 ", '%s' has %s", count, asked.names().c_str(),
             number_of(outputs).c_str());
    const std::vector<mercer_view> views = read_outputs(outs, count);
    if (std::all_of(views.begin(), views.end(), [](const mercer_view &view) { return !view.data; })) return;
    Run running(model.settings(), run);
    running.expect({{"read", 1}, {"transform", 49}});
    running.stage("read");
    std::shared_ptr<const Source> given = need(data, "data").data.source, loaded = given->load(running);
    running.stage("transform");
    // Here too, a few rows take the short path, so that the results are bit-identical with and
    // without a mercer_run and for every kind of data.
    if (!scores || !transform_rows(model, loaded ? *loaded : *given, outs, count))
        transform(running, model, asked.operations, asked.options, loaded ? loaded : given, views);
    running.progress(1);
}

// The checked arguments of a derivation.
struct Derivable {
    const Recipe &recipe;
    std::vector<std::shared_ptr<const Model>> models;
    const Data *data;
    const RunSettings &settings;
    DeriveTask task(Run &run) const { return {run, recipe, models, data, settings}; }
};

Derivable derivable(mercer_recipe *operation, mercer_model *const *models, int64_t count, const mercer_data *data) {
    const Recipe &recipe = need(operation, "operation").recipe;
    if (!recipe.derivation())
        fail(MERCER_E_ARGUMENT, "operation: %s; must be a derivation", recipe.who_takes().c_str());
    need(models, "models");
    check_count(recipe, count);
    Derivable out{recipe, {}, data ? &data->data : nullptr, operation->settings};
    for (int64_t k = 0; k < count; ++k)
        out.models.push_back(need(models[k], format("models[%" PRId64 "]", k).c_str()).model);
    return out;
}

std::shared_ptr<const Model> derived(mercer_recipe *operation, mercer_model *const *models, int64_t count,
                                     const mercer_data *data, const mercer_run *run) {
    const Derivable given = derivable(operation, models, count, data);
    Run running(given.settings, run);
    return derive(given.task(running));
}

void foresee_derivation(mercer_recipe *operation, mercer_model *const *models, int64_t count, const mercer_data *data,
                        const mercer_run *run, mercer_forecast *out) {
    const Derivable given = derivable(operation, models, count, data);
    Run running(given.settings, run);
    const DeriveTask task = given.task(running);
    DerivationForecast ahead = forecast_derivation(task);
    mercer_forecast figures = forecast_figures(running, task, ahead);
    operation->strategy = std::move(ahead.strategy);
    figures.strategy = operation->strategy.c_str();
    write_struct(out, figures, "forecast");
}

std::shared_ptr<const Model> from_tensors(mercer_context &context, const char *json, const char *const *names,
                                          const mercer_view *views, int64_t count) {
    if (count < 0) fail(MERCER_E_VALUE, "count = %" PRId64 ", must be >= 0", count);
    if (count > 0) need(names, "names"), need(views, "tensors");
    Tensors tensors;
    // Elements are views->struct_size bytes apart, which is the size of mercer_view in the version
    // with which the caller was compiled.
    const char *at = reinterpret_cast<const char *>(views);
    for (int64_t k = 0; k < count; ++k, at += views->struct_size) {
        const char *name = text_of(names[k], format("names[%" PRId64 "]", k).c_str());
        mercer_view view = read_view(name, reinterpret_cast<const mercer_view *>(at),
                                     1u << MERCER_F32 | 1u << MERCER_F64 | 1u << MERCER_I64);
        Tensor tensor = view.dtype == MERCER_F32   ? make_tensor<float>(view.rows, view.cols)
                        : view.dtype == MERCER_F64 ? make_tensor<double>(view.rows, view.cols)
                                                   : make_tensor<int64_t>(view.rows, view.cols);
        const int64_t size = dtype_size(view.dtype);
        for (int64_t i = 0; i < view.rows; ++i)
            for (int64_t j = 0; j < view.cols; ++j)
                std::memcpy(tensor.bytes.data() + (i * view.cols + j) * size,
                            static_cast<const unsigned char *>(view.data) +
                                (i * view.row_stride + j * view.col_stride) * size,
                            static_cast<size_t>(size));
        if (!is_tensor_name(name))
            fail(MERCER_E_MODEL, "tensor '%.80s': names must be printable ASCII without blanks, quotes and backslashes",
                 name);
        if (!tensors.emplace(name, std::move(tensor)).second)
            fail(MERCER_E_MODEL, "tensor '%s' is given twice, must be once", name);
    }
    return Model::assemble(parse_model_text(json, "json"), std::move(tensors), *context.registry, context.settings);
}

std::shared_ptr<const Model> load(mercer_context &context, const char *path) {
    // The Run serves only to read a pipe, which InputFile copies into memory.
    const InputFile file = [&] {
        Run run(context.settings, nullptr);
        return InputFile(run, path);
    }();
    return read_model(from_start(file), file.size(), path, *context.registry, context.settings);
}

void write(mercer_model *handle, const mercer_sink *given) {
    mercer_sink sink = read_struct(given, "sink", sizeof(mercer_sink));
    need(sink.write, "sink: write");
    write_model(model_of(handle), [&](const void *bytes, int64_t count) {
        call_back("the sink", [&] { return sink.write(sink.user, bytes, count); });
    });
}

std::shared_ptr<const Model> read(mercer_context &context, const mercer_source *given) {
    mercer_source source = read_struct(given, "source", sizeof(mercer_source));
    need(source.read, "source: read");
    auto pull = [&](void *bytes, int64_t capacity) {
        int64_t got = 0;
        call_back("the source", [&] { return source.read(source.user, bytes, capacity, &got); });
        if (got < 0 || got > capacity)
            fail(MERCER_E_CALLBACK, "the source returned %" PRId64 " bytes, must be 0 to %" PRId64, got, capacity);
        return got;
    };
    return read_model(pull, -1, "the model", *context.registry, context.settings);
}

std::shared_ptr<const Model> bind(mercer_model *handle, const mercer_user_kernel *given) {
    auto user = std::make_shared<UserKernel>(read_user_kernel(given));
    std::shared_ptr<const Model> bound = model_of(handle).bind(user);
    user->own();
    return bound;
}

} // namespace

int32_t mercer_model_fit(mercer_model **out, mercer_recipe *recipe, mercer_data *data, const mercer_run *run) {
    return construct(out, [&] {
        const Recipe &method = method_recipe(recipe);
        Run running(recipe->settings, run);
        return new_model(fit(running, method, need(data, "data").data, recipe->settings));
    });
}

int32_t mercer_model_retain(mercer_model *model) {
    return guard([&] { need(model, "model").owners.fetch_add(1, std::memory_order_relaxed); });
}

void mercer_model_destroy(mercer_model *model) {
    if (model && model->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete model;
}

int32_t mercer_model_output(mercer_model *model, mercer_recipe *what, mercer_data *data, int64_t index,
                            mercer_output *out, int64_t *count) {
    return guard([&] { describe_output(model, what, data, index, out, count); });
}

int32_t mercer_model_transform(mercer_model *model, mercer_recipe *what, mercer_data *data, const mercer_view *outs,
                               int64_t count, const mercer_run *run) {
    return guard([&] { run_transform(model, what, data, outs, count, run); });
}

int32_t mercer_model_derive(mercer_model **out, mercer_recipe *operation, mercer_model *const *models, int64_t count,
                            mercer_data *data, const mercer_run *run) {
    return construct(out, [&] { return new_model(derived(operation, models, count, data, run)); });
}

int32_t mercer_model_forecast(mercer_recipe *operation, mercer_model *const *models, int64_t count, mercer_data *data,
                              const mercer_run *run, mercer_forecast *out) {
    return guard([&] { foresee_derivation(operation, models, count, data, run, out); });
}

int32_t mercer_model_summary(mercer_model *model, mercer_summary *out) {
    return guard([&] { write_struct(out, model_of(model).summary(), "summary"); });
}

int32_t mercer_model_info(mercer_model *model, const char *path, const char **text) {
    return guard([&] { need(text, "text") = model_of(model).info(text_of(path, "path")); });
}

int32_t mercer_model_tensor(mercer_model *model, const char *name, mercer_view *out) {
    return guard([&] { write_struct(out, model_of(model).tensor_view(text_of(name, "name")), "view"); });
}

int32_t mercer_model_from_tensors(mercer_model **out, mercer_context *context, const char *json,
                                  const char *const *names, const mercer_view *tensors, int64_t count) {
    return construct(out, [&] {
        return new_model(from_tensors(need(context, "context"), text_of(json, "json"), names, tensors, count));
    });
}

int32_t mercer_model_save(mercer_model *model, const char *path) {
    return guard([&] {
        const Model &saved = model_of(model);
        replace_file(text_of(path, "path"), [&](const Writer &write) { write_model(saved, write); });
    });
}

int32_t mercer_model_load(mercer_model **out, mercer_context *context, const char *path) {
    return construct(out, [&] { return new_model(load(need(context, "context"), text_of(path, "path"))); });
}

int32_t mercer_model_write(mercer_model *model, const mercer_sink *sink) {
    return guard([&] { write(model, sink); });
}

int32_t mercer_model_read(mercer_model **out, mercer_context *context, const mercer_source *source) {
    return construct(out, [&] { return new_model(read(need(context, "context"), source)); });
}

int32_t mercer_model_bind(mercer_model **out, mercer_model *model, const mercer_user_kernel *kernel) {
    return construct(out, [&] { return new_model(bind(model, kernel)); });
}
