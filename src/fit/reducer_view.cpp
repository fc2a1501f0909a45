#include "reducer_view.h"

#include "../core/slabs.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstring>

namespace mercer {

template <class T>
DataProblem<T>::DataProblem(Run &run, const Prepared &prepared, const Data &data, const ReducerSettings &settings,
                            Reduction &out)
    : run_(run), prepared_(prepared), data_(data), settings_(settings), out_(out),
      points_(prepared.source, prepared.map, leaf_specs(prepared.kernel)) {}

template <class T>
mercer_shape DataProblem<T>::shape() const {
    const Expression &kernel = prepared_.kernel;
    mercer_shape shape{.struct_size = sizeof(mercer_shape),
                       .n = n(),
                       .d = points_.cols(),
                       .r = settings_.components,
                       .dtype = sizeof(T) == 4 ? MERCER_F32 : MERCER_F64,
                       .form = 0,
                       .flags = 0,
                       .reserved = 0,
                       .landmarks = data_.landmarks.rows,
                       .h = NAN,
                       .kappa = kernel.kappa()};
    if (kernel.leaves.size() == 1) shape.form = kernel.leaves[0].form;
    if (kernel.is_radial()) {
        shape.flags = MERCER_RADIAL;
        shape.h = kernel.leaves[0].facts.h;
    }
    if (kernel.is_psd()) shape.flags |= MERCER_PSD;
    return shape;
}

// Throws the error of a callback of the plugin, if its status is not MERCER_OK.
template <class T>
void DataProblem<T>::require(int32_t status) const {
    if (task_) return task_->check_callback(status);
    if (status != MERCER_OK) fail(status, "the callback of visit failed with status %d", status);
}

template <class T>
void DataProblem<T>::check_index(const int64_t *index, int64_t count) const {
    if (count < 0) fail(MERCER_E_PLUGIN, "count = %" PRId64 ", must be >= 0", count);
    for (int64_t k = 0; k < count; ++k)
        if (index[k] < 0 || index[k] >= n())
            fail(MERCER_E_PLUGIN, "row %" PRId64 " (entry %" PRId64 "), must be 0 to %" PRId64, index[k], k, n() - 1);
}

template <class T>
typename DataProblem<T>::RowRange DataProblem<T>::range_of(const mercer_visit &visit) const {
    const int64_t of = visit.list ? visit.listed : n(), row0 = visit.row0,
                  rows = visit.rows > 0 ? visit.rows : of - row0;
    if (row0 < 0 || row0 > of || rows < 0 || rows > of - row0)
        fail(MERCER_E_PLUGIN, "visit: rows %" PRId64 " to %" PRId64 " of %" PRId64, row0, row0 + rows, of);
    if (visit.count < 0 || (visit.points && (visit.index || points_.objects())))
        fail(MERCER_E_PLUGIN, "visit: y must be points (for vectors) or rows, with count >= 0");
    if (visit.index) check_index(visit.index, visit.count);
    if (visit.list) check_index(visit.list, visit.listed);
    return {row0, rows};
}

// Slabs are processed in windows, because each slab of a window needs a state of the consumer. The
// states of a window are combined in order before the next window starts.
template <class T>
void DataProblem<T>::visit(const mercer_visit &visit, const mercer_consumer &consumer) {
    constexpr int64_t window = 64;
    const bool form_only = visit.measure != 0;
    if (const ObjectSource *objects = points_.objects();
        objects && form_only && (visit.measure != MERCER_SQDIST || !objects->is_distance()))
        fail(MERCER_E_UNSUPPORTED,
             "visit: objects have kernel values only, and MERCER_SQDIST if they are known by distances");
    if (visit.measure < 0 || visit.measure > MERCER_HAMMING)
        fail(MERCER_E_PLUGIN, "visit: measure = %d is not a form", visit.measure);
    const RowRange asked = range_of(visit);

    std::vector<LeafSpec> specs = leaf_specs(prepared_.kernel);
    if (form_only) specs = {{visit.measure, false, {}, {}}};
    Points<T> xs = visited<T>(visit, specs), ys = others<T>(visit, specs);
    Tiles<T> tiles = form_only ? Tiles<T>(visit.measure, xs, ys) : Tiles<T>(prepared_.kernel, xs, ys);
    if (consumer.state_size < 0 || consumer.row_size < 0) fail(MERCER_E_PLUGIN, "visit: sizes of states must be >= 0");
    const int64_t state_size =
        (consumer.state_size + consumer.row_size * tile_rows + 63) / 64 * 64; // no two states share a cache line
    Buffer<unsigned char> states =
        run_.buffer<unsigned char>(std::min(window, blocks_of(asked.rows)), std::max<int64_t>(state_size, 1));
    for_windows(run_, asked.rows, window * tile_rows, [&](int64_t first, int64_t part) {
        states.zero();
        auto state = [&](int64_t slab) { return states.data() + slab * state_size; };
        sweep<T>(run_, tiles, asked.row0 + first, part, [&](const Tile<T> &tile) {
            mercer_tile shown{.struct_size = sizeof shown,
                              .dtype = sizeof(T) == 4 ? MERCER_F32 : MERCER_F64,
                              .reserved = 0,
                              .row0 = tile.x.row0,
                              .rows = tile.x.rows,
                              .col0 = tile.y.row0,
                              .cols = tile.y.rows,
                              .stride = tile_rows,
                              .values = tile.values,
                              .x = tile.x.mapped.data(),
                              .y = tile.y.mapped.data(),
                              .d = points_.cols()};
            int32_t status = consumer.tile(consumer.user, state(tile.slab), &shown);
            if (status == MERCER_VISIT_STOP) return false;
            require(status);
            return true;
        });
        evaluations_ += form_only ? 0 : part * tiles.y().rows();
        for (int64_t s = 0; consumer.combine && s < blocks_of(part); ++s) {
            const int64_t row = s * tile_rows, at = asked.row0 + first + row;
            int32_t status = consumer.combine(consumer.user, state(s), at, std::min(tile_rows, part - row));
            if (status == MERCER_VISIT_STOP) return false;
            require(status);
        }
        return true;
    });
}

// Returns all rows, with their sample weights.
template <class T>
KernelRows DataProblem<T>::kernel_rows() const {
    return {prepared_.source, prepared_.map, prepared_.kernel, nullptr, n(), prepared_.weights.data()};
}

template <class T>
void DataProblem<T>::columns(const int64_t *index, int64_t count, double *out, int64_t ldo) {
    if (ldo < n()) fail(MERCER_E_PLUGIN, "columns: leading dimension %" PRId64 ", must be >= %" PRId64, ldo, n());
    check_index(index, count);
    const KernelMatrix matrix = make_operator<T>(run_, kernel_rows(), {});
    matrix.base().columns(run_, index, count, out, ldo);
    evaluations_ += matrix.evaluations();
}

template <class T>
void DataProblem<T>::pairs(const int64_t *i, const int64_t *j, int64_t count, double *out) {
    check_index(i, count);
    check_index(j, count);
    evaluations_ += count;
    if (const ObjectSource *objects = points_.objects();
        objects && prepared_.kernel.leaves.size() == 1 && prepared_.kernel.terms()[0].weight == 1) {
        objects->pairs(i, j, count, out); // one call for all pairs, because calls of the caller's function may be slow
        prepared_.kernel.leaves[0].map(MERCER_F64, out, count);
        return;
    }
    Points<T> xs = points_.gathered(run_, i, count), ys = points_.gathered(run_, j, count);
    Tiles<T> tiles(prepared_.kernel, xs, ys);
    auto one = [&](int64_t k) {
        TileScratch<T> scratch = tiles.scratch(run_);
        for (int64_t at = k * tile_rows; at < std::min(count, (k + 1) * tile_rows); ++at) {
            tiles.compute(xs.load(run_, at, 1), ys.load(run_, at, 1), scratch);
            out[at] = static_cast<double>(scratch.tile[0]);
        }
    };
    parallel_for(run_, blocks_of(count), one, tiles.serial());
}

template <class T>
void DataProblem<T>::rows(const int64_t *index, int64_t count, double *out) {
    check_index(index, count);
    Points<double> points(prepared_.source, prepared_.map, {{MERCER_BLOCK, false, {}, {}}}, index, count);
    parallel_for(
        run_, blocks_of(count),
        [&](int64_t b) {
            const Panel<double> panel = points.load(run_, b);
            std::copy(panel.mapped.begin(), panel.mapped.end(), out + b * tile_rows * points.cols());
        },
        prepared_.source->in_passes());
}

template <class T>
void DataProblem<T>::weights(double *out) {
    for (int64_t i = 0; i < n(); ++i) out[i] = prepared_.weights[static_cast<size_t>(i)];
}

// Translates a row number of the caller's data to a row of the fit, which may lack rows with
// missing values.
template <class T>
int64_t DataProblem<T>::number_of_landmark(int64_t entry, int64_t row) const {
    const Source &source = points_.source();
    if (row < 0 || row >= source.given_rows())
        fail(MERCER_E_VALUE, "landmarks: entry %" PRId64 " is row %" PRId64 ", must be 0 to %" PRId64, entry, row,
             source.given_rows() - 1);
    const int64_t at = find_number(source, row);
    if (at == n() || source.number(at) != row)
        fail(MERCER_E_DATA, "landmarks: entry %" PRId64 " is row %" PRId64 ", which has a missing value", entry, row);
    return at;
}

template <class T>
void DataProblem<T>::landmarks(const int64_t **index, const void **points) {
    *index = nullptr;
    *points = nullptr;
    out_.used_landmarks = true;
    const mercer_view &view = data_.landmarks;
    if (!data_.has_landmarks())
        fail(MERCER_E_ARGUMENT, "the reducer 'given' needs landmarks: attach row numbers (i64) or points to the data");
    if (view.dtype == MERCER_I64) {
        if (view.cols != 1) fail(MERCER_E_SHAPE, "landmarks: row numbers in %" PRId64 " columns, must be 1", view.cols);
        landmark_index_ = run_.buffer<int64_t>(view.rows);
        for (int64_t i = 0; i < view.rows; ++i)
            landmark_index_[i] = number_of_landmark(i, static_cast<const int64_t *>(view.data)[i * view.row_stride]);

        CountedVector<int64_t> sorted(landmark_index_.begin(), landmark_index_.end());
        std::sort(sorted.begin(), sorted.end());
        auto twice = std::adjacent_find(sorted.begin(), sorted.end());
        if (twice != sorted.end())
            fail(MERCER_E_VALUE, "landmarks: row %" PRId64 " is given twice, must be once at most",
                 points_.source().number(*twice));
        *index = landmark_index_.data();
        return;
    }
    if (points_.cols() == 0)
        fail(MERCER_E_SHAPE,
             "landmarks: rows of %" PRId64 " columns, but the data are objects: must be row numbers (i64)", view.cols);
    if (view.cols != points_.cols())
        fail(MERCER_E_SHAPE, "landmarks have %" PRId64 " columns, but the data have %" PRId64, view.cols,
             points_.cols());
    Points<T> given(make_view_source(view), prepared_.map, {{MERCER_BLOCK, false, {}, {}}});
    mapped_landmarks_ = run_.buffer<T>(view.rows, view.cols);
    for (int64_t b = 0; b < blocks_of(view.rows); ++b) {
        Panel<T> panel = given.load(run_, b);
        std::copy(panel.mapped.begin(), panel.mapped.end(), mapped_landmarks_.data() + b * tile_rows * view.cols);
    }
    *points = mapped_landmarks_.data();
}

template <class T>
void DataProblem<T>::give(int64_t count, const int64_t *index, const void *points, const double *weights) {
    if (count == 0) return;
    if (count < 0 || (!index == !points)) fail(MERCER_E_PLUGIN, "give: centres must be either rows or points");
    if (points && points_.cols() == 0) fail(MERCER_E_PLUGIN, "give: objects have no points");
    if (out_.m > 0 && (out_.index.empty() != (index == nullptr) || (weights != nullptr) != !out_.weights.empty()))
        fail(MERCER_E_PLUGIN, "give: all calls must give rows, or all points, and all of them weights, or none");
    if (index) {
        check_index(index, count);
        out_.index.insert(out_.index.end(), index, index + count);
    } else {
        const int64_t row = points_.cols() * static_cast<int64_t>(sizeof(T));
        Buffer<unsigned char> grown = run_.buffer<unsigned char>(out_.m + count, row);
        if (out_.m > 0) std::memcpy(grown.data(), out_.points.data(), static_cast<size_t>(out_.m * row));
        std::memcpy(grown.data() + out_.m * row, points, static_cast<size_t>(count * row));
        if (const int64_t bad = find_not_finite(count, points_.cols(), static_cast<const T *>(points));
            bad < count * points_.cols())
            fail(MERCER_E_PLUGIN, "give: point %" PRId64 " is not finite", out_.m + bad / points_.cols());
        out_.points = std::move(grown);
    }
    for (int64_t k = 0; weights && k < count; ++k) {
        if (!std::isfinite(weights[k]) || weights[k] < 0)
            fail(MERCER_E_PLUGIN, "give: weight %" PRId64 " is %g, must be finite and >= 0", k, weights[k]);
        out_.weights.push_back(weights[k]);
    }
    out_.m += count;
}

template <class T>
TileBytes DataProblem<T>::tiles() {
    Points<T> lean = points_;
    lean.lean();
    return Tiles<T>(prepared_.kernel, lean, lean).bytes();
}

template <class T>
mercer_pivots DataProblem<T>::pivot_cholesky(mercer_task &task, const mercer_pivot_rule &rule,
                                             const mercer_pivot_stop &stop) {
    if (by_energy(rule.needs)) return energy_pivots(task, rule, stop);
    const PivotStop until = read_stop(stop);
    const bool stored = settings_.stores_factor || stop.factor || !proceeds_in_rounds(rule);
    const Factor kind = stored ? Factor::stored : Factor::recomputed;
    const int64_t capacity = PartialCholesky<T>::first_capacity(std::min(until.m, n()), until.early());
    pivots_.push_back({std::make_shared<PartialCholesky<T>>(run_, kernel_rows(), capacity, kind), {}});
    auto &[factor, copy] = pivots_.back();
    const mercer_pivots out = run_pivots(*factor, task, rule, stop, copy);
    evaluations_ += factor->evaluations();
    out_.rank_reached = out.rank_reached != 0;
    return out;
}

template <class T>
mercer_pivots DataProblem<T>::energy_pivots(mercer_task &task, const mercer_pivot_rule &rule,
                                            const mercer_pivot_stop &stop) {
    const EnergySelection how{energy_selection(stop, n(), settings_.centred), rows_listed("must", stop.must),
                              rows_listed("never", stop.never)};
    for (int64_t row : how.must)
        if (std::find(how.never.begin(), how.never.end(), row) != how.never.end())
            fail(MERCER_E_VALUE, "row %" PRId64 " is listed in reducer.must and in reducer.never",
                 prepared_.source->number(row));
    if (static_cast<int64_t>(how.must.size()) > stop.m)
        fail(MERCER_E_VALUE, "reducer.must lists %zu rows, but at most %" PRId64 " are selected", how.must.size(),
             stop.m);
    if (how.how == MERCER_SELECT_IN_FACTOR) return pivots_in_factor(task, rule, stop, how);
    Selection &made = selections_.emplace_back(kernel_rows());
    const KernelMatrix matrix = make_operator<T>(run_, made.rows, plan_of_gram(MERCER_GRAM_STORED));
    std::optional<CentredOperator> centred;
    if (settings_.centred) centred.emplace(run_, matrix.base(), made.rows.weights);
    made.pivots.emplace(run_, centred ? static_cast<const Operator &>(*centred) : matrix.base(), made.rows);
    const mercer_pivots out = run_pivots(*made.pivots, task, rule, stop, how);
    evaluations_ += matrix.evaluations();
    out_.candidates = made.pivots->candidates();
    out_.passes += out.passes;
    out_.rank_reached = out.rank_reached != 0;
    if (!settings_.centred && !std::isnan(made.pivots->mean_square())) out_.mean_square = made.pivots->mean_square();
    return out;
}

// Selects rows in the span of random pivots. Their residuals are then those of their own factor,
// which the lift may use.
template <class T>
mercer_pivots DataProblem<T>::pivots_in_factor(mercer_task &task, const mercer_pivot_rule &rule,
                                               const mercer_pivot_stop &stop, const EnergySelection &how) {
    check_energy_rule(rule, stop, how.how);
    const KernelRows rows = kernel_rows();
    CountedVector<int64_t> picks;
    {
        Run::Span span(run_, 0, 0.8);
        picks = select_in_factor<T>(run_, task, rows, rule, read_stop(stop), how, stop.rank, settings_.stores_factor,
                                    &evaluations_, &out_.rank_reached);
    }
    Run::Span span(run_, 0.8, 1);
    const Factor kind = settings_.stores_factor ? Factor::stored : Factor::recomputed;
    const auto count = static_cast<int64_t>(picks.size());
    pivots_.push_back({std::make_shared<PartialCholesky<T>>(run_, rows, std::max<int64_t>(count, 1), kind), {}});
    auto &[factor, copy] = pivots_.back();
    factor->append(picks.data(), count);
    evaluations_ += factor->evaluations();
    const std::vector<int64_t> kept(factor->index(), factor->index() + factor->count());
    std::erase_if(picks, [&](int64_t row) { return std::find(kept.begin(), kept.end(), row) == kept.end(); });
    CountedVector<int64_t> &order = orders_.emplace_back(std::move(picks));
    mercer_pivots out{};
    out.struct_size = sizeof out;
    out.count = factor->count();
    out.index = order.data();
    out.residual = factor->residual();
    out.mse = factor->mean_residual();
    out.trace = factor->trace_left();
    out.rank_reached = out_.rank_reached;
    out.columns = in_factor_rank(stop.rank, stop.m, n()) + count;
    return out;
}

// Returns the rows that the parameter lists by their numbers in the caller's data.
template <class T>
std::vector<int64_t> DataProblem<T>::rows_listed(const char *name, const char *text) {
    const std::string list(trim(text ? text : ""));
    if (list.empty()) return {};
    if (list == "landmarks") {
        const int64_t *index = nullptr;
        const void *points = nullptr;
        if (data_.has_landmarks()) landmarks(&index, &points);
        if (!index) fail(MERCER_E_VALUE, "reducer.%s = landmarks, but no row numbers are given as landmarks", name);
        return {index, index + data_.landmarks.rows};
    }
    const Source &source = points_.source();
    std::vector<int64_t> out;
    for (const std::string &word : split(list, ',')) {
        int64_t number = 0;
        if (!parse_number(word, &number))
            fail(MERCER_E_VALUE, "reducer.%s: '%.40s' is no row number", name, word.c_str());
        if (number < 0 || number >= source.given_rows())
            fail(MERCER_E_VALUE, "reducer.%s: row %" PRId64 ", must be 0 to %" PRId64, name, number,
                 source.given_rows() - 1);
        const int64_t row = find_number(source, number);
        if (row == n() || source.number(row) != number)
            fail(MERCER_E_DATA, "reducer.%s: row %" PRId64 " has a missing value", name, number);
        if (std::find(out.begin(), out.end(), row) != out.end())
            fail(MERCER_E_VALUE, "reducer.%s: row %" PRId64 " is listed twice", name, number);
        out.push_back(row);
    }
    return out;
}

// Returns the plan of the matrix that serves a reducer's passes.
template <class T>
GramPlan DataProblem<T>::plan_of_gram(int32_t flags) {
    GramPlan plan;
    plan.f32 = sizeof(T) == 4;
    plan.store = gram_service<T>(run_, n(), flags, 1, tiles()).store;
    return plan;
}

template <class T>
mercer_gram DataProblem<T>::gram(int32_t flags) {
    Gram &made = grams_.emplace_back(Gram{make_operator<T>(run_, kernel_rows(), plan_of_gram(flags)), {}});
    const bool scaled = flags & MERCER_GRAM_WEIGHTED && prepared_.weighted(), centred = flags & MERCER_GRAM_CENTRED;
    if (scaled) made.scales = run_.buffer<double>(n());
    for (int64_t i = 0; i < made.scales.size(); ++i)
        made.scales[i] = std::sqrt(prepared_.weights[static_cast<size_t>(i)]);
    if (scaled || centred)
        made.weighted = std::make_unique<WeightedOperator>(run_, made.matrix.base(),
                                                           scaled ? made.scales.data() : nullptr, centred);
    const Operator &op = made.weighted ? static_cast<const Operator &>(*made.weighted) : made.matrix.base();
    made.op = op.c_operator();
    return op.c_gram(made.op);
}

template <class T>
int64_t DataProblem<T>::kernel_evaluations() const {
    int64_t out = evaluations_;
    for (const Gram &one : grams_) out += one.matrix.evaluations();
    return out;
}

template <class T>
std::shared_ptr<PartialCholesky<T>> DataProblem<T>::factor_of_given() const {
    if (pivots_.empty() || !out_.weights.empty()) return nullptr;
    const std::shared_ptr<PartialCholesky<T>> &factor = pivots_.back().factor;
    const bool same = factor->stored() && std::is_permutation(out_.index.begin(), out_.index.end(), factor->index(),
                                                              factor->index() + factor->count());
    return same ? factor : nullptr;
}

template <class T>
void DataProblem<T>::give_first() {
    const bool none = !pivots_.empty() ? pivots_.back().factor->count() == 0
                                       : !selections_.empty() && selections_.back().pivots->count() == 0;
    if (!none) return;
    for (int64_t i = 0; i < n() && out_.m == 0; ++i)
        if (prepared_.weights[static_cast<size_t>(i)] > 0) give(1, &i, nullptr, nullptr);
}

template class DataProblem<float>;
template class DataProblem<double>;

} // namespace mercer
