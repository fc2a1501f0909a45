#include "../fit/forecast.h"
#include "../fit/kernel_matrix.h"
#include "handles.h"

using namespace mercer;

namespace {

void set_kernel(mercer_recipe &handle, const mercer_user_kernel *given) {
    mercer_user_kernel kernel = read_user_kernel(given);
    method_recipe(&handle);
    auto user = std::make_shared<UserKernel>(kernel);
    handle.recipe.set_user(user);
    user->own();
}

void set_many(mercer_recipe &handle, const char *const *names, const char *const *values, int64_t count) {
    if (count < 0) fail(MERCER_E_VALUE, "count = %" PRId64 ", must be >= 0", count);
    auto nth = [](const char *array, int64_t i) { return format("%s[%" PRId64 "]", array, i); };
    std::vector<std::pair<std::string, std::string>> pairs;
    for (int64_t i = 0; i < count; ++i)
        pairs.emplace_back(text_of(names[i], nth("names", i).c_str()), text_of(values[i], nth("values", i).c_str()));
    handle.recipe.set_many(pairs);
}

void check_row(const mercer_row *given, const char *value) {
    const mercer_row row = read_struct(given, "row", sizeof(mercer_row));
    text_of(row.name, "row: name");
    check_value(row, value);
}

} // namespace

int32_t mercer_recipe_create(mercer_recipe **out, mercer_context *context, const char *name) {
    return construct(out, [&] {
        return new mercer_recipe{Recipe(need(context, "context").registry, text_of(name, "name")), context->settings};
    });
}

void mercer_recipe_destroy(mercer_recipe *recipe) { delete recipe; }

int32_t mercer_recipe_set(mercer_recipe *recipe, const char *name, const char *value) {
    return guard([&] { need(recipe, "recipe").recipe.set(text_of(name, "name"), text_of(value, "value")); });
}

int32_t mercer_recipe_set_real(mercer_recipe *recipe, const char *name, double value) {
    return guard([&] { need(recipe, "recipe").recipe.set(text_of(name, "name"), number_text(value)); });
}

int32_t mercer_recipe_set_many(mercer_recipe *recipe, const char *const *names, const char *const *values,
                               int64_t count) {
    return guard([&] {
        if (count > 0) need(names, "names"), need(values, "values");
        set_many(need(recipe, "recipe"), names, values, count);
    });
}

int32_t mercer_recipe_get(mercer_recipe *recipe, const char *name, const char **value) {
    return guard([&] { need(value, "value") = need(recipe, "recipe").recipe.get(text_of(name, "name")); });
}

int32_t mercer_recipe_rows(mercer_recipe *recipe, int64_t *count) {
    return guard([&] { need(count, "count") = static_cast<int64_t>(need(recipe, "recipe").recipe.rows().size()); });
}

int32_t mercer_recipe_row(mercer_recipe *recipe, int64_t index, mercer_row *out) {
    return guard([&] { write_struct(out, need(recipe, "recipe").recipe.public_row(index), "row"); });
}

int32_t mercer_row_check(const mercer_row *row, const char *value) {
    return guard([&] { check_row(row, text_of(value, "value")); });
}

int32_t mercer_recipe_set_kernel(mercer_recipe *recipe, const mercer_user_kernel *kernel) {
    return guard([&] { set_kernel(need(recipe, "recipe"), kernel); });
}

int32_t mercer_recipe_forecast(mercer_recipe *recipe, mercer_data *data, const mercer_run *run, mercer_forecast *out) {
    return guard([&] {
        const Recipe &method = method_recipe(recipe);
        Run running(recipe->settings, run);
        Forecast ahead = forecast(running, method, need(data, "data").data, Sample::always);
        recipe->strategy = std::move(ahead.strategy);
        ahead.figures.strategy = recipe->strategy.c_str();
        write_struct(out, ahead.figures, "forecast");
    });
}

int32_t mercer_recipe_kernel(mercer_recipe *recipe, mercer_data *x, mercer_data *y, const mercer_view *out,
                             const mercer_run *run) {
    return guard([&] {
        const Recipe &method = method_recipe(recipe);
        Run running(recipe->settings, run);
        kernel_matrix(running, method, need(x, "x").data, y ? &y->data : nullptr,
                      read_view("out", out, 1u << MERCER_F32 | 1u << MERCER_F64));
    });
}
