// Selection by column energies: pivoted Cholesky K ~ L L^T whose next pivot p has the largest
// score, a function of the residual d_j = R_jj and the energy s_j = sum_t w_t R_jt^2 of each row,
// where R = K - L L^T. With the score s_j / d_j this is AKFA (Jiang, Snapp, Motai and Zhu, CVPR
// 2006): s_j / d_j is exactly the amount by which the pivot j lowers the error sum_t w_t d_t.
//
// K is never updated. A pivot with the column c = K_p - L L_p^T of R appends l = c / sqrt(c_p), and
//     v = K (w l) - L (L^T (w l)),  s_j <- s_j - 2 l_j v_j + l_j^2 |l|_w^2,  d_j <- d_j - l_j^2,
// which takes one product of K with a vector. m pivots take m passes over K: one for the first s
// and one after each pivot but the last.
//
// Rounding. s_j falls like the square of the residual, but its error does not: after some pivots
// the difference above consists of rounding errors. So each s_j has a bound e_j on its error, which
// starts at c u s and grows in each step by
//     c u (s + 2 |l| (|v| + |K_j|_w |l|_w) + l^2 |l|_w^2),
// c = 8 in f64 and 24 in f32, where products within a tile are summed in f32.
// Contenders are the rows whose score of s + e reaches the largest score of max(s - e, w d^2). More
// than 8 of them, or 32 in f32 (equal rows count once), cause a refresh: all s are computed anew from R, in one
// pass with n^2 i flops, after which e = 2 eta sqrt(W s) + W eta^2, eta = (4 + sqrt i) u_64 max
// K_jj, W = sum w. If there are as many even then, the best of them are taken. The columns of all
// contenders are then formed, and their exact energies decide. In f64 this gives the pivots of
// exact arithmetic down to the rank floor of 1e-10 max K_jj; in f32, where the floor is 256 u_32
// max K_jj, it gives those of the rounded matrix as long as the mean residual exceeds the floor
// (both measured). L, d, s and e are in f64 for either type.
//
// Cost: m passes, n^2 / 2 kernel values each if K is streamed, and 6 n i flops in step i; usually 2
// refreshes in f64 and up to 11 in f32; 8 n (m + 8) bytes, twice as many with expansions. Any
// number of threads, and a stored or streamed K, give the same bits.
#include "column_energy.h"

#include "../core/blas.h"
#include "../core/slabs.h"

#include <cinttypes>
#include <cmath>

namespace mercer {
namespace {

constexpr int64_t refresh_columns = 64; // columns of R that a refresh computes at once
constexpr double u64 = unit_roundoff(false);

EnergySketch::Kind sketch_kind(int32_t how) {
    return how == MERCER_SELECT_ROWS ? EnergySketch::Kind::rows : EnergySketch::Kind::signs;
}

} // namespace

ColumnEnergy::ColumnEnergy(Run &run, const Operator &kernel, const KernelRows &rows)
    : run_(run), kernel_(kernel), rows_(rows), u_(unit_roundoff(kernel.f32())), growth_(kernel.f32() ? 24 : 8),
      relative_floor_(energy_floor(kernel.f32())) {
    rows.kernel.need_psd("pivoted Cholesky");
}

void ColumnEnergy::start(const PivotStop &stop) {
    for (Buffer<double> *one : {&residual_, &energy_, &error_, &norm_, &column_, &bounds_, &scores_})
        *one = run_.buffer<double>(n());
    contents_ = hash_rows(run_, rows_);
    kernel_.diagonal(run_, residual_.data());
    double scale = 0;
    for (int64_t i = 0; i < n(); ++i) scale = std::max(scale, std::fabs(residual_[i]));
    for (int64_t i = 0; i < n(); ++i) {
        const double w = sample_weight(i);
        if (!std::isfinite(residual_[i]) || residual_[i] < -relative_floor_ * scale)
            fail(MERCER_E_NUMERICAL, "kernel = %s is not positive semi-definite: k(x, x) of row %" PRId64 " is %g",
                 rows_.kernel.text().c_str(), i, residual_[i]);
        residual_[i] = std::max(residual_[i], 0.0);
        weight_sum_ += w, trace_ += w * residual_[i];
        if (w > 0) largest_diagonal_ = std::max(largest_diagonal_, residual_[i]);
    }
    sum_residuals();
    reserve(PartialCholesky<double>::first_capacity(std::min(stop.m, n()), stop.early()));
    if (how_ == MERCER_SELECT_ROWS || how_ == MERCER_SELECT_SKETCH) {
        sketch_.emplace(run_, kernel_, rows_, sketch_kind(how_), task_->random);
        counts_.columns += sketch_->columns(), counts_.passes += sketch_->passes();
    }
    if (how_ != MERCER_SELECT_EXACT) return;
    kernel_.row_squares(run_, {rows_.weights, nullptr}, energy_.data());
    ++counts_.passes;
    for (int64_t i = 0; i < n(); ++i) {
        error_[i] = growth_ * u_ * energy_[i];
        norm_[i] = std::sqrt(energy_[i]);
    }
}

// Makes room for this number of columns of L.
void ColumnEnergy::reserve(int64_t capacity) {
    Buffer<double> factor = run_.buffer<double>(n(), capacity);
    for_rows([&](int64_t row0, int64_t rows) {
        for (int64_t i = row0; i < row0 + rows; ++i)
            std::copy_n(factor_.data() + i * capacity_, count(), factor.data() + i * capacity);
    });
    if (expansions_)
        expansions_->reserve(capacity);
    else if (rule_->needs == MERCER_PIVOT_EXPANSION)
        expansions_.emplace(run_, n(), capacity);
    factor_ = std::move(factor);
    capacity_ = capacity;
}

mercer_pivot_state ColumnEnergy::state(int64_t rows, const double *residual, const double *energy,
                                       const double *weights, const double *expansion) const {
    mercer_pivot_state out{};
    out.struct_size = sizeof out;
    out.n = rows;
    out.step = count();
    out.residual = residual;
    out.weights = weights;
    out.index = index_.data();
    out.mse = errors_.empty() ? 0 : errors_.back();
    out.least = floor();
    out.energy = energy;
    out.expansion = expansion;
    return out;
}

// Computes columns of R, n x count, column-major. Entries of rows whose residual is 0 are exactly
// 0: those of pivots, and of rows whose residual fell below 0 by rounding of K.
void ColumnEnergy::residual_columns(const int64_t *rows, int64_t columns, double *out) {
    const int64_t i = count();
    kernel_.columns(run_, rows, columns, out, n());
    Buffer<double> chosen = run_.buffer<double>(std::max<int64_t>(i, 1), columns); // their rows of L
    for (int64_t k = 0; k < columns; ++k) std::copy_n(factor_.data() + rows[k] * capacity_, i, chosen.data() + k * i);
    for_rows([&](int64_t row0, int64_t part) {
        // In column-major terms: out (part x columns) -= (i x part)^T (i x columns).
        if (i > 0)
            gemm('T', 'N', part, columns, i, -1.0, factor_.data() + row0 * capacity_, capacity_, chosen.data(), i, 1.0,
                 out + row0, n());
    });
    for (int64_t t = 0; t < n(); ++t)
        if (residual_[t] == 0)
            for (int64_t k = 0; k < columns; ++k) out[t + k * n()] = 0;
}

// Computes all energies anew, from the entries of R.
void ColumnEnergy::refresh() {
    ++counts_.passes, ++counts_.refreshes;
    const double eta = (4 + std::sqrt(static_cast<double>(count()))) * u64 * largest_diagonal_;
    const int64_t width = std::min(refresh_columns, n());
    Buffer<double> part = run_.buffer<double>(n(), width);
    std::vector<int64_t> numbers;
    for_windows(run_, n(), width, [&](int64_t first, int64_t columns) {
        numbers.resize(static_cast<size_t>(columns));
        for (int64_t k = 0; k < columns; ++k) numbers[static_cast<size_t>(k)] = first + k;
        residual_columns(numbers.data(), columns, part.data());
        parallel_for(run_, columns, [&](int64_t k) {
            double sum = 0;
            for (int64_t t = 0; t < n(); ++t) sum += weight(t) * part[t + k * n()] * part[t + k * n()];
            energy_[first + k] = sum;
        });
        return true;
    });
    for (int64_t j = 0; j < n(); ++j)
        error_[j] = 2 * eta * std::sqrt(weight_sum_ * energy_[j]) + weight_sum_ * eta * eta;
}

// ACKFA with discard = rows: rows whose residual is below delta leave the energies of all others.
// Their columns of R are formed for this; each row is dropped only once.
void ColumnEnergy::drop() {
    if (!rule_->drop || !(rule_->delta > 0)) return;
    std::vector<int64_t> leaving;
    for (int64_t i = 0; i < n(); ++i)
        if (weight(i) > 0 && residual_[i] < rule_->delta) leaving.push_back(i);
    if (leaving.empty()) return;
    if (dropped_.empty()) dropped_ = std::move(run_.buffer<unsigned char>(n()).zero());
    const auto all = static_cast<int64_t>(leaving.size()), width = std::min(refresh_columns, all);
    Buffer<double> part = run_.buffer<double>(n(), width);
    for (int64_t first = 0; first < all; first += width) {
        const int64_t columns = std::min(width, all - first);
        residual_columns(leaving.data() + first, columns, part.data());
        for_rows([&](int64_t row0, int64_t rows) {
            for (int64_t k = 0; k < columns; ++k) {
                const double w = sample_weight(leaving[static_cast<size_t>(first + k)]);
                for (int64_t j = row0; j < row0 + rows; ++j) energy_[j] -= w * part[j + k * n()] * part[j + k * n()];
            }
        });
    }
    for (int64_t row : leaving) dropped_[row] = 1;
    for (int64_t j = 0; j < n(); ++j) {
        error_[j] += 8 * u64 * static_cast<double>(width) * std::fabs(energy_[j]);
        energy_[j] = std::max(energy_[j], 0.0);
    }
}

// Appends the pivot, unless its own entry of the column proves to be at the floor; d, unlike that
// entry, was updated in many steps.
void ColumnEnergy::append(Contender &pivot) {
    const double square = pivot.column[pivot.row];
    if (!(square > floor())) {
        residual_[pivot.row] = std::min(residual_[pivot.row], floor());
        return;
    }
    if (count() == capacity_) reserve(std::min(n(), 2 * capacity_));
    const double root = std::sqrt(square);
    const int64_t at = count();
    double lowest = 0;
    int64_t lowest_row = -1;
    for (int64_t i = 0; i < n(); ++i) {
        column_[i] = i == pivot.row ? root : pivot.column[i] / root;
        factor_[i * capacity_ + at] = column_[i];
        residual_[i] -= column_[i] * column_[i];
        if (residual_[i] < lowest) lowest = residual_[i], lowest_row = i;
    }
    if (lowest < -1e3 * floor())
        fail(MERCER_E_NUMERICAL,
             "kernel = %s is not positive semi-definite: %" PRId64 " pivots leave %g of k(x, x) of row %" PRId64,
             rows_.kernel.text().c_str(), at + 1, lowest, rows_.source->number(lowest_row));
    for (int64_t i = 0; i < n(); ++i) residual_[i] = std::max(residual_[i], 0.0);
    residual_[pivot.row] = 0;
    if (expansions_) expansions_->append(factor_.data() + pivot.row * capacity_, root, column_.data());
    index_.push_back(pivot.row);
    sum_residuals();
}

void ColumnEnergy::update_energies() {
    const int64_t i = count() - 1; // columns of L before the newest
    Buffer<double> weighted = run_.buffer<double>(n()), product = run_.buffer<double>(n()),
                   sums = std::move(run_.buffer<double>(std::max<int64_t>(i, 1)).zero());
    double square = 0;
    for (int64_t j = 0; j < n(); ++j) {
        weighted[j] = weight(j) * column_[j];
        square += weighted[j] * column_[j];
    }
    {
        Run::Span span(run_, 0, 0);
        auto add_rows = [&](int64_t row0, int64_t rows, Buffer<double> &sum) {
            sum = std::move(run_.buffer<double>(std::max<int64_t>(i, 1)).zero());
            for (int64_t j = row0; j < row0 + rows; ++j)
                for (int64_t k = 0; k < i; ++k) sum[k] += weighted[j] * factor_[j * capacity_ + k];
        };
        reduce_slabs<Buffer<double>>(run_, {n(), slab_rows}, add_rows, [&](const Buffer<double> &sum) {
            for (int64_t k = 0; k < i; ++k) sums[k] += sum[k];
        });
    }
    // The first product has one more column, K w / W, for the squared length of the mean.
    const bool first = std::isnan(mean_square_);
    const auto share = [&](int64_t j) { return sample_weight(j) / weight_sum_; };
    const Fill given = [&](int64_t row0, int64_t rows, double *to, int64_t stride) {
        for (int64_t j = 0; j < rows; ++j) {
            to[j * stride] = weighted[row0 + j];
            if (first) to[j * stride + 1] = share(row0 + j);
        }
    };
    kernel_.product(run_, false, 1 + first, given, [&](const double *y, int64_t stride) {
        for (int64_t j = 0; j < n(); ++j) product[j] = y[j * stride];
        if (!first) return;
        mean_square_ = 0;
        for (int64_t j = 0; j < n(); ++j) mean_square_ += share(j) * y[j * stride + 1];
    });
    ++counts_.passes;
    const double length = std::sqrt(square);
    for_rows([&](int64_t row0, int64_t rows) {
        for (int64_t j = row0; j < row0 + rows; ++j) {
            const double l = column_[j], size = std::fabs(l), d = residual_[j];
            // R before this pivot, times the weighted column.
            const double v = product[j] - dot(factor_.data() + j * capacity_, sums.data(), i);
            double s = energy_[j];
            error_[j] += growth_ * u_ * (s + 2 * size * (std::fabs(v) + norm_[j] * length) + l * l * square);
            s += -2 * l * v + l * l * square;
            energy_[j] = std::max(s, weight(j) * d * d);
            if (d == 0) energy_[j] = error_[j] = 0;
        }
    });
}

void ColumnEnergy::sum_residuals() {
    residual_sum_ = largest_ = 0;
    for (int64_t i = 0; i < n(); ++i) {
        residual_sum_ += sample_weight(i) * residual_[i];
        if (sample_weight(i) > 0) largest_ = std::max(largest_, residual_[i]);
    }
    errors_.push_back(residual_sum_ / weight_sum_);
}

bool ColumnEnergy::reached(const PivotStop &stop) const {
    return (stop.mse > 0 && residual_sum_ <= stop.mse * weight_sum_) || (stop.maxerr > 0 && largest_ <= stop.maxerr) ||
           (stop.trace > 0 && residual_sum_ <= stop.trace * trace_);
}

// Appends the best of these rows.
void ColumnEnergy::take(const std::vector<int64_t> &rows, const PivotStop &stop) {
    int64_t left = 0;
    for (int64_t i = 0; i < n(); ++i) left += candidate(i);
    Contender pivot = best_of(rows);
    const int64_t before = count();
    append(pivot);
    if (count() == before) return;
    candidates_.push_back(left);
    pivot.column = Buffer<double>();
    if (count() == most_ || reached(stop)) return;
    if (how_ == MERCER_SELECT_EXACT)
        update_energies();
    else if (sketch_)
        sketch_->subtract(column_.data());
}

void ColumnEnergy::select(mercer_task &task, const mercer_pivot_rule &rule, const PivotStop &stop,
                          const EnergySelection &selection) {
    task_ = &task, rule_ = &rule, how_ = selection.how;
    most_ = std::min(stop.m, n());
    const auto share = [&](int64_t steps) { return static_cast<double>(steps) / static_cast<double>(most_ + 1); };
    {
        Run::Span span(run_, 0, share(1));
        start(stop);
    }
    if (!selection.never.empty()) barred_ = std::move(run_.buffer<unsigned char>(n()).zero());
    for (int64_t row : selection.never) barred_[row] = 1;
    size_t given = 0;
    while (count() < most_ && !(count() > 0 && given == selection.must.size() && reached(stop))) {
        Run::Span span(run_, share(count() + 1), share(count() + 2));
        drop();
        if (given < selection.must.size()) {
            const int64_t row = selection.must[given++];
            if (sample_weight(row) > 0 && residual_[row] > floor()) take({row}, stop);
            continue;
        }
        const std::vector<int64_t> rows = next_rows();
        if (!rows.empty()) {
            take(rows, stop);
            continue;
        }
        rank_reached_ = true;
        for (int64_t i = 0; i < n(); ++i)
            if (sample_weight(i) > 0 && residual_[i] > floor() && (barred_.empty() || !barred_[i]))
                rank_reached_ = false;
        break;
    }
    if (count() == 0 && largest_ > floor() && rule.delta > largest_)
        fail(MERCER_E_VALUE, "reducer.delta = %g discards all rows: their largest k(x, x) is %g", rule.delta, largest_);
    run_.progress(1);
}

int64_t ColumnEnergy::bytes(int64_t n, int64_t m, bool early, int32_t needs, int32_t how, int64_t threads) {
    const bool expands = needs == MERCER_PIVOT_EXPANSION;
    const int64_t first = PartialCholesky<double>::first_capacity(m, early),
                  columns = first < m ? m + (m + 1) / 2 : m, // two sizes at once while L grows
        vectors = 8 + 3 + expands, formed = refresh_columns;
    const bool sketched = how == MERCER_SELECT_ROWS || how == MERCER_SELECT_SKETCH;
    const int64_t sketch = sketched ? EnergySketch::bytes(n, sketch_kind(how)) : 0;
    return sketch + 8 * n * (columns * (1 + expands) + vectors + std::min(formed, n)) + 16 * m * m * expands +
           8 * m * (formed + std::min<int64_t>((n + slab_rows - 1) / slab_rows, 64) + threads);
}

} // namespace mercer
