// Estimates of the energies s_j = sum_t w_t R_jt^2 of a residual R = K - L L^T, from the products
// of R with q fixed vectors. Selections that need not find the very best pivot use them in place of
// one pass over K for each pivot.
#pragma once
#include "../core/rng.h"
#include "../gram/data.h"
#include "../operator/operator.h"

namespace mercer {

class EnergySketch {
  public:
    // rows: R is multiplied by q unit vectors, whose rows are drawn with probability w_t / W: no
    // pass, q columns of K. signs: it is multiplied by q vectors of random signs: one pass over K.
    enum class Kind { rows, signs };
    EnergySketch(Run &run, const Operator &kernel, const KernelRows &rows, Kind kind, const Random &random);
    // Subtracts l (l^T Omega) from Y = R Omega: the pivot with the column l has been appended to L.
    void subtract(const double *l);
    // Writes the estimates |Y_j|^2.
    void energies(double *out) const;

    int64_t columns() const { return kind_ == Kind::rows ? width_ : 0; } // of K that it has computed
    int64_t passes() const { return kind_ == Kind::signs; }              // over K that it has made
    static constexpr int64_t width(Kind kind) { return kind == Kind::rows ? 256 : 128; }
    static int64_t bytes(int64_t n, Kind kind) { return 8 * n * (width(kind) + 1); }

  private:
    void draw_rows();
    double entry(int64_t t, int64_t k) const; // Omega_tk if kind_ is signs

    Run &run_;
    const Operator &kernel_;
    const KernelRows &rows_;
    Kind kind_;
    Random random_;
    int64_t width_;
    std::vector<int64_t> drawn_; // kind rows: the rows that the unit vectors select
    std::vector<double> scale_;  // kind rows: the length of each vector
    Buffer<double> y_;           // n x width_, column-major
};

} // namespace mercer
