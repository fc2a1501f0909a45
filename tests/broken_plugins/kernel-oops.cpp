/* kernel-oops.cpp - throws an exception with a text out of an operation. */
#include <stdexcept>

#include "hostile.h"

HOSTILE("oops", throw std::runtime_error("oops"))
