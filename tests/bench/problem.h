// problem.h - the data of a row, which live as long as the row, and what rows that fit models
// share: recipes, errors of eigenvalues, and the limit of the passes of a fit.
#pragma once

#include "bench.h"
#include "data.h"

using Settings = std::vector<std::pair<std::string, std::string>>;

template <class T>
struct Problem {
    Table<T> x;
    double sigma;
    int64_t threads;
    mercer::Data data;
    std::string path; // the npy file in which peers find the same data

    Problem(Bench &bench, Row &row, Table<T> table, double width)
        : x(std::move(table)), sigma(width), threads(bench.options.threads),
          data(mercer::Data::from_view(bench.context, mercer::row_major(x.values.data(), x.n, x.d))),
          path(bench.file(row.name + ".npy")) {
        write_npy(path, x);
    }
    template <class As>
    std::shared_ptr<limit::Points<As>> points() const {
        const std::vector<As> values(x.values.begin(), x.values.end());
        return std::make_shared<limit::Points<As>>(values.data(), x.n, x.d, sigma);
    }
};

// Returns a number as text with all digits, so that it is read back unchanged.
inline std::string text_of(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.17g", value);
    return text;
}

// Returns a recipe with this sigma and these settings. Throws mercer::Error with MERCER_E_NAME if
// the library does not know one of the names yet.
inline mercer::Recipe recipe_of(Bench &bench, const std::string &method, double sigma, Settings settings) {
    mercer::Recipe recipe(bench.context, method);
    settings.push_back({"kernel.sigma", text_of(sigma)});
    recipe.set(settings);
    return recipe;
}

inline Json report_of(const mercer::Model &model) { return Json::parse(model.info()); }

// Returns the larger of two numbers, or NaN, which counts as missed, if one of them is NaN. std::max
// may drop NaN.
inline double larger(double a, double b) { return a >= b || std::isnan(a) ? a : b; }

// Returns the largest relative error of the eigenvalues, or INFINITY if some of them are missing.
inline double eigenvalue_error(const std::vector<double> &values, const std::vector<double> &exact) {
    double worst = values.size() < exact.size() ? INFINITY : 0;
    for (size_t j = 0; j < std::min(values.size(), exact.size()); ++j)
        worst = larger(worst, std::fabs(values[j] / exact[j] - 1));
    return worst;
}

// Adds the contestant Nystroem + PCA of scikit-learn. The number of landmarks is doubled from 32
// until its eigenvalues are at least as accurate as ours, whose error is `error`. If 4096 landmarks
// are not enough for this, the contestant runs with 4096, because any number that suffices would
// take longer.
void against_nystroem(Bench &bench, Row &row, const Problem<float> &problem, const std::vector<double> &exact,
                      double error, double demanded);

// The passes that a fit reports, and the least time that they can take on this machine: the sum of
// limit::pass over these passes.
class Passes {
  public:
    template <class T>
    Passes(const Problem<T> &problem, const Json &report, int64_t stride = 1);

    int64_t count(int dtype = 0) const; // number of passes in MERCER_F32 or MERCER_F64; 0: in both
    double seconds() const;             // measures each kind of pass when it is called

  private:
    struct Kind {
        int64_t width;
        int dtype;
        int64_t times;
    };
    std::vector<Kind> kinds_;
    // The data in f32 and in f64; nullptr if there are no passes in this type.
    std::shared_ptr<limit::Points<float>> f32_;
    std::shared_ptr<limit::Points<double>> f64_;
    int threads_;
    int64_t stride_;
};

// Returns max_j |H K H v_j - n lambda_j v_j| / (n lambda_1 |v_j|) of a model of method kpca, where
// H = I - 1 1^T / n centres and the v_j are the columns of A. K V is one pass of limit::pass in
// f64. Returns NaN for models of other methods.
template <class T>
double residual_of(const Problem<T> &problem, const mercer::Model &model);
