// Definitions that the writer and the reader of safetensors share.
#pragma once
#include "safetensors.h"

#include <string_view>

namespace mercer::safetensors {

constexpr int64_t longest_header = 100'000'000, alignment = 64;

// Every file begins with this text after the 8 bytes of length, so that the CRC-32 of the header is
// at a fixed place.
constexpr std::string_view opening = R"({"__metadata__":{"crc32":")", no_digits = "00000000";

struct DtypeName {
    int32_t dtype;
    int64_t size;
    const char *name;
};
constexpr DtypeName dtypes[] = {{MERCER_F32, 4, "F32"}, {MERCER_F64, 8, "F64"}, {MERCER_I64, 8, "I64"}};

std::string crc_text(uint32_t crc); // 8 lower-case hexadecimal digits

// Returns the CRC-32 of the length and the header, with zeros in place of its own 8 digits.
std::string crc_of_header(std::string header);

} // namespace mercer::safetensors
