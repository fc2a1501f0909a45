#include "row_blocks.h"

#include "../core/run.h"
#include "chunks.h"
#include "subset.h"

#include <cinttypes>

namespace mercer {
namespace {

// Returns entries first ... first + rows - 1 of a column with one entry for each row of the data. A
// column that was not given (data is NULL) is returned unchanged.
mercer_view slice(mercer_view column, const char *name, int64_t first, int64_t rows) {
    if (!column.data) return column;
    if (first + rows > column.rows)
        fail(MERCER_E_SHAPE, "%s: %" PRId64 " entries for at least %" PRId64 " rows", name, column.rows, first + rows);
    const int64_t size = column.dtype == MERCER_F32 ? 4 : 8;
    column.data = static_cast<char *>(column.data) + first * column.row_stride * size;
    column.rows = rows;
    return column;
}

} // namespace

RowBlocks::RowBlocks(Data data, int64_t rows)
    : data_(std::move(data)), chunks_(std::dynamic_pointer_cast<const ChunkSource>(data_.source)), rows_(rows) {
    if (rows < 1) fail(MERCER_E_VALUE, "blocks of %" PRId64 " rows, must be >= 1", rows);
    if (chunks_) chunks_->begin();
}

std::optional<Data> RowBlocks::next(Run &run) {
    if (ended_) return {};
    if (chunks_) return chunks_->dtype() == MERCER_F32 ? next_of_chunks<float>(run) : next_of_chunks<double>(run);
    const int64_t count = std::min(rows_, data_.source->rows() - first_), before = first_;
    ended_ = count < 1;
    if (ended_) return {};
    first_ += count;
    return data_of_subset(data_, range_of(data_.source, before, count));
}

// The number of rows is known only when the callback has no more of them. Only then can it be seen
// that there are fewer rows than announced, or not as many as weights. Rows in excess are noticed
// as soon as they arrive.
template <class T>
std::optional<Data> RowBlocks::next_of_chunks(Run &run) {
    Buffer<T> values = run.buffer<T>(rows_, chunks_->cols());
    const int64_t got = chunks_->pull(&run, first_, rows_, values.data()), before = first_, announced = chunks_->rows();
    first_ += got;
    ended_ = got < rows_;
    if (announced >= 0 && first_ > announced) chunks_->has_more(announced);
    if (ended_ && first_ < announced) chunks_->ended_early(first_, announced);
    if (ended_ && data_.has_weights() && data_.weights.rows != first_)
        fail(MERCER_E_SHAPE, "weights: %" PRId64 " weights for %" PRId64 " rows", data_.weights.rows, first_);
    if (got == 0) return {};
    Data out = data_;
    out.source = make_array_source(std::move(values), got, chunks_->cols(), before);
    out.weights = slice(data_.weights, "weights", before, got);
    out.labels = slice(data_.labels, "labels", before, got);
    if (out.has_landmark_rows())
        choose_landmarks(out, before, [&](int64_t row) { return before <= row && row < before + got; });
    return out;
}

} // namespace mercer
