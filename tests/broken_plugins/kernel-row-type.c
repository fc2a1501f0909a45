/* kernel-row-type.c - must be refused: a row has an unknown type. */
#include "broken.h"

static const mercer_param rows[] = {ROW("a", 77, .offset = 0)};
ROWS("row-type", 1, 8)
