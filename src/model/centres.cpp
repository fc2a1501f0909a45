#include "centres.h"

#include "../core/structs.h"

#include <algorithm>
#include <cstring>

namespace mercer {
namespace {

// Returns the rows with the numbers in `index`, mapped by the input map T, in the type of tiles.
template <class T>
Tensor gather_rows(Run &run, const Prepared &prepared, const CountedVector<int64_t> &index) {
    const int64_t m = static_cast<int64_t>(index.size()), d = prepared.source->cols();
    const std::vector<LeafSpec> leaf = {{MERCER_BLOCK, false, {}, {}}};
    const Points<T> all(prepared.source, prepared.map, leaf);
    const Points<T> points =
        std::is_sorted(index.begin(), index.end()) ? all.only(index.data(), m) : all.gathered(run, index.data(), m);
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
    const mercer_sparse csr{.struct_size = sizeof csr,
                            .layout = MERCER_CSR,
                            .dtype = values.dtype,
                            .index_dtype = MERCER_I64,
                            .base = 0,
                            .rows = m,
                            .cols = source.cols(),
                            .count = count,
                            .offsets = offsets.bytes.data(),
                            .indices = columns.bytes.data(),
                            .values = values.bytes.data()};
    out.source = std::make_shared<SparseSource>(csr);
    out.tensors["C.values"] = std::move(values);
    out.tensors["C.columns"] = std::move(columns);
    out.tensors["C.offsets"] = std::move(offsets);
}

void object_centres(const Prepared &prepared, const CountedVector<int64_t> &index, Centres &out) {
    out.index = index;
    out.source = prepared.source;
    Tensor indices = make_tensor<int64_t>(static_cast<int64_t>(index.size()), 1, true);
    std::copy(index.begin(), index.end(), tensor_data<int64_t>(indices));
    out.tensors["indices"] = std::move(indices);
}

// Returns the reducer's new points that have these numbers. The input map has already been applied
// to them.
Tensor points_given(const Prepared &prepared, const Landmarks &landmarks, const CountedVector<int64_t> &index) {
    const int64_t m = static_cast<int64_t>(index.size()), d = prepared.source->cols(), row = d * (prepared.f32 ? 4 : 8);
    Tensor points = prepared.f32 ? make_tensor<float>(m, d) : make_tensor<double>(m, d);
    for (int64_t i = 0; i < m; ++i)
        std::memcpy(points.bytes.data() + i * row, landmarks.points.data() + index[static_cast<size_t>(i)] * row,
                    static_cast<size_t>(row));
    return points;
}

// Takes the assignment of rows to landmarks and replaces the number of each landmark by that of its
// centre. Landmarks of weight 0 become no centres; their rows get -1.
Buffer<int64_t> renumbered(Landmarks &landmarks) {
    CountedVector<int64_t> number(static_cast<size_t>(landmarks.m), -1);
    int64_t kept = 0;
    for (size_t k = 0; k < number.size(); ++k)
        if (landmarks.weights[k] > 0) number[k] = kept++;
    for (int64_t &centre : landmarks.assignment) centre = number[static_cast<size_t>(centre)];
    return std::move(landmarks.assignment);
}

} // namespace

Landmarks all_rows(const Prepared &prepared) {
    Landmarks out;
    for (size_t i = 0; i < prepared.weights.size(); ++i)
        if (prepared.weights[i] > 0)
            out.index.push_back(static_cast<int64_t>(i)), out.weights.push_back(prepared.weights[i]);
    out.m = static_cast<int64_t>(out.index.size());
    return out;
}

Centres make_centres(Run &run, const Prepared &prepared, Landmarks &landmarks) {
    Centres out;
    out.assignment = renumbered(landmarks);
    out.represents_rows = landmarks.represents_rows;
    out.radii = landmarks.radii;
    const int64_t d = prepared.source->cols();
    CountedVector<int64_t> kept;
    for (int64_t k = 0; k < landmarks.m; ++k)
        if (landmarks.weights[static_cast<size_t>(k)] > 0) {
            kept.push_back(landmarks.index.empty() ? k : landmarks.index[static_cast<size_t>(k)]);
            out.weights.push_back(landmarks.weights[static_cast<size_t>(k)]);
        }
    const int64_t m = out.m();
    const Source::Kind kind = prepared.source->kind();
    if (!landmarks.index.empty() && kind == Source::Kind::objects) {
        object_centres(prepared, kept, out);
        return out;
    }
    if (!landmarks.index.empty() && kind == Source::Kind::sparse) {
        const auto &source = static_cast<const SparseSource &>(*prepared.source);
        prepared.f32 ? sparse_centres<float>(source, prepared.map, kept, out)
                     : sparse_centres<double>(source, prepared.map, kept, out);
        return out;
    }
    if (landmarks.index.empty()) {
        out.rows = false;
        out.tensors["C"] = points_given(prepared, landmarks, kept);
    } else if (prepared.f32) {
        out.tensors["C"] = gather_rows<float>(run, prepared, kept);
    } else {
        out.tensors["C"] = gather_rows<double>(run, prepared, kept);
    }
    const Tensor &c = out.tensors["C"];
    out.source = make_view_source(view_of_rows(c.dtype, m, d, c.bytes.data()));
    return out;
}

int64_t base_bytes(const Source &source, bool weighted, int64_t m, bool f32) {
    const int64_t size = f32 ? 4 : 8, weights = (weighted ? 8 * source.rows() : 0) + 40 * m;
    if (source.kind() == Source::Kind::objects) return weights + 8 * m;
    // Sparse centres exist twice: as the tensors of the model, and as the SparseSource that tiles
    // read.
    if (const auto *sparse = dynamic_cast<const SparseSource *>(&source)) {
        const double share =
            std::min(static_cast<double>(m) / static_cast<double>(std::max<int64_t>(sparse->rows(), 1)), 1.0);
        const int64_t entries = static_cast<int64_t>(share * static_cast<double>(sparse->count()));
        return weights + source.stored_bytes() + entries * (size + 8 + 12 + 16) + 24 * (m + 1);
    }
    return weights + source.loaded_bytes() + source.stored_bytes() +
           checked_bytes("the centres", m, source.cols(), size);
}

} // namespace mercer
