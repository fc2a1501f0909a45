/* kernel-throws.cpp - its map throws an exception without a text. */
#include "hostile.h"

HOSTILE("throws", throw 1)
