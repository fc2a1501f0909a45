/* kernel-row-outside.c - must be refused: the offset of a row lies outside the parameter struct. */
#include "broken.h"

static const mercer_param rows[] = {ROW("a", MERCER_REAL, .offset = 8)};
ROWS("row-outside", 1, 8)
