// What the lifts that need a solver share: the operator of the kernel matrix as planned; a loop
// that solves for eigenpairs until there are enough for the components; what they store in a
// checkpoint; certificates of reduced sets; and entries of the report.
#pragma once
#include "../operator/counted.h"
#include "../operator/weighted.h"
#include "components.h"
#include "eigenpairs.h"
#include "solver_state.h"

namespace mercer {

// Makes the operator of K of the centres, as planned.
template <class T>
KernelMatrix kernel_matrix_of(const LiftTask &task) {
    return make_operator<T>(task.run, task.centres.rows_of(task.prepared.kernel), task.plan);
}

inline uint64_t seed_of(const LiftTask &task) { return static_cast<uint64_t>(task.recipe.values().seed); }

// The lift's state in a checkpoint, next to the solver's: the mean, which is computed along the
// way; the counts for the report; and the number of eigenpairs requested.
class SolveProgress : private CheckpointState {
  public:
    // evaluations: kernel values of this run so far. own: settings of this lift that a checkpoint must
    // match.
    SolveProgress(const LiftTask &task, Json own, WeightedOperator &weighted, Counted &counted, Components &choice,
                  std::function<int64_t()> evaluations);
    SolverState *solver() { return solver_.get(); } // nullptr: no checkpoint is written
    int64_t evaluations() const { return before_ + evaluations_(); }

  private:
    Json identity() const override;
    void store(Json &values, TensorViews &tensors) const override;
    void restore(const Json &values, std::map<std::string, Tensor> tensors) override;

    const LiftTask &task_;
    Json own_;
    WeightedOperator &weighted_;
    Counted &counted_;
    Components &choice_;
    std::function<int64_t()> evaluations_;
    int64_t before_ = 0; // kernel values of earlier runs
    Checkpoint::Section section_;
    std::unique_ptr<SolverState> solver_;
};

// The problem whose eigenvectors start vectors approximate: D^1/2 K D^1/2, where D has these
// weights of the centres (plain: all are 1).
struct Weighting {
    const double *weights;
    bool plain, centred;
};
// Makes start vectors by a Nystrom approximation of the centres' problem, and counts the kernel
// values that they take. from, to: their part of the stage.
Start nystrom_start(const LiftTask &task, const Weighting &problem, double from, double to, int64_t &evaluations);

struct Solving {
    const LiftTask &task;
    const Operator &op;
    double scale; // bound of the operator's norm
    Start start;
    Components &choice;
    std::map<std::string, double> &report;
    Keeper *keeper;
    std::function<double()> total; // sum of all eigenvalues, known once there are eigenpairs
};
// Computes as many leading eigenpairs as the choice of components requests after it has seen the first ones.
Eigenpairs solve_for(const Solving &solving);

// Returns how many leading eigenpairs are resolved, that is, exceed both the rounding error of an
// operator of this norm and twice their own residual; sets the outcome. unit: factor of the values
// in error texts.
int64_t resolved_rank(const LiftTask &task, const Eigenpairs &pairs, double norm, double unit, uint32_t *outcome);
// Reports that more components were requested than fit in memory.
void report_lack_of_memory(const LiftTask &task, Lifted &out);
void note_passes(const Plan &plan, const Counted &op, Lifted &out);

// Collects what the certificates of a reduced-set model concern.
ReducedModel reduced_model(const LiftTask &task, Lifted &model);
// Adds the cost of these certificates to the plan. model: bytes of the model.
void plan_certificates(const PlanTask &task, int64_t model, Plan &plan);

} // namespace mercer
