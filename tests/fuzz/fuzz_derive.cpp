// Repairs the checksums of a model file and uses the model in every way: every operation on rows of
// its own width, every derivation with several reducers, and every operation on the derived models,
// which must also be written and read back.
#include "model_bytes.h"

#include <vector>

using namespace mercer;

namespace {

constexpr int64_t most_rows = 64; // the most centres, columns and components: larger models take too long

using Values = std::vector<std::pair<const char *, const char *>>;

mercer_recipe *recipe_of(const char *name, const Values &values) {
    mercer_recipe *recipe = nullptr;
    FUZZ_NEED(mercer_recipe_create(&recipe, fuzz_context(), name) == MERCER_OK);
    for (const auto &[row, value] : values) FUZZ_NEED(mercer_recipe_set(recipe, row, value) == MERCER_OK);
    return recipe;
}

std::vector<std::string> entries(const char *registry) {
    std::vector<std::string> names;
    int64_t count = 0;
    FUZZ_NEED(mercer_context_count(fuzz_context(), registry, &count) == MERCER_OK);
    for (int64_t k = 0; k < count; ++k) {
        mercer_entry entry{};
        entry.struct_size = sizeof entry;
        FUZZ_NEED(mercer_context_entry(fuzz_context(), registry, k, &entry) == MERCER_OK);
        names.push_back(entry.name);
    }
    return names;
}

// Three queries of the width of the model: an ordinary row, a row of zeros and a row of `last`. For
// a model of objects, a distance matrix instead.
class Queries {
  public:
    Queries(mercer_model *model, const mercer_summary &facts, double last) {
        mercer_view indices{};
        indices.struct_size = sizeof indices;
        const bool objects = mercer_model_tensor(model, "indices", &indices) == MERCER_OK;
        const int64_t rows = objects ? facts.n : 3, cols = objects ? facts.n : std::max<int64_t>(facts.d, 1);
        values_.resize(static_cast<size_t>(rows * cols));
        for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = 0; j < cols; ++j)
                values_[static_cast<size_t>(i * cols + j)] = objects  ? std::abs(static_cast<double>(i - j))
                                                             : i == 0 ? 0.5 + static_cast<double>(j)
                                                             : i == 1 ? 0
                                                                      : last;
        const mercer_view view{sizeof view, MERCER_F64, 0, rows, cols, cols, 1, values_.data()};
        FUZZ_NEED((objects ? mercer_data_from_matrix(&data_, fuzz_context(), &view, MERCER_DISTANCE)
                           : mercer_data_from_view(&data_, fuzz_context(), &view)) == MERCER_OK);
        derive_on_ = objects ? data_ : nullptr;
    }
    ~Queries() { mercer_data_destroy(data_); }
    Queries(const Queries &) = delete;
    mercer_data *data() const { return data_; }
    mercer_data *derive_on() const { return derive_on_; } // the data that a derivation requires, or NULL

  private:
    std::vector<double> values_;
    mercer_data *data_ = nullptr, *derive_on_ = nullptr;
};

mercer_summary facts_of(mercer_model *model) {
    mercer_summary facts{};
    facts.struct_size = sizeof facts;
    FUZZ_NEED(mercer_model_summary(model, &facts) == MERCER_OK);
    const char *text = nullptr;
    FUZZ_NEED(mercer_model_info(model, "", &text) == MERCER_OK);
    return facts;
}

void operate(mercer_model *model, const Queries &queries, const char *name, const Values &values) {
    mercer_recipe *recipe = recipe_of(name, values);
    mercer_output output{};
    output.struct_size = sizeof output;
    int64_t count = 0;
    const int32_t status = mercer_model_output(model, recipe, queries.data(), 0, &output, &count);
    need_status(status);
    if (status == MERCER_OK) {
        std::vector<double> out(static_cast<size_t>(output.rows * output.cols + 1));
        mercer_view to{sizeof to, output.dtype, 0, output.rows, output.cols, output.cols, 1, out.data()};
        need_status(mercer_model_transform(model, recipe, queries.data(), &to, 1, nullptr));
    }
    mercer_recipe_destroy(recipe);
}

void operate_all(mercer_model *model, const Queries &queries) {
    static const std::vector<std::string> names = entries("operations");
    for (const std::string &name : names) operate(model, queries, name.c_str(), {});
    operate(model, queries, "scores", {{"whiten", "true"}});
    std::vector<double> few(static_cast<size_t>(3 * most_rows)); // for the short path that few rows take
    mercer_summary facts = facts_of(model);
    mercer_view to{sizeof to, MERCER_F64, 0, 3, facts.r, std::max<int64_t>(facts.r, 1), 1, few.data()};
    if (!queries.derive_on()) need_status(mercer_model_transform(model, nullptr, queries.data(), &to, 1, nullptr));
}

void derive_all(mercer_model *model, const Queries &queries) {
    static const std::vector<std::string> names = entries("derivations");
    static const std::vector<Values> counts = {
        {{"output.components", "0"}}, {{"output.components", "1"}}, {{"output.components", "3"}}};
    static const std::vector<Values> reductions = {
        {{"reducer.m", "1"}},
        {{"reducer.m", "1"}, {"seed", "1"}},
        {{"reducer.m", "5"}, {"seed", "2"}, {"output.orthonormal", "false"}},
        {{"reducer", "uniform"}, {"reducer.m", "2"}},
        {{"reducer", "kmeans"}, {"reducer.m", "2"}},
        {{"reducer", "herding"}, {"reducer.m", "2"}},
        {{"reducer", "farthest"}, {"reducer.m", "2"}},
        {{"reducer", "leverage"}, {"reducer.m", "2"}},
        {{"reducer", "thinning"}, {"reducer.m", "2"}},
        {{"reducer", "shadow"}},
        {{"reducer", "greedy"}, {"reducer.m", "3"}},
    };
    for (const std::string &name : names)
        for (const Values &values : name == "truncate" ? counts : reductions) {
            mercer_recipe *recipe = recipe_of(name.c_str(), values);
            mercer_model *derived = nullptr;
            const int32_t status = mercer_model_derive(&derived, recipe, &model, 1, queries.derive_on(), nullptr);
            need_status(status);
            FUZZ_NEED((status == MERCER_OK) == (derived != nullptr));
            if (derived) operate_all(derived, queries), need_writable(derived);
            mercer_model_destroy(derived);
            mercer_recipe_destroy(recipe);
        }
}

} // namespace

void fuzz_one(const uint8_t *bytes, size_t count) {
    int32_t status = 0;
    mercer_model *model = read_bytes(repaired({reinterpret_cast<const char *>(bytes), count}), &status);
    if (!model) return;
    const mercer_summary facts = facts_of(model);
    mercer_view indices{};
    indices.struct_size = sizeof indices;
    const bool objects = mercer_model_tensor(model, "indices", &indices) == MERCER_OK;
    if (facts.m <= most_rows && facts.d <= most_rows && facts.r <= most_rows && (!objects || facts.n <= most_rows)) {
        const Queries queries(model, facts, -1), large(model, facts, 1e300);
        operate_all(model, queries);
        operate_all(model, large);
        derive_all(model, queries);
    }
    mercer_model_destroy(model);
}
