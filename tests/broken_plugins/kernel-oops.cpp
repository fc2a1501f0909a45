/* kernel-oops.cpp - its map throws an exception with a text. */
#include <stdexcept>

#include "hostile.h"

HOSTILE("oops", throw std::runtime_error("oops"))
