// Data files in FUZZ_FORMAT: a file that can be opened must have valid sizes, and its rows must be
// readable and give a kernel matrix or a refusal.
#include "fuzz.h"

#include <cstring>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace {

void use(mercer_data *data) {
    mercer_data_facts facts{};
    facts.struct_size = sizeof facts;
    FUZZ_NEED(mercer_data_inspect(data, &facts) == MERCER_OK);
    FUZZ_NEED(facts.rows >= 0 && facts.cols >= 0);
    for (int64_t i = 0; facts.ids && i < facts.rows; ++i) facts.ids += std::strlen(facts.ids) + 1;
    if (facts.rows == 0 || facts.rows > 64 || facts.cols > 4096) return;
    mercer_recipe *recipe = nullptr;
    FUZZ_NEED(mercer_recipe_create(&recipe, fuzz_context(), "kpca") == MERCER_OK);
    FUZZ_NEED(mercer_recipe_set(recipe, "kernel", "linear") == MERCER_OK);
    FUZZ_NEED(mercer_recipe_set(recipe, "data.dtype", "f64") == MERCER_OK);
    std::vector<double> gram(static_cast<size_t>(facts.rows * facts.rows));
    mercer_view view{sizeof view, MERCER_F64, 0, facts.rows, facts.rows, facts.rows, 1, gram.data()};
    const int32_t status = mercer_recipe_kernel(recipe, data, nullptr, &view, nullptr);
    if (status != MERCER_OK) // it may be refused for NaN or overflow
        need_refusal(status, {MERCER_E_DATA, MERCER_E_NUMERICAL, MERCER_E_BUDGET, MERCER_E_MEMORY});
    std::vector<double> rows(static_cast<size_t>(facts.rows * facts.cols));
    const mercer_view all{sizeof all, MERCER_F64, 0, facts.rows, facts.cols, facts.cols, 1, rows.data()};
    FUZZ_NEED(mercer_data_read(data, &all, nullptr) == MERCER_OK);
    mercer_recipe_destroy(recipe);
}

} // namespace

void fuzz_one(const uint8_t *bytes, size_t count) {
    const int fd = memfd_create("data", MFD_CLOEXEC);
    FUZZ_NEED(fd >= 0 && write(fd, bytes, count) == static_cast<ssize_t>(count));
    const std::string path = "/proc/self/fd/" + std::to_string(fd);
    for (const char *labels : {static_cast<const char *>(nullptr), "0"}) {
        mercer_file options{};
        options.struct_size = sizeof options;
        options.format = FUZZ_FORMAT;
        options.labels = labels;
        options.ids = labels ? "1" : nullptr;
        mercer_data *data = nullptr;
        const int32_t status = mercer_data_from_file(&data, fuzz_context(), path.c_str(), &options);
        if (status == MERCER_OK)
            use(data);
        else
            need_refusal(status, {MERCER_E_DATA, MERCER_E_IO, MERCER_E_MEMORY, MERCER_E_BUDGET, MERCER_E_NAME,
                                  MERCER_E_VALUE, MERCER_E_UNSUPPORTED});
        FUZZ_NEED((status == MERCER_OK) == (data != nullptr));
        mercer_data_destroy(data);
    }
    close(fd);
}
