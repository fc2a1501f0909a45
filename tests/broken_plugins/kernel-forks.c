/* kernel-forks.c - its map forks a process that leaves its process group and never ends. */
#include <unistd.h>

#include "hostile.h"

static int done;

HOSTILE("forks", if (!done++ && fork() == 0) for (setsid();;) pause())
