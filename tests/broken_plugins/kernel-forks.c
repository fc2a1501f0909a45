/* kernel-forks.c - leaves a process behind, out of its group. */
#include <unistd.h>

#include "hostile.h"

static int done;

HOSTILE("forks", if (!done++ && fork() == 0) for (setsid();;) pause())
