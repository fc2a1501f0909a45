/* kernel-rbf.c - must be refused: its name is an alias of the kernel 'gaussian', so it could not be
 * selected. */
#include "broken.h"

SOUND_OPS
MODULE(KERNEL, .name = "rbf", .ops = &ops)
