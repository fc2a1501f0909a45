// Unity for C++. Unity defines the macros isnan and isinf, because <math.h> has them as functions
// in C++. These macros would break std::isnan.
#pragma once
#include <cmath>

#include "unity.h"
#undef isnan
#undef isinf
