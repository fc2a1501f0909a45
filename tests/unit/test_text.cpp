#include "core/text.h"
#include "temp_files.h" // expect_error

#include <cmath>
#include <cstdint>
#include <limits>

using namespace mercer;

namespace {

void test_numbers_round_trip() {
    const double values[] = {0,    -0.0, 1, 0.1, -1.0 / 3, 1e300, 5e-324, 1.7976931348623157e308, 123456789.125,
                             1e-7, 1e22};
    for (double value : values) {
        double back = 99;
        TEST_ASSERT_TRUE(parse_number(number_text(value), &back));
        TEST_ASSERT_TRUE(back == value && std::signbit(back) == std::signbit(value));
    }
    for (int64_t value : {int64_t{0}, int64_t{-7}, INT64_MAX, INT64_MIN}) {
        int64_t back = 99;
        TEST_ASSERT_TRUE(parse_number(number_text(value), &back) && back == value);
    }
    TEST_ASSERT_EQUAL_STRING("0.1", number_text(0.1).c_str());
    TEST_ASSERT_EQUAL_STRING("inf", number_text(static_cast<double>(INFINITY)).c_str());
    TEST_ASSERT_EQUAL_STRING("-inf", number_text(static_cast<double>(-INFINITY)).c_str());
}

void test_numbers_read() {
    double real = 0;
    int64_t whole = 0;
    TEST_ASSERT_TRUE(parse_number("+2.5e-3", &real) && real == 2.5e-3);
    TEST_ASSERT_TRUE(parse_number("+17", &whole) && whole == 17);
    for (const char *text : {"", "+", "-", " 1", "1 ", "1,5", "0x10", "1e", "--1", "+-1", "++1", "one", "1e400"})
        TEST_ASSERT_FALSE_MESSAGE(parse_number(text, &real), text);
    for (const char *text : {"", "+", "1.0", "1e3", "9223372036854775808", "+-1", " 1"})
        TEST_ASSERT_FALSE_MESSAGE(parse_number(text, &whole), text);
}

void test_pieces() {
    auto pieces = split(" a | b||c d ", '|');
    TEST_ASSERT_EQUAL_size_t(4, pieces.size());
    TEST_ASSERT_TRUE(pieces[0] == "a" && pieces[1] == "b" && pieces[2].empty() && pieces[3] == "c d");
    TEST_ASSERT_EQUAL_size_t(1, split("", '|').size());
    TEST_ASSERT_EQUAL_STRING("x y", trim("\t x y \t").c_str());
    TEST_ASSERT_EQUAL_STRING("", trim(" \t ").c_str());
}

void test_printable() {
    TEST_ASSERT_EQUAL_STRING("T (\u00b0C)", printable("T (\u00b0C)").c_str());
    TEST_ASSERT_EQUAL_STRING("a?b?", printable("a\nb\x7f").c_str());
    TEST_ASSERT_EQUAL_STRING("T (?C)", printable("T (\xb0"
                                                 "C)")
                                           .c_str()); // Latin-1
    const std::string most(39, 'x');
    // A long text must not be cut within a character.
    TEST_ASSERT_EQUAL_STRING((most + "...").c_str(), printable(most + "\u00b0C").c_str());
}

void test_names() {
    for (const char *name : {"a", "gaussian", "block-krylov", "x2"}) TEST_ASSERT_TRUE_MESSAGE(is_name(name), name);
    for (const char *name : {"", "2x", "-a", "A", "a_b", "a b", "a.b", "\xc3\xa4"})
        TEST_ASSERT_FALSE_MESSAGE(is_name(name), name);
    TEST_ASSERT_TRUE(is_name(std::string(64, 'a')) && !is_name(std::string(65, 'a')));
}

void test_nearest() {
    const std::vector<std::string> kernels = {"gaussian", "laplacian", "linear", "chi2", "t3"};
    struct {
        const char *asked, *answer;
    } cases[] = {
        {"gausian", "did you mean 'gaussian'?"},  // a letter lost
        {"guassian", "did you mean 'gaussian'?"}, // two letters swapped
        {"lineer", "did you mean 'linear'?"},     // one wrong letter
        {"chi22", "did you mean 'chi2'?"},        // one letter too many
        {"wavelet", "known names are gaussian, laplacian, linear, chi2, t3"},
        {"", "known names are"},
        {"q2", "known names are"}, // shares no letter with t3
    };
    for (auto &c : cases) expect_error(MERCER_E_NAME, c.answer, [&] { fail_unknown("kernel", c.asked, kernels); });
    const std::vector<std::string> columns = {"Sample name", "Run", "Área, total", "Temp1", "Temp22"};
    expect_error(MERCER_E_NAME, "did you mean 'Sample name'?", [&] { fail_unknown("column", "Sample", columns); });
    expect_error(MERCER_E_NAME, "did you mean 'Sample name'?", [&] { fail_unknown("column", "sample", columns); });
    expect_error(MERCER_E_NAME, "did you mean 'Run'?", [&] { fail_unknown("column", "RUN", columns); });
    for (const char *several : {"te", "colour"}) // "te" begins two names, "colour" begins none
        expect_error(MERCER_E_NAME, "known names are 'Sample name', Run, 'Área, total', Temp1, Temp22",
                     [&] { fail_unknown("column", several, columns); });
    expect_error(MERCER_E_NAME, "known names are none", [&] { fail_unknown("kernel", "x", {}); });
    std::string endless(10000, 'x');
    expect_error(MERCER_E_NAME, "unknown kernel 'xxx", [&] { fail_unknown("kernel", endless, kernels); });
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_numbers_round_trip);
    RUN_TEST(test_numbers_read);
    RUN_TEST(test_pieces);
    RUN_TEST(test_printable);
    RUN_TEST(test_names);
    RUN_TEST(test_nearest);
    return UNITY_END();
}
