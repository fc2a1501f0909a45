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
    int32_t *cancel = nullptr;                                         // set in the first call
    int64_t calls() const { return products + roughs + denses; }

    Matrix(std::string text, const Values &spectrum);
    mercer_operator op(bool with_rough = false) const;
    double rounding() const { return 128 * static_cast<double>(n) * 0x1p-53 * norm; }
    void begin_call(int64_t columns) const;
    void forget() const { applies = products = roughs = denses = first = widest = 0; }
};

// What a solver is asked, with its vectors as numbers, column-major. A guess and `enough` exclude each other.
struct Request : mercer_eigen_request {
    Values guess, locked_vectors;
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
