#pragma once
#include "../core/cost.h"
#include "operator.h"

#include <optional>
#include <vector>

namespace mercer {

// Counts passes and reports them as progress. The progress of the stage begins at `start`. The
// likely number of passes fills nine tenths of the rest, and each further pass half of what then
// remains.
class Counted : public Operator {
  public:
    Counted(Run &run, const Operator &base, double start, double likely);
    void product(Run &run, bool rough, int64_t p, const Fill &q, const Take &y) const override;
    bool has_rough() const override { return base_.has_rough(); }
    void dense(Run &run, double *a, int64_t lda) const override;
    void diagonal(Run &run, double *d) const override { base_.diagonal(run, d); }
    Fidelity fidelity() const override { return base_.fidelity(); }
    // Computing columns does not count as a pass.
    void columns(Run &run, const int64_t *index, int64_t count, double *out, int64_t ldo) const override {
        base_.columns(run, index, count, out, ldo);
    }
    void row_squares(Run &run, const Squares &of, double *out) const override;

    const std::vector<Pass> &passes() const { return passes_; }
    // Records a pass that was made before, or in an earlier run.
    void passed(int64_t width, bool f32) { passes_.push_back({width, f32}); }
    static constexpr double filled = 0.9; // share of the rest that the likely passes fill

  private:
    template <class F>
    void next(Run &run, int64_t width, bool f32, F &&body) const;
    double share() const; // the share of the stage that passes_ have filled
    // Holds the progress at its present value until the next pass begins.
    void rest(Run &run) const { still_.emplace(run, share(), share()); }
    const Operator &base_;
    double start_, likely_;
    mutable std::vector<Pass> passes_;
    mutable std::optional<Run::Span> still_;
};

} // namespace mercer
