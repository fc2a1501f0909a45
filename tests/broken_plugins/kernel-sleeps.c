/* kernel-sleeps.c - its map sleeps and never returns. */
#include <unistd.h>

#include "hostile.h"

HOSTILE("sleeps", for (;;) pause())
