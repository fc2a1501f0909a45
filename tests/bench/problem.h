// reducer_view.h - data and a recipe that live as long as the row that fits them.
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
    std::string path; // the same data for the peers

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

// A parameter's text; nothing is lost.
inline std::string text_of(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.17g", value);
    return text;
}

// A recipe for it; mercer::Error with MERCER_E_NAME where the library does not know a name yet.
inline mercer::Recipe recipe_of(Bench &bench, const std::string &method, double sigma, Settings settings) {
    mercer::Recipe recipe(bench.context, method);
    settings.push_back({"kernel.sigma", text_of(sigma)});
    recipe.set(settings);
    return recipe;
}

inline Json report_of(const mercer::Model &model) { return Json::parse(model.info()); }

// Relative, the largest; one that is missing is infinitely wrong.
inline double eigenvalue_error(const std::vector<double> &values, const std::vector<double> &exact) {
    double worst = values.size() < exact.size() ? INFINITY : 0;
    for (size_t j = 0; j < std::min(values.size(), exact.size()); ++j)
        worst = std::max(worst, std::fabs(values[j] / exact[j] - 1));
    return worst;
}

// scikit-learn's Nystroem + PCA with the fewest landmarks (doubled from 32) whose eigenvalues, as many as the exact ones, are
// as right as ours; where 4096 are not, with those: any that were would take longer.
void against_nystroem(Bench &bench, Row &row, const Problem<float> &problem, const std::vector<double> &exact,
                      double error, double demanded);

// The passes that a fit says it made, and the seconds they must take: the sum over passes of limit::pass.
class Passes {
  public:
    template <class T>
    Passes(const Problem<T> &problem, const Json &report, int64_t stride = 1);

    int64_t count(int dtype = 0) const; // MERCER_F32, MERCER_F64 or both
    double seconds() const;             // measured now

  private:
    struct Kind {
        int64_t width;
        int dtype;
        int64_t times;
    };
    std::vector<Kind> kinds_;
    std::shared_ptr<limit::Points<float>> f32_; // where there are such passes
    std::shared_ptr<limit::Points<double>> f64_;
    int threads_;
    int64_t stride_;
};

// max_j |H K H v_j - n lambda_j v_j| / (n lambda_1 |v_j|) of a kpca model, by one f64 pass of the limits' own code.
template <class T>
double residual_of(const Problem<T> &problem, const mercer::Model &model);
