#include "io/npy.h"
#include "temp_files.h"

#include <cmath>

using namespace mercer;

namespace {

// Returns a file as NumPy writes it. The header is padded with blanks and ends with a line feed at
// a multiple of 64 bytes.
std::string npy(const std::string &dict, const std::string &data, int version = 1) {
    std::string length, text = dict;
    size_t preamble = version == 1 ? 10 : 12;
    while ((preamble + text.size() + 1) % 64 != 0) text += ' ';
    text += '\n';
    for (size_t k = 0; k < preamble - 8; ++k) length += static_cast<char>(text.size() >> (8 * k) & 255);
    return std::string("\x93NUMPY") + static_cast<char>(version) + '\0' + length + text + data;
}

std::string dict(const std::string &descr, const std::string &shape, bool fortran = false) {
    return "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape +
           ", }";
}

template <class T>
std::string bytes_of(const std::vector<T> &values) {
    return {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T)};
}

NpyHeader parse(const std::string &file) {
    return parse_npy_header(reinterpret_cast<const unsigned char *>(file.data()), static_cast<int64_t>(file.size()),
                            static_cast<int64_t>(file.size()), "x.npy");
}

void expect_refused(const std::string &part, const std::string &file) {
    expect_error(MERCER_E_DATA, part, [&] { parse(file); });
    expect_error(MERCER_E_DATA, "'x.npy'", [&] { parse(file); });
}

struct Case {
    const char *text, *part;
};

void test_preamble() {
    std::string good = npy(dict("<f8", "(1, 2)"), std::string(16, '\0'));
    parse(good);
    auto with = [&](size_t at, int byte) {
        std::string file = good;
        file[at] = static_cast<char>(byte);
        return file;
    };
    expect_refused("has only 0 bytes", "");
    expect_refused("has only 9 bytes", good.substr(0, 9));
    expect_refused("the first bytes are wrong", with(0, 'x'));
    expect_refused("the first bytes are wrong", with(5, 'y'));
    expect_refused("npy version 0.0", with(6, 0));
    expect_refused("npy version 4.0, must be 1.0, 2.0 or 3.0", with(6, 4));
    expect_refused("npy version 1.1", with(7, 1));
    expect_refused("ends inside its npy header", with(9, 1));
    expect_refused("ends inside its npy header", good.substr(0, 100));
    expect_refused("ends inside its npy header", npy(dict("<f8", "(1,)"), "", 2).substr(0, 11));
    expect_refused("npy header of 4278190140 bytes, must be at most 65536",
                   npy(dict("<f8", "(1,)"), "").replace(6, 6, std::string("\2\0\x3c\0\0\xff", 6)));
    expect_refused("is 1 bytes shorter than its header declares", good.substr(0, good.size() - 1));
    expect_refused("is 16 bytes shorter", good.substr(0, good.size() - 16));
    expect_refused("is 3 bytes longer than its header declares", good + "abc");
    for (int version : {1, 2, 3})
        TEST_ASSERT_EQUAL_INT64(128, parse(npy(dict("<f8", "(1, 2)"), std::string(16, '\0'), version)).offset);
    std::string longest = npy(dict("<f8", "(1,)") + std::string(65400, ' '), std::string(8, '\0'), 2);
    TEST_ASSERT_EQUAL_INT64(1, parse(longest).rows);
}

void test_legal_spellings() {
    const std::string f8(48, '\0');
    for (const char *text : {
             "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }",
             "{\"shape\":(3,2),\"fortran_order\":False,\"descr\":\"<f8\"}",
             "  { 'shape' : ( 3 , 2 , ) ,\n 'descr'\t: '=f8', 'fortran_order' : False } \n",
             "{'descr': '<f8', 'fortran_order': False, 'shape': (3L, 2L)}",
         }) {
        NpyHeader header = parse(npy(text, f8));
        TEST_ASSERT_TRUE(header.rows == 3 && header.cols == 2 && !header.column_major);
        TEST_ASSERT_TRUE(header.kind == 'f' && header.item == 8);
    }
    TEST_ASSERT_TRUE(parse(npy(dict("<f8", "(3, 2)", true), f8)).column_major);
    TEST_ASSERT_EQUAL_INT64(1, parse(npy(dict("<f8", "(6,)"), f8)).cols);
    TEST_ASSERT_EQUAL_INT64(0, parse(npy(dict("<f8", "(0, 3)"), "")).rows);
    for (const char *descr : {"|u1", "<u1", ">i1", "=b1", "|b1"})
        TEST_ASSERT_EQUAL_INT(1, parse(npy(dict(descr, "(48,)"), f8)).item);
}

void test_types_refused() {
    const Case cases[] = {
        {">f4", "npy type '>f4' is big-endian; save x.astype('<f4')"},
        {">i8", "big-endian"},
        {"|O", "npy type '|O' is Python objects (pickle), which are not supported"},
        {"O", "npy type 'O' is unknown"},
        {"<c8", "complex"},
        {"<c16", "complex"},
        {"<U5", "text, must be numbers"},
        {"|S3", "text"},
        {"|a3", "text"},
        {"<M8[ns]", "dates"},
        {"<m8[s]", "durations"},
        {"|V16", "raw records"},
        {"<f2", "half precision; save x.astype('<f4')"},
        {"<f16", "long double"},
        {"<f3", "npy type '<f3' is unknown, must be f4 f8 u1 i1 u2 i2 u4 i4 u8 i8 b1"},
        {"<b4", "unknown"},
        {"<i16", "unknown"},
        {"|f8", "has no byte order, must be '<f8'"},
        {"f8", "unknown"},
        {"!f8", "unknown"},
        {"<", "unknown"},
        {"", "npy type '' is unknown"},
        {"<f8 ", "unknown"},
        {"\x01\x80z", "npy type '??z' is unknown"},
    };
    for (auto &c : cases) expect_refused(c.part, npy(dict(c.text, "(1,)"), std::string(8, '\0')));
    expect_refused("structured", npy("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,)}", "12345678"));
    expect_refused("structured", npy("{'descr': ('<f8', (2,)), 'fortran_order': False, 'shape': (1,)}", "12345678"));
}

void test_shapes_refused() {
    const Case cases[] = {
        {"()", "shape = () is a single number"},
        {"(1)", "shape = (1) is a number, must be a tuple"},
        {"1", "expected a tuple for shape"},
        {"[1, 1]", "expected a tuple for shape"},
        {"(,)", "expected a length"},
        {"(1,,)", "expected a length"},
        {"(1 1)", "expected ',' or ')'"},
        {"(1.0, 1)", "expected ',' or ')'"},
        {"(1e0,)", "expected ',' or ')'"},
        {"(0x1,)", "expected ',' or ')'"},
        {"(1_0,)", "expected ',' or ')'"},
        {"(01,)", "without leading zeros"},
        {"(+1,)", "expected a length"},
        {"(True,)", "expected a length"},
        {"(-1, 1)", "negative length"},
        {"(1, -1)", "negative length"},
        {"(1,", "expected"},
        {"(2, 2, 2)", "shape = (2, 2, 2) has 3 dimensions, must be 1 or 2"},
        {"(1, 0)", "has no columns"},
        {"(1000000000000000000, 0)", "has no columns"},
        {"(99999999999999999999,)", "a length beyond 2^63"},
        {"(9223372036854775808, 1)", "a length beyond 2^63"},
        {"(4294967296, 4294967296)", "shape = (4294967296, 4294967296) is too large"},
        {"(2305843009213693952, 1)", "is too large"}, // 2^64 bytes
        {"(2305843009213693953,)", "is too large"},   // 2^64 + 8 bytes; modulo 2^64, they would fit
        {"(1152921504606846970,)", "is too large"},   // with the header, more than 2^63 bytes
        {"(0, 9223372036854775807)", "is too large"},
        {"(2,)", "is 8 bytes shorter"},
        {"(0,)", "is 8 bytes longer"},
    };
    for (auto &c : cases) expect_refused(c.part, npy(dict("<f8", c.text), std::string(8, '\0')));
}

void test_dicts_refused() {
    const Case cases[] = {
        {"", "expected a dict"},
        {"[]", "character 1: expected a dict"},
        {"{}", "no key 'descr'"},
        {"{,}", "expected a key or the dict's end"},
        {"{'descr': '<f8', 'shape': (1,)}", "no key 'fortran_order'"},
        {"{'descr': '<f8', 'fortran_order': False}", "no key 'shape'"},
        {"{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (1,)}", "key 'descr' is given twice"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1,), 'shape': (1,)}", "key 'shape' is given twice"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1,), 'x': 1}", "unknown key 'x'"},
        {"{'descr': '<f8', 'fortran_order': 0, 'shape': (1,)}", "expected True or False"},
        {"{'descr': '<f8', 'fortran_order': false, 'shape': (1,)}", "expected True or False"},
        {"{'descr': '<f8', 'fortran_order': Falsehood, 'shape': (1,)}", "expected ',' or '}'"},
        {"{'descr': '<f8' 'fortran_order': False, 'shape': (1,)}", "expected ',' or '}'"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1,)", "expected ',' or '}'"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1,),,}", "expected a key"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1,)} x", "expected the end of the header after the dict"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}}", "expected the end of the header after the dict"},
        {"{'descr' '<f8', 'fortran_order': False, 'shape': (1,)}", "expected ':'"},
        {"{'descr': <f8, 'fortran_order': False, 'shape': (1,)}", "expected descr's string"},
        {"{'descr': \"<f8', 'fortran_order': False, 'shape': (1,)}", "without escapes"},
        {"{'descr': '\\x3cf8', 'fortran_order': False, 'shape': (1,)}", "without escapes"},
        {"{'descr': u'<f8', 'fortran_order': False, 'shape': (1,)}", "expected descr's string"},
        {"{descr: '<f8', 'fortran_order': False, 'shape': (1,)}", "expected a key"},
        {"{'descr': '<f8', # 'fortran_order': False, 'shape': (1,)}", "expected a key"},
        {"__import__('os').system('true')", "expected a dict"},
    };
    for (auto &c : cases) expect_refused(c.part, npy(c.text, std::string(8, '\0')));
    std::string nul = npy(dict("<f8", "(1,)") + "#", std::string(8, '\0'));
    nul[nul.find('#')] = '\0';
    expect_refused("expected the end of the header after the dict", nul);
    std::string deep = npy("{'descr': " + std::string(60000, '('), "");
    expect_refused("structured", deep);
}

// Writes an r x c matrix with entries (i * c + j) mod 100 + 1 as T, in either order, and reads it
// in windows as f32 and f64.
template <class T>
void check_reading(const char *descr, int32_t dtype, int64_t r, int64_t c, bool fortran, int64_t window) {
    TempFolder folder;
    std::vector<T> values(static_cast<size_t>(r * c));
    for (int64_t i = 0; i < r; ++i)
        for (int64_t j = 0; j < c; ++j)
            values[static_cast<size_t>(fortran ? j * r + i : i * c + j)] = static_cast<T>((i * c + j) % 100 + 1);
    std::string shape = format("(%d, %d)", static_cast<int>(r), static_cast<int>(c));
    auto source = open_npy(folder.write("m.npy", npy(dict(descr, shape, fortran), bytes_of(values))));
    TEST_ASSERT_TRUE(source->rows() == r && source->cols() == c);
    TEST_ASSERT_EQUAL_INT(dtype, source->dtype());
    TEST_ASSERT_TRUE(source->window_bytes(window) <= (int64_t{1} << 20));
    std::vector<float> single(static_cast<size_t>(window * c));
    std::vector<double> wide(static_cast<size_t>(window * c));
    int64_t wrong = 0;
    for (int64_t row0 = 0; row0 < r; row0 += window) {
        int64_t count = std::min(window, r - row0);
        source->read(row0, count, single.data());
        source->read(row0, count, wide.data());
        for (int64_t k = 0; k < count * c; ++k) {
            double right = static_cast<double>(static_cast<T>((row0 * c + k) % 100 + 1));
            wrong +=
                single[static_cast<size_t>(k)] != static_cast<float>(right) || wide[static_cast<size_t>(k)] != right;
        }
    }
    TEST_ASSERT_EQUAL_INT64(0, wrong);
}

void test_reading() {
    for (bool fortran : {false, true})
        for (int64_t window : {1, 4, 7, 50}) {
            check_reading<float>("<f4", MERCER_F32, 7, 35, fortran, window);
            check_reading<double>("<f8", MERCER_F64, 7, 35, fortran, window);
            check_reading<int8_t>("|i1", MERCER_F32, 7, 3, fortran, window);
            check_reading<uint8_t>("|u1", MERCER_F32, 7, 3, fortran, window);
            check_reading<int16_t>("<i2", MERCER_F32, 7, 3, fortran, window);
            check_reading<uint16_t>("<u2", MERCER_F32, 7, 3, fortran, window);
            check_reading<int32_t>("<i4", MERCER_F64, 7, 3, fortran, window);
            check_reading<uint32_t>("<u4", MERCER_F64, 7, 3, fortran, window);
            check_reading<int64_t>("<i8", MERCER_F64, 7, 3, fortran, window);
            check_reading<uint64_t>("<u8", MERCER_F64, 7, 1, fortran, window);
        }
    for (bool fortran : {false, true}) { // more than one block of the reader
        check_reading<double>("<f8", MERCER_F64, 20001, 17, fortran, 20001);
        check_reading<int32_t>("<i4", MERCER_F64, 9000, 33, fortran, 8500);
    }
}

void test_values() {
    TempFolder folder;
    std::vector<int64_t> large = {INT64_MIN, INT64_MAX, (int64_t{1} << 53) + 1};
    double out[4];
    open_npy(folder.write("i8.npy", npy(dict("<i8", "(3,)"), bytes_of(large))))->read(0, 3, out);
    TEST_ASSERT_TRUE(out[0] == -0x1p63 && out[1] == 0x1p63 && out[2] == 0x1p53);
    open_npy(folder.write("b1.npy", npy(dict("|b1", "(3,)"), std::string("\0\1\xff", 3))))->read(0, 3, out);
    TEST_ASSERT_TRUE(out[0] == 0 && out[1] == 1 && out[2] == 1);

    std::vector<double> bad = {1, 2, 3, NAN, 5, INFINITY};
    auto source = open_npy(folder.write("bad.npy", npy(dict("<f8", "(3, 2)"), bytes_of(bad))));
    source->read(0, 1, out);
    expect_error(MERCER_E_DATA, "bad.npy': row 1, column 1 is NaN", [&] { source->read(1, 2, out); });
    expect_error(MERCER_E_DATA, "row 2, column 1 is inf", [&] { source->read(2, 1, out); });
    expect_error(MERCER_E_INTERNAL, "rows 2 + 2 of 3", [&] { source->read(2, 2, out); });
    source->read(3, 0, out);
}

void test_files() {
    TempFolder folder;
    expect_error(MERCER_E_IO, "No such file or directory", [&] { open_npy(folder.path("missing.npy")); });
    expect_error(MERCER_E_IO, "Is a directory", [&] { open_npy(folder.path()); });
    expect_error(MERCER_E_DATA, "not an npy file: it has only 0 bytes", [&] { open_npy(folder.write("empty", "")); });
    expect_error(MERCER_E_DATA, "the first bytes are wrong", [&] { open_npy(folder.write("text", "a,b,c\n1,2,3\n")); });
    std::string file = npy(dict("<f8", "(2, 2)"), std::string(32, '\0')), path = folder.write("m.npy", file);
    auto source = open_npy(path);
    double out[4];
    std::filesystem::resize_file(path, file.size() - 1);
    expect_error(MERCER_E_IO, "the file became shorter", [&] { source->read(0, 2, out); });
    for (size_t length = 0; length < file.size(); ++length) {
        folder.write("cut.npy", file.substr(0, length));
        expect_error(MERCER_E_DATA, "cut.npy'", [&] { open_npy(folder.path("cut.npy")); });
    }
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_preamble);
    RUN_TEST(test_legal_spellings);
    RUN_TEST(test_types_refused);
    RUN_TEST(test_shapes_refused);
    RUN_TEST(test_dicts_refused);
    RUN_TEST(test_reading);
    RUN_TEST(test_values);
    RUN_TEST(test_files);
    return UNITY_END();
}
