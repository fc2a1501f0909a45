// Functions that the lifts with a solver share: the operator of the kernel matrix as planned; the
// loop that solves for eigenpairs until there are enough for the components; what they store in a
// checkpoint; certificates of reduced-set models; and entries of the report.
#pragma once
#include "../operator/counted.h"
#include "../operator/weighted.h"
#include "components.h"
#include "eigenpairs.h"
#include "solver_state.h"

namespace mercer {

// Makes the operator of the kernel matrix K of the centres, as planned.
template <class T>
KernelMatrix kernel_matrix_of(const LiftTask &task) {
    return make_operator<T>(task.run, task.centres.rows_of(task.prepared.kernel), task.plan);
}

inline uint64_t seed_of(const LiftTask &task) { return static_cast<uint64_t>(task.recipe.values().seed); }

// The state of a lift in a checkpoint, beside that of the solver: the mean, which is computed along
// with a product; the counts for the report; and the number of eigenpairs requested.
class SolveProgress : private CheckpointState {
  public:
    // own: settings of this lift that a checkpoint must match. evaluations: returns the number of
    // kernel values that this run has computed so far.
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
    int64_t before_ = 0; // number of kernel values that earlier runs computed
    Checkpoint::Section section_;
    std::unique_ptr<SolverState> solver_;
};

// The matrix whose leading eigenvectors the start vectors approximate: D^1/2 K D^1/2, where D has
// the weights of the centres on its diagonal.
struct Weighting {
    const double *weights; // D
    bool plain,            // true: all weights are 1
        centred;           // the matrix is centred
};
// Returns start vectors that are computed by a Nystrom approximation of the centres' problem when
// the solver asks for them; the kernel values that this takes are then added to `evaluations`.
// from, to: the part of the progress of the stage that this computation takes.
Start nystrom_start(const LiftTask &task, const Weighting &problem, double from, double to, int64_t &evaluations);

struct Solving {
    const LiftTask &task;
    const Operator &op;
    double scale; // upper bound of the norm of the operator
    Start start;
    Components &choice;
    std::map<std::string, double> &report;
    Keeper *keeper;
    // Returns the sum of all eigenvalues. Called only after a solve, because it may depend on the
    // mean, which a solve computes.
    std::function<double()> total;
};
// Computes leading eigenpairs, and repeats this with more of them until `choice` requests no more.
Eigenpairs solve_for(const Solving &solving);

// Returns the number of leading eigenpairs whose eigenvalues exceed both the rounding error of an
// operator of this norm and twice their own residual. Sets flags in `outcome` if the matrix is
// indefinite or the solver has not converged; with solver.strict, the latter is an error
// (E_NUMERICAL). unit: factor by which the error message multiplies residuals.
int64_t resolved_rank(const LiftTask &task, const Eigenpairs &pairs, double norm, double unit, uint32_t *outcome);
// Reports that more components were requested than fit in memory; with solver.strict, fails with
// E_NUMERICAL instead.
void report_lack_of_memory(const LiftTask &task, Lifted &out);
// Writes the counts of passes over the kernel matrix and of products into `out`.
void note_passes(const Plan &plan, const Counted &op, Lifted &out);

// Collects what the certificates of a reduced-set model refer to (certify/reduction.h).
ReducedModel reduced_model(const LiftTask &task, Lifted &model);
// Adds the cost of these certificates to the plan, and decides which are affordable. model: bytes
// of the model, which exists while they are computed.
void plan_certificates(const PlanTask &task, int64_t model, Plan &plan);

} // namespace mercer
