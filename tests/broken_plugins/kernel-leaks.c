/* kernel-leaks.c - its map allocates a gigabyte in each call and never frees it. */
#include <stdlib.h>
#include <string.h>

#include "hostile.h"

static char *volatile kept;

HOSTILE("leaks", kept = memset(malloc(1u << 30), 1, 1u << 30))
