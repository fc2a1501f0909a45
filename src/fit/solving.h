// What the lifts that need a solver share: the operator of the kernel matrix as planned, a loop that solves until there are
// enough eigenpairs for the components, the host's part of a checkpoint, and the entries of the report.
#pragma once
#include "checkpoint.h"
#include "components.h"
#include "eigenpairs.h"
#include "fit.h"
#include "start.h"

namespace mercer {

// K in the type of the result and, if the plan is rough, also in f32.
template <class T>
struct Gram {
    GramOperator<T> exact;
    std::unique_ptr<GramOperator<float>> rough;
    std::unique_ptr<PairedOperator> pair;

    explicit Gram(const LiftTask &task)
        : exact(task.run, task.prepared.kernel, points_of<T>(task.prepared.kernel, task.centres),
                task.plan.rough ? task.plan.hold_exact : task.plan.hold) {
        if (!task.plan.rough) return;
        rough = std::make_unique<GramOperator<float>>(
            task.run, task.prepared.kernel, points_of<float>(task.prepared.kernel, task.centres), task.plan.hold);
        pair = std::make_unique<PairedOperator>(exact, *rough);
    }
    const Operator &both() const { return pair ? static_cast<const Operator &>(*pair) : exact; }
    int64_t evaluations() const { return exact.kernel_evaluations() + (rough ? rough->kernel_evaluations() : 0); }
};

inline uint64_t seed_of(const LiftTask &task) { return static_cast<uint64_t>(task.recipe.values().seed); }

// The host's state in a checkpoint, next to the solver's: the mean computed along the way, the counts for the report, and the
// number of eigenpairs requested.
class Progress {
  public:
    // evaluations: of this run so far. identity: settings of this lift that the file must match, besides those of all lifts.
    Progress(const LiftTask &task, const Json &identity, WeightedOperator &weighted, Counted &counted,
             Components &choice, std::function<int64_t()> evaluations);
    Checkpoint *file() { return file_.get(); } // nullptr: no checkpoint is written
    int64_t evaluations() const { return before_ + evaluations_(); }

  private:
    void say(Json &said, std::map<std::string, TensorView> &tensors) const;
    void read(const Json &said);
    WeightedOperator &weighted_;
    Counted &counted_;
    Components &choice_;
    std::function<int64_t()> evaluations_;
    int64_t before_ = 0;
    std::unique_ptr<Checkpoint> file_;
};

// Nystrom vectors approximate the eigenvectors of D^1/2 K D^1/2, with these weights of the centres as D (plain: all 1).
struct Weighting {
    const double *weights;
    bool plain, centred;
};
// Nystrom vectors of the centres, within a share of the stage; counts the kernel values that they take.
Start nystrom_start(const LiftTask &task, const Weighting &problem, double from, double to, int64_t &evaluations);

struct Solving {
    const LiftTask &task;
    const Operator &op;
    double scale; // of its norm
    Start start;
    Components &choice;
    std::map<std::string, double> &report;
    Keeper *keeper;
    std::function<double()> total; // sum of all eigenvalues, known once there are eigenpairs
};
// Computes as many leading eigenpairs as the choice of components requests after it has seen the first ones.
Eigenpairs solve_for(const Solving &solving);

// Returns how many of the eigenpairs are resolved, that is, exceed the rounding of an operator of this norm and twice their own
// residual, and sets the outcome. unit: factor of the
// values in error texts.
int64_t cut_rank(const LiftTask &task, const Eigenpairs &pairs, double norm, double unit, uint32_t *outcome);
// Reports that more components were requested than fit in memory.
void say_cut(const LiftTask &task, Lifted &out);
void note_passes(const Plan &plan, const Counted &op, Lifted &out);

} // namespace mercer
