/* kernel-sleeps.c - never returns, and does nothing. */
#include <unistd.h>

#include "hostile.h"

HOSTILE("sleeps", for (;;) pause())
