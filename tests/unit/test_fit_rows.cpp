// Tests child runs (core/run.h): parts of the data that are fitted in parallel, each within its
// share of the budget, must give the same models as fits of each part alone. The budget and the
// cancel flag of the parent also hold for its children.
#include "core/threads.h"
#include "fit/fit_rows.h"
#include "oracle.h"
#include "unity_cpp.h"

using namespace mercer;
using oracle::Matrix;

namespace {

constexpr int64_t parts = 4, part_rows = 150, columns = 3;

Matrix rows() {
    Matrix x = oracle::clusters(parts * part_rows, columns);
    return x;
}

Data part_of(const Matrix &x, int64_t part) {
    Data out;
    out.source = make_view_source({sizeof(mercer_view), MERCER_F64, 0, part_rows, columns, columns, 1,
                                   const_cast<double *>(x.row(part * part_rows))});
    return out;
}

Recipe recipe_of(const char *method) {
    static const auto registry = std::make_shared<Registry>();
    Recipe recipe(registry, method);
    recipe.set("sigma", "1");
    recipe.set("components", "4");
    return recipe;
}

RunSettings with(int64_t threads, int64_t memory, const int32_t *cancel = nullptr) {
    RunSettings out;
    out.run.threads = threads, out.run.memory = memory, out.run.cancel = cancel;
    return out;
}

constexpr int64_t mebibyte = int64_t{1} << 20;

void test_children_in_parallel() {
    const Matrix x = rows();
    for (const char *method : {"kpca", "nystrom", "diffusion"}) {
        const Recipe recipe = recipe_of(method);
        std::vector<Fitted> together(parts);
        Run parent(with(2, 256 * mebibyte), nullptr);
        parallel_for(parent, parts, [&](int64_t part) {
            Run child(parent, 64 * mebibyte, 1);
            together[static_cast<size_t>(part)] = fit_rows(child, recipe, part_of(x, part));
        });
        for (int64_t part = 0; part < parts; ++part) {
            Run alone(with(2, 64 * mebibyte), nullptr);
            const Fitted own = fit_rows(alone, recipe, part_of(x, part));
            for (const auto &[name, tensor] : own.lifted.tensors) {
                const Tensor &other = together[static_cast<size_t>(part)].lifted.tensors.at(name);
                TEST_ASSERT_EQUAL_INT64(tensor.bytes.size(), other.bytes.size());
                if (tensor.bytes.size() > 0)
                    TEST_ASSERT_EQUAL_MEMORY(tensor.bytes.data(), other.bytes.data(),
                                             static_cast<size_t>(tensor.bytes.size()));
            }
        }
        TEST_ASSERT_TRUE(parent.budget()->peak() > 0);
        together.clear();
        TEST_ASSERT_EQUAL_INT64(0, parent.budget()->used());
    }
}

int32_t refusal(int64_t parent_memory, int64_t child_memory, const int32_t *cancel = nullptr) {
    const Matrix x = rows();
    const Recipe recipe = recipe_of("kpca");
    try {
        Run parent(with(1, parent_memory, cancel), nullptr);
        Run child(parent, child_memory, 1);
        fit_rows(child, recipe, part_of(x, 0));
    } catch (const Error &error) {
        return error.code();
    }
    return MERCER_OK;
}

void test_limits_of_children() {
    const int32_t stop = 1;
    TEST_ASSERT_EQUAL_INT32(MERCER_OK, refusal(64 * mebibyte, 64 * mebibyte));
    TEST_ASSERT_EQUAL_INT32(MERCER_E_BUDGET, refusal(64 * mebibyte, 10000)); // exceeds the share of the child
    TEST_ASSERT_EQUAL_INT32(MERCER_E_BUDGET, refusal(10000, 64 * mebibyte)); // exceeds the budget of the parent
    TEST_ASSERT_EQUAL_INT32(MERCER_E_CANCELLED, refusal(64 * mebibyte, 64 * mebibyte, &stop));
}

} // namespace

void setUp() {}
void tearDown() {}

int main() {
    UNITY_BEGIN();
    RUN_TEST(test_children_in_parallel);
    RUN_TEST(test_limits_of_children);
    return UNITY_END();
}
