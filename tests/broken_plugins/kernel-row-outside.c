/* kernel-row-outside.c - must be refused: a row lies outside its struct. */
#include "broken.h"

static const mercer_param rows[] = {ROW("a", MERCER_REAL, .offset = 8)};
ROWS("row-outside", 1, 8)
