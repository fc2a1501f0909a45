// Unity for C++: it defines macros isnan and isinf where <math.h> has functions, which breaks std::isnan.
#pragma once
#include <cmath>

#include "unity.h"
#undef isnan
#undef isinf
