// The operators that solvers are tested on: dense symmetric matrices A = Q diag(spectrum) Q^T,
// where Q is a product of ten random reflections, behind the interface that a solver sees.
#pragma once
#include "check.h"

namespace mercer {

using Values = std::vector<double>;

// A symmetric matrix that counts the calls of a solver, and fails or returns NaN on request.
struct Matrix {
    std::string text;
    int64_t n;
    Values a, q;             // q: eigenvectors, in the order of the spectrum
    std::vector<float> a_32; // a / norm, rounded to f32: the matrix of rough products
    double norm = 0;

    // applies: columns multiplied so far; products, roughs, denses: calls of apply, apply_rough,
    // dense.
    mutable int64_t applies = 0, products = 0, roughs = 0, denses = 0;
    // The largest number of columns in the first call, in any later call.
    mutable int64_t first = 0, widest = 0;
    bool spoilt = false;       // products contain a NaN
    int64_t fails_at = 0;      // the call that fails, counted from 1; 0: none
    mutable bool f32 = false;  // blocks are stored in f32
    int32_t *cancel = nullptr; // set to 1 in every call
    int64_t calls() const { return products + roughs + denses; }

    Matrix(std::string text, const Values &spectrum);
    mercer_operator op(bool with_rough = false, bool f32 = false) const;
    // Rounding errors, relative to the norm, of sums of n terms and, in f32, of a few roundings of
    // stored columns.
    double slack() const { return 128 * static_cast<double>(n) * 0x1p-53 + (f32 ? 16 * 0x1p-24 : 0); }
    double rounding() const { return slack() * norm; }
    void begin_call(int64_t columns) const;
    void forget() const { applies = products = roughs = denses = first = widest = 0; }
};

// Keeps the state at checkpoint number `at`, stops the run there, and returns the state to the next
// run.
class Kept : public Keeper {
  public:
    Kept(const Matrix &m, int64_t at, int32_t *cancel) : m_(m), at_(at), cancel_(cancel) {}
    void save(const double *numbers, int64_t count, const Columns *columns, int64_t ranges) override;
    bool resume(double *numbers, int64_t count, const Columns *columns, int64_t ranges) override;
    int64_t saves = 0;  // number of checkpoints so far
    int64_t before = 0; // calls of the operator before the kept checkpoint
    bool asked = false; // the solver called resume before it called the operator

  private:
    const Matrix &m_;
    int64_t at_;
    int32_t *cancel_;
    Values numbers_;
    std::vector<Values> columns_;
};

// What a solver is asked for, with its vectors as numbers, column-major. A guess and `enough`
// exclude each other.
struct Request : mercer_eigen_request {
    Values guess, locked_vectors;
    Keeper *keeper = nullptr;
    Request(int64_t r, double tol) : mercer_eigen_request{} {
        struct_size = sizeof(mercer_eigen_request);
        this->r = r;
        this->tol = tol;
    }
    int64_t locked_count(int64_t n) const { return static_cast<int64_t>(locked_vectors.size()) / n; }
};

// The result of one call of a solver.
struct Solution {
    int32_t status = 0;
    std::string error;
    Values values, vectors, residuals;
    mercer_eigen_result out{};
    mercer_cost cost{}; // what the solver forecast
    // Memory that the solver allocated: bytes besides its blocks, and columns of the blocks.
    int64_t allocated = 0;
    int64_t columns = 0;
};
Solution solve(Run &run, const Plugin &plugin, const Params &params, const mercer_operator &op, const Request &request,
               uint64_t seed);

// Eigenvalues of P A P on the complement of the locked vectors, or of A if none are locked; in
// descending order.
Values exact(const Matrix &m, const Request &request);

} // namespace mercer
