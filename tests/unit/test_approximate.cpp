// Tests of models whose kernel matrix is not exact: a lift must ask the operator how exact it is,
// and then make no claims. Each fit is lifted again with other makers of its base operator: an
// exact one, as a control, and ones with known errors.
#include "fit/fit_rows.h"
#include "fit/report.h"
#include "oracle.h"
#include "unity_cpp.h"

#include <cstring>

using namespace mercer;
using oracle::Matrix;

namespace {

constexpr int64_t n = 60, d = 3;
constexpr uint32_t claims = MERCER_CAN_ORTHONORMAL | MERCER_CAN_MERGE | MERCER_CAN_RESIDUAL | MERCER_CAN_MEAN;

class Noisy : public Operator { // K + E, |E_ij| <= 1e-3; its largest row sum bounds |E|
  public:
    Noisy(Run &run, const KernelRows &rows, bool bounded)
        : Operator(rows.n > 0 ? rows.n : rows.source->rows(), false), k_(n(), n()), bounded_(bounded) {
        make_operator<double>(run, rows, {}).base().dense(run, k_.v.data(), n());
        oracle::Numbers numbers(3);
        std::vector<double> sums(static_cast<size_t>(n()));
        for (int64_t i = 0; i < n(); ++i)
            for (int64_t j = 0; j <= i; ++j) {
                const double error = 1e-3 * numbers();
                k_(i, j) += error;
                if (i != j) k_(j, i) += error, sums[static_cast<size_t>(j)] += std::fabs(error);
                sums[static_cast<size_t>(i)] += std::fabs(error);
            }
        distance_ = *std::max_element(sums.begin(), sums.end());
    }
    void product(Run &, bool, int64_t p, const Fill &q, const Take &y) const override {
        Matrix in(n(), p);
        q(0, n(), in.v.data(), p);
        Matrix out = oracle::product(k_, in);
        y(out.v.data(), p);
    }
    void dense(Run &, double *a, int64_t lda) const override {
        for (int64_t j = 0; j < n(); ++j) std::copy_n(k_.row(j), n(), a + j * lda);
    }
    void diagonal(Run &, double *out) const override {
        for (int64_t i = 0; i < n(); ++i) out[i] = k_(i, i);
    }
    Fidelity fidelity() const override { return {bounded_ ? distance_ : INFINITY, false}; }

  private:
    Matrix k_;
    bool bounded_;
    double distance_ = 0;
};

std::unique_ptr<Operator> exact(Run &run, const KernelRows &rows, const GramPlan &) {
    return std::make_unique<GramOperator<double>>(run, rows.kernel, points_of<double>(rows), Store::nothing);
}
std::unique_ptr<Operator> noisy(Run &run, const KernelRows &rows, const GramPlan &) {
    return std::make_unique<Noisy>(run, rows, true);
}
std::unique_ptr<Operator> unbounded(Run &run, const KernelRows &rows, const GramPlan &) {
    return std::make_unique<Noisy>(run, rows, false);
}

struct Fit {
    Matrix x = oracle::clusters(n, d);
    Recipe recipe;
    Run run{{}, nullptr};
    Fitted fitted;

    explicit Fit(const char *method, const char *ritz = nullptr) : recipe(std::make_shared<Registry>(), method) {
        recipe.set("sigma", "2");
        if (std::strcmp(method, "ncut") != 0) recipe.set("components", "4");
        if (recipe.reducer()) recipe.set("m", "12");
        if (ritz) recipe.set("lift.ritz", ritz);
        Data data;
        data.source = make_view_source({sizeof(mercer_view), MERCER_F64, 0, n, d, d, 1, x.v.data()});
        fitted = fit_rows(run, recipe, data);
    }
    Lifted with(MakeBase base) {
        Plan plan = fitted.plan;
        plan.base = base;
        return fitted.lift->lift({run, recipe, fitted.prepared, fitted.reduction, fitted.centres, plan});
    }
};

const double *values_of(const Lifted &model) { return tensor_data<double>(model.tensors.at("lambda")); }

// Checks that the report of a model with an inexact kernel matrix contains no certificate and no
// other quantity that requires exact kernel values.
void check_silent(const Lifted &model, const char *method) {
    Json text = Json::object();
    write_facts(model, {}, text);
    TEST_ASSERT_EQUAL_INT_MESSAGE(0, model.capabilities & claims, method);
    TEST_ASSERT_TRUE(model.capabilities & MERCER_CAN_DENSITY);
    TEST_ASSERT_TRUE_MESSAGE(text["certificates"].empty() && text.contains("uncertified"), method);
    for (const char *member : {"limits", "mse", "mse_components", "mean_square"})
        TEST_ASSERT_FALSE_MESSAGE(text.contains(member), member);
    if (text.contains("total_variance")) TEST_ASSERT_TRUE(text["total_variance"]["kind"] == "reduced-operator");
    TEST_ASSERT_TRUE(text.dump().find("\"exact\"") == std::string::npos && !model.exact);
}

// An exact maker must not change the model. With an inexact one, no claims may remain, and each
// eigenvalue must lie within |E| of the exact one (Weyl): the weights of these reduced sets are at
// most n, and the eigenvalues are divided by n.
void test_lifts() {
    for (const char *method : {"kpca", "rskpca-kmeans", "rskpca-paring", "nystrom-full", "diffusion", "ncut"}) {
        Fit fit(method);
        const Lifted control = fit.with(exact), none = fit.with(noisy), unknown = fit.with(unbounded);
        const Lifted &own = fit.fitted.lifted;
        TEST_ASSERT_EQUAL_UINT32_MESSAGE(own.capabilities, control.capabilities, method);
        TEST_ASSERT_TRUE(own.exact == control.exact && own.certificates.size() == control.certificates.size());
        const bool walks = std::strcmp(method, "diffusion") == 0 || std::strcmp(method, "ncut") == 0;
        if (!walks) {
            TEST_ASSERT_TRUE_MESSAGE(!control.certificates.empty() && control.capabilities & MERCER_CAN_MEAN, method);
            TEST_ASSERT_NOT_NULL(std::strstr(none.uncertified.c_str(), "at most"));
            TEST_ASSERT_NOT_NULL(std::strstr(unknown.uncertified.c_str(), "unknown"));
        }
        check_silent(none, method);
        check_silent(unknown, method);
        double moved = 0;
        for (int64_t j = 0; j < none.tensors.at("lambda").rows; ++j)
            moved = oracle::larger(moved, std::fabs(values_of(none)[j] - values_of(control)[j]));
        // |E| is at most the largest sum of |E_ij| over a row, which is at most 1e-3 n.
        TEST_ASSERT_TRUE_MESSAGE(moved > 0 && (walks || moved <= 1e-3 * static_cast<double>(n)), method);
    }
}

// The refinement by lift.ritz relies on A^T K A = 1, so it must refuse an inexact kernel matrix.
void test_ritz_is_refused() {
    for (const char *method : {"rskpca-kmeans", "nystrom-full"}) {
        Fit fit(method, "8");
        TEST_ASSERT_TRUE(!fit.with(exact).certificates.empty());
        try {
            fit.with(noisy);
            TEST_FAIL_MESSAGE("lift.ritz accepted approximate values");
        } catch (const Error &error) {
            TEST_ASSERT_EQUAL_INT(MERCER_E_UNSUPPORTED, error.code());
            TEST_ASSERT_NOT_NULL(std::strstr(error.what(), "lift.ritz"));
        }
    }
}

// Exact passes of `auto` must not claim that the accuracy is certified if the kernel matrix is
// inexact.
void test_auto_proves_nothing() {
    Fit fit("kpca");
    Recipe recipe(std::make_shared<Registry>(), "auto");
    for (MakeBase base : {exact, noisy}) {
        Strategy strategy;
        fit.fitted.lifted = fit.with(base);
        judge_exact({fit.run, recipe, {}}, fit.fitted, strategy);
        TEST_ASSERT_TRUE(strategy.proved == (base == exact));
    }
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_lifts);
    RUN_TEST(test_ritz_is_refused);
    RUN_TEST(test_auto_proves_nothing);
    return UNITY_END();
}
