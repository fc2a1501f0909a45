// allocations.h - the number of calls so far by which this process has asked for memory: malloc and
// its family, and mmap.
#pragma once

#include <cstdint>

int64_t allocations();
