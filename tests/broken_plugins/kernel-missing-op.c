/* kernel-missing-op.c - must be refused: it has no operation `facts`, which every kernel needs. */
#include <mercer/plugin.h>

static const mercer_kernel_ops ops = {.struct_size = sizeof(mercer_kernel_ops), .form = MERCER_DOT};

MERCER_PLUGIN_BARE(MERCER_KIND_KERNEL, "missing-op", MERCER_VERSION, "facts is NULL", "", ops)
