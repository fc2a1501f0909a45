#include "outputs.h"

#include <algorithm>
#include <string_view>

namespace mercer {

const char *name_of(Takes takes) {
    switch (takes) {
    case Takes::scores: return "scores";
    case Takes::kernel_rows: return "kernel rows";
    default: return "rows";
    }
}

const std::vector<OutputTraits> &outputs() {
    static const auto options = [](const char *operation, std::initializer_list<mercer_param> rows) {
        return std::make_shared<const ParamTable>(operation, rows.begin(), static_cast<int64_t>(rows.size()),
                                                  sizeof(OutputOptions));
    };
    static const std::vector<OutputTraits> table = {
        {"scores", "coordinates on the components: f(x) = A^T k_C(x) / g(x) - b", Takes::rows,
         options("scores",
                 {MERCER_PARAM_BOOL(
                     OutputOptions, whiten, "false", "", MERCER_SHORT,
                     "divide each score by the root of its eigenvalue, so that all have variance 1 on the data")})},
        {"density", "kernel density estimate w^T k_C(x) / n, without the kernel's normalising constant", Takes::rows,
         options("density", {})},
        {"residual",
         "squared distance in feature space to the span of the components (SPE); limits: /limits in the report",
         Takes::rows, options("residual", {})},
        {"t2", "Hotelling's T^2, the sum of f_j(x)^2 / lambda_j; limits: /limits in the report", Takes::rows,
         options("t2", {})},
        {"gradient", "df/dx with respect to the columns as given, before any scaling: df_j/dx_c in column j d + c",
         Takes::rows, options("gradient", {})},
        {"labels", "cluster numbers from 0, in order of decreasing weight; only for models of the method 'ncut'",
         Takes::rows, options("labels", {})},
    };
    return table;
}

std::shared_ptr<const ParamTable> rows_of(const Operations &asked) {
    if (asked.size() == 1) return asked[0]->rows;
    std::vector<mercer_param> rows;
    for (const OutputTraits *operation : asked)
        for (const mercer_param &row : operation->rows->rows())
            if (std::none_of(rows.begin(), rows.end(), [&](const mercer_param &known) {
                    return std::string_view(known.row.name) == row.row.name;
                }))
                rows.push_back(row);
    return std::make_shared<const ParamTable>("outputs", rows.data(), static_cast<int64_t>(rows.size()),
                                              sizeof(OutputOptions));
}

} // namespace mercer
