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
    // Returns the next block, or nothing at the end. A chunk callback is read in one pass on this
    // thread, and each block is a copy of its rows, which counts in the budget of `run` as long as
    // the block lives. For data that can be read at will, a block is a subset (subset.h). A block
    // has the weights and landmarks of its own rows, and for a chunk callback their labels, too.
    // Fails with E_DATA if there are fewer or more rows than announced.
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
