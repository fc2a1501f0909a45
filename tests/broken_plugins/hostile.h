/* The common part of the plugins that mercer_plugin_check must survive: a linear kernel whose map
 * also runs `statement`. */
#ifndef MERCER_TESTS_HOSTILE_H
#define MERCER_TESTS_HOSTILE_H

#include <mercer/plugin.h>

#define HOSTILE(kernel_name, statement)                                                                                \
    static void map(const mercer_host *host, const void *params, int32_t dtype, void *values, int64_t count) {         \
        (void)host, (void)params, (void)dtype, (void)values, (void)count;                                              \
        statement;                                                                                                     \
    }                                                                                                                  \
    static void facts(const mercer_host *host, const void *params, int64_t d, mercer_kernel_facts *out) {              \
        (void)host, (void)params, (void)d;                                                                             \
        out->flags = MERCER_PSD;                                                                                       \
    }                                                                                                                  \
    static const mercer_kernel_ops ops = {                                                                             \
        sizeof(mercer_kernel_ops), MERCER_DOT, 0, NULL, NULL, map, NULL, facts, NULL, NULL, NULL};                     \
    MERCER_PLUGIN_BARE(MERCER_KIND_KERNEL, kernel_name, "1.0", "x.y", "", ops)

#endif
