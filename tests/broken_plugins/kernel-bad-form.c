/* kernel-bad-form.c - must be refused: its form does not exist. */
#include "broken.h"

static const mercer_kernel_ops ops = {.struct_size = sizeof ops, .form = 99, .facts = facts};
MODULE(KERNEL, .name = "bad-form", .ops = &ops)
