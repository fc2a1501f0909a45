// What lifts have in common whose problem is a solver's: the kernel matrix as it is planned, pairs until there are as many as
// the components ask for, what a checkpoint keeps beside the solver's state, what is said of it all.
#pragma once
#include "checkpoint.h"
#include "components.h"
#include "eigenpairs.h"
#include "fit.h"
#include "start.h"

namespace mercer {

// K in the type of the result and, where the plan has one, an f32 one beside it.
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

// The host's state beside the solver's: the mean that rides along, what the report counts, how many pairs were asked for.
class Progress {
  public:
    // evaluations: of this run, so far. identity: what a file must have been made with, beside what is the same for all lifts.
    Progress(const LiftTask &task, const Json &identity, WeightedOperator &weighted, Counted &counted,
             Components &choice, std::function<int64_t()> evaluations);
    Checkpoint *file() { return file_.get(); } // nullptr: nothing is kept
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

// The problem D^1/2 K D^1/2 of the centres with these weights (plain: all 1), as Nystrom vectors see it.
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
    std::function<double()> total; // of all eigenvalues, known once there are pairs
};
// As many leading pairs as the choice of components asks for, once it has seen them.
Eigenpairs solve_for(const Solving &solving);

// How many of the pairs are more than rounding of an operator of this norm, and what is to be said of them. unit: of the values
// in error texts.
int64_t cut_rank(const LiftTask &task, const Eigenpairs &pairs, double norm, double unit, uint32_t *outcome);
// The components asked for go on beyond those that there is memory for.
void say_cut(const LiftTask &task, Lifted &out);
void note_passes(const Plan &plan, const Counted &op, Lifted &out);

} // namespace mercer
