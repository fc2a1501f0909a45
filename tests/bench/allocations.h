// allocations.h - counts the calls of malloc and its family, and of mmap, that this process has
// made so far.
#pragma once

#include <cstdint>

int64_t allocations();
