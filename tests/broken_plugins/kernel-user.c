/* kernel-user.c - must be refused: its name is reserved for kernels that are functions of the
 * caller. */
#include "broken.h"

SOUND_OPS
MODULE(KERNEL, .name = "user", .ops = &ops)
