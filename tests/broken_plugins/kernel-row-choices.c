/* kernel-row-choices.c - must be refused: a row of type choice has no choices. */
#include "broken.h"

static const mercer_param rows[] = {ROW("a", MERCER_CHOICE, .offset = 0)};
ROWS("row-choices", 1, 8)
