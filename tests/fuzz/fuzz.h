// Helpers of the fuzz targets. A target is a file that defines fuzz_one. It is run by libFuzzer
// (meson -Dfuzz=true, clang), or by replay.cpp with the files of corpus/.
#pragma once
#include <mercer/mercer.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

// Runs the target on one input. It must accept any bytes, and abort only if the library breaks its
// contract.
void fuzz_one(const uint8_t *bytes, size_t count);

#define FUZZ_NEED(condition)                                                                                           \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, mercer_last_error());              \
            std::abort();                                                                                              \
        }                                                                                                              \
    } while (0)

// Checks that a refusal has one of these codes and a message of one line.
inline void need_refusal(int32_t status, std::initializer_list<int32_t> allowed) {
    bool known = false;
    for (int32_t code : allowed) known |= status == code;
    FUZZ_NEED(known);
    const char *text = mercer_last_error();
    FUZZ_NEED(*text && !std::strchr(text, '\n'));
}

inline mercer_context *fuzz_context() {
    static mercer_context *context = [] {
        mercer_context *made = nullptr;
        FUZZ_NEED(mercer_context_create(&made) == MERCER_OK);
        mercer_run run{};
        run.struct_size = sizeof run;
        run.threads = 1;
        run.memory = int64_t{256} << 20;
        FUZZ_NEED(mercer_context_set_run(made, &run) == MERCER_OK);
        return made;
    }();
    return context;
}
