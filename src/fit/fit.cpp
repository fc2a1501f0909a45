#include "fit.h"

#include "../gram/fused.h"
#include "../gram/missing.h"
#include "auto.h"
#include "checkpoint.h"
#include "problem.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

namespace mercer {
namespace {

// The rows in index after T, in the tile's type.
template <class T>
Tensor gather_rows(Run &run, const Prepared &prepared, const CountedVector<int64_t> &index) {
    const int64_t m = static_cast<int64_t>(index.size()), d = prepared.source->cols();
    Points<T> points(prepared.source, prepared.map, {{MERCER_BLOCK, false, {}, {}}}, index.data(), m);
    Tensor rows = make_tensor<T>(m, d);
    for (int64_t b = 0; b < blocks_of(m); ++b) {
        Panel<T> panel = points.load(run, b);
        std::copy(panel.mapped.begin(), panel.mapped.end(), tensor_data<T>(rows) + b * tile_rows * d);
    }
    return rows;
}

template <class T>
void sparse_centres(const SparseSource &source, const InputMap &map, const CountedVector<int64_t> &index,
                    Centres &out) {
    const int64_t m = static_cast<int64_t>(index.size());
    int64_t count = 0;
    for (int64_t row : index) count += source.offsets()[row + 1] - source.offsets()[row];
    Tensor values = make_tensor<T>(count, 1, true), columns = make_tensor<int64_t>(count, 1, true),
           offsets = make_tensor<int64_t>(m + 1, 1, true);
    int64_t at = 0;
    for (int64_t i = 0; i < m; ++i) {
        tensor_data<int64_t>(offsets)[i] = at;
        int64_t row = index[static_cast<size_t>(i)];
        for (int64_t k = source.offsets()[row]; k < source.offsets()[row + 1]; ++k, ++at) {
            const double scale = map.identity() ? 1 : map.scale[static_cast<size_t>(source.columns()[k])];
            tensor_data<T>(values)[at] = static_cast<T>(source.value(k) * scale);
            tensor_data<int64_t>(columns)[at] = source.columns()[k];
        }
    }
    tensor_data<int64_t>(offsets)[m] = at;
    mercer_sparse csr{sizeof csr, MERCER_CSR,           values.dtype,         MERCER_I64,         0, m, source.cols(),
                      count,      offsets.bytes.data(), columns.bytes.data(), values.bytes.data()};
    out.source = std::make_shared<SparseSource>(csr);
    out.tensors["C.values"] = std::move(values);
    out.tensors["C.columns"] = std::move(columns);
    out.tensors["C.offsets"] = std::move(offsets);
}

// The assignment, to centres as they are numbered without those of weight 0.
Buffer<int64_t> renumbered(Reduction &reduction) {
    CountedVector<int64_t> number(static_cast<size_t>(reduction.m), -1);
    int64_t kept = 0;
    for (size_t k = 0; k < number.size(); ++k)
        if (reduction.weights[k] > 0) number[k] = kept++;
    for (int64_t &centre : reduction.assignment) centre = number[static_cast<size_t>(centre)];
    return std::move(reduction.assignment);
}

} // namespace

Centres make_centres(Run &run, const Prepared &prepared, Reduction &reduction) {
    Centres out;
    out.assignment = renumbered(reduction);
    out.stands_for = reduction.stands_for;
    const int64_t d = prepared.source->cols();
    CountedVector<int64_t> kept;
    for (int64_t k = 0; k < reduction.m; ++k)
        if (reduction.weights[static_cast<size_t>(k)] > 0) {
            kept.push_back(reduction.index.empty() ? k : reduction.index[static_cast<size_t>(k)]);
            out.weights.push_back(reduction.weights[static_cast<size_t>(k)]);
        }
    const int64_t m = out.m();
    const Source::Kind kind = prepared.source->kind();
    if (!reduction.index.empty() && kind == Source::Kind::objects) {
        out.index = kept;
        out.source = prepared.source;
        Tensor indices = make_tensor<int64_t>(m, 1, true);
        std::copy(kept.begin(), kept.end(), tensor_data<int64_t>(indices));
        out.tensors["indices"] = std::move(indices);
        return out;
    }
    if (!reduction.index.empty() && kind == Source::Kind::sparse) {
        const auto &source = static_cast<const SparseSource &>(*prepared.source);
        prepared.f32 ? sparse_centres<float>(source, prepared.map, kept, out)
                     : sparse_centres<double>(source, prepared.map, kept, out);
        return out;
    }
    if (reduction.index.empty()) {
        out.rows = false;
        const int64_t row = d * (prepared.f32 ? 4 : 8);
        Tensor c = prepared.f32 ? make_tensor<float>(m, d) : make_tensor<double>(m, d);
        for (int64_t i = 0; i < m; ++i)
            std::memcpy(c.bytes.data() + i * row, reduction.points.data() + kept[static_cast<size_t>(i)] * row,
                        static_cast<size_t>(row));
        out.tensors["C"] = std::move(c);
    } else if (prepared.f32) {
        out.tensors["C"] = gather_rows<float>(run, prepared, kept);
    } else {
        out.tensors["C"] = gather_rows<double>(run, prepared, kept);
    }
    const Tensor &c = out.tensors["C"];
    out.source =
        make_view_source({sizeof(mercer_view), c.dtype, 0, m, d, d, 1, const_cast<unsigned char *>(c.bytes.data())});
    return out;
}

Json parameter_json(const std::map<std::string, std::string> &stored) {
    Json out = Json::object();
    for (const auto &[name, text] : stored) {
        int64_t whole = 0;
        double real = 0;
        if (text == "true" || text == "false")
            out[name] = text == "true";
        else if (parse_number(text, &whole))
            out[name] = whole;
        else if (parse_number(text, &real))
            out[name] = real;
        else
            out[name] = text;
    }
    return out;
}

Json timings_json(const Run &run) {
    Json out = Json::object();
    for (const auto &[stage, seconds] : run.stage_seconds()) out[stage] = out.value(stage, 0.0) + seconds;
    out["total"] = run.seconds();
    return out;
}

namespace {

Json report_text(const Run &run, const Recipe &recipe, const Prepared &prepared, Reduction &reduction,
                 const Centres &centres, const Plan &plan, const Lifted &lifted, const mercer_forecast &ahead) {
    Json text = Json::object();
    text["format"] = 1;
    text["version"] = MERCER_VERSION;
    text["requires"] = required_plugins(prepared.kernel);
    text["method"] = recipe.values().method;
    text["kernel"] = prepared.kernel.text();
    text["reducer"] = recipe.values().reducer;
    text["lift"] = recipe.values().lift;
    text["solver"] = plan.solver ? plan.solver->name : "dense";
    std::map<std::string, std::string> parameters =
        prepared.kernel.stored(); // bandwidths have been resolved to numbers
    for (auto &[name, value] : recipe.stored())
        if (name.rfind("kernel.", 0) != 0) parameters[name] = value;
    text["parameters"] = parameter_json(parameters);
    text["n"] = prepared.source->rows();
    if (centres.tensors.count("C.values")) text["d"] = prepared.source->cols();
    text["outcome"] = outcome_names(lifted.outcome);
    text["capabilities"] = capability_names(lifted.capabilities);
    text["certificates"] = Json::array();
    text.update(lifted.text);
    for (auto &[name, value] : reduction.report) text["reported"]["reducer." + name] = value;
    text["kernel_evaluations"] = lifted.kernel_evaluations + static_cast<int64_t>(reduction.kernel_evaluations);
    text["kernel_passes"] = lifted.passes;
    const double m = static_cast<double>(centres.m()), evaluations = text["kernel_evaluations"];
    auto figure = [](const mercer_figure &foreseen, double happened) -> Json {
        return record({{"likely", foreseen.likely}, {"most", foreseen.most}, {"happened", happened}});
    };
    text["forecast"] =
        record({{"seconds", record({{"likely", ahead.seconds}, {"happened", run.seconds()}})},
                {"rows_looked_at", ahead.rows},
                {"bytes", figure(ahead.bytes, static_cast<double>(run.budget()->peak()))},
                {"kernel_evaluations", figure(ahead.kernel_evaluations, evaluations)},
                {"passes", figure(ahead.passes, static_cast<double>(lifted.passes))},
                {"flops", figure(ahead.flops, flops_of(*prepared.source, m, evaluations, lifted.columns) +
                                                  plan.flops_each * lifted.products + reduction.flops)},
                {"dense_seconds", ahead.dense_seconds},
                {"streams", ahead.streams != 0}});
    text["peak_bytes"] = run.budget()->peak();
    text["timings"] = timings_json(run);
    return text;
}

Tensors all_tensors(const Recipe &recipe, const Prepared &prepared, Centres &centres, Lifted &lifted) {
    Tensors tensors = std::move(centres.tensors);
    if (recipe.values().assignment) {
        Tensor assignment = make_tensor<int64_t>(prepared.source->rows(), 1, true);
        std::copy(centres.assignment.begin(), centres.assignment.end(), tensor_data<int64_t>(assignment));
        tensors["assignment"] = std::move(assignment);
    }
    for (auto &[name, tensor] : lifted.tensors) tensors[name] = std::move(tensor);
    if (!prepared.map.identity()) {
        tensors["T.shift"] = vector_tensor(prepared.map.shift);
        tensors["T.scale"] = vector_tensor(prepared.map.scale);
    }
    for (size_t l = 0; l < prepared.kernel.leaves.size(); ++l)
        if (!prepared.kernel.leaves[l].shift.empty())
            tensors["shift." + std::to_string(l + 1)] = vector_tensor(prepared.kernel.leaves[l].shift);
    return tensors;
}

// A share of the variance that the limit on components kept out of reach.
void warn_of_limit(const CoreValues &asked, const Tensors &tensors, Json &text) {
    const Tensor *found = variances_of(tensors);
    if (std::isnan(asked.variance) || asked.components == 0 || !found) return;
    const double total = text.at("total_variance").at("value");
    if (total <= 0) return;
    const double *values = tensor_data<double>(*found);
    const double share = std::accumulate(values, values + found->rows, 0.0) / total;
    if (found->rows < asked.components || share >= asked.variance * (1 - 1e-12)) return;
    text["warnings"].push_back(
        format("%" PRId64 " components explain %.3g %% of the variance, %.3g %% requested: output.components = %" PRId64
               " limits their number, 0 removes the limit",
               found->rows, 100 * share, 100 * asked.variance, asked.components));
}

// The rows in a form that can be read at will, without those that data.missing leaves out.
std::shared_ptr<const Source> rows_of(Run &run, const Recipe &recipe, std::shared_ptr<const Source> source) {
    if (auto loaded = source->load(run)) source = std::move(loaded);
    if (static_cast<DataMissing>(recipe.values().data_missing) == DataMissing::rows)
        source = complete_rows(run, std::move(source));
    return source;
}

Data data_of(Run &run, const Recipe &recipe, const Data &given) {
    Data data = given;
    data.source = rows_of(run, recipe, given.source);
    if (data.source->rows() < 1 && data.source->given_rows() > 0)
        fail(MERCER_E_DATA, "every row of the data has a missing value");
    return data;
}

} // namespace

std::shared_ptr<const Model> fit(Run &run, const Recipe &recipe, const Data &given, const RunSettings &settings) {
    run.expect({{"read", 1}, {"the rest", 99}}); // before the number of rows is known
    run.stage("read");
    const Data data = data_of(run, recipe, given);
    const int64_t left_out = data.source->given_rows() - data.source->rows();
    if (left_out > 0)
        run.log(2, format("%" PRId64 " of %" PRId64 " rows are left out of the fit: they have missing values", left_out,
                          data.source->given_rows())
                       .c_str());
    run.budget()->take(data.source->held_bytes());
    const Forecast ahead = forecast(run, recipe, data, Look::cheap); // may refuse, before any work
    run.expect(ahead.stages);
    run.stage("read");
    Prepared prepared = prepare(run, recipe, data);
    const Source &source = *prepared.source;

    run.stage("reduce");
    Road road;
    if (recipe.is_auto()) road = choose_road(run, recipe, prepared, ahead.roads);
    const Lift &lift = find_lift(recipe.is_auto() && road.exact ? "weighted" : recipe.values().lift);
    Reduction reduction =
        road.exact ? reduce(run, recipe, data, prepared, ahead.holds_factor) : std::move(road.reduction);
    if (recipe.reducer() && reduction.m > ahead.centres)
        fail(MERCER_E_PLUGIN, "reducer %s forecast at most %" PRId64 " centres and gave %" PRId64,
             recipe.reducer()->name.c_str(), ahead.centres, reduction.m);
    if (!lift.uses_factor) reduction.factor = {};
    Centres centres = make_centres(run, prepared, reduction);
    reduction.points = Buffer<unsigned char>();

    const int64_t most = std::min(run.budget()->limit(), static_cast<int64_t>(ahead.figures.bytes.most));
    const PlanTask task{run,
                        recipe,
                        prepared.kernel,
                        source,
                        prepared.f32,
                        centres.m(),
                        most - base_bytes(source, centres.m(), prepared.f32) - centres.assignment.bytes(),
                        centres.rows,
                        reduction.factor_bytes(),
                        road.tol,
                        prepared.f32_serves,
                        centres.stands_for};
    const Plan plan = recipe.is_auto() && road.exact ? plan_exact(task, road.f32) : lift.plan(task);
    refuse_over_budget(task, ahead.by_likely ? plan.likely_bytes : plan.bytes, plan.how);
    if (!plan.keep_factor) reduction.factor = {};
    run.expect(lift_stages(source, plan, centres.m()));
    if (!run.checkpoint().empty() && !(lift.solves && plan.solver && plan.solver->solver.flags & MERCER_KEEPS_STATE))
        run.log(2, "no checkpoint is written: only exact fits with an iterative solver write one");
    Lifted lifted = lift.lift({run, recipe, prepared, reduction, centres, plan});
    if (recipe.is_auto() && road.exact) judge_exact(run, recipe, plan, lifted.worst_share, road);
    if (!road.proved) lifted.outcome |= MERCER_NOT_CONVERGED;

    Json text = report_text(run, recipe, prepared, reduction, centres, plan, lifted, ahead.figures);
    if (!data.columns.empty()) text["columns"] = data.columns;
    if (left_out > 0) text["left_out"] = left_out;
    if (recipe.is_auto()) {
        text["road"] = std::move(road.report);
        text["forecast"]["road"] = ahead.figures.passes.likely > 0 ? "exact" : "projected";
        text["forecast"]["why"] = ahead.road;
        text["lift"] = lift.name;
        if (!road.exact) text["reducer"] = "rpcholesky";
    }
    Tensors tensors = all_tensors(recipe, prepared, centres, lifted);
    need_finite(text, tensors);
    warn_of_limit(recipe.values(), tensors, text);
    auto model = Model::assemble(std::move(text), std::move(tensors), recipe.registry(), settings);
    if (prepared.kernel.has_user() && prepared.kernel.user) model = model->bind(prepared.kernel.user);
    run.progress(1);
    return model;
}

namespace {

template <class T>
void kernel_matrix_as(Run &run, const Prepared &x, const std::shared_ptr<const Source> &y, const mercer_view &out) {
    Points<T> xs(x.source, x.map, leaf_specs(x.kernel)), ys = xs;
    if (y) ys = Points<T>(y, x.map, leaf_specs(x.kernel));
    xs.lean();
    ys.lean();
    Tiles<T> tiles(x.kernel, xs, ys);
    advise_huge(out.data, out.rows * out.cols * static_cast<int64_t>(sizeof(T)));
    const FusedTable<T> &table = fused_table<T>();
    const bool by_rows = out.col_stride == 1;
    const int64_t stride = by_rows ? out.row_stride : out.col_stride;
    auto at = [&](int64_t row, int64_t col) { // its place where `out` is read by rows
        return static_cast<T *>(out.data) + row * stride + col;
    };
    auto store = [&](int64_t, const Panel<T> &p, const Panel<T> &q, TileScratch<T> &scratch) {
        tiles.strips(p, q, scratch, [&](const typename Tiles<T>::Strip &strip) {
            const int64_t row = p.row0 + strip.row0, col = q.row0;
            T *values = scratch.tile.data();
            for (int64_t i = 0; !y && row >= col && i < strip.rows; ++i) // one triangle decides both: exactly symmetric
                for (int64_t j = 0; j < strip.row0 + i; ++j)
                    values[i * tile_rows + j] =
                        j >= strip.row0 ? values[(j - strip.row0) * tile_rows + strip.row0 + i] : *at(row + i, col + j);
            if (by_rows || !y) table.store(strip.rows, q.rows, values, at(row, col), stride);
            if (!by_rows || !y) table.store_transposed(strip.rows, q.rows, values, at(col, row), stride);
        });
        return true;
    };
    sweep_panels<T>(run, tiles, 0, xs.rows(), store, y ? Range::all : Range::upper);
}

// Entries of the rows and columns that were computed, which are first in `out`, to where the caller counts them; the others
// become NaN. From the end on, as no entry's place is before where it was.
template <class T>
void spread_complete(const Source &x, const Source &y, const mercer_view &out) {
    auto at = [&](int64_t i, int64_t j) -> T & {
        return static_cast<T *>(out.data)[i * out.row_stride + j * out.col_stride];
    };
    int64_t row = x.rows();
    for (int64_t i = out.rows - 1; i >= 0; --i) {
        const bool has_row = row > 0 && x.number(row - 1) == i;
        row -= has_row;
        int64_t col = y.rows();
        for (int64_t j = out.cols - 1; j >= 0; --j) {
            const bool has_col = col > 0 && y.number(col - 1) == j;
            col -= has_col;
            at(i, j) = has_row && has_col ? at(row, col) : std::numeric_limits<T>::quiet_NaN();
        }
    }
}

template <class T>
void kernel_matrix_of(Run &run, const Prepared &x, const std::shared_ptr<const Source> &y, const mercer_view &out) {
    const Source &other = y ? *y : *x.source;
    mercer_view complete = out; // of as many rows and columns as can be computed
    complete.rows = x.source->rows(), complete.cols = other.rows();
    if (complete.rows > 0 && complete.cols > 0) kernel_matrix_as<T>(run, x, y, complete);
    if (complete.rows < out.rows || complete.cols < out.cols) spread_complete<T>(*x.source, other, out);
}

} // namespace

void kernel_matrix(Run &run, const Recipe &recipe, const Data &x, const Data *y, const mercer_view &out) {
    run.expect({{"read", 1}, {"gram", 9}});
    run.stage("read");
    const Prepared prepared = prepare(run, recipe, data_of(run, recipe, x), out.dtype == MERCER_F32);
    run.stage("gram");
    std::shared_ptr<const Source> other;
    if (y) {
        other = rows_of(run, recipe, y->source);
        if (other->kind() == Source::Kind::objects || prepared.source->kind() == Source::Kind::objects)
            fail(MERCER_E_UNSUPPORTED, "kernel matrix: objects have values only among themselves, so y must be NULL");
        if (other->cols() != prepared.source->cols())
            fail(MERCER_E_SHAPE, "y has %" PRId64 " columns, but x has %" PRId64, other->cols(),
                 prepared.source->cols());
    }
    const int64_t rows = prepared.source->given_rows(), cols = other ? other->given_rows() : rows;
    if (out.rows != rows || out.cols != cols)
        fail(MERCER_E_SHAPE, "out is %" PRId64 " x %" PRId64 ", must be %" PRId64 " x %" PRId64, out.rows, out.cols,
             rows, cols);
    check_apart("out", out, "x", *x.source);
    if (y) check_apart("out", out, "y", *y->source);
    if (prepared.f32)
        kernel_matrix_of<float>(run, prepared, other, out);
    else
        kernel_matrix_of<double>(run, prepared, other, out);
    run.progress(1);
}

} // namespace mercer
