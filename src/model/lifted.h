// A model in the making: what a lift found, as facts that later stages read. fit/report writes the
// report from them.
#pragma once
#include "../core/cost.h"
#include "../gram/data.h"
#include "model.h"

#include <cmath>
#include <optional>

namespace mercer {

// A bound that was proved for one number of the model, and the measured value of the same quantity
// if there is one.
struct Certificate {
    const char *name = "";
    double value = 0;
    double failure = 0; // upper bound on the probability that the claim is wrong; 0: certain
    // What the certificate refers to. The certificate of an eigenvalue refers to this component,
    // any other certificate to all components up to this one; -1: to the whole model.
    int64_t component = -1;
    const char *by = "";   // the evidence behind the proof
    double measured = NAN; // the same quantity as measured; NAN: it was not measured
    double error = 0;      // standard error of an estimate from a sample; 0: no estimate
    struct Interval {
        // theta: the Ritz value; lower, upper: ends of an interval that contains the eigenvalue.
        double theta, lower, upper;
    };
    std::optional<Interval> interval{}; // only of certificates of eigenvalues
    // Projections only: whether the bound is below the trivial one, which holds for any two
    // projections.
    std::optional<bool> applies{};
    bool conditional = false; // holds only if the solver missed no eigenvalue above the last one it found
};
using Certificates = std::vector<Certificate>;

// Quantiles for control charts, over the points that Limits::kind names.
struct Quantiles {
    double p95, p99;
};
struct Limits {
    std::optional<Quantiles> t2, residual;
    const char *kind; // "exact": quantiles over all rows; "centres": over the centres
};

// Error bars of the first eigenvalues (certify/bootstrap.h), and the noise level.
struct ErrorBars {
    // sd: standard deviations of the replicates. lower, upper: the percentiles of the replicates
    // between which the share `level` of them lies.
    std::vector<double> sd, lower, upper;
    // noise: the upper end of the interval of the last eigenvalue that was computed, which lies
    // beyond the requested ones; 0 if the whole spectrum was computed.
    double level = 0.95, noise = 0;
    int64_t replicates = 0;
    int64_t above_noise() const;                       // leading components whose interval lies above noise
    ErrorBars first(int64_t count, double unit) const; // those of the first count eigenvalues, divided by unit
};

// Means over the rows (or over the weighted centres that represent them) from which a ledger is
// made.
struct LedgerMeans {
    double self;  // k(x, x)
    double lost;  // the sum of the variances of the components that were left out
    double resid; // the squared distance to the span of the centres
};

// What a lift adds to a model.
struct Lifted {
    Tensors tensors; // A, b, nu, lambda, w ...
    uint32_t outcome = 0, capabilities = 0;
    int64_t kept = 0; // columns of A to keep; with lift.ritz the solver computes more
    // passes: how often the kernel matrix was computed. products: products of the kernel matrix
    // with blocks of vectors; columns: the number of vectors in all these blocks together.
    int64_t kernel_evaluations = 0, passes = 0;
    double columns = 0, products = 0;
    bool exact = false; // the centres are all rows, each with its own weight
    // The kernel values of its problem are approximate (operator/operator.h), so that the model
    // claims nothing.
    bool approximate = false;
    double worst_share = 0; // exact fits: largest certified relative error of an eigenvalue

    // Means over the rows or over their centres. They are unset if unknown, as for a random walk.
    std::optional<double> mean_square; // |mean|^2 in feature space, nu^T K nu; unset if uncentred
    struct Variance {
        double value;
        const char *kind; // exact, reduced-operator, upper-bound
    };
    std::optional<Variance> total_variance;
    // Mean squared distance of the rows to the span of the centres, and to the span of the
    // components.
    std::optional<double> mse, mse_components;
    std::optional<Ledger> ledger; // only of a mergeable model
    std::optional<Limits> limits;
    std::optional<ErrorBars> error_bars;
    Certificates certificates;
    std::string uncertified;       // why there is no certificate; "": no reason to report
    std::vector<double> residuals; // |K v - lambda v| of each eigenpair, in units of the kernel matrix
    std::optional<double> most_negative;
    std::optional<int64_t> rank; // of the span of the centres

    // How the solver found the eigenpairs.
    std::string solver; // name of the solver; "": the solver of the plan
    std::optional<std::vector<Pass>> passes_made;
    std::map<std::string, double> solver_report;
    bool checkpointed = false;
    std::string stopped; // why there are fewer components than requested
    std::vector<std::string> warnings;
    // Sections of the report that only one lift or derivation has. No stage reads them.
    Json details = Json::object();
};

// Declares that the model is mergeable and gives it a ledger. Does nothing if the sums overflow
// f64, or if lost or resid, which are computed as differences, are negative by more than rounding.
void make_mergeable(const Prepared &prepared, const LedgerMeans &means, Lifted &out);

} // namespace mercer
