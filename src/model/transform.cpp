// Outputs of a model on new points. All are rows of  F = k(Q, C) W  for a thin W: scores W = A, density W = w / n, residual
// W = [A, nu], a denominator g one column more. Row panels of Q in parallel; a tile of k lives in cache, an n x m matrix
// never exists. Cost n m (kernel value + 2 q flops), q = columns of W; memory: the panels of C, and one panel a thread.
// Sums across tiles are f64.
#include "model.h"

#include "../core/threads.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>

namespace mercer {
namespace {

// W (m x q, row-major, rows padded to `stride`: see operator.cpp) in the tile's type.
template <class T>
struct Weights {
    Weights(Run &run, int64_t rows, int64_t cols)
        : rows(rows), cols(cols), stride(padded_columns<T>(cols)), values(run.buffer<T>(rows, stride)) {
        values.zero();
    }
    void column(int64_t at, const Tensor &from, double scale) {
        for (int64_t i = 0; i < rows; ++i)
            values[i * stride + at] = static_cast<T>(tensor_data<double>(from)[i] * scale);
    }
    void columns(int64_t at, const Tensor &from) {
        for (int64_t i = 0; i < rows; ++i)
            std::copy_n(tensor_data<T>(from) + i * from.cols, from.cols, values.data() + i * stride + at);
    }
    int64_t rows, cols, stride;
    Buffer<T> values;
};

template <class T>
class Evaluator {
  public:
    using Done = std::function<void(const Panel<T> &panel, double *sums)>; // sums: panel.rows x q, row-major

    Evaluator(Run &run, const Model &model, const std::shared_ptr<const Source> &data)
        : run_(run), model_(model), queries_(data, model.map(), specs()),
          centres_(model.indices() ? Points<T>(data, {}, specs(), model.indices(), model.m())
                                   : Points<T>(model.centres(), {}, specs())),
          tiles_(model.has_frequencies() ? Tiles<T>(MERCER_DOT, queries_, centres_)
                                         : Tiles<T>(model.kernel(), queries_, centres_)) {
        if (model.tensor("v")) return; // relative_row wants rows
        queries_.lean();
        centres_.lean();
    }

    const Tiles<T> &tiles() const { return tiles_; }
    int64_t rows() const { return queries_.rows(); }

    // Calls done for every row panel, on any thread; sums: panel.rows x w.stride, row-major.
    void evaluate(const Weights<T> &w, const Done &done) {
        if (w.cols == 0 || model_.m() == 0) return without_centres(w.stride, done);
        std::vector<Buffer<double>> open(static_cast<size_t>(blocks_of(rows())));
        Pool<Buffer<T>> pool(
            [&] { return std::unique_ptr<Buffer<T>>(new Buffer<T>(run_.buffer<T>(tile_rows, w.stride))); });
        sweep_panels<T>(
            run_, tiles_, 0, rows(), [&](int64_t slab, const Panel<T> &x, const Panel<T> &y, auto &scratch) {
                Buffer<double> &sums = open[static_cast<size_t>(slab)];
                if (sums.empty()) sums = std::move(run_.buffer<double>(x.rows, w.stride).zero());
                auto product = pool.take();
                tiles_.strips(x, y, scratch, [&](const auto &strip) {
                    add(w, y, strip.rows, scratch.tile.data(), product->data(), sums.data() + strip.row0 * w.stride);
                });
                if (y.row0 + y.rows < centres_.rows()) return true;
                done(x, sums.data());
                sums = Buffer<double>();
                return true;
            });
    }

    // One row again with k relative to its largest value, for a row so far from all centres that k underflows.
    void relative_row(const Weights<T> &w, int64_t row, double *sums) {
        std::fill_n(sums, w.cols, 0.0);
        if (w.rows == 0) return;
        TileScratch<T> scratch = tiles_.scratch(run_);
        Panel<T> x = queries_.load(run_, row, 1);
        Buffer<T> logs = run_.buffer<T>(centres_.rows());
        for (int64_t b = 0; b < blocks_of(centres_.rows()); ++b) {
            Panel<T> y = centres_.load(run_, b);
            tiles_.compute_log(x, y, scratch);
            std::copy_n(scratch.tile.data(), y.rows, logs.data() + y.row0);
        }
        const T largest = *std::max_element(logs.begin(), logs.end());
        if (!std::isfinite(largest)) return; // beyond the type's range: nothing is known
        for (int64_t i = 0; i < w.rows; ++i) {
            double k = std::exp(static_cast<double>(logs[i] - largest));
            for (int64_t j = 0; j < w.cols; ++j) sums[j] += k * static_cast<double>(w.values[i * w.stride + j]);
        }
    }

  private:
    std::vector<LeafSpec> specs() const {
        if (model_.has_frequencies()) return {{MERCER_DOT, false, {}, {}}};
        return leaf_specs(model_.kernel());
    }

    void without_centres(int64_t q, const Done &done) {
        Buffer<double> zeros = std::move(run_.buffer<double>(tile_rows, std::max<int64_t>(q, 1)).zero());
        for (int64_t b = 0; b < blocks_of(rows()); ++b) done(queries_.load(run_, b), zeros.data());
    }

    // sums += K W for a strip of values K between rows and the centres of y.
    void add(const Weights<T> &w, const Panel<T> &y, int64_t rows, T *values, T *product, double *sums) {
        if (!model_.has_frequencies()) return add_values(w, y.row0, y.rows, rows, values, product, sums);
        // Features of a frequency: cos and sin of its product with x; W has all cosines' rows first.
        Buffer<T> sine = run_.buffer<T>(rows, tile_rows);
        for (int64_t i = 0; i < rows; ++i)
            for (int64_t k = i * tile_rows; k < i * tile_rows + y.rows; ++k) {
                sine[k] = std::sin(values[k]);
                values[k] = std::cos(values[k]);
            }
        add_values(w, y.row0, y.rows, rows, values, product, sums);
        add_values(w, model_.m() + y.row0, y.rows, rows, sine.data(), product, sums);
    }

    // In BLAS' order sums^T += W(row0 ...)^T values^T; products in T, sums across tiles in f64.
    void add_values(const Weights<T> &w, int64_t row0, int64_t m, int64_t n, const T *values, T *product,
                    double *sums) {
        gemm('N', 'N', w.stride, n, m, T(1), w.values.data() + row0 * w.stride, w.stride, values, tile_rows, T(0),
             product, w.stride);
        for (int64_t k = 0; k < n * w.stride; ++k) sums[k] += static_cast<double>(product[k]);
    }

    Run &run_;
    const Model &model_;
    Points<T> queries_, centres_;
    Tiles<T> tiles_;
};

// The caller's array: of the model's type, or f64.
class Writer {
  public:
    explicit Writer(const mercer_view &out) : out_(out) {}
    void put(int64_t row, int64_t col, double value) {
        const int64_t at = row * out_.row_stride + col * out_.col_stride;
        if (out_.dtype == MERCER_F32)
            static_cast<float *>(out_.data)[at] = static_cast<float>(value);
        else
            static_cast<double *>(out_.data)[at] = value;
    }

  private:
    const mercer_view &out_;
};

template <class T>
void scores(Run &run, const Model &model, Evaluator<T> &evaluator, Writer out) {
    const int64_t r = model.r(), rows = model.tensor("A")->rows;
    const Tensor *b = model.tensor("b"), *v = model.tensor("v");
    Weights<T> w(run, rows, r + (v != nullptr));
    w.columns(0, *model.tensor("A"));
    double scale = 0; // of g
    if (v) {
        w.column(r, *v, 1);
        for (int64_t i = 0; i < rows; ++i) scale += std::fabs(tensor_data<double>(*v)[i]);
    }
    const double far = scale * (sizeof(T) == 4 ? 1e-30 : 1e-290);
    evaluator.evaluate(w, [&](const Panel<T> &panel, double *sums) {
        for (int64_t i = 0; i < panel.rows; ++i) {
            double *row = sums + i * w.stride, g = 1;
            if (v) {
                if (!(std::fabs(row[r]) > far) && evaluator.tiles().has_log())
                    evaluator.relative_row(w, panel.row0 + i, row);
                g = row[r] != 0 ? row[r] : 1; // a kernel that is 0 at every centre says nothing: f = -b
            }
            for (int64_t j = 0; j < r; ++j)
                out.put(panel.row0 + i, j, row[j] / g - (b ? tensor_data<double>(*b)[j] : 0));
        }
    });
}

template <class T>
void density(Run &run, const Model &model, Evaluator<T> &evaluator, Writer out) {
    Weights<T> w(run, model.m(), 1);
    w.column(0, *model.tensor("w"), 1 / static_cast<double>(model.n()));
    evaluator.evaluate(w, [&](const Panel<T> &panel, double *sums) {
        for (int64_t i = 0; i < panel.rows; ++i) out.put(panel.row0 + i, 0, sums[i * w.stride]);
    });
}

// |phi(x) - mean - projection|^2 = k(x, x) - 2 nu^T k_C(x) + nu^T K nu - |f(x)|^2, clamped at 0.
template <class T>
void residual(Run &run, const Model &model, Evaluator<T> &evaluator, Writer out) {
    const int64_t r = model.r();
    const Tensor *b = model.tensor("b"), *nu = model.tensor("nu");
    Weights<T> w(run, model.m(), r + (nu != nullptr));
    w.columns(0, *model.tensor("A"));
    if (nu) w.column(r, *nu, 1);
    evaluator.evaluate(w, [&](const Panel<T> &panel, double *sums) {
        std::vector<T> own(static_cast<size_t>(panel.rows));
        evaluator.tiles().self(run, panel, true, own.data());
        for (int64_t i = 0; i < panel.rows; ++i) {
            const double *row = sums + i * w.stride;
            double value =
                static_cast<double>(own[static_cast<size_t>(i)]) + (nu ? model.mean_square() - 2 * row[r] : 0);
            for (int64_t j = 0; j < r; ++j) {
                double f = row[j] - (b ? tensor_data<double>(*b)[j] : 0);
                value -= f * f;
            }
            out.put(panel.row0 + i, 0, std::max(value, 0.0));
        }
    });
}

template <class T>
void transform_as(Run &run, const Model &model, const std::string &operation, const std::shared_ptr<const Source> &data,
                  const mercer_view &out) {
    Evaluator<T> evaluator(run, model, data);
    if (operation == "scores") return scores(run, model, evaluator, Writer(out));
    if (operation == "density") return density(run, model, evaluator, Writer(out));
    residual(run, model, evaluator, Writer(out));
}

} // namespace

Output output_of(const Model &model, const std::string &operation) {
    auto need = [&](uint32_t capability, const char *why) {
        if (!model.can(capability)) fail(MERCER_E_UNSUPPORTED, "this model has no '%s': %s", operation.c_str(), why);
    };
    if (operation == "scores") return {"scores", "coordinates on the components", model.r()};
    if (operation == "density") {
        need(MERCER_CAN_DENSITY, "its centres carry no weights");
        return {"density", "w^T k_C(x) / n", 1};
    }
    need(MERCER_CAN_RESIDUAL, "its components are not orthonormal directions");
    return {"residual", "squared distance to the components", 1};
}

void transform(Run &run, const Model &model, const std::string &operation, const std::shared_ptr<const Source> &data,
               const mercer_view &out) {
    if (model.indices() && data->kind() != Source::Kind::objects)
        fail(MERCER_E_SHAPE, "the model was fitted on objects: queries must be objects too");
    if (model.indices()) check_objects(model.kernel(), static_cast<const ObjectSource &>(*data));
    if (!model.indices() && (data->kind() == Source::Kind::objects || data->cols() != model.d()))
        fail(MERCER_E_SHAPE, "queries have %" PRId64 " columns, the model was fitted on %" PRId64, data->cols(),
             model.d());
    if (out.rows != data->rows() || out.cols < output_of(model, operation).cols)
        fail(MERCER_E_SHAPE, "out is %" PRId64 " x %" PRId64 ", must be %" PRId64 " x %" PRId64, out.rows, out.cols,
             data->rows(), output_of(model, operation).cols);
    if (out.dtype != model.dtype() && out.dtype != MERCER_F64)
        fail(MERCER_E_ARGUMENT, "out: dtype = 1 (MERCER_F32), this model gives 2 (MERCER_F64)");
    if (model.kernel().has_user() && !model.kernel().user && data->kind() != Source::Kind::objects &&
        !model.has_frequencies())
        fail(MERCER_E_UNSUPPORTED, "the model's user kernel is not here: give it back with mercer_model_bind");
    if (data->rows() == 0) return;
    if (model.dtype() == MERCER_F32)
        transform_as<float>(run, model, operation, data, out);
    else
        transform_as<double>(run, model, operation, data, out);
}

} // namespace mercer
