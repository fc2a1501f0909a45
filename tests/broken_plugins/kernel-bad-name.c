/* kernel-bad-name.c - must be refused: its name contains capitals and '_', which are not
 * allowed. */
#include "broken.h"

SOUND_OPS
MODULE(KERNEL, .name = "Bad_Name", .ops = &ops)
