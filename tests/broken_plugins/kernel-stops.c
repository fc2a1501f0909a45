/* kernel-stops.c - its map stops the process with SIGSTOP. */
#include <signal.h>

#include "hostile.h"

HOSTILE("stops", raise(SIGSTOP))
