// Checks that must hold for every solution of a solver, converged or not. A solution that fails one
// is broken() (check.h).
//
// Tolerances, with u = 2^-53 and |A| the largest modulus of an eigenvalue:
//   rounding   128 n u |A| covers a factorisation of A, the formation of A from Q, and a product
//              with A. Each is n u |A| times a constant of about 1; 128 leaves room.
//   slack      128 n u covers the dot products of unit vectors in the same way.
//   If blocks are stored in f32, both have 16 u_32 more, for columns of length 1 or |A| that were
//   rounded a few times.
//
// A pair counts as converged if its residual is at most tol |lambda_1| or rounding. Then lambda_j
// is an eigenvalue to the same accuracy, and it is the j-th if the solver missed none.
//
// Every check runs three times: with an operator that has only exact products; with one that has
// rough products too, where all promises about A must still hold; and with blocks in f32. With
// rough products, a reported residual may exceed the true one by f32_room: the errors of f32, which
// are a few u_32 |A| for an image, plus a margin that a solver adds if it assumes these errors
// instead of measuring them. It may fall short of the true one by as much only if a loose tol made
// exact products unnecessary. The values of such pairs have errors of the same size.
#pragma once
#include "check_matrix.h"

namespace mercer {

constexpr double f32_room = 16 * 0x1p-24; // relative to |A|

// own_tol: the value of the solver's own parameter tol, which counts if it is larger than the
// request's.
void check_truth(const Matrix &m, const Request &request, const Solution &s, const Values &spectrum,
                 double own_tol = 0);
// Checks a solution that has to converge.
void check_agreement(const Matrix &m, const Request &request, const Solution &s, const Values &spectrum);

} // namespace mercer
