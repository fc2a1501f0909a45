/* kernel-row-name.c - must be refused: a row has an invalid name. */
#include "broken.h"

static const mercer_param rows[] = {ROW("No Name", MERCER_REAL, .offset = 0)};
ROWS("row-name", 1, 8)
