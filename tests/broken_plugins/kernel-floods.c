/* kernel-floods.c - writes without end to standard output. */
#include <stdio.h>

#include "hostile.h"

HOSTILE("floods", for (int i = 0; i < 100000; i++) puts("all is well, believe me, all is well, believe me"))
