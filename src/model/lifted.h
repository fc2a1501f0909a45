// A model in the making: what a lift found, as facts that later stages read. The report is written from them (fit/report).
#pragma once
#include "model.h"

#include <cmath>
#include <optional>

namespace mercer {

// What is proved of a number of the model, and what was measured of it.
struct Certificate {
    const char *name = "";
    double value = 0;
    double failure = 0;     // probability that it is wrong; 0: certain
    int64_t component = -1; // of it and those before it; -1: of the model
    const char *by = "";    // the evidence that it rests on
    double measured = NAN;  // what was found of the same quantity, where it was looked at
    double error = 0;       // standard error of what was estimated from a sample; 0: none
    struct Interval {
        double theta, lower, upper; // the Ritz value, and where the eigenvalue lies
    };
    std::optional<Interval> interval{}; // of an eigenvalue
    std::optional<bool> applies{};      // of a projection: its bound is below what holds of any two
    bool conditional = false;           // holds if no eigenvalue above the last one was missed
};
using Certificates = std::vector<Certificate>;

// Quantiles that control charts use; of the points of the fit.
struct Quantiles {
    double p95, p99;
};
struct Limits {
    std::optional<Quantiles> t2, residual;
    const char *kind; // exact: from all rows; centres: from the centres
};

// Error bars of the first eigenvalues (certify/bootstrap.h), and the noise level.
struct ErrorBars {
    std::vector<double> sd, lower, upper; // percentiles of the replicates
    double level = 0.95, noise = 0;       // noise: upper end of the last, computed only for this
    int64_t replicates = 0;
    int64_t above_noise() const;                       // leading components whose interval lies above it
    ErrorBars first(int64_t count, double unit) const; // counted in this unit
};

// What a lift adds to a model.
struct Lifted {
    Tensors tensors; // A, b, nu, lambda, w ...
    uint32_t outcome = 0, capabilities = 0;
    int64_t kept = 0;                           // columns of A to keep; lift.ritz computes more
    int64_t kernel_evaluations = 0, passes = 0; // passes: how often the kernel matrix was computed
    double columns = 0, products = 0;
    bool exact = false;     // the centres are all rows, each with its own weight
    double worst_share = 0; // exact fits: largest certified relative error of an eigenvalue

    // Means over the rows or their centres; none where they are not known, as of a random walk.
    std::optional<double> mean_square; // |mean|^2 in feature space, nu^T K nu; none if uncentred
    struct Variance {
        double value;
        const char *kind; // exact, reduced-operator, upper-bound
    };
    std::optional<Variance> total_variance;
    std::optional<double> mse, mse_components; // what the span, and what the components leave of the rows
    std::optional<Limits> limits;
    std::optional<ErrorBars> error_bars;
    Certificates certificates;
    std::string uncertified;       // why there is no certificate; "": nothing to say
    std::vector<double> residuals; // of the eigenpairs: |K v - lambda v|, in units of the kernel matrix
    std::optional<double> most_negative;
    std::optional<int64_t> rank; // of the span of the centres

    // How the solver came to it.
    std::string solver; // "": the plan's
    struct Pass {
        int64_t width;
        bool f32;
    };
    std::optional<std::vector<Pass>> passes_made;
    std::map<std::string, double> solver_report;
    bool checkpointed = false;
    std::string stopped; // why there are fewer components than requested
    std::vector<std::string> warnings;
    Json details = Json::object(); // sections of the report that only one lift or derivation has; no stage reads them
};

} // namespace mercer
