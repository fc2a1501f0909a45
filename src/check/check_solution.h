// Checks that every solution of a solver must pass, converged or not. A check that fails calls
// broken() (check.h).
//
// Tolerances, with u = 2^-53 and |A| the largest modulus of an eigenvalue:
//   rounding   128 n u |A| covers a factorisation of A, the formation of A from Q, and a product
//              with A. Each is n u |A| times a constant of about 1; 128 leaves room.
//   slack      128 n u covers the dot products of unit vectors in the same way.
//   If blocks are stored in f32, 16 u_32 are added to slack, and 16 u_32 |A| to rounding, for
//   columns of length 1 or |A| that were rounded a few times (u_32 = 2^-24).
//
// A pair counts as converged if its residual is at most tol |lambda_1| or at most `rounding`. Then
// there is an eigenvalue within the same distance of lambda_j; it is the j-th one if the solver
// missed none.
//
// Every check runs three times: with an operator that has only exact products; with one that has
// rough products too, where all promises about A must still be kept; and with blocks in f32. With
// rough products, a reported residual may exceed the true one by f32_room |A|. This covers the
// errors of f32, which are a few u_32 |A| for a product with a unit vector, plus a margin that a
// solver adds if it assumes these errors instead of measuring them. A reported residual may be too
// small by the same amount, but only if the solver made no exact product, because tol was so loose
// that it needed none. The eigenvalues then have errors of the same size.
#pragma once
#include "check_matrix.h"

namespace mercer {

constexpr double f32_room = 16 * 0x1p-24; // relative to |A|

// Checks what the solver reports about its solution. own_tol is the value of the solver's own
// parameter tol, which replaces the tol of the request if it is larger.
void check_truth(const Matrix &m, const Request &request, const Solution &s, const Values &spectrum,
                 double own_tol = 0);
// Checks that the solution has converged and that its eigenvalues are the largest ones.
void check_agreement(const Matrix &m, const Request &request, const Solution &s, const Values &spectrum);

} // namespace mercer
