/* kernel-wrong-abi.c - must be refused: it was built for an ABI that this library does not
 * support. */
#include <mercer/plugin.h>

static void facts(const mercer_host *host, const void *params, int64_t d, mercer_kernel_facts *out) {
    (void)host, (void)params, (void)d;
    out->kappa = 1;
}

static const mercer_kernel_ops ops = {.struct_size = sizeof(mercer_kernel_ops), .form = MERCER_DOT, .facts = facts};

const mercer_module mercer_plugin = {
    .struct_size = sizeof(mercer_module),
    .abi = MERCER_PLUGIN_ABI + 1000,
    .kind = MERCER_KIND_KERNEL,
    .name = "wrong-abi",
    .version = MERCER_VERSION,
    .summary = "made for another ABI",
    .reference = "",
    .ops = &ops,
};
