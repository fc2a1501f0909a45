// The mutator of model files for libFuzzer. Half of the time it replaces numbers of the tensors by
// extreme values, else it mutates bytes as libFuzzer does by default. Without it nearly all
// mutations change the header, and the file is then refused.
#include "fuzz.h"

#include <cfloat>
#include <cmath>
#include <random>

extern "C" size_t LLVMFuzzerMutate(uint8_t *bytes, size_t count, size_t most);

namespace {

constexpr double hostile[] = {0,     -0.0,   1,      -1,      1e-300,  -1e-300, 1e-160, 1e155,       -1e155,   1e200,
                              1e300, -1e300, 1e308,  -1e308,  DBL_MAX, DBL_MIN, 5e-324, 1e38,        -3e38,    1e-38,
                              1e19,  -1e19,  0x1p53, 0x1p-53, 2,       -2,      0.5,    1 + 0x1p-52, INFINITY, NAN};
constexpr int64_t counts[] = {0, 1, -1, 2, 3, 4, INT64_MAX, INT64_MIN, int64_t{1} << 32, 7};

} // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t count, size_t most, unsigned seed) {
    std::minstd_rand random(seed);
    uint64_t length = 0;
    if (count >= 8) std::memcpy(&length, bytes, 8);
    if (count < 8 || length > count - 8 || count - 8 - length < 8 || random() % 2)
        return LLVMFuzzerMutate(bytes, count, most);
    const size_t data = 8 + static_cast<size_t>(length), changes = 1 + random() % 4;
    for (size_t k = 0; k < changes; ++k) {
        const size_t at = data + random() % ((count - data) / 8) * 8 + 4 * (random() % 2);
        const auto put = [&](auto value) {
            if (at + sizeof value <= count) std::memcpy(bytes + at, &value, sizeof value);
        };
        const double value = hostile[random() % std::size(hostile)];
        switch (random() % 4) {
        case 0: put(static_cast<float>(value)); break;
        case 1: put(counts[random() % std::size(counts)]); break;
        default: put(value);
        }
    }
    return count;
}
