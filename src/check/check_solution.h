// What must hold of every solution of a solver, converged or not. What does not is broken() (check.h).
//
// Tolerances, u = 2^-53, |A| the largest modulus of an eigenvalue: `rounding` = 128 n u |A| covers a factorisation of
// A, its formation from Q and a product with it, each a small multiple of n u |A| (their constants are about 1; 128
// leaves room); `slack` = 128 n u likewise the dot products of unit vectors. Where blocks are stored in f32 both have 16 u_32
// more: columns that were rounded a few times, of length 1 or |A|. A pair counts as converged where its residual is at most
// tol |lambda_1| or rounding; then lambda_j is an eigenvalue to the same accuracy, and the j-th where no one was missed. Every
// check is made three times: with an operator that has nothing but exact products; with one that has rough ones too: what is
// promised of A has to come true all the same; and with blocks in f32. Beside rough products residuals that are told may be
// larger than the true ones by f32_room: the errors of f32, which are some u_32 |A| for an image, and what a solver that did
// not measure them assumes; smaller by as much only where a loose tol let it do without any exact product. Values of such
// pairs err likewise.
#pragma once
#include "check_matrix.h"

namespace mercer {

constexpr double f32_room = 16 * 0x1p-24; // in |A|

// own_tol: of a solver's own row, where it is larger than the request's.
void check_truth(const Matrix &m, const Request &request, const Solution &s, const Values &spectrum,
                 double own_tol = 0);
// Of a solution that has to converge.
void check_agreement(const Matrix &m, const Request &request, const Solution &s, const Values &spectrum);

} // namespace mercer
