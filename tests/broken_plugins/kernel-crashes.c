/* kernel-crashes.c - writes to address 8. */
#include "hostile.h"

HOSTILE("crashes", *(volatile int *)8 = 1)
