// Random numbers are a pure function of (seed, stage, a, b). They have no state and so do not
// depend on threads, tiles or storage. mix(z) is the finaliser of SplitMix64, and G the increment of
// its state. A number in [0, 1) is 2^-53 times the upper 53 bits of the chain
//   h = mix(seed of the stage + G),  h = mix(h + G (a + 1)),  h = mix(h + G (b + 1)).
#pragma once
#include <cstdint>

namespace mercer {

// Streams that must be independent of each other. Every result depends on these numbers, so they
// never change.
enum class Stage : uint64_t {
    gram = 0,
    reducer = 1,
    solver = 2,
    bandwidth = 3,
    projection = 4,
    rounding = 5,
    second = 6,
    certificate = 7,
    partition = 8,
    bootstrap = 9,
    clusters = 10
};

class Random {
  public:
    Random(uint64_t seed, Stage stage)
        : seed_(stage == Stage::gram ? seed : mix(seed + golden * static_cast<uint64_t>(stage))) {}

    double uniform(int64_t a, int64_t b) const {
        uint64_t h = mix(seed_ + golden);
        h = mix(h + golden * (static_cast<uint64_t>(a) + 1));
        h = mix(h + golden * (static_cast<uint64_t>(b) + 1));
        return static_cast<double>(h >> 11) * 0x1p-53;
    }

    static constexpr uint64_t mix(uint64_t z) {
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        return z ^ (z >> 31);
    }
    static constexpr uint64_t golden = 0x9E3779B97F4A7C15u;

  private:
    uint64_t seed_;
};

} // namespace mercer
