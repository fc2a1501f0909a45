/* kernel-floods.c - its map writes five megabytes to standard output, once. */
#include <stdio.h>

#include "hostile.h"

static int done;

HOSTILE("floods", for (int i = 0; i < 100000 && done < 100000; i++, done++)
                      puts("all is well, believe me, all is well, believe me"))
