/* kernel-other-header.c - must be refused: built with the header of another version, which while the ABI is 0 may have meant other things. */
#include "broken.h"

SOUND_OPS
MODULE(.kind = MERCER_KIND_KERNEL, .header = "0.0.7", .name = "other-header", .ops = &ops)
