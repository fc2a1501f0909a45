#include "gram/expression.h"
#include "temp_files.h" // expect_error

using namespace mercer;

namespace {

void test_canonical() {
    struct {
        const char *text, *canonical;
    } cases[] = {
        {"gaussian", "gaussian"},
        {"  gaussian\t", "gaussian"},
        {"gaussian[0-7]*hamming[8-11]+0.1linear", "gaussian[0-7] * hamming[8-11] + 0.1 linear"},
        {"1 linear", "linear"},
        {"2e-3 linear + .5 user", "0.002 linear + 0.5 user"},
        {"gaussian[0,1,2,5,7-8]", "gaussian[0-2,5,7-8]"},
        {"gaussian[ 3 , 1 - 2 ]", "gaussian[3,1-2]"},
        {"a*a*a + a", "a * a * a + a"},
        {"1e+2 block-thing", "100 block-thing"},
    };
    for (auto &c : cases) {
        std::string once = expression_text(parse_expression(c.text));
        TEST_ASSERT_EQUAL_STRING(c.canonical, once.c_str());
        // The canonical form of the canonical text must be the same text.
        TEST_ASSERT_EQUAL_STRING(c.canonical, expression_text(parse_expression(once)).c_str());
    }
}

void test_structure() {
    ExpressionText text = parse_expression("2 gaussian[1-3,7] * linear + user");
    TEST_ASSERT_EQUAL_size_t(2, text.terms.size());
    TEST_ASSERT_EQUAL_size_t(2, text.terms[0].leaves.size());
    TEST_ASSERT_EQUAL_size_t(1, text.terms[1].leaves.size());
    TEST_ASSERT_TRUE(text.terms[0].weight == 2 && text.terms[1].weight == 1);
    TEST_ASSERT_TRUE((text.terms[0].leaves[0].columns == std::vector<int64_t>{1, 2, 3, 7}));
    TEST_ASSERT_TRUE(text.terms[0].leaves[1].name == "linear" && text.terms[0].leaves[1].columns.empty());
    TEST_ASSERT_TRUE(text.terms[1].leaves[0].name == "user");
}

void test_syntax_errors() {
    struct {
        const char *text, *words;
    } cases[] = {
        {"", "expected a kernel's name at character 1"},
        {"+", "expected a kernel's name at character 1"},
        {"gaussian +", "expected a kernel's name at character 11"},
        {"gaussian * + linear", "expected a kernel's name at character 12"},
        {"gaussian linear", "expected '+', '*' or the end at character 10"},
        {"(gaussian)", "expected a kernel's name at character 1"},
        {"Gaussian", "expected a kernel's name"},
        {"-1 linear", "expected a kernel's name"},
        {"0 linear", "a weight of 0, must be > 0"},
        {"1e999 linear", "expected a number"},
        {"1.2.3 linear", "expected a number"},
        {"gaussian[", "expected a column's number"},
        {"gaussian[]", "expected a column's number"},
        {"gaussian[1", "expected ']'"},
        {"gaussian[1,]", "expected a column's number"},
        {"gaussian[3-1]", "expected columns like 0-7 in ascending order"},
        {"gaussian[0-9223372036854775807]", "expected columns like 0-7"},
        {"gaussian[0-999999999]", "more than 1000000 columns are listed"},
        {"gaussian[0-900000,0-900000]", "more than 1000000 columns are listed"},
        {"gaussian[99999999999999999999]", "expected a column's number"},
        {"gaussian[1] 2", "expected '+', '*' or the end"},
    };
    for (auto &c : cases) expect_error(MERCER_E_VALUE, c.words, [&] { parse_expression(c.text); });
    expect_error(MERCER_E_VALUE, "kernel = xxx",
                 [] { parse_expression(std::string(100000, 'x')); }); // the name is too long
}

void test_leaves() {
    Registry registry;
    Expression kernel(parse_expression("rbf[0-1] * hamming[2] + 0.5 linear"), registry);
    // The alias rbf must be replaced by the name of the kernel.
    TEST_ASSERT_EQUAL_STRING("gaussian[0-1] * hamming[2] + 0.5 linear", kernel.text().c_str());
    TEST_ASSERT_EQUAL_STRING("kernel.1.", kernel.prefix(0).c_str());
    TEST_ASSERT_EQUAL_STRING("kernel.", Expression(parse_expression("linear"), registry).prefix(0).c_str());
    kernel.leaves[0].params.set(kernel.leaves[0].params.table().find("sigma"), "2", "x");
    auto stored = kernel.stored();
    TEST_ASSERT_EQUAL_STRING("2", stored.at("kernel.1.sigma").c_str());
    TEST_ASSERT_EQUAL_STRING("1", stored.at("kernel.2.gamma").c_str());
    TEST_ASSERT_EQUAL_size_t(2, stored.size());
    expect_error(MERCER_E_NAME, "did you mean 'gaussian'?", [&] { Expression(parse_expression("gausian"), registry); });
}

void test_facts() {
    Registry registry;
    mercer_run settings{};
    settings.struct_size = sizeof settings;
    settings.threads = 1;
    Run run({}, &settings);
    auto rule = [](const Leaf &, const std::string &) { return 3.0; };
    Expression kernel(parse_expression("2 gaussian * hamming[0-1] + 0.5 gaussian"), registry);
    kernel.finish(run, 3, rule);
    TEST_ASSERT_TRUE(kernel.is_psd() && !kernel.calls_back() && !kernel.has_user());
    TEST_ASSERT_TRUE(kernel.kappa() == 2.5); // 2 * 1 * 1 + 0.5
    TEST_ASSERT_EQUAL_STRING("3", kernel.stored().at("kernel.1.sigma").c_str());
    Expression dot(parse_expression("linear + gaussian"), registry);
    dot.finish(run, 3, rule);
    TEST_ASSERT_TRUE(std::isnan(dot.kappa()));
    Expression wide(parse_expression("gaussian[0-3]"), registry);
    expect_error(MERCER_E_VALUE, "column 3, the data have 3", [&] { wide.finish(run, 3, rule); });
    Expression user(parse_expression("user + linear"), registry);
    user.finish(run, 3, rule);
    TEST_ASSERT_TRUE(user.has_user() && user.calls_back() && !user.is_psd());
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_canonical);
    RUN_TEST(test_structure);
    RUN_TEST(test_syntax_errors);
    RUN_TEST(test_leaves);
    RUN_TEST(test_facts);
    return UNITY_END();
}
