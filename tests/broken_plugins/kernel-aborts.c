/* kernel-aborts.c - aborts. */
#include <stdlib.h>

#include "hostile.h"

HOSTILE("aborts", abort())
