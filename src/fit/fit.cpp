#include "fit.h"

#include "problem.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstring>

namespace mercer {
namespace {

// Up to this order one dense factorisation is as good as iterating (about 0.1 s, FACTS A7), and it cannot be cancelled.
constexpr int64_t dense_up_to = 1000;

// The rows in index after T, in the tile's type.
template <class T> Tensor gather_rows(Run &run, const Prepared &prepared, const std::vector<int64_t> &index) {
    const int64_t m = static_cast<int64_t>(index.size()), d = prepared.source->cols();
    Points<T> points(prepared.source, prepared.map, {{MERCER_BLOCK, false, {}, {}}}, index.data(), m);
    Tensor rows = make_tensor<T>(m, d);
    for (int64_t b = 0; b < blocks_of(m); ++b) {
        Panel<T> panel = points.load(run, b);
        std::copy(panel.mapped.begin(), panel.mapped.end(), tensor_data<T>(rows) + b * tile_rows * d);
    }
    return rows;
}

template <class T> void sparse_centres(const SparseSource &source, const std::vector<int64_t> &index, Centres &out) {
    const int64_t m = static_cast<int64_t>(index.size());
    int64_t count = 0;
    for (int64_t row : index) count += source.offsets()[row + 1] - source.offsets()[row];
    Tensor values = make_tensor<T>(count, 1, true), columns = make_tensor<int64_t>(count, 1, true), offsets = make_tensor<int64_t>(m + 1, 1, true);
    int64_t at = 0;
    for (int64_t i = 0; i < m; ++i) {
        tensor_data<int64_t>(offsets)[i] = at;
        int64_t row = index[static_cast<size_t>(i)];
        for (int64_t k = source.offsets()[row]; k < source.offsets()[row + 1]; ++k, ++at) {
            tensor_data<T>(values)[at] = static_cast<T>(source.value(k));
            tensor_data<int64_t>(columns)[at] = source.columns()[k];
        }
    }
    tensor_data<int64_t>(offsets)[m] = at;
    mercer_sparse csr{sizeof csr, MERCER_CSR, values.dtype, MERCER_I64, 0, m, source.cols(), count,
                      offsets.bytes.data(), columns.bytes.data(), values.bytes.data()};
    out.source = std::make_shared<SparseSource>(csr);
    out.tensors["C.values"] = std::move(values);
    out.tensors["C.columns"] = std::move(columns);
    out.tensors["C.offsets"] = std::move(offsets);
}

// Centres without those of weight 0, which would be divided by.
Centres make_centres(Run &run, const Prepared &prepared, Reduction &reduction) {
    Centres out;
    const int64_t d = prepared.source->cols();
    std::vector<int64_t> kept;
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
        prepared.f32 ? sparse_centres<float>(source, kept, out) : sparse_centres<double>(source, kept, out);
        return out;
    }
    if (reduction.index.empty()) {
        const int64_t row = d * (prepared.f32 ? 4 : 8);
        Tensor c = prepared.f32 ? make_tensor<float>(m, d) : make_tensor<double>(m, d);
        for (int64_t i = 0; i < m; ++i)
            std::memcpy(c.bytes.data() + i * row, reduction.points.data() + kept[static_cast<size_t>(i)] * row, static_cast<size_t>(row));
        out.tensors["C"] = std::move(c);
    } else if (prepared.f32) {
        out.tensors["C"] = gather_rows<float>(run, prepared, kept);
    } else {
        out.tensors["C"] = gather_rows<double>(run, prepared, kept);
    }
    const Tensor &c = out.tensors["C"];
    out.source = make_view_source({sizeof(mercer_view), c.dtype, 0, m, d, d, 1, const_cast<unsigned char *>(c.bytes.data())});
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
    for (const auto &[stage, seconds] : run.stage_seconds()) out[stage] = seconds;
    out["total"] = run.seconds();
    return out;
}

Json forecast_json(const Plan &plan, int64_t m) {
    return {{"bytes", plan.bytes}, {"streams", !plan.stored}, {"kernel_evaluations_per_pass", pass_evaluations(m)}};
}

} // namespace

Plan plan_lift(Run &run, const Recipe &recipe, bool f32, int64_t m, int64_t d, int64_t budget_left) {
    const CoreValues &values = recipe.values();
    const GramStorage storage = static_cast<GramStorage>(values.gram_storage);
    Plan plan;
    plan.f32 = storage == GramStorage::f32 || (f32 && storage != GramStorage::f64);
    plan.tol = std::isnan(values.tol) ? (plan.f32 ? 1e-5 : 1e-9) : values.tol;
    plan.solver = recipe.solver();
    plan.solver_params = recipe.solver_params();
    if (!plan.solver) {
        plan.solver = recipe.registry().find(Kind::solver, m <= dense_up_to ? "dense" : "block-krylov");
        plan.solver_params = Params(plan.solver->params);
    }
    const int64_t r = std::min(values.components, m);
    mercer_task task(run, Random(0, Stage::solver));
    plan.solver_cost.struct_size = sizeof plan.solver_cost;
    const mercer_eigen_request request{sizeof request, r, plan.tol, values.max_passes, nullptr, 0, nullptr, 0, nullptr, nullptr};
    task.check(plan.solver->solver.forecast(&host_table(), &task, plan.solver_params.values(), m, &request, &plan.solver_cost), *plan.solver);

    const int64_t size = plan.f32 ? 4 : 8, teams = run.threads();
    const int64_t matrix = plan.f32 ? GramOperator<float>::stored_bytes(m) : GramOperator<double>::stored_bytes(m);
    const int64_t blocks = blocks_of(m), held = 2 * ((blocks + 63) / 64) * tile_rows * (2 * d + 2) * size;
    const int64_t block = std::min<int64_t>(m, std::max<int64_t>(2 * r, 64));
    int64_t fixed = plan.solver_cost.bytes + m * r * 8 + 3 * m * block * 8 + teams * (held + 3 * tile_rows * tile_rows * size);
    const bool may_store = storage != GramStorage::stream;
    plan.stored = may_store && (storage != GramStorage::automatic || fixed + matrix <= budget_left);
    plan.bytes = fixed + (plan.stored ? matrix : 0);
    if (plan.bytes > budget_left)
        fail(MERCER_E_BUDGET, "%" PRId64 " centres need %.1f MiB (%s), %.1f MiB of the memory budget are left", m,
             static_cast<double>(plan.bytes) / 0x1p20, plan.stored ? "kernel matrix stored" : "kernel matrix streamed",
             static_cast<double>(budget_left) / 0x1p20);
    return plan;
}

std::shared_ptr<const Model> fit(Run &run, const Recipe &recipe, const Data &data, const RunSettings &settings) {
    run.stage("read", 0.02);
    Prepared prepared = prepare(run, recipe, data);
    const int64_t n = prepared.source->rows(), d = prepared.source->cols();

    run.stage("reduce", 0.05);
    Reduction reduction = reduce(run, recipe, data, prepared);
    Centres centres = make_centres(run, prepared, reduction);
    reduction.points = Buffer<unsigned char>();
    int64_t centre_bytes = 0;
    for (const auto &[name, tensor] : centres.tensors) centre_bytes += tensor.bytes.bytes();
    run.budget()->take(centre_bytes); // the model's share, while the fit lasts

    Plan plan = plan_lift(run, recipe, prepared.f32, centres.m(), d, run.budget()->left());
    Lifted lifted = lift_weighted(run, recipe, prepared, centres, plan, n);

    run.stage("certify", 1);
    Json text = Json::object();
    text["format"] = 1;
    text["version"] = MERCER_VERSION;
    text["requires"] = Json::array();
    text["method"] = recipe.values().method;
    text["kernel"] = prepared.kernel.text();
    text["reducer"] = recipe.values().reducer;
    text["lift"] = recipe.values().lift;
    text["solver"] = plan.solver->name;
    std::map<std::string, std::string> parameters = recipe.stored();
    for (auto it = parameters.begin(); it != parameters.end();) it = it->first.rfind("kernel.", 0) == 0 ? parameters.erase(it) : std::next(it);
    for (auto &[name, value] : prepared.kernel.stored()) parameters[name] = value; // bandwidths are numbers now
    text["parameters"] = parameter_json(parameters);
    text["n"] = n;
    if (centres.tensors.count("C.values")) text["d"] = d;
    text["outcome"] = outcome_names(lifted.outcome);
    text["capabilities"] = capability_names(lifted.capabilities);
    text.update(lifted.text);
    for (auto &[name, value] : reduction.report) text["reported"][name] = value;
    text["certificates"] = Json::array();
    text["kernel_evaluations"] = lifted.kernel_evaluations + static_cast<int64_t>(reduction.report["kernel_evaluations"]);
    text["kernel_passes"] = lifted.passes;
    text["forecast"] = forecast_json(plan, centres.m());
    text["peak_bytes"] = run.budget()->peak();
    text["timings"] = timings_json(run);

    Tensors tensors = std::move(centres.tensors);
    for (auto &[name, tensor] : lifted.tensors) tensors[name] = std::move(tensor);
    if (!prepared.map.identity()) {
        tensors["T.shift"] = vector_tensor(prepared.map.shift);
        tensors["T.scale"] = vector_tensor(prepared.map.scale);
    }
    for (size_t l = 0; l < prepared.kernel.leaves.size(); ++l)
        if (!prepared.kernel.leaves[l].shift.empty()) tensors["shift." + std::to_string(l + 1)] = vector_tensor(prepared.kernel.leaves[l].shift);
    auto model = Model::assemble(std::move(text), std::move(tensors), recipe.registry(), settings);
    if (prepared.kernel.has_user() && prepared.kernel.user) model = model->bind(prepared.kernel.user);
    run.progress(1);
    return model;
}

mercer_forecast forecast(Run &run, const Recipe &recipe, const Data &data) {
    int64_t n = data.source->rows();
    if (n < 0) fail(MERCER_E_UNSUPPORTED, "the number of rows is not known before they are read");
    if (n < 1) fail(MERCER_E_DATA, "the data have no rows");
    const DataType dtype = static_cast<DataType>(recipe.values().data_dtype);
    const bool f32 = dtype == DataType::f32 || (dtype == DataType::as_given && data.source->dtype() == MERCER_F32);
    const int64_t d = data.source->cols();
    mercer_cost reducer{sizeof reducer, 0, 0, 0, n, 0};
    if (recipe.reducer()) {
        mercer_task task(run, Random(0, Stage::reducer));
        mercer_shape shape{sizeof shape, n, d, recipe.values().components, f32 ? MERCER_F32 : MERCER_F64, 0, 0, 0, data.landmarks.rows, NAN, NAN};
        reducer.m = 0;
        task.check(recipe.reducer()->reducer.forecast(&host_table(), &task, recipe.reducer_params().values(), &shape, &reducer), *recipe.reducer());
    }
    const int64_t m = std::clamp<int64_t>(reducer.m, 1, std::max(n, data.landmarks.rows));
    const int64_t centres = data.source->kind() == Source::Kind::objects ? m * 8 : checked_bytes("the centres", m, d, f32 ? 4 : 8);
    Plan plan = plan_lift(run, recipe, f32, m, d, run.budget()->limit() - 2 * centres);
    const double pairs = static_cast<double>(pass_evaluations(m));
    const bool dense = plan.solver->name == "dense";
    const int64_t passes = plan.stored ? 1 : plan.solver_cost.passes + (recipe.values().lift_centred ? 1 : 0);
    mercer_forecast out{};
    out.struct_size = sizeof out;
    out.bytes = std::max(reducer.bytes, plan.bytes) + 2 * centres;
    out.passes = passes;
    out.kernel_evaluations = static_cast<int64_t>(pairs * static_cast<double>(plan.stored || dense ? passes : 1)) + reducer.kernel_evaluations;
    out.flops = pairs * static_cast<double>(2 * std::max<int64_t>(d, 1) * passes) + plan.solver_cost.flops + reducer.flops;
    out.dense_seconds = dense ? 10.0 / 3 * static_cast<double>(m) * static_cast<double>(m) * static_cast<double>(m) / 10e9 : 0;
    out.streams = !plan.stored;
    out.exact = plan.stored || dense;
    return out;
}

namespace {

template <class T> void kernel_matrix_as(Run &run, const Prepared &x, const std::shared_ptr<const Source> &y, const mercer_view &out) {
    Points<T> xs(x.source, x.map, leaf_specs(x.kernel)), ys = xs;
    if (y) ys = Points<T>(y, x.map, leaf_specs(x.kernel));
    Tiles<T> tiles(x.kernel, xs, ys);
    T *to = static_cast<T *>(out.data);
    auto store = [&](const Tile<T> &tile) {
        for (int64_t i = 0; i < tile.x.rows; ++i)
            for (int64_t j = 0; j < tile.y.rows; ++j) {
                const int64_t row = tile.x.row0 + i, col = tile.y.row0 + j;
                if (!y && col < row) continue; // one triangle decides both: exactly symmetric
                const T value = tile.values[i * tile.y.rows + j];
                to[row * out.row_stride + col * out.col_stride] = value;
                if (!y) to[col * out.row_stride + row * out.col_stride] = value;
            }
        return true;
    };
    sweep<T>(run, tiles, 0, xs.rows(), store, y ? Range::all : Range::upper);
}

} // namespace

void kernel_matrix(Run &run, const Recipe &recipe, const Data &x, const Data *y, const mercer_view &out) {
    run.stage("gram", 1);
    Prepared prepared = prepare(run, recipe, x);
    prepared.f32 = out.dtype == MERCER_F32;
    std::shared_ptr<const Source> other;
    if (y) {
        other = y->source->load(run);
        if (!other) other = y->source;
        if (other->kind() == Source::Kind::objects || prepared.source->kind() == Source::Kind::objects)
            fail(MERCER_E_UNSUPPORTED, "kernel matrix: objects have values among themselves only, y must be NULL");
        if (other->cols() != prepared.source->cols())
            fail(MERCER_E_SHAPE, "y has %" PRId64 " columns, x has %" PRId64, other->cols(), prepared.source->cols());
    }
    const int64_t rows = prepared.source->rows(), cols = other ? other->rows() : rows;
    if (out.rows != rows || out.cols != cols)
        fail(MERCER_E_SHAPE, "out is %" PRId64 " x %" PRId64 ", must be %" PRId64 " x %" PRId64, out.rows, out.cols, rows, cols);
    if (prepared.f32)
        kernel_matrix_as<float>(run, prepared, other, out);
    else
        kernel_matrix_as<double>(run, prepared, other, out);
    run.progress(1);
}

} // namespace mercer
