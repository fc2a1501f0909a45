/* kernel-rounds.c - its map leaves the rounding mode changed. */
#include <fenv.h>

#include "hostile.h"

HOSTILE("rounds", fesetround(FE_TOWARDZERO))
