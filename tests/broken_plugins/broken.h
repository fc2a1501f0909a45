/* The common part of the modules that must be refused. They are sound except for the fault that
 * each file names. */
#ifndef MERCER_TESTS_BROKEN_H
#define MERCER_TESTS_BROKEN_H

#include <math.h>
#include <mercer/plugin.h>

#define MODULE(...)                                                                                                    \
    const mercer_module mercer_plugin = {.struct_size = sizeof(mercer_module),                                         \
                                         .abi = MERCER_PLUGIN_ABI,                                                     \
                                         .version = "1.0",                                                             \
                                         .summary = "broken",                                                          \
                                         .reference = "",                                                              \
                                         __VA_ARGS__};

#define KERNEL .kind = MERCER_KIND_KERNEL, .header = MERCER_VERSION

static inline void facts(const mercer_host *host, const void *params, int64_t d, mercer_kernel_facts *out) {
    (void)host, (void)params, (void)d;
    out->flags = MERCER_PSD;
}

/* Macros for the operations, for one parameter row, and for a module with `count` rows in a struct
 * of `size` bytes. */
#define SOUND_OPS static const mercer_kernel_ops ops = {.struct_size = sizeof ops, .form = MERCER_DOT, .facts = facts};
#define ROW(row_name, row_type, ...)                                                                                   \
    {                                                                                                                  \
        .struct_size = sizeof(mercer_param),                                                                           \
        .row = {.struct_size = sizeof(mercer_row),                                                                     \
                .name = row_name,                                                                                      \
                .type = row_type,                                                                                      \
                .lo = -INFINITY,                                                                                       \
                .hi = INFINITY},                                                                                       \
        __VA_ARGS__                                                                                                    \
    }
#define ROWS(module_name, count, size)                                                                                 \
    SOUND_OPS MODULE(KERNEL, .name = module_name, .params = rows, .param_count = count, .params_size = size,           \
                     .ops = &ops)

#endif
