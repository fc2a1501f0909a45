// From a recipe and data to a model:  read -> reduce -> lift (gram, solve) -> model.
#pragma once
#include "../core/rounding.h"
#include "../gram/operator.h"
#include "../model/model.h"
#include "recipe.h"

#include <cmath>
#include <optional>
#include <variant>

namespace mercer {

// What the caller's data handle holds.
struct Data {
    std::shared_ptr<const Source> source;
    mercer_view weights{}, landmarks{}, labels{}; // data is NULL if there are none
    std::vector<std::string> columns;             // names; empty if unknown
    bool has_weights() const { return weights.data != nullptr; }
    bool has_landmarks() const { return landmarks.data != nullptr; }
};

std::shared_ptr<const Model> fit(Run &run, const Recipe &recipe, const Data &data, const RunSettings &settings);
// The strategies that shape and budget leave to `auto`.
struct Roads {
    bool exact = false;     // passes over the kernel matrix
    int64_t most_rank = 0;  // largest rank of a factor; 0: no projection is possible
    int64_t most_rows = 0;  // largest number of sampled rows of its residual; 0: pairs only
    int64_t most_width = 0; // number of directions that these rows are projected on
    std::string why;        // why only one strategy is feasible
};
// The resources that a fit will need, and the costs of its stages.
struct Forecast {
    mercer_forecast figures{};
    Run::Stages stages;
    Roads roads;
    std::string road;         // the strategy that will be chosen, and why
    bool holds_factor = true; // the reducer's partial Cholesky factor fits in memory
    int64_t centres = 0;      // the largest number that the reducer may select
    bool by_likely = false;   // judged by likely figures, because the number of centres depends on the rows
};
// When a forecast may read some rows. cheap: only if that is at most 1 % of the work and calls no callback; always: anyway.
enum class Look { cheap, always };
// Forecasts a fit from its shape and budget. E_BUDGET: the fit would be refused; E_UNSUPPORTED: the number of rows is unknown.
Forecast forecast(Run &run, const Recipe &recipe, const Data &data, Look look);
// Writes k(X, Y) to out; y = nullptr means X.
void kernel_matrix(Run &run, const Recipe &recipe, const Data &x, const Data *y, const mercer_view &out);

// ---- stages, for fit.cpp and tests

// The result of a first pass over the rows: the input map T, the bandwidths and shifts of the kernel, the types to use.
struct Prepared {
    std::shared_ptr<const Source> source; // can be read any number of times
    InputMap map;
    Expression kernel;             // finished
    bool f32 = false;              // tile type
    bool f32_serves = true;        // rough products and start vectors may be computed in f32 (gram/magnitude.h)
    bool squares_hold = true;      // f64 holds squares of kernel values
    CountedVector<double> weights; // of the rows, sum n
    bool weighted() const {
        return std::any_of(weights.begin(), weights.end(), [](double w) { return w != 1; });
    }
};
bool tile_is_f32(const Recipe &recipe, const Source &source);
// f32: overrides the tile type that tile_is_f32 chooses.
Prepared prepare(Run &run, const Recipe &recipe, const Data &data, std::optional<bool> f32 = {});
// Memory that prepare holds, in addition to the weights of the rows.
Bytes prepare_bytes(const Run &run, const Recipe &recipe, const Source &source);

// Sample weights of the rows of source (the data, the loaded data or its complete rows), scaled to sum n; all 1 if there are none.
CountedVector<double> sample_weights(const Data &data, const Source &source);

template <class T>
class PartialCholesky;
struct Findings;

// Scales the weights to sum n. E_DATA if their sum is not positive and finite.
void scale_weights(CountedVector<double> &weights, int64_t n);

// The landmarks that a reducer returned: row numbers, or points. Their weights sum to n.
struct Reduction {
    CountedVector<int64_t> index;
    Buffer<unsigned char> points; // in the tile type; empty if index has the rows
    int64_t m = 0;
    CountedVector<double> weights;
    Buffer<int64_t> assignment; // the centre assigned to each row, in the reducer's numbering; empty if not requested
    bool stands_for = false; // each centre has the total weight of the rows assigned to it; certificates rely on this
    std::map<std::string, double> report;
    int64_t kernel_evaluations = 0;
    double flops = 0; // of its factor
    bool used_landmarks = false;
    // The factor K ~ L L^T with the rows in index as pivots, if the reducer computed one; in the tile type.
    std::variant<std::shared_ptr<PartialCholesky<float>>, std::shared_ptr<PartialCholesky<double>>> factor;
    std::shared_ptr<Findings> findings; // of `auto`
    bool has_factor() const {
        return std::visit([](const auto &held) { return held != nullptr; }, factor);
    }
    int64_t factor_bytes() const; // 0: none
    template <class T>
    bool owns(const std::shared_ptr<PartialCholesky<T>> &other) const {
        const auto *held = std::get_if<std::shared_ptr<PartialCholesky<T>>>(&factor);
        return held && *held == other;
    }
};
// holds_factor: partial Cholesky factors stay in memory; otherwise their columns are recomputed when needed.
Reduction reduce(Run &run, const Recipe &recipe, const Data &data, const Prepared &prepared, bool holds_factor);
Reduction all_rows(const Prepared &prepared); // all rows of positive sample weight

// The centres C as lifts use them: rows after T in the tile type (or sparse, or numbers of objects), each of positive weight.
struct Centres {
    std::shared_ptr<const Source> source;
    CountedVector<int64_t> index; // objects
    CountedVector<double> weights;
    Buffer<int64_t> assignment; // the centre of each row; -1: the row has weight 0. Empty if unknown
    bool stands_for = false;    // each centre has the total weight of the rows assigned to it
    bool rows = true;           // the centres are rows of the data; otherwise they are new points
    Tensors tensors;            // C, or its sparse or object form, as the model stores it
    const int64_t *numbers() const { return index.empty() ? nullptr : index.data(); }
    int64_t m() const { return static_cast<int64_t>(weights.size()); }
};

// Drops centres of weight 0, because lifts divide by weights, and moves the assignment out of the reduction.
Centres make_centres(Run &run, const Prepared &prepared, Reduction &reduction);
template <class T>
Points<T> points_of(const Expression &kernel, const Centres &centres) {
    const std::vector<LeafSpec> specs = leaf_specs(kernel);
    return centres.numbers() ? Points<T>(centres.source, {}, specs, centres.numbers(), centres.m())
                             : Points<T>(centres.source, {}, specs);
}

// What a lift adds to a model.
struct Lifted {
    Tensors tensors; // A, b, nu, lambda, w ...
    Json text = Json::object();
    uint32_t outcome = 0, capabilities = 0;
    int64_t kept = 0;                           // columns of A to keep; lift.ritz computes more
    int64_t kernel_evaluations = 0, passes = 0; // passes: how often the kernel matrix was computed
    double columns = 0, products = 0;
    double worst_share = 0; // exact fits: largest certified relative error of an eigenvalue
};

// How the kernel matrix of m centres will be stored, and which solver will solve it. Decided from the shape and the budget
// alone, before any work.
struct Plan {
    bool f32 = false;                          // tile type of the result
    bool rough = false;                        // f64 results, iterated in f32
    Hold hold = Hold::nothing;                 // storage of the operator that most passes use
    Hold hold_exact = Hold::nothing;           // storage of the f64 operator that accompanies a rough one
    int64_t start_rank = 0, start_columns = 0; // of the Nystrom start vectors; 0: none
    bool keep_factor = false;                  // lift projected: n x m in memory
    bool spans = false,
         measures = false; // certificates of reduced sets: from the span of the centres; with the true errors
    std::shared_ptr<const Plugin> solver; // nullptr: the lift needs none
    Params solver_params;
    mercer_cost solver_cost{};
    const char *how = "";                // what needs the memory, for the error text
    int64_t bytes = 0, likely_bytes = 0; // of the lift: matrix, solver, panels
    int64_t least_bytes = 0;             // needed for any data
    int64_t most_pairs = 0;              // largest number of eigenpairs that the solver may be asked for
    mercer_figure kernel_evaluations{}, passes{};
    mercer_figure products{}, columns{}; // products with the kernel matrix; columns: in total
    double flops_each = 0;               // extra work per product
    double dense_order = 0;              // order of the largest factorisation, which cannot be cancelled
    double certify_cost = 0;             // used for progress only (forecast.cpp)
    double tol = 0, share = 0;           // demands on residuals (mercer_eigen_request)
    int64_t max_passes = 0;              // limit for the solver; 0: the solver's own
    void needs(Bytes at_least) {         // needed at some time, not in addition to the rest
        likely_bytes = std::max(likely_bytes, at_least.likely);
        bytes = std::max(bytes, at_least.most);
    }
};
template <class T>
Need need_of(const Run &run, const Expression &kernel, const Source &source, int64_t m, int64_t columns);
template <class T>
TileBytes tiles_of(const Expression &kernel, const Source &source);
template <class T>
int64_t tile_bytes(const Expression &kernel,
                   const Source &source); // upper bound, for one thread with two panels of whole rows
// Memory of a sweep over tiles by all threads. all: the source's rows are on both sides; few: few points are on one side.
enum class Others { few, all };
Bytes sweep_bytes(const Run &run, const Expression &kernel, const Source &source, bool f32,
                  Others others = Others::few);

struct PlanTask {
    Run &run;
    const Recipe &recipe;
    const Expression &kernel;
    const Source &source; // the data
    bool f32;
    int64_t m; // centres
    int64_t budget_left;
    bool rows;              // centres are rows of the data; otherwise new points, which need a factor of their own
    int64_t handed;         // bytes of the factor that the reducer hands over; 0: none
    double tol = 0;         // tolerance that `auto` needs; 0: use the recipe's
    bool f32_serves = true; // as in Prepared; forecasts have not read the data and assume it
    bool stand_for = false; // each centre has the total weight of the rows assigned to it
};
void refuse_over_budget(const PlanTask &task, int64_t bytes, const char *how); // bytes: in addition to base_bytes
// True if kernel values can be recomputed as fast as stored ones can be read.
bool streams_well(const Expression &kernel, const Source &source);
// Sets plan.solver_cost to the solver's forecast for r eigenpairs of order task.m, with `begun` start columns.
void ask_solver(const PlanTask &task, int64_t r, int64_t begun, Plan &plan);
// Updates the likely figures if an estimate of the spectrum is known.
class Glimpse;
void expect_spectrum(const PlanTask &task, const Glimpse &glimpse, Plan &plan);
struct ForeseenCentres {
    mercer_cost cost{}; // forecast of the reducer; m: largest number of centres
    int64_t factor = 0; // bytes of the factor that it hands over; 0: none
    bool rows = true;   // centres are rows of the data
    int64_t kept = 0;   // bytes of the assignment
    bool stand_for = false;
};
ForeseenCentres forecast_centres(Run &run, const Recipe &recipe, const Data &data, const Source &source,
                                 bool holds_factor);
// Memory held during the whole fit: weights, m centres as the model stores them, loaded rows.
int64_t base_bytes(const Source &source, int64_t m, bool f32);

struct LiftTask {
    Run &run;
    const Recipe &recipe;
    const Prepared &prepared;
    const Reduction &reduction;
    const Centres &centres;
    const Plan &plan;
};
struct Lift {
    const char *name, *summary, *reference;
    bool uses_factor;                   // uses the factor of the reduction; otherwise it is freed before
    bool weighs;                        // centres represent rows, by their weights
    bool solves;                        // needs a solver plugin
    bool proves;                        // certifies how far its eigenvalues are from those of all rows
    bool projects;                      // projects on directions in feature space, which have variances and a mean
    Plan (*plan)(const PlanTask &task); // if none fits, the plan that needs the least memory
    Lifted (*lift)(const LiftTask &task);
};
// The expected cost of each stage of a lift, for the progress bar.
Run::Stages lift_stages(const Source &source, const Plan &plan, int64_t m);
double start_share(const Source &source, const Plan &plan, int64_t m); // share of the stage `solve`
double flops_of(const Source &source, double m, double evaluations, double columns);
double dense_seconds(double order); // time of an eigendecomposition

// The limits {p95, p99} of an output, from its values at the n weighted points that a model was fitted on. weights nullptr:
// all 1.
Json limits_of(Run &run, int64_t n, const double *values, const double *weights);
// The limits of residual and T2 at the points x of an expansion on the centres c. kind: the name in the report.
template <class T>
Json limits_at(Run &run, const Expression &kernel, Points<T> x, Points<T> c, const Lifted &model, const double *weights,
               const char *kind);

// In the form in which a model's report stores them.
Json parameter_json(const std::map<std::string, std::string> &stored);
Json timings_json(const Run &run);

// The rule of signs: a column is turned so that its entry of largest modulus (the first on a tie) becomes positive.
template <class Entry>
double sign_of(int64_t count, Entry &&entry) {
    double best = 0, sign = 1;
    for (int64_t i = 0; i < count; ++i) {
        const double value = entry(i);
        if (std::fabs(value) > best * (1 + 1e-12)) best = std::fabs(value), sign = value < 0 ? -1 : 1;
    }
    return sign;
}

const std::vector<Lift> &lifts();
const Lift &find_lift(const std::string &name); // E_NAME with the nearest known
const Lift &lift_of(const Recipe &recipe);      // for a derivation: a lift without requirements

Plan plan_weighted(const PlanTask &task);    // its figures exclude Ritz refinement
Lifted weighted_model(const LiftTask &task); // with as many components as lift.ritz requests
Plan plan_refined(const PlanTask &task);
Lifted lift_weighted(const LiftTask &task);
Plan plan_extended(const PlanTask &task);
Lifted lift_extended(const LiftTask &task);
Plan plan_manifold(const PlanTask &task);
Lifted lift_manifold(const LiftTask &task);
Plan plan_projected(const PlanTask &task);
Lifted lift_projected(const LiftTask &task);

} // namespace mercer
