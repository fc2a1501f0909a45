// The operators with which solvers are tested: dense symmetric matrices A = Q diag(spectrum) Q^T,
// where Q is a product of ten random reflections, behind the interface that a solver sees.
#pragma once
#include "check.h"

namespace mercer {

using Values = std::vector<double>;

// A symmetric matrix that counts the calls that a solver makes, and fails or returns NaN on
// request.
struct Matrix {
    std::string text;
    int64_t n;
    Values a, q;             // a: the matrix; q: its eigenvectors, in the order of the spectrum
    std::vector<float> a_32; // the matrix of rough products: a / norm, rounded to f32
    double norm = 0;         // the largest modulus of an eigenvalue

    // applies counts the columns that were multiplied so far; products, roughs and denses count the
    // calls of apply, apply_rough and dense.
    mutable int64_t applies = 0, products = 0, roughs = 0, denses = 0;
    // first is the number of columns of the first product, widest the largest number of columns of
    // any later one.
    mutable int64_t first = 0, widest = 0;
    bool spoilt = false;       // whether every result of the operator contains a NaN
    int64_t fails_at = 0;      // number of the call that fails, counted from 1; 0: no call fails
    mutable bool f32 = false;  // whether blocks are stored in f32
    int32_t *cancel = nullptr; // the cancel flag that every call sets to 1, if not nullptr
    int64_t calls() const { return products + roughs + denses; }

    Matrix(std::string text, const Values &spectrum);
    mercer_operator op(bool with_rough = false, bool f32 = false) const;
    // A bound, relative to the norm, on the rounding errors of sums of n terms and, for f32 blocks,
    // of a few roundings of stored columns (derived in check_solution.h).
    double slack() const { return 128 * static_cast<double>(n) * 0x1p-53 + (f32 ? 16 * 0x1p-24 : 0); }
    double rounding() const { return slack() * norm; }
    void begin_call(int64_t columns) const;
    void forget() const { applies = products = roughs = denses = first = widest = 0; }
};

// Keeps the state that a solver saves at checkpoint number `at`, cancels the run there, and gives
// the state to the next run, which resumes from it.
class Kept : public Keeper {
  public:
    Kept(const Matrix &m, int64_t at, int32_t *cancel) : m_(m), at_(at), cancel_(cancel) {}
    void save(const double *numbers, int64_t count, const Columns *columns, int64_t ranges) override;
    bool resume(double *numbers, int64_t count, const Columns *columns, int64_t ranges) override;
    int64_t saves = 0;  // number of checkpoints so far
    int64_t before = 0; // number of calls of the operator before the kept checkpoint
    bool asked = false; // whether the solver called resume before it called the operator

  private:
    const Matrix &m_;
    int64_t at_;
    int32_t *cancel_;
    Values numbers_;
    std::vector<Values> columns_;
};

// The request to a solver. The start vectors (guess) and the locked vectors are plain arrays,
// column-major. A guess and the callback `enough` exclude each other, because both need the pointer
// `user`.
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
    mercer_cost cost{};    // the forecast of the solver
    int64_t allocated = 0; // bytes that the solver allocated, not counting its blocks
    int64_t columns = 0;   // number of columns of all blocks that it created
};
Solution solve(Run &run, const Plugin &plugin, const Params &params, const mercer_operator &op, const Request &request,
               uint64_t seed);

// Returns the eigenvalues, in descending order, of P A P on the complement of the locked vectors,
// where P projects on this complement; without locked vectors, those of A.
Values exact(const Matrix &m, const Request &request);

} // namespace mercer
