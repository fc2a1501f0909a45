// The only maker of a base operator: the kernel matrix of some rows, as planned.
#pragma once
#include "gram.h"
#include "paired.h"

namespace mercer {

struct GramPlan {
    bool f32 = false;                // tile type of the result
    bool rough = false;              // f64 results, iterated in f32
    Hold hold = Hold::nothing;       // storage of the operator that most passes use
    Hold hold_exact = Hold::nothing; // storage of the f64 operator that accompanies a rough one
};

// K in the type of the result and, if the plan is rough, also in f32.
template <class T>
struct KernelMatrix {
    GramOperator<T> exact;
    std::unique_ptr<GramOperator<float>> rough;
    std::unique_ptr<PairedOperator> pair;
    const Operator &both() const { return pair ? static_cast<const Operator &>(*pair) : exact; }
    int64_t evaluations() const { return exact.kernel_evaluations() + (rough ? rough->kernel_evaluations() : 0); }

    KernelMatrix(Run &run, const KernelRows &rows, const GramPlan &plan)
        : exact(run, rows.kernel, points_of<T>(rows), plan.rough ? plan.hold_exact : plan.hold) {
        if (!plan.rough) return;
        rough = std::make_unique<GramOperator<float>>(run, rows.kernel, points_of<float>(rows), plan.hold);
        pair = std::make_unique<PairedOperator>(exact, *rough);
    }
    KernelMatrix(const KernelMatrix &) = delete;
};
template <class T>
KernelMatrix<T> make_operator(Run &run, const KernelRows &rows, const GramPlan &plan) {
    return KernelMatrix<T>(run, rows, plan); // in place: copies are elided
}

} // namespace mercer
