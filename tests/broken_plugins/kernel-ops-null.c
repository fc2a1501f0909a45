/* kernel-ops-null.c - must be refused: it has no operations. */
#include "broken.h"

MODULE(KERNEL, .name = "ops-null")
