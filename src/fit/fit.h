// From a recipe and data to a model:  read -> reduce -> lift (gram, solve) -> model.
#pragma once
#include "../gram/operator.h"
#include "../model/model.h"
#include "recipe.h"

namespace mercer {

// What the caller's data handle holds.
struct Data {
    std::shared_ptr<const Source> source;
    mercer_view weights{}, landmarks{}; // data NULL: none
    bool has_weights() const { return weights.data != nullptr; }
    bool has_landmarks() const { return landmarks.data != nullptr; }
};

std::shared_ptr<const Model> fit(Run &run, const Recipe &recipe, const Data &data, const RunSettings &settings);
mercer_forecast forecast(Run &run, const Recipe &recipe, const Data &data);
// k(X, Y) into out; y may be nullptr: X.
void kernel_matrix(Run &run, const Recipe &recipe, const Data &x, const Data *y, const mercer_view &out);

// ---- stages, for fit.cpp and tests

// A first pass over the rows, and what is decided from it: T, bandwidths, shifts.
struct Prepared {
    std::shared_ptr<const Source> source; // can be read at will
    InputMap map;
    Expression kernel;           // finished
    bool f32 = false;            // tile type
    std::vector<double> weights; // of the rows, sum n
};
bool tile_is_f32(const Recipe &recipe, const Source &source);
Prepared prepare(Run &run, const Recipe &recipe, const Data &data);

// Sample weights, scaled to sum n; all 1 without.
std::vector<double> sample_weights(const Data &data, int64_t n);

// What a reducer gave: rows by number, or points; weights sum to n.
struct Reduction {
    std::vector<int64_t> index;
    Buffer<unsigned char> points; // of the tile type; empty: index
    int64_t m = 0;
    std::vector<double> weights;
    std::map<std::string, double> report;
    int64_t kernel_evaluations = 0;
    bool used_landmarks = false;
};
Reduction reduce(Run &run, const Recipe &recipe, const Data &data, const Prepared &prepared);

// C, ready for lifts: rows after T in the tile's type (or sparse, or numbers of objects), each with a positive weight.
struct Centres {
    std::shared_ptr<const Source> source;
    std::vector<int64_t> index; // objects
    std::vector<double> weights;
    bool rows = true; // of the data; else new points
    Tensors tensors;  // C ... as the model keeps it
    const int64_t *numbers() const { return index.empty() ? nullptr : index.data(); }
    int64_t m() const { return static_cast<int64_t>(weights.size()); }
};

// What a lift adds to a model.
struct Lifted {
    Tensors tensors; // A, b, nu, lambda, w ...
    Json text = Json::object();
    uint32_t outcome = 0, capabilities = 0;
    int64_t kernel_evaluations = 0, passes = 0; // times the kernel matrix was computed
};

// How the kernel matrix of m centres is to be held, and by whom it is to be solved: decided from the shape and the budget
// alone, before any work.
struct Plan {
    bool f32 = false;                // tile type of the result
    bool rough = false;              // f64 results, iterated in f32
    Hold hold = Hold::nothing;       // of the operator that does most passes
    Hold hold_exact = Hold::nothing; // of the f64 one beside a rough one
    std::shared_ptr<const Plugin> solver;
    Params solver_params;
    mercer_cost solver_cost{};
    int64_t bytes = 0; // of the lift: matrix, solver, panels
    double tol = 0;
};
Plan plan_lift(Run &run, const Recipe &recipe, const Expression &kernel, const Source &source, bool f32, int64_t m,
               int64_t budget_left);
mercer_cost forecast_centres(Run &run, const Recipe &recipe, const Data &data, const Source &source);
int64_t centre_bytes(const Source &source, int64_t m, bool f32); // as the model keeps them

struct Lift {
    const char *name, *summary, *reference;
    Lifted (*lift)(Run &run, const Recipe &recipe, const Prepared &prepared, const Centres &centres, const Plan &plan,
                   int64_t n);
};
// Of an output's values at the weighted points behind a model: {p95, p99}.
Json limits_of(const std::vector<double> &values, const std::vector<double> &weights);

const std::vector<Lift> &lifts();
const Lift &find_lift(const std::string &name); // E_NAME with the nearest known

Lifted lift_weighted(Run &run, const Recipe &recipe, const Prepared &prepared, const Centres &centres, const Plan &plan,
                     int64_t n);

} // namespace mercer
