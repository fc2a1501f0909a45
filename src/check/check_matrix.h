// What solvers are tested on: dense symmetric matrices A = Q diag(spectrum) Q^T, Q a product of ten random reflections,
// behind the operator that a solver sees.
#pragma once
#include "check.h"

namespace mercer {

using Values = std::vector<double>;

// A symmetric matrix that counts what is asked of it and misbehaves where it is told to.
struct Matrix {
    std::string text;
    int64_t n;
    Values a, q;             // q: eigenvectors, in the order of the spectrum
    std::vector<float> a_32; // a / norm, rounded: what rough products are made of, in f32
    double norm = 0;

    mutable int64_t applies = 0, products = 0, roughs = 0, denses = 0; // columns; calls of apply, apply_rough, dense
    mutable int64_t first = 0, widest = 0;                             // columns of the first, of another call
    bool spoilt = false;                                               // products have a NaN
    int64_t fails_at = 0;                                              // this call, counted from 1, fails
    mutable bool f32 = false;                                          // blocks are stored so
    int32_t *cancel = nullptr;                                         // set in the first call
    int64_t calls() const { return products + roughs + denses; }

    Matrix(std::string text, const Values &spectrum);
    mercer_operator op(bool with_rough = false, bool f32 = false) const;
    // What sums of n terms and, in f32, a few roundings of stored columns leave, in norm.
    double slack() const { return 128 * static_cast<double>(n) * 0x1p-53 + (f32 ? 16 * 0x1p-24 : 0); }
    double rounding() const { return slack() * norm; }
    void begin_call(int64_t columns) const;
    void forget() const { applies = products = roughs = denses = first = widest = 0; }
};

// Keeps the state of checkpoint number `at`, and stops the run then; gives it back to the next run.
class Kept : public Keeper {
  public:
    Kept(const Matrix &m, int64_t at, int32_t *cancel) : m_(m), at_(at), cancel_(cancel) {}
    void save(const double *numbers, int64_t count, const Columns *columns, int64_t ranges) override;
    bool resume(double *numbers, int64_t count, const Columns *columns, int64_t ranges) override;
    int64_t saves = 0;  // so far
    int64_t before = 0; // calls of the operator before the one that was kept
    bool asked = false; // for a state, before the operator was called

  private:
    const Matrix &m_;
    int64_t at_;
    int32_t *cancel_;
    Values numbers_;
    std::vector<Values> columns_;
};

// What a solver is asked, with its vectors as numbers, column-major. A guess and `enough` exclude each other.
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

// What one call of a solver gave.
struct Solution {
    int32_t status = 0;
    std::string error;
    Values values, vectors, residuals;
    mercer_eigen_result out{};
    mercer_cost cost{};    // what it forecast
    int64_t allocated = 0; // by the solver: bytes beside its blocks, and columns of these
    int64_t columns = 0;
};
Solution solve(Run &run, const Plugin &plugin, const Params &params, const mercer_operator &op, const Request &request,
               uint64_t seed);

// Eigenvalues of P A P on the complement of the locked vectors (of A without), descending.
Values exact(const Matrix &m, const Request &request);

} // namespace mercer
