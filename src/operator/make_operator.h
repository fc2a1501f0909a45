// All base operators are made here: the kernel matrix of given rows, according to a plan.
#pragma once
#include "gram.h"
#include "paired.h"

namespace mercer {

struct GramPlan;
// Makes another base operator in place of the kernel matrix, for instance one of sampled or rounded
// values; the fidelity() of this operator decides what a model made with it may claim.
using MakeBase = std::unique_ptr<Operator> (*)(Run &run, const KernelRows &rows, const GramPlan &plan);

struct GramPlan {
    bool f32 = false; // the result is computed in f32
    // Results are in f64, but most products of an iteration are computed by a second, f32 operator.
    bool rough = false;
    // What the operator that makes most of the passes keeps in memory: the f32 one if `rough` is
    // set, otherwise the only one.
    Store store = Store::nothing;
    // If `rough` is set: what the f64 operator keeps in memory.
    Store store_exact = Store::nothing;
    MakeBase base = nullptr; // nullptr: the kernel matrix itself
};

// K in the type of the result and, if the plan is rough, a second time in f32.
class KernelMatrix {
  public:
    KernelMatrix(std::unique_ptr<Operator> base, std::unique_ptr<Operator> rough);
    const Operator &base() const { return *base_; } // in the type of the result
    // The pair of both operators if the plan is rough, otherwise the only one.
    const Operator &both() const { return pair_ ? *pair_ : *base_; }
    int64_t evaluations() const { return base_->kernel_evaluations() + (rough_ ? rough_->kernel_evaluations() : 0); }

  private:
    std::unique_ptr<Operator> base_, rough_, pair_; // rough_, pair_: nullptr unless the plan is rough
};

template <class T>
KernelMatrix make_operator(Run &run, const KernelRows &rows, const GramPlan &plan);
// The exact matrix of prepared points, streamed: for computations that no plan governs.
std::unique_ptr<Operator> make_operator(Run &run, const Expression &kernel, const Points<double> &points);

} // namespace mercer
