/* kernel-row-range.c - must be refused: the range of a row is empty. */
#include "broken.h"

static const mercer_param rows[] = {
    {sizeof(mercer_param), 0, {sizeof(mercer_row), "a", "", "", "", "", MERCER_REAL, 0, 2, 1}},
};
ROWS("row-range", 1, 8)
