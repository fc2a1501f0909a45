// Makes the kernel matrix of given rows according to a plan, for lifts; a derivation has its own (derive/compress.cpp).
#pragma once
#include "gram.h"
#include "paired.h"

namespace mercer {

struct GramPlan {
    bool f32 = false; // the result is computed in f32
    // Results are in f64, but most products of an iteration use f32.
    bool rough = false;
    // What the operator of most passes keeps.
    Store store = Store::nothing;
    // What the f64 operator keeps that accompanies an f32 one.
    Store store_exact = Store::nothing;
};

// K in the type of the result and, if the plan is rough, a second time in f32.
template <class T>
struct KernelMatrix {
    GramOperator<T> exact;
    std::unique_ptr<GramOperator<float>> rough;
    std::unique_ptr<PairedOperator> pair;
    const Operator &both() const { return pair ? static_cast<const Operator &>(*pair) : exact; }
    int64_t evaluations() const { return exact.kernel_evaluations() + (rough ? rough->kernel_evaluations() : 0); }

    KernelMatrix(Run &run, const KernelRows &rows, const GramPlan &plan)
        : exact(run, rows.kernel, points_of<T>(rows), plan.rough ? plan.store_exact : plan.store) {
        if (!plan.rough) return;
        rough = std::make_unique<GramOperator<float>>(run, rows.kernel, points_of<float>(rows), plan.store);
        pair = std::make_unique<PairedOperator>(exact, *rough);
    }
    KernelMatrix(const KernelMatrix &) = delete;
};
template <class T>
KernelMatrix<T> make_operator(Run &run, const KernelRows &rows, const GramPlan &plan) {
    return KernelMatrix<T>(run, rows, plan); // constructed in place: the copy is elided
}

} // namespace mercer
