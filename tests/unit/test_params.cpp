// Checks rows of parameters: their types, ranges, groups and defaults, and which tables of plugins
// are refused.
#include "core/params.h"
#include "temp_files.h" // expect_error

#include <cmath>

using namespace mercer;

namespace {

struct Values {
    double sigma, gamma, share;
    int64_t m;
    int32_t on, rule;
    const char *text;
};
const double inf = INFINITY;
const mercer_param rows[] = {
    MERCER_PARAM_REAL(Values, sigma, "", "scale", MERCER_LO_OPEN | MERCER_HI_OPEN, 0, inf, "a width"),
    MERCER_PARAM_REAL(Values, gamma, "", "scale", MERCER_LO_OPEN, 0, inf, "a rate"),
    MERCER_PARAM_REAL(Values, share, "0.5", "", MERCER_HI_OPEN, 0, 1, "half open"),
    MERCER_PARAM_INT(Values, m, "10", "", 0, 1, 1e6, "a number"),
    MERCER_PARAM_BOOL(Values, on, "true", "", 0, "a switch"),
    MERCER_PARAM_CHOICE(Values, rule, "median", "median|mean|scale", "scale", 0, "a choice that gives way"),
    MERCER_PARAM_TEXT(Values, text, "", "", 0, "anything"),
};
enum { SIGMA, GAMMA, SHARE, M, ON, RULE, TEXT };

std::shared_ptr<const ParamTable> table() {
    return std::make_shared<ParamTable>("test", rows, static_cast<int64_t>(std::size(rows)), sizeof(Values));
}
const Values &values(const Params &params) { return *static_cast<const Values *>(params.values()); }

void test_defaults() {
    Params params(table());
    TEST_ASSERT_TRUE(std::isnan(values(params).sigma) && values(params).share == 0.5 && values(params).m == 10);
    TEST_ASSERT_TRUE(values(params).on == 1 && values(params).rule == 0 && values(params).text == nullptr);
    TEST_ASSERT_EQUAL_STRING("", params.get(SIGMA).c_str());
    TEST_ASSERT_EQUAL_STRING("median", params.get(RULE).c_str());
    TEST_ASSERT_EQUAL_INT64(M, params.table().find("m"));
    TEST_ASSERT_EQUAL_INT64(-1, params.table().find("mm"));
    TEST_ASSERT_TRUE(!params.is_set(SIGMA) && params.is_set(M));
}

void test_values() {
    Params params(table());
    struct {
        int64_t row;
        const char *text, *back;
    } good[] = {
        {SIGMA, "0.1", "0.1"},
        {SHARE, "0", "0"},
        {SHARE, "0.999", "0.999"},
        {M, "1", "1"},
        {M, "1e6", "1000000"},
        {M, "10.0", "10"},
        {M, " 7 ", "7"},
        {ON, "false", "false"},
        {ON, "1", "true"},
        {RULE, "scale", "scale"},
        {TEXT, "a b", "a b"},
        {SIGMA, "5e-324", "5e-324"},
        {SIGMA, "", ""},
        {RULE, "", "median"},
        {TEXT, "", ""},
    };
    for (auto &c : good) {
        Params fresh(table());
        fresh.set(c.row, c.text, "x");
        TEST_ASSERT_EQUAL_STRING(c.back, fresh.get(c.row).c_str());
    }
    params.set(TEXT, "kept", "x");
    Params copy = params; // a text lives as long as any copy of its Params
    params = Params(table());
    TEST_ASSERT_EQUAL_STRING("kept", values(copy).text);
}

void test_refusals() {
    struct {
        int64_t row;
        const char *text, *words;
    } bad[] = {
        {SIGMA, "0", "x = 0, must be > 0"},
        {SIGMA, "-1", "x = -1, must be > 0"},
        {SIGMA, "inf", "x = inf is not a finite number, must be > 0"},
        {SIGMA, "nan", "x = nan"},
        {SIGMA, "abc", "x = abc is not a finite number, must be > 0"},
        {SHARE, "1", "x = 1, must be >= 0 and < 1"},
        {M, "0", "x = 0, must be >= 1 and <= 1000000"},
        {M, "1.5", "x = 1.5 is not a whole number, must be >= 1 and <= 1000000"},
        {M, "2e6", "x = 2e6, must be"},
        {M, "99999999999999999999", "must be"},
        {ON, "yes", "x = yes, must be true or false"},
        {RULE, "modus", "x = modus, must be one of median, mean, scale"},
    };
    for (auto &c : bad) {
        Params params(table());
        std::string before = params.get(c.row);
        expect_error(MERCER_E_VALUE, c.words, [&] { params.set(c.row, c.text, "x"); });
        TEST_ASSERT_EQUAL_STRING(before.c_str(), params.get(c.row).c_str()); // the value is unchanged
        TEST_ASSERT_FALSE(c.row == SIGMA && params.is_set(SIGMA));
    }
}

void test_groups() {
    Params params(table());
    TEST_ASSERT_FALSE(params.group_is_set(RULE));
    params.set(SIGMA, "2", "kernel.sigma");
    TEST_ASSERT_TRUE(params.group_is_set(RULE) && params.group_is_set(GAMMA));
    expect_error(MERCER_E_VALUE, "kernel.gamma = 1: 'sigma' is already set",
                 [&] { params.set(GAMMA, "1", "kernel.gamma"); });
    expect_error(MERCER_E_VALUE, "'sigma' is already set", [&] { params.set(RULE, "mean", "kernel.bandwidth"); });
    params.set(SIGMA, "3", "kernel.sigma"); // a parameter may replace its own value
    auto stored = params.stored();
    TEST_ASSERT_TRUE(stored.at("sigma") == "3" && !stored.count("bandwidth") && !stored.count("gamma") &&
                     !stored.count("text"));
    params.set(SIGMA, "", "kernel.sigma"); // removed, so that others of the group may be set
    params.set(GAMMA, "1", "kernel.gamma");
    TEST_ASSERT_TRUE(params.stored().at("gamma") == "1" && params.stored().at("m") == "10");
}

template <class Change>
void refuse_table(const char *words, Change &&change) {
    mercer_param bad[std::size(rows)];
    std::copy(std::begin(rows), std::end(rows), bad);
    int64_t size = sizeof(Values);
    change(bad, size);
    expect_error(MERCER_E_PLUGIN, words,
                 [&] { ParamTable("kernel-bad.so", bad, static_cast<int64_t>(std::size(bad)), size); });
}

void test_bad_tables() {
    refuse_table("row 3 has the invalid name 'M!'", [](mercer_param *p, int64_t &) { p[M].row.name = "M!"; });
    refuse_table("row 3 has the invalid name ''", [](mercer_param *p, int64_t &) { p[M].row.name = nullptr; });
    refuse_table("two rows are named 'sigma'", [](mercer_param *p, int64_t &) { p[GAMMA].row.name = "sigma"; });
    refuse_table("'m' has the unknown type 9", [](mercer_param *p, int64_t &) { p[M].row.type = 9; });
    refuse_table("'m' is outside its struct", [](mercer_param *p, int64_t &) { p[M].offset = sizeof(Values) - 4; });
    refuse_table("'m' is outside its struct", [](mercer_param *p, int64_t &) { p[M].offset = -8; });
    refuse_table("'text' is outside", [](mercer_param *, int64_t &size) { size -= 8; });
    refuse_table("'rule' has no choices", [](mercer_param *p, int64_t &) { p[RULE].row.choices = ""; });
    refuse_table("'share' has an empty range", [](mercer_param *p, int64_t &) { p[SHARE].row.lo = 2; });
    refuse_table("'share' has an empty range", [](mercer_param *p, int64_t &) { p[SHARE].row.hi = NAN; });
    refuse_table("a default violates its own row: share = 1",
                 [](mercer_param *p, int64_t &) { p[SHARE].row.initial = "1"; });
    refuse_table("struct_size 4", [](mercer_param *p, int64_t &) { p[0].struct_size = 4; });
    for (auto &row : rows) TEST_ASSERT_TRUE(row.struct_size == sizeof(mercer_param)); // only copies were changed
}

void test_older_plugin() { // rows without the newer fields at the end, which must read as 0
    struct Old {
        int64_t struct_size, offset;
        struct {
            int64_t struct_size;
            const char *name, *doc, *initial, *choices, *group;
            int32_t type, flags;
        } row;
    } old[] = {
        {sizeof(Old), offsetof(Values, text), {sizeof old[0].row, "text", "doc", "hello", "", "", MERCER_TEXT, 0}},
        {sizeof(Old), offsetof(Values, on), {sizeof old[0].row, "on", "doc", "true", "", "", MERCER_BOOL, 0}}};
    Params params(std::make_shared<ParamTable>("old", reinterpret_cast<const mercer_param *>(old), 2, sizeof(Values)));
    TEST_ASSERT_EQUAL_STRING("hello", values(params).text);
    TEST_ASSERT_EQUAL_INT(1, values(params).on);
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_defaults);
    RUN_TEST(test_values);
    RUN_TEST(test_refusals);
    RUN_TEST(test_groups);
    RUN_TEST(test_bad_tables);
    RUN_TEST(test_older_plugin);
    return UNITY_END();
}
