/* kernel-user.c - must be refused: the name is the one of the callers' own functions. */
#include "broken.h"

SOUND_OPS
MODULE(KERNEL, .name = "user", .ops = &ops)
