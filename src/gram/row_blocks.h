// Reads data in blocks of rows, each of which is fitted on its own (fit_rows): data that arrive in
// pieces, are too many to be in memory at once, or have an unknown number of rows.
#pragma once
#include "data.h"

#include <optional>

namespace mercer {

class ChunkSource;

class RowBlocks {
  public:
    // rows: the number of rows of a block; the last block may have fewer.
    RowBlocks(Data data, int64_t rows);
    // Returns the next block, or nothing at the end. Of a chunk callback, which is read in one pass
    // on this thread, a block is a copy that counts in the budget of run for as long as it lives. Of
    // data that can be read at will it is a subset (subset.h). Weights, labels and landmarks are
    // those of the block's rows. Fails with E_DATA if there are fewer or more rows than
    // announced.
    std::optional<Data> next(Run &run);
    int64_t rows_read() const { return first_; }

  private:
    template <class T>
    std::optional<Data> next_of_chunks(Run &run);

    Data data_;
    std::shared_ptr<const ChunkSource> chunks_; // nullptr: data that can be read at will
    int64_t rows_, first_ = 0;
    bool ended_ = false;
};

} // namespace mercer
