/* kernel-aborts.c - its map calls abort(). */
#include <stdlib.h>

#include "hostile.h"

HOSTILE("aborts", abort())
