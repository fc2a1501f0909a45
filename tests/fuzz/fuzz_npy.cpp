// An npy file: what is opened has sizes and facts that a kernel matrix of its first rows agrees with.
#include "fuzz.h"

#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

void fuzz_one(const uint8_t *bytes, size_t count) {
    const int fd = memfd_create("npy", MFD_CLOEXEC);
    FUZZ_NEED(fd >= 0 && write(fd, bytes, count) == static_cast<ssize_t>(count));
    const std::string path = "/proc/self/fd/" + std::to_string(fd);
    mercer_data *data = nullptr;
    const int32_t status = mercer_data_from_npy(&data, fuzz_context(), path.c_str());
    if (status != MERCER_OK) {
        need_refusal(status, {MERCER_E_DATA, MERCER_E_IO, MERCER_E_MEMORY, MERCER_E_BUDGET});
        FUZZ_NEED(!data);
    } else {
        mercer_data_facts facts{};
        facts.struct_size = sizeof facts;
        FUZZ_NEED(mercer_data_inspect(data, &facts) == MERCER_OK);
        FUZZ_NEED(facts.rows >= 0 && facts.cols >= 0);
        if (facts.rows > 0 && facts.rows <= 64 && facts.cols <= 4096) {
            mercer_recipe *recipe = nullptr;
            FUZZ_NEED(mercer_recipe_create(&recipe, fuzz_context(), "kpca") == MERCER_OK);
            FUZZ_NEED(mercer_recipe_set(recipe, "kernel", "linear") == MERCER_OK);
            FUZZ_NEED(mercer_recipe_set(recipe, "data.dtype", "f64") == MERCER_OK);
            std::vector<double> gram(static_cast<size_t>(facts.rows * facts.rows));
            mercer_view view{sizeof view, MERCER_F64, 0, facts.rows, facts.rows, facts.rows, 1, gram.data()};
            mercer_recipe_kernel(recipe, data, nullptr, &view,
                                 nullptr); // NaN and overflow are refused; anything may be
            mercer_recipe_destroy(recipe);
        }
        mercer_data_destroy(data);
    }
    close(fd);
}
