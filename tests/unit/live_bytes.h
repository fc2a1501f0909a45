// What malloc and its kin have given and not got back, in bytes as they were asked for, in a process that links live_bytes.cpp.
#pragma once
#include <cstdint>

int64_t live_bytes();
// The most since it was last reset.
int64_t most_live_bytes();
void reset_most_live_bytes();
