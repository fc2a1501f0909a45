#include "make_operator.h"

namespace mercer {

KernelMatrix::KernelMatrix(std::unique_ptr<Operator> base, std::unique_ptr<Operator> rough)
    : base_(std::move(base)), rough_(std::move(rough)) {
    if (rough_) pair_ = std::make_unique<PairedOperator>(*base_, *rough_);
}

template <class T>
KernelMatrix make_operator(Run &run, const KernelRows &rows, const GramPlan &plan) {
    if (plan.base) return {plan.base(run, rows, plan), nullptr};
    auto base = std::make_unique<GramOperator<T>>(run, rows.kernel, points_of<T>(rows),
                                                  plan.rough ? plan.store_exact : plan.store);
    std::unique_ptr<Operator> rough;
    if (plan.rough) rough = std::make_unique<GramOperator<float>>(run, rows.kernel, points_of<float>(rows), plan.store);
    return {std::move(base), std::move(rough)};
}
template KernelMatrix make_operator<float>(Run &, const KernelRows &, const GramPlan &);
template KernelMatrix make_operator<double>(Run &, const KernelRows &, const GramPlan &);

std::unique_ptr<Operator> make_operator(Run &run, const Expression &kernel, const Points<double> &points) {
    return std::make_unique<GramOperator<double>>(run, kernel, points, Store::nothing);
}

} // namespace mercer
