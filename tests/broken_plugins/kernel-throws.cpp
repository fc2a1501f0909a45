/* kernel-throws.cpp - throws out of an operation. */
#include "hostile.h"

HOSTILE("throws", throw 1)
