/* kernel-bad-name.c - must be refused: what it is called is no name. */
#include "broken.h"

SOUND_OPS
MODULE(KERNEL, .name = "Bad_Name", .ops = &ops)
