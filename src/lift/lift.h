// A lift makes a small eigenproblem from the centres, and turns its solutions into the tensors of a
// model. Each lift has a file in this folder and a row in table.cpp.
#pragma once
#include "../certify/ladder.h"
#include "../certify/reduction.h"
#include "../core/cost.h"
#include "../model/centres.h"
#include "../model/lifted.h"
#include "../operator/make_operator.h"
#include "../recipe/plan_task.h"

#include <variant>

namespace mercer {

class Checkpoint;

// What the search of `auto` has computed for the chosen factor, so that the lift need not repeat
// it.
struct Findings {
    Projection projection;
    Proof proof;
};

// What a reducer returned.
struct Reduction : Landmarks {
    std::map<std::string, double> report;
    int64_t kernel_evaluations = 0;
    double flops = 0;                  // of the factor
    bool used_landmarks = false;       // the reducer used the landmarks that the data came with
    std::optional<double> mean_square; // |mean|^2 in feature space over all rows, if the reducer has computed it
    int64_t passes = 0;                // over the kernel matrix
    bool rank_reached = false;         // pivots ended before the requested number, at the rank of the kernel matrix
    // For selections by column energies: the number of candidates before each pivot. Otherwise
    // empty.
    std::vector<int64_t> candidates;
    // The factor K ~ L L^T, if the reducer computed one, in the type of tiles. Its pivots are the
    // rows in `index`.
    std::variant<std::shared_ptr<PartialCholesky<float>>, std::shared_ptr<PartialCholesky<double>>> factor;
    std::shared_ptr<Findings> findings; // only from `auto`
    bool has_factor() const {
        return std::visit([](const auto &stored) { return stored != nullptr; }, factor);
    }
    int64_t factor_bytes() const; // 0: none
    template <class T>
    bool owns(const std::shared_ptr<PartialCholesky<T>> &other) const {
        const auto *stored = std::get_if<std::shared_ptr<PartialCholesky<T>>>(&factor);
        return stored && *stored == other;
    }
};
// How the kernel matrix of m centres will be stored, which solver will be used, and what the lift
// will cost. The plan follows from the shape and the budget alone, before any work is done.
struct Plan : Cost, GramPlan {
    int64_t start_rank = 0,               // pivots of the Nystrom approximation that gives start vectors
        start_columns = 0;                // number of start vectors; 0: the solver gets none
    bool store_factor = false;            // lift `projected`: the n x m factor is kept in memory
    Affordable certificates;              // of reduced-set models: those that fit in the budget
    std::shared_ptr<const Plugin> solver; // nullptr: the lift needs none
    Params solver_params;
    mercer_cost solver_cost{}; // forecast of the solver
    const char *how = "";      // what needs the memory, for the error text
    int64_t least_bytes = 0;   // memory that is needed whatever the data are
    int64_t most_pairs = 0;    // largest number of eigenpairs that the solver may be asked for
    double flops_each = 0;     // work for each product, in addition to the product itself
    double tol = 0, share = 0; // demands on residuals, as in mercer_eigen_request (plugin.h)
    int64_t max_passes = 0;    // limit of the solver's passes; 0: the solver's own limit
};
struct LiftTask {
    Run &run;
    const Recipe &recipe;
    const Prepared &prepared;
    const Reduction &reduction;
    const Centres &centres;
    const Plan &plan;
    Checkpoint *checkpoint = nullptr; // nullptr: no state is stored
};
struct Lift {
    const LiftTraits &traits;
    Plan (*plan)(const PlanTask &task); // returns the plan with the least memory if none fits in the budget
    Lifted (*lift)(const LiftTask &task);
};
const Lift &lift_named(const std::string &name); // fails with E_NAME, naming the nearest known lift

// Returns the expected cost of each stage of a lift of m centres, for the progress bar.
Run::Stages lift_stages(const Source &source, const Plan &plan, int64_t m);
// Returns the share of the stage `solve` that is spent on start vectors.
double start_share(const Source &source, const Plan &plan, int64_t m);

// Returns the sign by which a column is multiplied, so that its entry of largest modulus (the first
// on a tie) becomes positive.
template <class Entry>
double sign_of(int64_t count, Entry &&entry) {
    double best = 0, sign = 1;
    for (int64_t i = 0; i < count; ++i) {
        const double value = entry(i);
        if (std::fabs(value) > best * (1 + 1e-12)) best = std::fabs(value), sign = value < 0 ? -1 : 1;
    }
    return sign;
}

Plan plan_weighted(const PlanTask &task);    // without Ritz refinement and certificates of reduced sets
Lifted weighted_model(const LiftTask &task); // the model before these two steps, with the directions for lift.ritz
Plan plan_refined(const PlanTask &task);     // with these two steps: the plan of the lift `weighted`
Lifted lift_weighted(const LiftTask &task);
Plan plan_extended(const PlanTask &task);
Lifted lift_extended(const LiftTask &task);
Plan plan_manifold(const PlanTask &task);
Lifted lift_manifold(const LiftTask &task);
Plan plan_projected(const PlanTask &task);
Lifted lift_projected(const LiftTask &task);
Plan plan_triangular(const PlanTask &task);
Lifted lift_triangular(const LiftTask &task);
Plan plan_centred_gram(const PlanTask &task); // that of `triangular` if lift.centred_gram is set
Lifted lift_centred_gram(const LiftTask &task);

} // namespace mercer
