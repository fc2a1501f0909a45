/* kernel-exits.c - ends the process as if all were well. */
#include <unistd.h>

#include "hostile.h"

HOSTILE("exits", _exit(0))
