/* kernel-no-block.c - must be refused: its form is MERCER_BLOCK, but it has no operation
 * `block`. */
#include "broken.h"

static const mercer_kernel_ops ops = {.struct_size = sizeof ops, .form = MERCER_BLOCK, .facts = facts};
MODULE(KERNEL, .name = "no-block", .ops = &ops)
