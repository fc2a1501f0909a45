// Compares the facts that kernels declare (h, kappa, range, slope, definiteness) with extreme
// values on fine grids. The conformance suite refuses facts that are exceeded. This test also
// refuses facts that are far from reached, because they would make certificates useless.
#include "gram/expression.h"
#include "oracle.h"
#include "unity_cpp.h"

#include <cmath>
#include <cstring>

using namespace mercer;
using oracle::Matrix;
using Values = std::vector<double>;
using Settings = std::vector<std::pair<const char *, const char *>>;

namespace {

struct Subject {
    Subject(const char *name, const Settings &settings, int64_t d) : kernel(parse_expression(name), registry), d(d) {
        Leaf &leaf = kernel.leaves[0];
        for (const auto &[row, text] : settings) leaf.params.set(leaf.params.table().find(row), text, row);
        mercer_run plain{};
        plain.struct_size = sizeof plain;
        Run run({}, &plain);
        kernel.finish(run, d, [](const Leaf &, const std::string &) { return 1.0; });
    }
    const mercer_kernel_facts &facts() const { return kernel.leaves[0].facts; }
    // Maps form values to kernel values; kernels that compute whole tiles have no map.
    Values map(Values values) const {
        const Leaf &leaf = kernel.leaves[0];
        if (leaf.plugin->kernel.map)
            leaf.plugin->kernel.map(&host_table(), leaf.values(), MERCER_F64, values.data(),
                                    static_cast<int64_t>(values.size()));
        return values;
    }
    Values at_distances(Values r) const {
        for (double &value : r) value *= value;
        return map(r);
    }
    Registry registry;
    Expression kernel;
    int64_t d;
};

struct Case {
    const char *name;
    Settings settings;
    double h;             // of a radial kernel, computed by hand
    int64_t psd_up_to;    // largest number of columns for which the kernel is positive semidefinite
    const char *twice[2]; // a setting that doubles h
};
constexpr int64_t always = INT64_MAX;

const Case radial[] = {
    {"gaussian", {{"sigma", "0.6"}}, 0.6 * M_SQRT2, always, {"sigma", "1.2"}},
    {"gaussian", {{"gamma", "2"}}, M_SQRT1_2, always, {"gamma", "0.5"}},
    {"laplacian", {{"sigma", "0.6"}}, 0.6, always, {"sigma", "1.2"}},
    {"matern", {{"nu", "0.5"}, {"sigma", "0.6"}}, 0.6, always, {"sigma", "1.2"}},
    {"matern", {{"nu", "1.5"}, {"sigma", "0.6"}}, 0.6, always, {"sigma", "1.2"}},
    {"matern", {{"nu", "2.5"}, {"sigma", "0.6"}}, 0.6, always, {"sigma", "1.2"}},
    {"rational-quadratic", {{"sigma", "0.6"}}, 0.6, always, {"sigma", "1.2"}},
    {"rational-quadratic", {{"sigma", "0.6"}, {"alpha", "0.3"}}, 0.6, always, {"sigma", "1.2"}},
    {"rational-quadratic", {{"sigma", "0.6"}, {"alpha", "7.5"}}, 0.6, always, {"sigma", "1.2"}},
    {"cauchy", {{"sigma", "0.6"}}, 0.6, always, {"sigma", "1.2"}},
    {"inverse-multiquadric", {{"c", "0.6"}}, 0.6, always, {"c", "1.2"}},
    {"wave", {{"sigma", "0.6"}}, 0.6, 3, {"sigma", "1.2"}},
};

double least_eigenvalue(const Subject &subject, const Matrix &x, bool distances) {
    const Matrix form = oracle::gram(distances ? oracle::Pair(oracle::sqdist) : oracle::Pair(oracle::dot), x, x);
    Matrix gram = form, vectors;
    gram.v = subject.map(form.v);
    return oracle::eigen(gram, vectors).back() / static_cast<double>(x.rows);
}

// The grid has steps of h / 1000 up to 20 h, then factors of 2; the slopes of these kernels are
// largest below 3 h. The slope of a chord never exceeds the largest slope of the curve. It falls
// short of it by about (step / h)^2 = 1e-6 or, next to a cusp at 0, by step / 2 h; the smallest
// value on the grid also misses the true one by about 1e-6.
void test_radial() {
    for (const Case &c : radial) {
        const Subject one(c.name, c.settings, 3);
        const mercer_kernel_facts &facts = one.facts();
        const double step = c.h / 1000;
        Values r;
        for (int i = 0; i <= 20000; ++i) r.push_back(i * step);
        for (int i = 1; i < 60; ++i) r.push_back(20 * c.h * std::ldexp(1, i));
        const Values k = one.at_distances(r);
        TEST_ASSERT_TRUE_MESSAGE(facts.flags & MERCER_RADIAL && std::fabs(facts.h / c.h - 1) < 1e-14, c.name);
        TEST_ASSERT_TRUE_MESSAGE(std::fabs(k[0] / facts.kappa - 1) < 1e-15 && facts.hi == facts.kappa, c.name);
        double least = INFINITY, steepest = 0;
        for (size_t i = 0; i < k.size(); ++i) {
            TEST_ASSERT_TRUE_MESSAGE(k[i] <= facts.hi * (1 + 1e-15), c.name);
            least = std::min(least, k[i]);
            if (i > 0) steepest = oracle::larger(steepest, std::fabs(k[i] - k[i - 1]) / (r[i] - r[i - 1]));
        }
        TEST_ASSERT_TRUE_MESSAGE(least >= facts.lo - 1e-15 && least <= facts.lo + 1e-6, c.name);
        TEST_ASSERT_TRUE_MESSAGE(steepest <= facts.lipschitz * (1 + 1e-9) && steepest >= facts.lipschitz * 0.999,
                                 c.name);

        // The kernel must be a function of r / h, up to a factor.
        Settings settings = c.settings;
        for (auto &[row, text] : settings)
            if (std::strcmp(row, c.twice[0]) == 0) text = c.twice[1];
        const Subject wide(c.name, settings, 3);
        for (double &value : r) value *= 2;
        const Values same = wide.at_distances(r);
        for (size_t i = 0; i < k.size(); ++i)
            TEST_ASSERT_TRUE_MESSAGE(std::fabs(same[i] / wide.facts().kappa - k[i] / facts.kappa) < 1e-13, c.name);
        TEST_ASSERT_TRUE_MESSAGE(std::fabs(wide.facts().h / facts.h - 2) < 1e-14, c.name);

        // The kernel must claim to be positive semidefinite in just these dimensions, and be so.
        for (int64_t d : {1, 3, 4}) {
            const Subject subject(c.name, c.settings, d);
            const bool claims = subject.facts().flags & MERCER_PSD;
            TEST_ASSERT_EQUAL_INT_MESSAGE(d <= c.psd_up_to, claims, c.name);
            const Matrix x = oracle::Numbers(static_cast<uint64_t>(d)).matrix(40, d);
            if (claims) TEST_ASSERT_TRUE_MESSAGE(least_eigenvalue(subject, x, true) > -1e-13, c.name);
        }
    }
}

// A kernel must claim to be positive semidefinite if its matrix on random points is, and must not
// claim it if this matrix has a clearly negative eigenvalue.
void test_definite() {
    const struct {
        const char *name;
        Settings settings;
        bool distances;
        int64_t psd_up_to;
    } cases[] = {{"wave", {{"sigma", "0.4"}}, true, 3},
                 {"sigmoid", {{"gamma", "1"}, {"coef0", "-1"}}, false, 0},
                 {"polynomial", {{"coef0", "-0.5"}, {"gamma", "1"}}, false, 0},
                 {"polynomial", {{"coef0", "0"}, {"gamma", "1"}}, false, always},
                 {"polynomial", {{"coef0", "2"}, {"degree", "4"}}, false, always}};
    for (const auto &c : cases)
        for (int64_t d : {1, 2, 3, 4, 8}) {
            const Subject subject(c.name, c.settings, d);
            const Matrix x = oracle::Numbers(static_cast<uint64_t>(d)).matrix(80, d, -1, 1);
            const bool claims = subject.facts().flags & MERCER_PSD;
            TEST_ASSERT_EQUAL_INT_MESSAGE(d <= c.psd_up_to, claims, c.name);
            const double least = least_eigenvalue(subject, x, c.distances);
            char text[80];
            std::snprintf(text, sizeof text, "%s, d = %d: %.3g", c.name, static_cast<int>(d), least);
            TEST_ASSERT_TRUE_MESSAGE(claims ? least > -1e-13 : least < -1e-4, text);
        }
}

// Bounded kernels that are not radial must come near their bounds at the form values of equal rows
// and of rows that are as different as possible.
void test_bounds() {
    const struct {
        const char *name;
        Settings settings;
        double near, far; // form values
    } cases[] = {{"chi2", {}, 0, 1e4},
                 {"hamming", {{"gamma", "2"}}, 0, 4},
                 {"laplacian", {{"norm", "l1"}, {"sigma", "1"}}, 0, 1e4},
                 {"sigmoid", {}, 1e4, -1e4},
                 {"cosine", {}, 1, -1}};
    for (const auto &c : cases) {
        const Subject subject(c.name, c.settings, 4);
        const Values k = subject.map({c.near, c.far});
        TEST_ASSERT_TRUE_MESSAGE(std::fabs(k[0] - subject.facts().hi) < 1e-5, c.name);
        TEST_ASSERT_TRUE_MESSAGE(std::fabs(k[1] - subject.facts().lo) < 1e-5, c.name);
    }
    const mercer_kernel_facts anova = Subject("anova", {{"degree", "3"}}, 5).facts();
    TEST_ASSERT_TRUE(anova.kappa == 125 && anova.hi == 125 && anova.lo == 0);
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_radial);
    RUN_TEST(test_definite);
    RUN_TEST(test_bounds);
    return UNITY_END();
}
