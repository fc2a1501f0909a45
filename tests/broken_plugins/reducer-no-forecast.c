/* reducer-no-forecast.c - must be refused: it has no operation `forecast`. */
#include "broken.h"

static const mercer_reducer_ops ops = {.struct_size = sizeof ops};
MODULE(.kind = MERCER_KIND_REDUCER, .header = MERCER_VERSION, .name = "no-forecast", .ops = &ops)
