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
    mercer_view weights{}, landmarks{}, labels{}; // data NULL: none
    std::vector<std::string> columns;             // names; empty: not known
    bool has_weights() const { return weights.data != nullptr; }
    bool has_landmarks() const { return landmarks.data != nullptr; }
};

std::shared_ptr<const Model> fit(Run &run, const Recipe &recipe, const Data &data, const RunSettings &settings);
// Ways open to `auto`, by shape and budget.
struct Roads {
    bool exact = false;     // passes over the kernel matrix
    int64_t most_rank = 0;  // of a factor; 0: no projection
    int64_t most_rows = 0;  // of its residual; 0: pairs alone
    int64_t most_width = 0; // directions that rows are projected on
    std::string why;        // there is one alone
};
// What that will need, and what its stages will cost.
struct Forecast {
    mercer_forecast figures{};
    Run::Stages stages;
    Roads roads;
    std::string road;         // that will be taken, and why
    bool holds_factor = true; // of a reducer
    int64_t centres = 0;      // at most
    bool by_likely = false;   // judged: how many centres there are the rows will say
};
// When a forecast may look at some rows: where that is at most 1 % of the work, and no callback is asked; always.
enum class Look { cheap, always };
// From the shape and the budget alone; E_BUDGET where the fit will be refused. Rows that are not known are E_UNSUPPORTED.
Forecast forecast(Run &run, const Recipe &recipe, const Data &data, Look look);
// k(X, Y) into out; y may be nullptr: X.
void kernel_matrix(Run &run, const Recipe &recipe, const Data &x, const Data *y, const mercer_view &out);

// ---- stages, for fit.cpp and tests

// A first pass over the rows, and what is decided from it: T, bandwidths, shifts.
struct Prepared {
    std::shared_ptr<const Source> source; // can be read at will
    InputMap map;
    Expression kernel;             // finished
    bool f32 = false;              // tile type
    bool f32_serves = true;        // what is rough or begins something may be computed in f32 (gram/magnitude.h)
    bool squares_hold = true;      // f64 holds squares of kernel values
    CountedVector<double> weights; // of the rows, sum n
    bool weighted() const {
        return std::any_of(weights.begin(), weights.end(), [](double w) { return w != 1; });
    }
};
bool tile_is_f32(const Recipe &recipe, const Source &source);
// f32: the tile type, where not tile_is_f32 says it.
Prepared prepare(Run &run, const Recipe &recipe, const Data &data, std::optional<bool> f32 = {});
// What prepare holds, beside the rows' weights.
Bytes prepare_bytes(const Run &run, const Recipe &recipe, const Source &source);

// Sample weights of the rows of source, which is the data's, loaded, or its complete rows; scaled to sum n, all 1 without.
CountedVector<double> sample_weights(const Data &data, const Source &source);

template <class T>
class PartialCholesky;
struct Findings;

// To sum n. E_DATA where their sum is not positive and finite.
void scale_weights(CountedVector<double> &weights, int64_t n);

// What a reducer gave: rows by number, or points; weights sum to n.
struct Reduction {
    CountedVector<int64_t> index;
    Buffer<unsigned char> points; // of the tile type; empty: index
    int64_t m = 0;
    CountedVector<double> weights;
    Buffer<int64_t> assignment; // of each row, to a centre as given; empty: nobody asked
    bool stands_for = false;    // and each centre weighs what its rows weigh, which is what proofs rely on
    std::map<std::string, double> report;
    int64_t kernel_evaluations = 0;
    double flops = 0; // of its factor
    bool used_landmarks = false;
    // K ~ L L^T with the rows in index as its pivots, where the reducer found them so; of the tile's type.
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
// holds_factor: partial Cholesky factors stay in memory, else their columns are made again.
Reduction reduce(Run &run, const Recipe &recipe, const Data &data, const Prepared &prepared, bool holds_factor);
Reduction all_rows(const Prepared &prepared); // that count, by their sample weights

// C, ready for lifts: rows after T in the tile's type (or sparse, or numbers of objects), each with a positive weight.
struct Centres {
    std::shared_ptr<const Source> source;
    CountedVector<int64_t> index; // objects
    CountedVector<double> weights;
    Buffer<int64_t> assignment; // of each row, to a centre; -1: the row counts for nothing. Empty: not known
    bool stands_for = false;    // and each centre weighs what its rows weigh
    bool rows = true;           // of the data; else new points
    Tensors tensors;            // C ... as the model keeps it
    const int64_t *numbers() const { return index.empty() ? nullptr : index.data(); }
    int64_t m() const { return static_cast<int64_t>(weights.size()); }
};

// Centres without those of weight 0, which would be divided by. Takes the assignment with it.
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
    int64_t kept = 0;                           // columns of A that are wanted: lift.ritz asks for more
    int64_t kernel_evaluations = 0, passes = 0; // times the kernel matrix was computed
    double columns = 0, products = 0;
    double worst_share = 0; // what certificates of an exact fit leave open of an eigenvalue, relative
};

// How the kernel matrix of m centres is to be held, and by whom it is to be solved: decided from the shape and the budget
// alone, before any work.
struct Plan {
    bool f32 = false;                          // tile type of the result
    bool rough = false;                        // f64 results, iterated in f32
    Hold hold = Hold::nothing;                 // of the operator that does most passes
    Hold hold_exact = Hold::nothing;           // of the f64 one beside a rough one
    int64_t start_rank = 0, start_columns = 0; // Nystrom vectors to begin with; 0: none
    bool keep_factor = false;                  // lift projected: n x m in memory
    bool spans = false, measures = false;      // certificates of centres: by their span; with the truth beside
    std::shared_ptr<const Plugin> solver;      // nullptr: the lift needs none
    Params solver_params;
    mercer_cost solver_cost{};
    const char *how = "";                // what takes the bytes, for those who are refused
    int64_t bytes = 0, likely_bytes = 0; // of the lift: matrix, solver, panels
    int64_t least_bytes = 0;             // those that no data save
    int64_t most_pairs = 0;              // that the solver may be asked for
    mercer_figure kernel_evaluations{}, passes{};
    mercer_figure products{}, columns{}; // with the kernel matrix, and of how many columns in all
    double flops_each = 0;               // beside each product
    double dense_order = 0;              // of the largest factorisation, which cannot be cancelled
    double certify_cost = 0;             // for progress (forecast.cpp)
    double tol = 0;
    int64_t max_passes = 0;      // of the solver; 0: its own
    void needs(Bytes at_least) { // at some time
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
                   const Source &source); // at most, of one thread with two panels of whole rows
// Of all threads; of the source's rows on both sides, or of few on the other.
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
    bool rows;              // they are rows of the data; else new points, whose factor is made again
    int64_t handed;         // bytes of the factor that the reducer leaves; 0: none
    double tol = 0;         // what `auto` needs of a solver; 0: the recipe's
    bool f32_serves = true; // as prepared; forecasts, which know no data, take it for granted
    bool stand_for = false; // centres, for the rows assigned to them, whose weight is theirs
};
void refuse_over_budget(const PlanTask &task, int64_t bytes, const char *how); // beyond the base
// The kernel's values are computed again as fast as they are read.
bool streams_well(const Expression &kernel, const Source &source);
// Into solver_cost, what the plan's solver takes for r pairs of order task.m, from so many columns to begin with.
void ask_solver(const PlanTask &task, int64_t r, int64_t begun, Plan &plan);
// What is likely where something is known of the spectrum.
class Glimpse;
void expect_spectrum(const PlanTask &task, const Glimpse &glimpse, Plan &plan);
struct ForeseenCentres {
    mercer_cost cost{}; // of the reducer; m: centres, at most
    int64_t factor = 0; // bytes of the factor that it leaves, if it does
    bool rows = true;   // of the data
    int64_t kept = 0;   // bytes of the assignment
    bool stand_for = false;
};
ForeseenCentres forecast_centres(Run &run, const Recipe &recipe, const Data &data, const Source &source,
                                 bool holds_factor);
// What is held throughout: weights, m centres as the model keeps them, rows that were loaded.
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
    bool uses_factor;                   // of the reduction; else it is freed before
    bool weighs;                        // centres stand for rows, by their weights
    bool solves;                        // its problem is a solver's
    bool proves;                        // how far its eigenvalues are from those of all rows
    bool projects;                      // on directions in feature space, which have variances and a mean
    Plan (*plan)(const PlanTask &task); // the one of fewest bytes where none fits
    Lifted (*lift)(const LiftTask &task);
};
// Efforts for progress, and work done: kernel values, and products with the kernel matrix.
Run::Stages lift_stages(const Source &source, const Plan &plan, int64_t m);
double start_share(const Source &source, const Plan &plan, int64_t m); // of the stage `solve`
double flops_of(const Source &source, double m, double evaluations, double columns);
double dense_seconds(double order); // of an eigendecomposition

// Of an output's values at the n weighted points behind a model: {p95, p99}. weights nullptr: all 1.
Json limits_of(Run &run, int64_t n, const double *values, const double *weights);
// Of residual and T2 at x, by the expansion on the centres c. kind: as the report calls them.
template <class T>
Json limits_at(Run &run, const Expression &kernel, Points<T> x, Points<T> c, const Lifted &model, const double *weights,
               const char *kind);

// As a model's text has them.
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
const Lift &lift_of(const Recipe &recipe);      // of a derivation: one that wants nothing

Plan plan_weighted(const PlanTask &task);    // what it says of bytes and work is without Ritz refinement
Lifted weighted_model(const LiftTask &task); // as many components as lift.ritz wants
Plan plan_refined(const PlanTask &task);
Lifted lift_weighted(const LiftTask &task);
Plan plan_extended(const PlanTask &task);
Lifted lift_extended(const LiftTask &task);
Plan plan_manifold(const PlanTask &task);
Lifted lift_manifold(const LiftTask &task);
Plan plan_projected(const PlanTask &task);
Lifted lift_projected(const LiftTask &task);

} // namespace mercer
