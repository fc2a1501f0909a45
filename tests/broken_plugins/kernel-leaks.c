/* kernel-leaks.c - takes a gigabyte a call and keeps it. */
#include <stdlib.h>
#include <string.h>

#include "hostile.h"

static char *volatile kept;

HOSTILE("leaks", kept = memset(malloc(1u << 30), 1, 1u << 30))
