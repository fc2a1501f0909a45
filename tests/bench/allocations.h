// allocations.h - how often this process has asked for memory: malloc and its family, and mmap.
#pragma once

#include <cstdint>

int64_t allocations();
