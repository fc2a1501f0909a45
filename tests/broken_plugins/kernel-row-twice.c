/* kernel-row-twice.c - must be refused: two rows have the same name. */
#include "broken.h"

static const mercer_param rows[] = {ROW("a", MERCER_REAL, .offset = 0), ROW("a", MERCER_REAL, .offset = 8)};
ROWS("row-twice", 2, 16)
