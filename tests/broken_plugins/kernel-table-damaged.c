/* kernel-table-damaged.c - must be refused: its number of rows is negative. */
#include "broken.h"

SOUND_OPS
MODULE(KERNEL, .name = "table-damaged", .param_count = -1, .ops = &ops)
