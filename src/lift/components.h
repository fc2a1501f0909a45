// Decides the number of components that a model keeps. The user gives it, or it follows from a
// share of the variance, from a threshold of the eigenvalues, or from error bars: in the last case,
// the components above the noise are kept.
#pragma once
#include "../core/run.h"
#include "../model/lifted.h"
#include "../recipe/parameters.h"

namespace mercer {

class Components {
  public:
    // values: the parameters of the recipe. most: the number of all eigenpairs of the problem.
    Components(const CoreValues &values, int64_t most);
    // The number of eigenpairs to solve for next. It grows while more() returns true, up to
    // most_ask() or to what fits in memory.
    int64_t ask() const { return ask_; }
    int64_t most_ask() const { return end_; }
    // Continues with at least the number of eigenpairs that an earlier run requested. Fails with
    // E_BUDGET if they do not fit in memory.
    void resume(int64_t ask);
    void room_for(int64_t pairs); // sets how many eigenpairs fit in memory, but never less than ask()
    // Given the eigenvalues found (descending) and the total variance in the same unit, returns
    // true if more eigenpairs are needed and fit in memory; it has then increased ask().
    bool more(const std::vector<double> &values, double total);
    bool lacks_memory() const { return lacks_memory_; } // the last more() wanted more pairs than fit in memory
    // Returns the number of components to keep, at most the number of usable ones (rank). bars:
    // nullptr if there are none.
    int64_t kept(const std::vector<double> &values, int64_t rank, double total, const ErrorBars *bars) const;
    // True if the rank limits the number of components. If their number was given, fewer components
    // are kept than were requested; if their number is open, all usable ones are kept, and they are
    // fewer than the eigenpairs that were computed.
    bool is_short(int64_t kept, int64_t rank) const {
        return count_ > 0 && variance_ == 0 && threshold_ == 0 ? kept < count_ : kept == rank && rank < ask_;
    }
    // True if the number of components depends on the eigenvalues.
    bool is_open() const { return count_ == 0 || variance_ > 0 || threshold_ > 0; }
    bool wants_bars() const { return replicates_ > 0; }
    // The number of directions that are bootstrapped, given the number of components that would be
    // kept without error bars.
    int64_t behind_bars(int64_t kept) const { return by_noise() ? ask_ : std::max(ask_, with_noise(kept)); }
    // Computes error bars from the scores z of n rows in p orthonormal directions (n x p,
    // column-major). The last direction measures the noise.
    ErrorBars bars(Run &run, int64_t n, int64_t p, const double *z, const double *weights, bool centred,
                   uint64_t seed) const;

  private:
    // True if error bars decide the number of components.
    bool by_noise() const { return count_ == 0 && variance_ == 0 && threshold_ == 0; }
    // The number of eigenpairs that `count` components need: with error bars, further eigenpairs
    // are needed to measure the noise.
    int64_t with_noise(int64_t count) const {
        return std::min(most_, replicates_ > 0 ? count + std::max<int64_t>(count / 2, 8) : count);
    }
    bool beyond(const std::vector<double> &values, double total) const;
    int64_t count_,               // number of components requested, or its upper limit; 0: not given
        most_,                    // number of all eigenpairs of the problem
        ask_,                     // number of eigenpairs to solve for next
        end_,                     // largest value that ask_ may take
        room_,                    // number of eigenpairs that fit in memory
        replicates_;              // of the bootstrap; 0: no error bars
    double variance_, threshold_; // 0: not requested
    bool lacks_memory_ = false;
};

// The likely number of components, for plans and forecasts, before the data are read.
int64_t likely_components(const CoreValues &values, int64_t most);

} // namespace mercer
