// Shared by the tests of outputs: points, and output operations with options.
#pragma once
#include "session.h"
#include "tolerances.h"

constexpr int64_t d = 4, r = 3;
inline const Settings gaussian = {{"sigma", "0.8"}, {"components", "3"}};
inline const Layout layouts[] = {{false, false}, {false, true}, {true, false}, {true, true}};

inline Settings with(Settings settings, Settings more) {
    settings.insert(settings.end(), more.begin(), more.end());
    return settings;
}

// Returns points whose coordinates are exact in f32.
inline Matrix points(int64_t n, uint64_t seed, int64_t cols = d) {
    Matrix x = oracle::Numbers(seed).matrix(n, cols);
    for (double &value : x.v) value = static_cast<double>(static_cast<float>(value));
    return x;
}

// Runs an output operation with options, and checks the number of rows and the name that
// mercer_model_output states. The layout is that of the queries and of the output array.
inline Matrix apply(Session &session, const Model &model, const Matrix &queries, const char *what,
                    const Settings &options, Layout layout = {}) {
    mercer_recipe *operation = session.recipe(what, options);
    Held held(queries, layout);
    mercer_data *data = session.data(held);
    mercer_output output{};
    output.struct_size = sizeof output;
    int64_t count = 0;
    OK(mercer_model_output(model.handle, operation, data, 0, &output, &count));
    TEST_ASSERT_EQUAL_INT64(1, count);
    TEST_ASSERT_EQUAL_INT64(queries.rows, output.rows);
    TEST_ASSERT_EQUAL_STRING(what, output.name);
    Held out(Matrix(output.rows, output.cols), layout);
    mercer_view view = out.view();
    OK(mercer_model_transform(model.handle, operation, data, &view, 1, nullptr));
    mercer_recipe_destroy(operation);
    mercer_data_destroy(data);
    return to_matrix(view);
}
