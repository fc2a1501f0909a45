/* solver-no-forecast.c - must be refused: it has no operation `forecast`. */
#include "broken.h"

static const mercer_solver_ops ops = {.struct_size = sizeof ops};
MODULE(.kind = MERCER_KIND_SOLVER, .header = MERCER_VERSION, .name = "no-forecast", .ops = &ops)
