// Rows from a callback of the caller. Rows that the callback gives only once are copied to memory
// before use. If the callback can begin again (MERCER_REWINDABLE), rows that take more than a
// quarter of the budget are read by windows instead: in as many passes as the call needs, or in any
// order if any thread may call the callback (MERCER_THREAD_SAFE).
#pragma once
#include "source.h"

namespace mercer {

class ChunkSource : public Source, public std::enable_shared_from_this<ChunkSource> {
  public:
    explicit ChunkSource(const mercer_chunks &chunks)
        : Source(Kind::dense, chunks.rows, chunks.cols, chunks.dtype), chunks_(chunks) {}
    ~ChunkSource() override;
    bool at_will() const override { return false; }
    // Both describe the result of load().
    bool in_passes() const override;
    bool costs_calls() const override;
    int64_t loaded_bytes() const override;
    int64_t window_bytes(int64_t count) const override;
    std::shared_ptr<const Source> load(Run &run) const override;
    void fill(int64_t, int64_t, float *) const override;
    void fill(int64_t, int64_t, double *) const override;

    int64_t row_bytes() const { return cols() * (dtype() == MERCER_F32 ? 4 : 8); }
    // Begins a pass over the rows. Fails with E_DATA if there was one already and the callback
    // cannot begin again.
    void begin() const;
    // Reads `capacity` rows from row `first` on, or fewer if the data end before, and returns their
    // number. T is the type of the chunks. The function reports to `run` the progress of a pass
    // over `of` rows (0: it only checks for cancellation); run is nullptr on threads other than the
    // calling one.
    template <class T>
    int64_t pull(Run *run, int64_t first, int64_t capacity, T *out, int64_t of = 0) const;
    // These fail because a pass had fewer or more rows than the caller announced.
    [[noreturn]] void ended_early(int64_t after, int64_t announced) const;
    [[noreturn]] void has_more(int64_t announced) const;

  private:
    bool rewindable() const { return chunks_.flags & MERCER_REWINDABLE; }
    int64_t most_stored(const Budget *budget) const;
    template <class T>
    std::shared_ptr<const Source> load_as(Run &run) const;
    template <class T>
    std::shared_ptr<const Source> load_unknown(Run &run) const;
    template <class T>
    std::shared_ptr<const Source> by_windows(Run &run, int64_t rows) const;
    void need_room(const Run &run, int64_t more, int64_t arrived) const;

    mercer_chunks chunks_;
    mutable std::atomic<bool> used_{false};
};

std::shared_ptr<Source> make_chunk_source(const mercer_chunks &chunks);

} // namespace mercer
