/* kernel-spins.c - its map runs in an endless loop. */
#include "hostile.h"

static volatile int busy = 1;

HOSTILE("spins", while (busy){})
