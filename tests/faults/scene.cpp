#include "scene.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

const std::vector<double> &noise() {
    static const std::vector<double> values = [] {
        std::vector<double> out(4000);
        uint64_t state = 88172645463325252u;
        for (double &value : out) {
            state ^= state << 13, state ^= state >> 7, state ^= state << 17;
            value = static_cast<double>(state >> 11) * 0x1p-53;
        }
        return out;
    }();
    return values;
}

std::string Scene::answer(int32_t status) {
    return "status " + std::to_string(status) + ": '" + mercer_last_error() + "'";
}

// Checks the answer to a fault. A failed allocation must give E_MEMORY. A failed system call must
// give E_IO with the text of its errno, or E_PLUGIN if it failed while a plugin was searched for.
void Scene::check_answer(int32_t status) {
    const std::string text = mercer_last_error();
    answered_ = status;
    if (!faults_met()) throw Defect{"fails without a fault: " + answer(status)};
    if (text.find('\n') != text.npos) throw Defect{"a text of two lines: " + answer(status)};
    if (fault_.kind == ALLOCATION) {
        const bool said = text.find("out of memory") != text.npos || text.find("an allocation failed") != text.npos;
        if (status != MERCER_E_MEMORY || !said) throw Defect{"not out of memory: " + answer(status)};
        return;
    }
    const bool goes_on = std::strstr("open pread write fsync close rename unlink", faults_name());
    if (fault_.error == SHORT_COUNT || (fault_.error == EINTR && goes_on))
        throw Defect{"a short count or a signal is no failure: " + answer(status)};
    bool right = status == MERCER_E_IO && text.find(folder_) != text.npos; // the text must name the file
#ifndef MERCER_BUILTIN_PLUGINS
    right |= status == MERCER_E_PLUGIN;
    if (faults_hid_a_folder()) return; // plugins in the folder are unknown
    if (status == MERCER_E_PLUGIN && std::strcmp(faults_name(), "dlopen") == 0) return; // dlopen has its own texts
#endif
    if (!right || text.find(std::strerror(fault_.error)) == text.npos)
        throw Defect{"a wrong answer: " + answer(status)};
}

Context Scene::context(int64_t threads) {
    Context out = made<Context>([](mercer_context **to) { return mercer_context_create(to); });
    mercer_run run = {};
    run.struct_size = sizeof run, run.threads = threads, run.memory = int64_t{1} << 30;
    must([&] { return mercer_context_set_run(out.get(), &run); });
    return out;
}

Recipe Scene::recipe(const Context &context, const char *name, const Settings &settings) {
    Recipe out = made<Recipe>([&](mercer_recipe **to) { return mercer_recipe_create(to, context.get(), name); });
    std::vector<const char *> names, values;
    for (const auto &[key, value] : settings) names.push_back(key), values.push_back(value);
    must([&] {
        return mercer_recipe_set_many(out.get(), names.data(), values.data(), static_cast<int64_t>(names.size()));
    });
    return out;
}

Data Scene::rows(const Context &context, int64_t n, int64_t d, int32_t dtype) {
    static const std::vector<float> single(noise().begin(), noise().end());
    void *data = dtype == MERCER_F32 ? static_cast<void *>(const_cast<float *>(single.data()))
                                     : const_cast<double *>(noise().data());
    const mercer_view view = {sizeof view, dtype, 0, n, d, d, 1, data};
    return made<Data>([&](mercer_data **to) { return mercer_data_from_view(to, context.get(), &view); });
}

Model Scene::fit(const Recipe &recipe, const Data &data, const mercer_run *run) {
    return made<Model>([&](mercer_model **to) { return mercer_model_fit(to, recipe.get(), data.get(), run); });
}

void Scene::put(const char *name, const std::string &bytes) const {
    std::ofstream(path(name), std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::string Scene::get(const char *name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

// Checks that the folder holds these files and no others. If unlink failed, a file may be left
// over.
void Scene::expect_files(const std::string &names) const {
    if (faults_met() && fault_.kind == CALL && std::strcmp(faults_name(), "unlink") == 0) return;
    std::vector<std::string> found;
    for (const auto &entry : std::filesystem::directory_iterator(folder_)) found.push_back(entry.path().filename());
    std::sort(found.begin(), found.end());
    std::string list;
    for (const std::string &name : found) list += (list.empty() ? "" : " ") + name;
    if (list != names) throw Defect{"the folder holds '" + list + "', not '" + names + "'"};
}

void Scene::keep(const void *bytes, size_t count) {
    for (size_t k = 0; k < count; ++k) // FNV-1a
        digest_ = (digest_ ^ static_cast<const unsigned char *>(bytes)[k]) * 1099511628211u;
}

void Scene::keep(const Model &model) {
    for (const char *name :
         {"A", "b", "lambda", "w", "nu", "C", "C.values", "indices", "assignment", "T.shift", "shift.1"}) {
        mercer_view view = {};
        view.struct_size = sizeof view;
        if (mercer_model_tensor(model.get(), name, &view) != MERCER_OK) continue;
        must([&] { return mercer_model_tensor(model.get(), name, &view); });
        keep(view.data, static_cast<size_t>(view.rows * view.cols) * (view.dtype == MERCER_F32 ? 4 : 8));
    }
}

void Scene::keep_output(const Model &model, const Data &data, const char *what, int64_t n) {
    Recipe operation;
    if (what) {
        const Context context = this->context();
        operation = recipe(context, what, {});
    }
    mercer_output output = {};
    output.struct_size = sizeof output;
    int64_t count = 0;
    must([&] { return mercer_model_output(model.get(), operation.get(), data.get(), 0, &output, &count); });
    std::vector<double> memory(static_cast<size_t>(n * output.cols));
    const mercer_view out = {sizeof out, output.dtype, 0, n, output.cols, output.cols, 1, memory.data()};
    must([&] { return mercer_model_transform(model.get(), operation.get(), data.get(), &out, 1, nullptr); });
    keep(memory.data(), memory.size() * sizeof(double));
}
