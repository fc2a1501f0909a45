/* kernel-missing-op.c - must be refused: a kernel without facts, which every kernel has to have. */
#include <mercer/plugin.h>

static const mercer_kernel_ops ops = {.struct_size = sizeof(mercer_kernel_ops), .form = MERCER_DOT};

MERCER_PLUGIN_BARE(MERCER_KIND_KERNEL, "missing-op", MERCER_VERSION, "facts is NULL", "", ops)
