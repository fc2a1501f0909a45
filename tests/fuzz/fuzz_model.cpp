// Reads a model file as it is, and with repaired checksums to reach the code behind their check. A
// model that is accepted must give its summary and text, and be written to bytes that can be read
// again. Its operations may be refused.
#include "model_bytes.h"

#include <vector>

using namespace mercer;

namespace {

void use(mercer_model *model) {
    mercer_summary summary{};
    summary.struct_size = sizeof summary;
    FUZZ_NEED(mercer_model_summary(model, &summary) == MERCER_OK);
    const char *text = nullptr;
    FUZZ_NEED(mercer_model_info(model, "", &text) == MERCER_OK);
    const int64_t d = std::clamp<int64_t>(summary.d, 1, 64);
    std::vector<double> rows(static_cast<size_t>(3 * d), 0.5);
    mercer_view view{sizeof view, MERCER_F64, 0, 3, d, d, 1, rows.data()};
    mercer_data *data = nullptr;
    FUZZ_NEED(mercer_data_from_view(&data, fuzz_context(), &view) == MERCER_OK);
    for (const char *what : {"scores", "density", "residual", "t2", "gradient", "labels"}) {
        mercer_recipe *recipe = nullptr;
        FUZZ_NEED(mercer_recipe_create(&recipe, fuzz_context(), what) == MERCER_OK);
        mercer_output output{};
        output.struct_size = sizeof output;
        int64_t count = 0;
        const int32_t status = mercer_model_output(model, recipe, data, 0, &output, &count);
        need_status(status);
        if (status == MERCER_OK && output.rows * output.cols < 1 << 20) {
            std::vector<double> out(static_cast<size_t>(output.rows * output.cols + 1));
            mercer_view to{sizeof to, output.dtype, 0, output.rows, output.cols, output.cols, 1, out.data()};
            // It may be refused: NaN, other columns.
            need_status(mercer_model_transform(model, recipe, data, &to, 1, nullptr));
        }
        mercer_recipe_destroy(recipe);
    }
    mercer_data_destroy(data);
}

void load(const std::string &bytes) {
    int32_t status = 0;
    mercer_model *model = read_bytes(bytes, &status);
    if (!model) return need_refusal(status, {MERCER_E_MODEL, MERCER_E_PLUGIN, MERCER_E_MEMORY, MERCER_E_UNSUPPORTED});
    use(model);
    need_writable(model);
    mercer_model_destroy(model);
}

} // namespace

void fuzz_one(const uint8_t *bytes, size_t count) {
    const std::string file(reinterpret_cast<const char *>(bytes), count), sound = repaired(file);
    load(file);
    if (sound != file) load(sound);
}
