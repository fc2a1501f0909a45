#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    fuzz_one(bytes, count);
    return 0;
}
