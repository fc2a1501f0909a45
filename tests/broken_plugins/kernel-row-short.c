/* kernel-row-short.c - must be refused: the struct_size of a row ends before its fields. */
#include "broken.h"

static const mercer_param rows[] = {{.struct_size = 8}};
ROWS("row-short", 1, 8)
