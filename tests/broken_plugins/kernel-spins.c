/* kernel-spins.c - never returns, and is busy. */
#include "hostile.h"

static volatile int busy = 1;

HOSTILE("spins", while (busy){})
