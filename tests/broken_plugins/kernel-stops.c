/* kernel-stops.c - stops the process. */
#include <signal.h>

#include "hostile.h"

HOSTILE("stops", raise(SIGSTOP))
