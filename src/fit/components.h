// How many components a model keeps: a number, a share of the variance, a threshold, or those that stand out of their noise.
#pragma once
#include "fit.h"

namespace mercer {

// Error bars of the first eigenvalues (bootstrap.h), and which of them the noise could have made.
struct ErrorBars {
    std::vector<double> sd, lower, upper; // percentiles of the replicates
    double level = 0.95, noise = 0;       // noise: upper end of the last, a value that nobody asked for
    int64_t replicates = 0;
    int64_t above_noise() const; // leading components whose interval lies above it
    Json report(double unit, int64_t kept) const;
};

class Components {
  public:
    // most: there are no more; values: the recipe's.
    Components(const CoreValues &values, int64_t most);
    // How many pairs to solve for now; grows while more() says so, to most_ask() or what there is room for.
    int64_t ask() const { return ask_; }
    int64_t most_ask() const { return end_; }
    void resume(int64_t ask);     // as an earlier run had come to; E_BUDGET where there is no room
    void room_for(int64_t pairs); // at least ask()
    // Of the values found (descending) and the total variance in their unit: is the answer beyond them, and is there room?
    bool more(const std::vector<double> &values, double total);
    bool is_cut() const { return cut_; } // the last more() would have gone on
    // Of `rank` usable values. bars: where there are any.
    int64_t kept(const std::vector<double> &values, int64_t rank, double total, const ErrorBars *bars) const;
    // Fewer than a number that was asked for, or than were looked for.
    bool is_short(int64_t kept, int64_t rank) const {
        return count_ > 0 && variance_ == 0 && threshold_ == 0 ? kept < count_ : kept == rank && rank < ask_;
    }
    bool is_open() const { return count_ == 0 || variance_ > 0 || threshold_ > 0; }
    bool wants_bars() const { return replicates_ > 0; }
    // Directions behind the error bars, where so many values would be kept without them.
    int64_t behind_bars(int64_t kept) const { return by_noise() ? ask_ : std::max(ask_, with_noise(kept)); }
    // z: n x p scores in orthonormal directions, column-major, of which the last ones are there to measure noise by.
    ErrorBars bars(Run &run, int64_t n, int64_t p, const double *z, const double *weights, bool centred,
                   uint64_t seed) const;

  private:
    bool by_noise() const { return count_ == 0 && variance_ == 0 && threshold_ == 0; }
    // With as many more as noise is measured by.
    int64_t with_noise(int64_t count) const {
        return std::min(most_, replicates_ > 0 ? count + std::max<int64_t>(count / 2, 8) : count);
    }
    bool beyond(const std::vector<double> &values, double total) const;
    int64_t count_, most_, ask_, end_, room_, replicates_;
    double variance_, threshold_; // 0: not asked for
    bool cut_ = false;
};

// Likely, for plans and shapes, before anything is known.
int64_t foreseen_components(const CoreValues &values, int64_t most);

} // namespace mercer
