#include "fit.h"

#include "fit_report.h"
#include "fit_rows.h"
#include "prepare.h"

#include <cinttypes>

namespace mercer {
namespace {

Tensors all_tensors(const Recipe &recipe, const Prepared &prepared, Centres &centres, Lifted &lifted) {
    Tensors tensors = std::move(centres.tensors);
    if (recipe.values().assignment) {
        Tensor assignment = make_tensor<int64_t>(prepared.source->rows(), 1, true);
        std::copy(centres.assignment.begin(), centres.assignment.end(), tensor_data<int64_t>(assignment));
        tensors["assignment"] = std::move(assignment);
    }
    for (auto &[name, tensor] : lifted.tensors) tensors[name] = std::move(tensor);
    if (!prepared.map.identity()) {
        tensors["T.shift"] = vector_tensor(prepared.map.shift);
        tensors["T.scale"] = vector_tensor(prepared.map.scale);
    }
    for (size_t l = 0; l < prepared.kernel.leaves.size(); ++l)
        if (!prepared.kernel.leaves[l].shift.empty())
            tensors["shift." + std::to_string(l + 1)] = vector_tensor(prepared.kernel.leaves[l].shift);
    return tensors;
}

} // namespace

std::shared_ptr<const Model> fit(Run &run, const Recipe &recipe, const Data &given, const RunSettings &settings) {
    run.expect({{"read", 1}, {"the rest", 99}}); // replaced by the forecast when the number of rows is known
    run.stage("read");
    const Data data = data_of(run, recipe, given);
    const int64_t left_out = data.source->given_rows() - data.source->rows();
    if (left_out > 0)
        run.log(2, format("%" PRId64 " of %" PRId64 " rows are left out of the fit: they have missing values", left_out,
                          data.source->given_rows())
                       .c_str());
    run.budget()->take(data.source->stored_bytes());
    Fitted fitted = fit_rows(run, recipe, data);

    Json text = report_text(run, recipe, fitted);
    if (!data.columns.empty()) text["columns"] = data.columns;
    if (left_out > 0) text["left_out"] = left_out;
    Tensors tensors = all_tensors(recipe, fitted.prepared, fitted.centres, fitted.lifted);
    need_finite(text, tensors);
    auto model = Model::assemble(std::move(text), std::move(tensors), recipe.registry(), settings);
    if (const Expression &kernel = fitted.prepared.kernel; kernel.has_user() && kernel.user)
        model = model->bind(kernel.user);
    run.progress(1);
    return model;
}

} // namespace mercer
