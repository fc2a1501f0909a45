/* kernel-exits.c - its map ends the process with status 0. */
#include <unistd.h>

#include "hostile.h"

HOSTILE("exits", _exit(0))
