/* kernel-no-block.c - must be refused: of form MERCER_BLOCK, but it computes no blocks. */
#include "broken.h"

static const mercer_kernel_ops ops = {.struct_size = sizeof ops, .form = MERCER_BLOCK, .facts = facts};
MODULE(KERNEL, .name = "no-block", .ops = &ops)
