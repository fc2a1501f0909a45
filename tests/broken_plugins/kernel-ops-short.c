/* kernel-ops-short.c - must be refused: its struct of operations ends before those that every
 * kernel has. */
#include "broken.h"

static const mercer_kernel_ops ops = {.struct_size = 16, .form = MERCER_DOT, .facts = facts};
MODULE(KERNEL, .name = "ops-short", .ops = &ops)
