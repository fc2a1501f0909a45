/* kernel-no-header.c - must be refused: it does not say which header it was built with. */
#include "broken.h"

SOUND_OPS
MODULE(.kind = MERCER_KIND_KERNEL, .name = "no-header", .ops = &ops)
