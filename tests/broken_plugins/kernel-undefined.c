/* kernel-undefined.c - must be refused: it calls a function that no library defines. */
#include "broken.h"

#include <stdio.h>
#include <stdlib.h>

void mercer_tests_nobody_defines_this(void);

__attribute__((constructor)) static void run_when_opened(void) {
    FILE *trace = getenv("MERCER_MARKER") ? fopen(getenv("MERCER_MARKER"), "w") : NULL;
    if (trace) fclose(trace);
    mercer_tests_nobody_defines_this();
}

SOUND_OPS
MODULE(KERNEL, .name = "undefined", .ops = &ops)
