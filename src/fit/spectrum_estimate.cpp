#include "spectrum_estimate.h"

#include "../core/structs.h"
#include "../gram/object_matrix.h"
#include "../gram/subset.h"
#include "../lift/components.h"
#include "../lift/eigenpairs.h"
#include "../lift/gram_plan.h"
#include "prepare.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mercer {
namespace {

constexpr int64_t most_rows = 400,                 // largest number of rows in a sample
    least_rows = 24,                               // smallest number: with fewer rows, there is no estimate
    of_callbacks = 100;                            // largest number if kernel values come from callbacks
constexpr int64_t most_entries = int64_t{1} << 22; // of all sampled rows together: 32 MiB
constexpr int64_t most_passes = 16;                // of the solver when it is tried on the sample

// A sample of the data with its weights. The data are cut into equally large parts, and one row of
// each is drawn.
struct Sample {
    std::vector<double> weights;
    Data data;
    Sample(Run &run, const Recipe &recipe, const Data &all, int64_t count) {
        const Source &source = *all.source;
        const Random random(static_cast<uint64_t>(recipe.values().seed), Stage::certificate);
        std::vector<int64_t> rows;
        for (int64_t i = 0; i < count; ++i) {
            const double at = (static_cast<double>(i) + random.uniform(-1, i)) / static_cast<double>(count);
            const int64_t row =
                std::min(static_cast<int64_t>(at * static_cast<double>(source.rows())), source.rows() - 1);
            if (weight(all, source.number(row)) > 0) rows.push_back(row);
        }
        if (const auto objects = std::dynamic_pointer_cast<const ObjectSource>(all.source))
            data.source = std::make_shared<ObjectSource>(objects, rows.data(), static_cast<int64_t>(rows.size()));
        else
            data.source = rows_in_memory(run, source, rows.data(), static_cast<int64_t>(rows.size()));
        if (!all.has_weights()) return;
        for (int64_t row : rows) weights.push_back(weight(all, source.number(row)));
        data.weights = view_of_rows(MERCER_F64, static_cast<int64_t>(weights.size()), 1, weights.data());
    }
    static double weight(const Data &all, int64_t row) {
        const mercer_view &view = all.weights;
        if (!all.has_weights()) return 1;
        if (row >= view.rows) return 0;
        return view.dtype == MERCER_F32
                   ? static_cast<double>(static_cast<const float *>(view.data)[row * view.row_stride])
                   : static_cast<const double *>(view.data)[row * view.row_stride];
    }
};

// The sample's kernel matrix in the form that a solver sees. It counts the passes of the solver.
class SampleOperator : public Operator {
  public:
    SampleOperator(int64_t n, bool f32, const std::vector<double> &k) : Operator(n, f32), k_(k) {}
    void product(Run &run, bool, int64_t p, const Fill &q, const Take &y) const override {
        Buffer<double> from = run.buffer<double>(p, n()), to = run.buffer<double>(p, n());
        q(0, n(), from.data(), p);
        gemm('N', 'N', p, n(), n(), 1.0, from.data(), p, k_.data(), n(), 0.0, to.data(), p);
        y(to.data(), p);
        ++passes;
    }
    void dense(Run &, double *a, int64_t lda) const override {
        for (int64_t j = 0; j < n(); ++j) std::copy_n(k_.data() + j * n(), n(), a + j * lda);
        ++passes;
    }
    void diagonal(Run &, double *d) const override {
        for (int64_t i = 0; i < n(); ++i) d[i] = k_[static_cast<size_t>(i * (n() + 1))];
    }
    Fidelity fidelity() const override { return {0, false}; } // exact; nothing is certified
    mutable int64_t passes = 0;

  private:
    const std::vector<double> &k_;
};

} // namespace

int64_t SpectrumEstimate::allowed(const Recipe &recipe, const Source &source) {
    const int64_t n = source.rows(), d = std::max<int64_t>(source.cols(), 1);
    if (n < 1 || source.loaded_bytes() > 0 || !source.at_will()) return 0; // chunks must be loaded first
    const int64_t most =
        asks(recipe, source) ? std::min(of_callbacks, n / 10) : std::min({most_rows, n, most_entries / d});
    return most < least_rows ? 0 : most;
}

bool SpectrumEstimate::asks(const Recipe &recipe, const Source &source) {
    if (dynamic_cast<const MatrixSource *>(&source)) return false;
    return recipe.kernel().has_user() || source.kind() == Source::Kind::objects;
}

double SpectrumEstimate::cost(const Source &source, int64_t rows) {
    // Each of the s^3 steps is charged as 100 flops: a sample of s = 400 rows took 0.06 s on one of
    // two cores.
    const double s = static_cast<double>(rows), each = 100;
    return s * s * value_cost(source.cols()) + each * s * s * s;
}

int64_t SpectrumEstimate::bytes(const Source &source, int64_t rows) {
    return 8 * (2 * rows * source.cols() + 2 * tile_rows * (source.cols() + 1));
}

std::unique_ptr<SpectrumEstimate> SpectrumEstimate::take(Run &run, const Recipe &recipe, const Data &data) {
    const int64_t count = allowed(recipe, *data.source);
    if (count == 0) return nullptr;
    Run::Span still(run, 0, 0);
    std::unique_ptr<SpectrumEstimate> out(new SpectrumEstimate);
    try {
        Sample sample(run, recipe, data, count);
        if (static_cast<DataMissing>(recipe.values().data_missing) == DataMissing::rows)
            sample.data.source = complete_rows(run, std::move(sample.data.source));
        const Prepared prepared = prepare(run, recipe, sample.data, tile_is_f32(recipe, *data.source));
        out->s_ = prepared.source->rows(), out->n_ = data.source->rows();
        if (out->s_ < least_rows || !prepared.squares_hold) return nullptr;
        const bool centred = recipe.values().lift_centred != 0;
        prepared.f32 ? out->look<float>(run, prepared, centred) : out->look<double>(run, prepared, centred);
    } catch (const Error &error) { // the fit will report what is wrong with the data
        if (error.code() == MERCER_E_CANCELLED || error.code() == MERCER_E_CALLBACK) throw;
        return nullptr;
    }
    return out->variance_ > 0 && std::isfinite(out->variance_) ? std::move(out) : nullptr;
}

template <class T>
void SpectrumEstimate::look(Run &run, const Prepared &prepared, bool centred) {
    Points<T> xs(prepared.source, prepared.map, leaf_specs(prepared.kernel)), ys = xs;
    xs.lean(), ys.lean();
    const Tiles<T> tiles(prepared.kernel, xs, ys);
    serial_ = tiles.serial();
    k_.resize(static_cast<size_t>(s_ * s_));
    TileScratch<T> scratch = tiles.scratch(run);
    value_seconds_ = INFINITY;
    for (int64_t b = 0; b < blocks_of(s_); ++b)
        for (int64_t c = b; c < blocks_of(s_); ++c) {
            const Panel<T> x = xs.load(run, b), y = ys.load(run, c);
            const double begin = now_seconds();
            tiles.compute(x, y, scratch);
            value_seconds_ = std::min(value_seconds_, (now_seconds() - begin) / static_cast<double>(x.rows * y.rows));
            for (int64_t i = 0; i < x.rows; ++i)
                for (int64_t j = 0; j < y.rows; ++j) {
                    const int64_t row = x.row0 + i, col = y.row0 + j;
                    const double value = static_cast<double>(scratch.tile[i * tile_rows + j]) *
                                         std::sqrt(prepared.weights[static_cast<size_t>(row)] *
                                                   prepared.weights[static_cast<size_t>(col)]);
                    k_[static_cast<size_t>(row + col * s_)] = k_[static_cast<size_t>(col + row * s_)] = value;
                }
        }
    factor(std::max<int64_t>(s_ / 3, 1), Random(0, Stage::reducer));
    // Centres the weighted matrix: P K P with P = 1 - u u^T, where u holds the roots of the
    // weights, scaled to |u| = 1.
    std::vector<double> u(static_cast<size_t>(s_)), v(u.size());
    double trace = 0, both = 0;
    for (int64_t i = 0; i < s_; ++i) {
        u[static_cast<size_t>(i)] = std::sqrt(prepared.weights[static_cast<size_t>(i)] / static_cast<double>(s_));
        trace += k_[static_cast<size_t>(i * (s_ + 1))];
    }
    self_ = trace / static_cast<double>(s_);
    centred_ = centred;
    if (centred) {
        gemm('N', 'N', s_, 1, s_, 1.0, k_.data(), s_, u.data(), s_, 0.0, v.data(), s_);
        both = std::inner_product(u.begin(), u.end(), v.begin(), 0.0);
        for (int64_t j = 0; j < s_; ++j)
            for (int64_t i = 0; i < s_; ++i) {
                const size_t a = static_cast<size_t>(i), b = static_cast<size_t>(j);
                k_[a + b * static_cast<size_t>(s_)] += both * u[a] * u[b] - u[a] * v[b] - v[a] * u[b];
            }
        for (int64_t c = 0; c < pivots_; ++c) { // centres the factor too
            double *column = factor_.data() + c * s_, along = 0;
            for (int64_t i = 0; i < s_; ++i) along += u[static_cast<size_t>(i)] * column[i];
            for (int64_t i = 0; i < s_; ++i) column[i] -= along * u[static_cast<size_t>(i)];
        }
    }
    variance_ = self_ - both / static_cast<double>(s_);
    spectrum();
}

// Factors the weighted sample matrix by randomly pivoted Cholesky, and records trace and squares of
// the residual at growing numbers of pivots.
void SpectrumEstimate::factor(int64_t most, const Random &random) {
    rank_ = n_;
    std::vector<double> d(static_cast<size_t>(s_)), row(static_cast<size_t>(most));
    std::vector<bool> pivot(d.size());
    for (int64_t i = 0; i < s_; ++i) d[static_cast<size_t>(i)] = k_[static_cast<size_t>(i * (s_ + 1))];
    const double floor = PartialCholesky<double>::relative_floor(0) * *std::max_element(d.begin(), d.end());
    int64_t next = 1;
    for (int64_t m = 0;; ++m) {
        double sum = 0, count = 0;
        for (size_t i = 0; i < d.size(); ++i)
            if (!pivot[i]) d[i] = d[i] > floor ? d[i] : 0, sum += d[i], ++count;
        if (m == next || m == most || !(sum > 0)) {
            next = std::max(m + 1, m + m / 2);
            const double trace = sum / std::max(count, 1.0);
            left_.push_back({std::max<int64_t>(m, 1), trace, 0});
            if (m >= 16) {
                std::vector<double> e = k_;
                gemm('N', 'T', s_, s_, m, -1.0, factor_.data(), s_, factor_.data(), s_, 1.0, e.data(), s_);
                double squares = 0;
                for (int64_t j = 0; j < s_; ++j)
                    for (int64_t i = 0; i < j; ++i)
                        if (!pivot[static_cast<size_t>(i)] && !pivot[static_cast<size_t>(j)])
                            squares += 2 * e[static_cast<size_t>(i + j * s_)] * e[static_cast<size_t>(i + j * s_)];
                left_.back().square = squares / std::max(count * (count - 1), 1.0);
            } else {
                left_.back().square = trace * trace;
            }
        }
        pivots_ = m;
        if (!(sum > 0)) rank_ = std::max<int64_t>(m, 1);
        if (m == most || !(sum > 0)) return;
        double at = random.uniform(m, 0) * sum;
        size_t p = 0;
        for (size_t i = 0; i < d.size(); ++i)
            if (!pivot[i] && d[i] > 0 && (p = i, (at -= d[i]) < 0)) break;
        factor_.resize(static_cast<size_t>((m + 1) * s_));
        double *column = factor_.data() + m * s_;
        for (int64_t c = 0; c < m; ++c) row[static_cast<size_t>(c)] = factor_[p + static_cast<size_t>(c * s_)];
        std::copy_n(k_.data() + static_cast<int64_t>(p) * s_, s_, column);
        if (m > 0) gemm('N', 'N', s_, 1, m, -1.0, factor_.data(), s_, row.data(), m, 1.0, column, s_);
        const double root = std::sqrt(d[p]);
        pivot[p] = true;
        for (size_t i = 0; i < d.size(); ++i) column[i] /= root, d[i] -= column[i] * column[i];
    }
}

void SpectrumEstimate::spectrum() {
    const int64_t wanted = std::max<int64_t>(s_ / 4, 1);
    std::vector<double> a = k_, values(static_cast<size_t>(wanted)), vectors(static_cast<size_t>(wanted * s_));
    eigh_top(s_, a.data(), s_, wanted, values.data(), vectors.data(), s_);
    const double s = static_cast<double>(s_), share = 1 - s / static_cast<double>(n_);
    double rest = variance_;
    for (int64_t i = 1; i <= wanted; ++i) {
        const double l = values[static_cast<size_t>(i - 1)] / s;
        rest = std::max(rest - l, 0.0);
        const double estimate = l - share * rest / static_cast<double>(s_ - i);
        if (!(estimate > l / 4)) break; // l is mostly sampling noise, and so are all later eigenvalues
        values_.push_back(values_.empty() ? estimate : std::min(estimate, values_.back()));
    }
    if (values_.empty()) values_.push_back(std::max(values[0] / s / 4, variance_ / static_cast<double>(n_)));
}

// Interpolates a recorded quantity (of) between the recorded numbers of pivots, and extrapolates it
// beyond them, along straight lines in logarithms.
template <class Of>
double SpectrumEstimate::at(int64_t m, Of &&of) const {
    constexpr double least = 0.05, most = 20; // limits of `power`: the quantity falls as m^-power
    if (m >= rank_) return 0;
    size_t k = 1;
    while (k + 1 < left_.size() && left_[k].m < m) ++k;
    if (left_.size() < 2) return of(left_[0]);
    const Left &a = left_[k - 1], &b = left_[k];
    if (!(of(b) > 0) || !(of(a) > 0)) return of(a);
    const double ratio = std::log(static_cast<double>(b.m) / static_cast<double>(a.m)),
                 power = std::clamp(std::log(of(a) / of(b)) / ratio, least, most);
    return of(b) * std::pow(static_cast<double>(b.m) / static_cast<double>(m), power);
}

double SpectrumEstimate::left(int64_t m) const {
    return at(std::max<int64_t>(m, 1), [](const Left &one) { return one.trace; });
}

double SpectrumEstimate::norm(int64_t m) const {
    const double d = left(m), e = at(std::max<int64_t>(m, 1), [](const Left &one) { return one.square; });
    return std::sqrt(e + d * d / static_cast<double>(n_));
}

double SpectrumEstimate::missed(int64_t r) const {
    const int64_t known = std::min(r, static_cast<int64_t>(values_.size()));
    double rest = variance_;
    for (int64_t i = 0; i < known; ++i) rest -= values_[static_cast<size_t>(i)];
    rest = std::max(rest, 0.0);
    if (r <= known || !(left(known) > 0)) return rest;
    return rest * left(r) / left(known);
}

double SpectrumEstimate::eigenvalue(int64_t i) const {
    if (i <= static_cast<int64_t>(values_.size())) return values_[static_cast<size_t>(i - 1)];
    return std::min(std::max(missed(i - 1) - missed(i), variance_ * 1e-15), values_.back());
}

int64_t SpectrumEstimate::components(const CoreValues &values, int64_t most) const {
    const Components choice(values, most);
    const bool share = !std::isnan(values.variance) && values.variance > 0,
               above = !std::isnan(values.threshold) && values.threshold > 0;
    if (!choice.is_open() || !(share || above)) return choice.ask();
    auto more = [&](int64_t r) { // more than r components are wanted
        return (!share || missed(r) > (1 - values.variance) * variance_) &&
               (!above || eigenvalue(r) >= values.threshold * eigenvalue(1));
    };
    int64_t low = 0, high = std::max<int64_t>(std::min(choice.most_ask(), rank_), 1);
    if (more(high)) return high;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        (more(middle) ? low : high) = middle;
    }
    return high;
}

double SpectrumEstimate::passes(Run &run, const Recipe &recipe, const Plan &plan, int64_t r) const {
    if (!plan.solver || plan.solver->solver.flags & MERCER_DIRECT || r > s_ / 8) return 0;
    const SampleOperator op(s_, plan.f32, k_);
    const int64_t count = std::min({plan.start_columns, pivots_, s_ / 4});
    std::vector<double> gram(static_cast<size_t>(pivots_ * pivots_)), values(static_cast<size_t>(count)),
        turn(static_cast<size_t>(pivots_ * count)), begun(static_cast<size_t>(s_ * count));
    if (count > 0) { // computes start vectors from the Nystrom approximation that the factor gives
        gemm('T', 'N', pivots_, pivots_, s_, 1.0, factor_.data(), s_, factor_.data(), s_, 0.0, gram.data(), pivots_);
        eigh_top(pivots_, gram.data(), pivots_, count, values.data(), turn.data(), pivots_);
        gemm('N', 'N', s_, count, pivots_, 1.0, factor_.data(), s_, turn.data(), pivots_, 0.0, begun.data(), s_);
        for (int64_t j = 0; j < count; ++j)
            for (int64_t i = 0; i < s_ && values[static_cast<size_t>(j)] > 0; ++i)
                begun[static_cast<size_t>(i + j * s_)] /= std::sqrt(values[static_cast<size_t>(j)]);
    }
    const Start start{count, [&](Columns to) {
                          for (int64_t j = 0; j < std::min(count, to.count); ++j) {
                              to.block->use(to.first + j, 1);
                              to.block->write(to.first + j, 0, s_, begun.data() + j * s_);
                          }
                      }};
    Plan watched = plan;
    watched.rough = false;
    watched.max_passes = plan.max_passes > 0 ? std::min(plan.max_passes, most_passes) : most_passes;
    std::map<std::string, double> report;
    Run::Span still(run, 0, 0);
    try {
        const Eigenpairs pairs =
            solve(run, recipe, watched, op, self_ * static_cast<double>(s_), r, start, report, nullptr);
        const double worst = *std::max_element(pairs.residuals.begin(), pairs.residuals.end()) / pairs.values[0];
        if (pairs.converged || !(worst > plan.tol) || !(worst < 1)) return static_cast<double>(op.passes);
        // Assumes that residuals keep falling at the rate seen so far.
        return static_cast<double>(op.passes) * std::log(plan.tol) / std::log(worst);
    } catch (const Error &error) {
        if (error.code() == MERCER_E_CANCELLED) throw;
        return 0;
    }
}

// Adds up the rounds of solve_for, each of which asks for twice as many eigenpairs as the one
// before. If the sample gives no estimate of the passes, a round is assumed to take the larger of
// the number that the solver expects and 2 + r / width, which is enough to build a basis of r
// columns and two more blocks.
void expect_spectrum(const PlanTask &task, const SpectrumEstimate &spectrum, Plan &plan) {
    if (!plan.solver || plan.solver->solver.flags & MERCER_DIRECT) return;
    const Components choice(task.recipe.values(), task.m);
    const int64_t wanted = std::min(spectrum.components(task.recipe.values(), task.m), plan.most_pairs);
    double passes = 0, columns = 0;
    for (int64_t r = choice.ask(), before = 0;; before = r, r = std::min(2 * r, plan.most_pairs)) {
        Plan round = plan;
        ask_solver(task, r, std::max(plan.start_columns, before), round);
        const mercer_cost &cost = round.solver_cost;
        const double width = static_cast<double>(std::max<int64_t>(cost.columns, 1)),
                     seen = spectrum.passes(task.run, task.recipe, round, r),
                     unseen = std::max(static_cast<double>(cost.likely_passes), 2 + static_cast<double>(r) / width),
                     own = std::min(seen > 0 ? seen : unseen, static_cast<double>(std::max<int64_t>(cost.passes, 1)));
        passes += own;
        columns += static_cast<double>(cost.first_columns) + 1 + std::max(own - 1, 0.0) * (width + 1);
        if (r >= wanted) break;
    }
    // The figures of the plan may include more than the solver's work, such as a last pass.
    const double products = std::min(passes, plan.products.most), planned = plan.products.likely,
                 columns_planned = static_cast<double>(plan.solver_cost.columns + 1) * planned;
    const double change =
        std::min(likely_passes(plan, products) - likely_passes(plan, planned), plan.passes.most - plan.passes.likely);
    plan.products.likely = products;
    plan.columns.likely = std::min(plan.columns.likely + columns - columns_planned, plan.columns.most);
    plan.passes.likely += change;
    plan.kernel_evaluations.likely += static_cast<double>(pass_evaluations(task.m)) * change;
}

} // namespace mercer
