/* kernel-rbf.c - must be refused: the name is an alias of another kernel, which would hide it. */
#include "broken.h"

SOUND_OPS
MODULE(KERNEL, .name = "rbf", .ops = &ops)
