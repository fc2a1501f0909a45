/* kernel-crashes.c - its map writes to address 0. */
#include "hostile.h"

static int *volatile nowhere;

HOSTILE("crashes", *nowhere = 1)
