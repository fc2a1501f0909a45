#include "io/safetensors.h"
#include "temp_files.h"

#include <cstring>
#include <zlib.h>

using namespace mercer;

namespace {

template <class T>
Tensor tensor(int32_t dtype, int64_t rows, int64_t cols, std::vector<T> values, bool vector = false) {
    Tensor out{dtype, rows, cols, vector, Buffer<unsigned char>(nullptr, rows * cols, sizeof(T))};
    if (!values.empty()) std::memcpy(out.bytes.data(), values.data(), values.size() * sizeof(T));
    return out;
}

std::string write(const std::string &metadata, const std::map<std::string, const Tensor *> &tensors) {
    std::string file;
    std::map<std::string, TensorView> views;
    for (const auto &[name, tensor] : tensors) views.emplace(name, *tensor);
    write_safetensors([&](const void *bytes,
                          int64_t count) { file.append(static_cast<const char *>(bytes), static_cast<size_t>(count)); },
                      metadata, views);
    return file;
}

// Reads the file through a callback that gives at most `step` bytes at a time. known: whether the
// reader is told the size of the file.
SafetensorsFile read(const std::string &file, bool known = true, int64_t step = INT64_MAX) {
    size_t at = 0;
    auto source = [&](void *bytes, int64_t capacity) {
        size_t count = static_cast<size_t>(std::min({capacity, step, static_cast<int64_t>(file.size() - at)}));
        std::memcpy(bytes, file.data() + at, count);
        at += count;
        return static_cast<int64_t>(count);
    };
    return read_safetensors(source, known ? static_cast<int64_t>(file.size()) : -1, "m.safetensors");
}

std::string small_file() {
    Tensor a = tensor<float>(MERCER_F32, 1, 3, {1.5f, -2, 3}),
           b = tensor<double>(MERCER_F64, 2, 1, {0.25, -1e300}, true);
    Tensor none = tensor<int64_t>(MERCER_I64, 0, 4, {});
    return write(R"({"method": "kpca", "text": "ä \" \\ \u0001"})", {{"A", &a}, {"b", &b}, {"landmarks", &none}});
}

void test_round_trip() {
    std::string file = small_file();
    TEST_ASSERT_EQUAL_STRING(file.c_str() + 8, small_file().c_str() + 8);
    uint64_t length;
    std::memcpy(&length, file.data(), 8);
    TEST_ASSERT_EQUAL_UINT64(0, (length + 8) % 64);
    for (bool known : {true, false})
        for (int64_t step : {int64_t{1}, int64_t{7}, INT64_MAX}) {
            SafetensorsFile out = read(file, known, step);
            TEST_ASSERT_EQUAL_STRING(R"({"method": "kpca", "text": "ä \" \\ \u0001"})", out.metadata_json.c_str());
            TEST_ASSERT_EQUAL_size_t(3, out.tensors.size());
            const Tensor &a = out.tensors.at("A"), &b = out.tensors.at("b"), &none = out.tensors.at("landmarks");
            TEST_ASSERT_EQUAL_INT(MERCER_F32, a.dtype);
            TEST_ASSERT_TRUE(a.rows == 1 && a.cols == 3 && !a.vector && a.bytes.size() == 12);
            TEST_ASSERT_TRUE(b.rows == 2 && b.cols == 1 && b.vector && b.bytes.size() == 16);
            TEST_ASSERT_TRUE(none.rows == 0 && none.cols == 4 && !none.vector && none.bytes.size() == 0);
            TEST_ASSERT_EQUAL_INT(MERCER_I64, none.dtype);
            double values[2];
            std::memcpy(values, b.bytes.data(), 16);
            TEST_ASSERT_TRUE(values[0] == 0.25 && values[1] == -1e300);
        }
    SafetensorsFile empty = read(write("{}", {}));
    TEST_ASSERT_EQUAL_STRING("{}", empty.metadata_json.c_str());
    TEST_ASSERT_EQUAL_size_t(0, empty.tensors.size());
}

void test_large_stream() {
    int64_t count = (int64_t{64} << 20) / 8 * 2 + 5; // read in three pieces of at most 64 MiB
    Tensor big{MERCER_I64, count, 1, true, Buffer<unsigned char>(nullptr, count, 8)};
    auto values = reinterpret_cast<int64_t *>(big.bytes.data());
    for (int64_t k = 0; k < count; ++k) values[k] = k * k;
    std::string file = write("{}", {{"big", &big}});
    SafetensorsFile out = read(file, false, 1 << 24);
    TEST_ASSERT_EQUAL_INT64(count * 8, out.tensors.at("big").bytes.size());
    TEST_ASSERT_EQUAL_INT(0, std::memcmp(values, out.tensors.at("big").bytes.data(), static_cast<size_t>(count) * 8));
    file.resize(file.size() - 1);
    expect_error(MERCER_E_MODEL, "tensor 'big' is truncated", [&] { read(file, false); });
}

// Checks that reading fails with E_MODEL and that the message names the damaged part. Macros of
// Unity are called only for failures, because there are thousands of mutations.
void expect_damage(const std::string &file, const std::string &what, std::vector<bool> sizes_known = {true, false}) {
    for (bool known : sizes_known) {
        std::string text = "accepted";
        int32_t code = MERCER_OK;
        try {
            read(file, known);
        } catch (const Error &e) {
            code = e.code();
            text = e.what();
        }
        bool named = text.find("header") != text.npos || text.find("tensor '") != text.npos;
        if (code != MERCER_E_MODEL || !named || text.find("m.safetensors: ") != 0)
            TEST_FAIL_MESSAGE((what + ": " + text).c_str());
    }
}

void test_every_damage() {
    std::string file = small_file();
    for (size_t k = 0; k < file.size() * 8; ++k) {
        std::string bad = file;
        bad[k / 8] = static_cast<char>(bad[k / 8] ^ 1 << k % 8);
        expect_damage(bad, "bit " + std::to_string(k));
    }
    for (size_t length = 0; length < file.size(); ++length)
        expect_damage(file.substr(0, length), "length " + std::to_string(length));
    for (size_t more : {1u, 8u, 64u, 4096u}) {
        expect_damage(file + std::string(more, '\0'), "zeros appended", {true});
        expect_damage(file + std::string(more, ' '), "blanks appended", {true});
    }
    expect_damage(file + file, "twice", {true});
    read(file + "x", false);    // of a stream, no byte beyond the last tensor is read
    std::string swapped = file; // two entries of b are swapped, which a plain sum would miss
    std::swap_ranges(swapped.end() - 28, swapped.end() - 20, swapped.end() - 20);
    expect_damage(swapped, "swapped");
    expect_error(MERCER_E_MODEL, "tensor 'b' is damaged", [&] { read(swapped); });
    expect_error(MERCER_E_MODEL, "tensor 'A' is truncated", [&] { read(file.substr(0, file.size() - 1)); });
    expect_error(MERCER_E_MODEL, "1 bytes follow the last tensor", [&] { read(file + "x"); });
}

// Returns a file with this header and a valid CRC-32. Damage hardly ever produces such a file; an
// attacker can.
std::string sealed(std::string header, const std::string &data = "") {
    while ((header.size() + 8) % 64 != 0) header += ' ';
    uint64_t length = header.size();
    std::string file(reinterpret_cast<const char *>(&length), 8);
    file += header;
    auto crc = crc32(0, reinterpret_cast<const unsigned char *>(file.data()), static_cast<unsigned>(file.size()));
    size_t digits = file.find("00000000");
    if (digits != file.npos) file.replace(digits, 8, format("%08lx", crc));
    return file + data;
}

std::string hostile(const std::string &tensors, const std::string &crcs = R"(,"crc32.A":"00000000")") {
    return R"({"__metadata__":{"crc32":"00000000","format":"mercer","mercer":"{}")" + crcs + "}" + tensors + "}";
}

void test_hostile_headers() {
    const std::string shape = R"(,"shape":[1])", dtype = R"({"dtype":"F32")", at = R"(,"data_offsets":[0,4]})";
    struct {
        std::string tensors, part;
    } cases[] = {
        {dtype + shape + at + R"(,"A":)" + dtype + shape + at, "contains a key twice"},
        {R"({"dtype":"F32","dtype":"F32")" + shape + at, "contains a key twice"},
        {dtype + at, "tensor 'A' in the header: must have dtype, shape and data_offsets"},
        {dtype + shape + R"(,"x":1,"data_offsets":[0,4]})", "nothing else"},
        {"[]", "nothing else"},
        {"7", "nothing else"},
        {R"({"dtype":"F16")" + shape + at, "dtype must be F32, F64 or I64"},
        {R"({"dtype":7)" + shape + at, "dtype must be F32, F64 or I64"},
        {dtype + R"(,"shape":[])" + at, "shape must be one or two sizes"},
        {dtype + R"(,"shape":[1,1,1])" + at, "shape must be one or two sizes"},
        {dtype + R"(,"shape":[-1])" + at, "shape must be one or two sizes"},
        {dtype + R"(,"shape":[1.0])" + at, "shape must be one or two sizes"},
        {dtype + R"(,"shape":["1"])" + at, "shape must be one or two sizes"},
        {dtype + R"(,"shape":1)" + at, "shape must be one or two sizes"},
        {dtype + R"(,"shape":{"a":1})" + at, "shape must be one or two sizes"},
        {dtype + R"(,"shape":[9223372036854775808])" + at, "shape must be one or two sizes"},
        {dtype + R"(,"shape":[99999999999999999999])" + at, "shape must be one or two sizes"},
        {dtype + R"(,"shape":[4294967296,4294967296])" + at, "shape is too large"},
        {dtype + R"(,"shape":[4611686018427387905])" + at, "shape is too large"},
        {dtype + R"(,"shape":[4611686018427387904,0],"data_offsets":[0,0]})", "shape is too large"},
        {dtype + R"(,"shape":[2])" + at, "data_offsets do not fit shape and dtype"},
        {dtype + shape + R"(,"data_offsets":[4,0]})", "data_offsets do not fit"},
        {dtype + shape + R"(,"data_offsets":[0]})", "data_offsets must be two sizes"},
        {dtype + shape + R"(,"data_offsets":[0,4,8]})", "data_offsets must be two sizes"},
        {dtype + shape + R"(,"data_offsets":[4,8]})", "tensor 'A' in the header: leaves a gap"},
        {dtype + R"(,"shape":[2],"data_offsets":[0,8]})", "tensor 'A' is truncated"},
        {dtype + R"(,"shape":[0],"data_offsets":[0,0]})", "follow the last tensor"},
        {dtype + R"(,"shape":[[1]])" + at, "nested too deeply"},
        {dtype + shape + R"(,"data_offsets":[0,4)", "is not JSON"},
        {dtype + shape + at + "}", "is not JSON"},
        {dtype + shape + at + R"(,"B":)" + dtype + shape + at, "no CRC-32 of tensor 'B'"},
        {dtype + shape + at + R"(,"":)" + dtype + shape + at, "illegal name"},
        {dtype + shape + at + R"(,"B\"":)" + dtype + shape + at, "illegal name"},
        {dtype + shape + at + R"(,"B C":)" + dtype + shape + at, "illegal name"},
        {dtype + shape + at + ",\"\xff\":" + dtype + shape + at, "is not JSON"},
        {dtype + shape + at, "tensor 'A' is damaged: its CRC-32 is"},
    };
    for (auto &c : cases)
        expect_error(MERCER_E_MODEL, c.part, [&] { read(sealed(hostile(R"(,"A":)" + c.tensors), "1234")); });
    std::string two = R"(,"A":)" + dtype + shape + at + R"(,"B":)" + dtype + shape + at;
    std::string crcs = R"(,"crc32.A":"00000000","crc32.B":"00000000")";
    expect_error(MERCER_E_MODEL, "overlaps", [&] { read(sealed(hostile(two, crcs), "1234")); });
    expect_error(MERCER_E_MODEL, "is truncated", [&] { // the header announces 2^62 bytes
        std::string huge =
            R"(,"A":{"dtype":"F32","shape":[1152921504606846976],"data_offsets":[0,4611686018427387904]})";
        read(sealed(hostile(huge), "1234"), false);
    });
}

void test_hostile_metadata() {
    struct {
        const char *metadata, *part;
    } cases[] = {
        {R"(,"format":"pt","mercer":"{}")", "format = mercer"},
        {R"(,"mercer":"{}")", "format = mercer"},
        {R"(,"format":"mercer")", "no text 'mercer'"},
        {R"(,"format":"mercer","mercer":{})", "must contain text only"},
        {R"(,"format":"mercer","mercer":null)", "must contain text only"},
        {R"(,"format":"mercer","mercer":"{}","x":"y")", "unknown key"},
        {R"(,"format":"mercer","mercer":"{}","crc32.Z":"00000000")", "unknown key"},
        {R"(,"format":"mercer","mercer":"{}","mercer":"{}")", "twice"},
    };
    for (auto &c : cases) {
        std::string header = std::string(R"({"__metadata__":{"crc32":"00000000")") + c.metadata + "}}";
        expect_error(MERCER_E_MODEL, c.part, [&] { read(sealed(header)); });
    }
    std::string entry = R"(,"A":{"dtype":"F32","shape":[0],"data_offsets":[0,0]})";
    for (const char *crc : {"0000000", "0000000g", "0000000A", ""})
        expect_error(MERCER_E_MODEL, "is not 8 hexadecimal digits",
                     [&] { read(sealed(hostile(entry, std::string(R"(,"crc32.A":")") + crc + "\""))); });
    read(sealed(hostile(entry)));
    read(sealed(hostile("", "")));
    std::string items = ",\"crc32.A\":\"\"";
    for (int k = 0; k < 200'000; ++k) items += ",\"" + std::to_string(k) + "\":\"\"";
    expect_error(MERCER_E_MODEL, "too many entries", [&] { read(sealed(hostile("", items))); });
}

void test_hostile_bytes() {
    auto refused = [](const char *part, const std::string &file) {
        expect_error(MERCER_E_MODEL, part, [&] { read(file); });
    };
    refused("not a model file", "row,column\n1,2\n3,4\n");
    refused("ends inside the header's length", "abc");
    refused("not a model file", std::string(64, '\xff'));
    refused("not a model file", std::string(64, '\0'));
    refused("was not written by mercer", sealed(R"({"A":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "1234"));
    refused("truncated: 99999992 bytes declared", std::string("\xf8\xe0\xf5\x05\0\0\0\0", 8) + "{");
    std::string good = hostile("", "");
    refused("not padded", sealed(good + std::string(64, ' ')));
    refused("control characters", sealed(good + "\n"));
    refused("control characters", sealed(good + '\0' + "}"));
    refused("control characters",
            sealed("{\"__metadata__\":{\"crc32\":\"00000000\",\n\"format\":\"mercer\",\"mercer\":\"{}\"}}"));
    refused("is not JSON", sealed(good + "{}"));
    refused("its CRC-32 is", sealed(good).replace(34, 1, "x"));
    expect_error(MERCER_E_CALLBACK, "must be 0 to 8",
                 [] { read_safetensors([](void *, int64_t capacity) { return capacity + 1; }, -1, "m"); });
    expect_error(MERCER_E_CANCELLED, "stop", [] {
        read_safetensors([](void *, int64_t) -> int64_t { fail(MERCER_E_CANCELLED, "stop"); }, -1, "m");
    });
}

void test_writer_refuses() {
    Tensor a = tensor<float>(MERCER_F32, 1, 1, {1});
    for (const char *name : {"", "__metadata__", "a b", "a\"", "a\\", "\xc3\xa4"})
        expect_error(MERCER_E_INTERNAL, "cannot be written", [&] { write("{}", {{name, &a}}); });
    a.rows = 2;
    expect_error(MERCER_E_INTERNAL, "tensor 'A' cannot be written", [&] { write("{}", {{"A", &a}}); });
    a.dtype = MERCER_I32;
    expect_error(MERCER_E_INTERNAL, "no tensor type 4", [&] { write("{}", {{"A", &a}}); });
    expect_error(MERCER_E_MODEL, "not UTF-8", [&] { write("\xff", {}); });
    expect_error(MERCER_E_MODEL, "too long", [&] { write(std::string(100'000'001, 'x'), {}); });
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_round_trip);
    RUN_TEST(test_large_stream);
    RUN_TEST(test_every_damage);
    RUN_TEST(test_hostile_headers);
    RUN_TEST(test_hostile_metadata);
    RUN_TEST(test_hostile_bytes);
    RUN_TEST(test_writer_refuses);
    return UNITY_END();
}
