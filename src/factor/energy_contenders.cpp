// Which rows may be the next pivot of a selection by column energies, and which of them is.
//
// Exact selection: the contenders are the rows whose score, with the upper bound s + e of the
// energy, reaches the largest score with a lower bound. The other ways take the rows with the
// largest estimated scores, or random rows. In every case the columns of R of these rows are then
// formed, and their exact scores decide.
#include "column_energy.h"

#include <cinttypes>
#include <cmath>

namespace mercer {
// Writes the scores of all rows for these energies; -1: the row is no candidate.
void ColumnEnergy::scores(const double *energy, double *out) {
    const mercer_pivot_state now = state(n(), residual_.data(), energy, rows_.weights, expansion());
    for_rows([&](int64_t row0, int64_t rows) {
        rule_->score(rule_->user, &now, row0, rows, out + row0);
        for (int64_t i = row0; i < row0 + rows; ++i)
            if (!candidate(i) || !(out[i] >= 0)) out[i] = -1;
    });
}

// Returns the rows that may have the largest score, in ascending order. Of rows with equal contents
// only the first is returned.
std::vector<int64_t> ColumnEnergy::contenders() {
    for (int64_t i = 0; i < n(); ++i)
        bounds_[i] = std::max(energy_[i] - error_[i], weight(i) * residual_[i] * residual_[i]);
    scores(bounds_.data(), scores_.data());
    const double best = *std::max_element(scores_.begin(), scores_.end());
    if (best < 0) return {};
    for (int64_t i = 0; i < n(); ++i) bounds_[i] = energy_[i] + error_[i];
    scores(bounds_.data(), scores_.data());
    std::vector<int64_t> out;
    std::vector<uint64_t> seen;
    for (int64_t i = 0; i < n(); ++i) {
        if (!(scores_[i] >= pivot_tie * best)) continue;
        if (!contents_.empty()) {
            const auto at = std::lower_bound(seen.begin(), seen.end(), contents_[i]);
            if (at != seen.end() && *at == contents_[i]) continue;
            seen.insert(at, contents_[i]);
        }
        out.push_back(i);
    }
    return out;
}

// Forms the columns of these rows, and returns the one with the largest
// exact score. Ties are broken by the contents of the rows.
ColumnEnergy::Contender ColumnEnergy::best_of(const std::vector<int64_t> &rows) {
    const auto columns = static_cast<int64_t>(rows.size());
    counts_.columns += columns;
    Buffer<double> formed = run_.buffer<double>(n(), columns);
    residual_columns(rows.data(), columns, formed.data());
    std::vector<double> residual, energy, weights, lengths, score(rows.size());
    for (int64_t k = 0; k < columns; ++k) {
        const double *column = formed.data() + k * n();
        const int64_t row = rows[static_cast<size_t>(k)];
        double sum = 0;
        for (int64_t t = 0; t < n(); ++t) sum += weight(t) * column[t] * column[t];
        if (!std::isfinite(sum))
            fail(MERCER_E_NUMERICAL,
                 "kernel = %s: the squares of the kernel values of row %" PRId64 " sum to %g, must be finite%s",
                 rows_.kernel.text().c_str(), row, sum,
                 kernel_.f32() ? "; if the values are beyond float32, use data.dtype = f64" : "");
        residual.push_back(residual_[row]), energy.push_back(sum), weights.push_back(sample_weight(row));
        if (expansions_) lengths.push_back(expansion()[row]);
    }
    const mercer_pivot_state shown =
        state(columns, residual.data(), energy.data(), weights.data(), lengths.empty() ? nullptr : lengths.data());
    rule_->score(rule_->user, &shown, 0, columns, score.data());
    const double most = *std::max_element(score.begin(), score.end());
    size_t best = 0;
    for (size_t k = 0; k < rows.size(); ++k)
        if (score[k] >= pivot_tie * most && (score[best] < pivot_tie * most || precedes(rows[k], rows[best]))) best = k;
    Contender out{rows[best], energy[best], score[best], run_.buffer<double>(n())};
    std::copy_n(formed.data() + static_cast<int64_t>(best) * n(), n(), out.column.data());
    return out;
}

// Returns the rows that may have the largest score, at most most_contenders.
std::vector<int64_t> ColumnEnergy::exact_rows() {
    std::vector<int64_t> rows = contenders();
    if (rows.size() > most_contenders(kernel_.f32())) {
        refresh();
        rows = contenders();
    }
    // scores_ holds the scores of the upper bounds.
    return rows.size() > most_contenders(kernel_.f32())
               ? best_rows(static_cast<int64_t>(most_contenders(kernel_.f32())))
               : rows;
}

// Returns the rows with the largest scores_. Of rows with equal contents only the first is
// returned.
std::vector<int64_t> ColumnEnergy::best_rows(int64_t count) {
    std::vector<int64_t> order, out;
    for (int64_t i = 0; i < n(); ++i)
        if (scores_[i] >= 0) order.push_back(i);
    const auto before = [&](int64_t i, int64_t j) {
        return scores_[i] != scores_[j] ? scores_[i] > scores_[j] : precedes(i, j);
    };
    // A heap gives the best rows one by one, because it is not known how many of them are equal.
    const auto after = [&](int64_t i, int64_t j) { return before(j, i); };
    std::make_heap(order.begin(), order.end(), after);
    for (auto end = order.end(); end != order.begin() && static_cast<int64_t>(out.size()) < count; --end) {
        const int64_t row = order.front();
        const auto equal = [&](int64_t other) { return !contents_.empty() && contents_[other] == contents_[row]; };
        if (std::none_of(out.begin(), out.end(), equal)) out.push_back(row);
        std::pop_heap(order.begin(), end, after);
    }
    return out;
}

std::vector<int64_t> ColumnEnergy::random_rows() {
    std::vector<int64_t> all;
    for (int64_t i = 0; i < n(); ++i)
        if (candidate(i)) all.push_back(i);
    // The first steps of a random permutation.
    for (size_t k = 0; k + 1 < all.size() && k < size_t{quantile_rows}; ++k) {
        const auto left = static_cast<double>(all.size() - k);
        const auto at = static_cast<size_t>(task_->random.uniform(count(), static_cast<int64_t>(k)) * left);
        std::swap(all[k], all[k + std::min(at, all.size() - k - 1)]);
    }
    all.resize(std::min(all.size(), size_t{quantile_rows}));
    return all;
}

// Returns the rows among which the exact scores decide; none: no candidate is left.
std::vector<int64_t> ColumnEnergy::next_rows() {
    if (how_ == MERCER_SELECT_EXACT) return exact_rows();
    if (how_ == MERCER_SELECT_QUANTILE) return random_rows();
    sketch_->energies(energy_.data());
    for (int64_t i = 0; i < n(); ++i) energy_[i] = std::max(energy_[i], sample_weight(i) * residual_[i] * residual_[i]);
    scores(energy_.data(), scores_.data());
    return best_rows(how_ == MERCER_SELECT_ROWS ? best_by_rows : best_by_signs);
}

} // namespace mercer
