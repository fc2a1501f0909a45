/* kernel-other-header.c - must be refused: it was built with the header of another version, whose
 * structs may differ as long as the ABI is 0. */
#include "broken.h"

SOUND_OPS
MODULE(.kind = MERCER_KIND_KERNEL, .header = "0.0.7", .name = "other-header", .ops = &ops)
