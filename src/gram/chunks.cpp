#include "chunks.h"

#include "../core/run.h"

#include <algorithm>
#include <cinttypes>
#include <numeric>
#include <vector>

namespace mercer {
namespace {

// Rows that can be read again are stored only if they take at most 1 / stored_share of the budget.
constexpr int64_t stored_share = 4;

// Returns the number of rows of a window. A window is large enough that the cost of calling the
// callback does not matter. If possible its length is a multiple of 1024 or 256, so that no panel
// or slab of rows extends over two windows: a panel that is read twice then needs no further pass.
int64_t window_rows(const Budget &budget, int64_t row_bytes) {
    constexpr int64_t most_bytes = int64_t{8} << 20;
    const int64_t rows = std::max<int64_t>(std::min(budget.limit() / 32, most_bytes) / row_bytes, 1),
                  step = rows >= 1024  ? 1024
                         : rows >= 256 ? 256
                                       : 1;
    return rows / step * step;
}

// Returns how many rows are requested at once from a callback that any thread may call, if the
// entries of the rows have to be converted to another type.
int64_t rows_at_once(int64_t row_bytes) { return std::max<int64_t>((int64_t{1} << 18) / row_bytes, 1); }

// Returns the order in which these numbers ascend.
std::vector<int64_t> ascending(const int64_t *numbers, int64_t count) {
    std::vector<int64_t> order(static_cast<size_t>(count));
    std::iota(order.begin(), order.end(), int64_t{0});
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return numbers[a] < numbers[b]; });
    return order;
}

template <class From, class To>
void copy_rows(const From *from, int64_t count, To *out) {
    std::transform(from, from + count, out, [](From value) { return static_cast<To>(value); });
}

// Reads the callback's rows in order and has one window of them in memory. If a row that precedes
// the window is needed, a new pass begins; if a row beyond the window is needed, the present pass
// continues up to this row.
template <class T>
class ChunkWindows : public Source {
  public:
    ChunkWindows(Run &run, std::shared_ptr<const ChunkSource> chunks, int64_t rows)
        : Source(Kind::dense, rows, chunks->cols(), chunks->dtype()), run_(run), chunks_(std::move(chunks)),
          owner_(pthread_self()), capacity_(std::min(window_rows(*run.budget(), chunks_->row_bytes()), rows)),
          window_(run.buffer<T>(capacity_, cols())) {}
    bool in_passes() const override { return true; }
    int64_t loaded_bytes() const override { return window_.bytes(); }
    void fill(int64_t row0, int64_t count, float *out) const override { copy(row0, count, out); }
    void fill(int64_t row0, int64_t count, double *out) const override { copy(row0, count, out); }
    void pick(const int64_t *numbers, int64_t count, float *out) const override { pick_in_order(numbers, count, out); }
    void pick(const int64_t *numbers, int64_t count, double *out) const override { pick_in_order(numbers, count, out); }

  private:
    template <class To>
    void copy(int64_t row0, int64_t count, To *out) const {
        if (!pthread_equal(owner_, pthread_self()))
            fail(MERCER_E_INTERNAL, "rows of a chunk callback were read on another thread than the calling one");
        for (int64_t done = 0; done < count;) {
            const int64_t row = row0 + done;
            if (row < first_) first_ = filled_ = 0;
            if (row >= first_ + filled_) {
                read_next();
                continue;
            }
            const int64_t some = std::min(count - done, first_ + filled_ - row);
            copy_rows(window_.data() + (row - first_) * cols(), some * cols(), out + done * cols());
            done += some;
        }
    }

    // Rows are read in ascending order and written to their places.
    template <class To>
    void pick_in_order(const int64_t *numbers, int64_t count, To *out) const {
        for (int64_t at : ascending(numbers, count)) copy(numbers[at], 1, out + at * cols());
    }

    void read_next() const {
        const int64_t from = first_ + filled_, wanted = std::min(capacity_, rows() - from);
        filled_ = 0, first_ = from; // if the callback fails, the window is empty
        const int64_t got = chunks_->pull(&run_, from, wanted, window_.data());
        if (got < wanted) chunks_->ended_early(from + got, rows());
        filled_ = got;
        if (from + got < rows() || checked_end_) return;
        std::vector<T> beyond(static_cast<size_t>(cols()));
        if (chunks_->pull(&run_, rows(), 1, beyond.data()) != 0) chunks_->has_more(rows());
        checked_end_ = true;
    }

    Run &run_;
    std::shared_ptr<const ChunkSource> chunks_;
    pthread_t owner_;
    int64_t capacity_;
    mutable Buffer<T> window_;
    mutable int64_t first_ = 0, filled_ = 0; // the window has rows first_ ... first_ + filled_ - 1
    mutable bool checked_end_ = false;
};

// Asks a callback that any thread may call for exactly the rows that are read.
template <class T>
class ChunksAtWill : public Source {
  public:
    ChunksAtWill(std::shared_ptr<const ChunkSource> chunks, int64_t rows)
        : Source(Kind::dense, rows, chunks->cols(), chunks->dtype()), chunks_(std::move(chunks)) {}
    void fill(int64_t row0, int64_t count, float *out) const override { copy(row0, count, out); }
    void fill(int64_t row0, int64_t count, double *out) const override { copy(row0, count, out); }
    bool costs_calls() const override { return true; }
    int64_t window_bytes(int64_t count) const override { return std::min(count, at_once()) * chunks_->row_bytes(); }
    void pick(const int64_t *numbers, int64_t count, float *out) const override { pick_near(numbers, count, out); }
    void pick(const int64_t *numbers, int64_t count, double *out) const override { pick_near(numbers, count, out); }

  private:
    int64_t at_once() const { return rows_at_once(chunks_->row_bytes()); }
    void pull(int64_t row0, int64_t count, T *out) const {
        if (const int64_t got = chunks_->pull(nullptr, row0, count, out); got < count)
            chunks_->ended_early(row0 + got, rows());
    }
    template <class To>
    void copy(int64_t row0, int64_t count, To *out) const {
        if constexpr (std::is_same_v<T, To>) {
            pull(row0, count, out);
        } else {
            Buffer<T> given(std::min(count, at_once()), cols());
            for (int64_t done = 0, some; done < count; done += some) {
                some = std::min(count - done, at_once());
                pull(row0 + done, some, given.data());
                copy_rows(given.data(), some * cols(), out + done * cols());
            }
        }
    }
    // Rows within one window are requested with one call, which also gives the rows between them.
    // That takes less time than a call for each row.
    template <class To>
    void pick_near(const int64_t *numbers, int64_t count, To *out) const {
        const std::vector<int64_t> order = ascending(numbers, count);
        const int64_t most = std::min(at_once(), count);
        Buffer<T> window(most, cols());
        for (size_t k = 0; k < order.size();) {
            const int64_t first = numbers[order[k]];
            size_t end = k + 1;
            while (end < order.size() && numbers[order[end]] - first < most) ++end;
            pull(first, numbers[order[end - 1]] - first + 1, window.data());
            for (; k < end; ++k)
                copy_rows(window.data() + (numbers[order[k]] - first) * cols(), cols(), out + order[k] * cols());
        }
    }
    std::shared_ptr<const ChunkSource> chunks_;
};

} // namespace

ChunkSource::~ChunkSource() {
    if (owned() && chunks_.release) chunks_.release(chunks_.user);
}

void ChunkSource::fill(int64_t, int64_t, float *) const { fail(MERCER_E_INTERNAL, "chunks are read by load()"); }
void ChunkSource::fill(int64_t, int64_t, double *) const { fail(MERCER_E_INTERNAL, "chunks are read by load()"); }

// Returns the largest number of rows that load() stores in memory.
int64_t ChunkSource::most_stored(const Budget *budget) const {
    return rewindable() && budget ? budget->limit() / stored_share / row_bytes() : INT64_MAX;
}

bool ChunkSource::costs_calls() const { return rows() > most_stored(Budget::current().get()); }

bool ChunkSource::in_passes() const { return !(chunks_.flags & MERCER_THREAD_SAFE) && costs_calls(); }

int64_t ChunkSource::loaded_bytes() const {
    const std::shared_ptr<Budget> budget = Budget::current();
    if (rows() <= most_stored(budget.get())) return rows() * row_bytes();
    return in_passes() ? std::min(window_rows(*budget, row_bytes()), rows()) * row_bytes() : 0;
}

int64_t ChunkSource::window_bytes(int64_t count) const {
    return loaded_bytes() > 0 ? 0 : std::min(count, rows_at_once(row_bytes())) * row_bytes();
}

void ChunkSource::begin() const {
    if (used_ && !rewindable())
        fail(MERCER_E_DATA, "the chunk callback has already been read to the end and is not MERCER_REWINDABLE");
}

std::shared_ptr<const Source> ChunkSource::load(Run &run) const {
    begin();
    return dtype() == MERCER_F32 ? load_as<float>(run) : load_as<double>(run);
}

void ChunkSource::ended_early(int64_t after, int64_t announced) const {
    fail(MERCER_E_DATA, "the chunk callback ended after %" PRId64 " rows of %" PRId64, after, announced);
}

void ChunkSource::has_more(int64_t announced) const {
    fail(MERCER_E_DATA, "the chunk callback has more than the %" PRId64 " rows it announced", announced);
}

template <class T>
int64_t ChunkSource::pull(Run *run, int64_t first, int64_t capacity, T *out, int64_t of) const {
    int64_t filled = 0;
    while (filled < capacity) {
        if (run) run->progress(of > 0 ? static_cast<double>(first + filled) / static_cast<double>(of) : 0);
        int64_t got = 0;
        call_back("the chunk callback", [&] {
            return chunks_.next(chunks_.user, first + filled, capacity - filled, out + filled * cols(), &got);
        });
        if (got < 0 || got > capacity - filled)
            fail(MERCER_E_CALLBACK, "the chunk callback returned %" PRId64 " rows, must be 0 to %" PRId64, got,
                 capacity - filled);
        if (!used_.load(std::memory_order_relaxed)) used_ = true;
        if (got == 0) break;
        filled += got;
    }
    return filled;
}
template int64_t ChunkSource::pull(Run *, int64_t, int64_t, float *, int64_t) const;
template int64_t ChunkSource::pull(Run *, int64_t, int64_t, double *, int64_t) const;

// Fails if the callback gives its rows only once, so that they must be stored, and the budget has
// no memory left for `more` rows. arrived: how many rows there will be then, for the message.
void ChunkSource::need_room(const Run &run, int64_t more, int64_t arrived) const {
    const int64_t bytes = checked_bytes("the rows of the chunk callback", more, row_bytes(), 1);
    if (rewindable() || bytes <= run.budget()->left()) return;
    fail(MERCER_E_BUDGET,
         "to store %s%" PRId64 " rows of the chunk callback takes %.2f MiB more, and %.2f MiB of the memory budget of "
         "%.2f MiB are left: a callback that can be read only once is stored; one that is MERCER_REWINDABLE is read by "
         "windows",
         rows() < 0 ? "the first " : "the ", arrived, static_cast<double>(bytes) / 0x1p20,
         static_cast<double>(run.budget()->left()) / 0x1p20, static_cast<double>(run.budget()->limit()) / 0x1p20);
}

template <class T>
std::shared_ptr<const Source> ChunkSource::by_windows(Run &run, int64_t rows) const {
    run.log(1, format("the %" PRId64 " rows of the chunk callback are read by windows, because storing them would take "
                      "%.0f MiB",
                      rows, static_cast<double>(rows) * static_cast<double>(row_bytes()) / 0x1p20)
                   .c_str());
    if (!(chunks_.flags & MERCER_THREAD_SAFE)) return std::make_shared<ChunkWindows<T>>(run, shared_from_this(), rows);
    Buffer<T> beyond = run.buffer<T>(1, cols());
    if (pull(&run, rows, 1, beyond.data()) != 0) has_more(rows);
    return std::make_shared<ChunksAtWill<T>>(shared_from_this(), rows);
}

template <class T>
std::shared_ptr<const Source> ChunkSource::load_as(Run &run) const {
    if (rows() < 0) return load_unknown<T>(run);
    if (rows() > most_stored(run.budget().get())) return by_windows<T>(run, rows());
    need_room(run, rows(), rows());
    Buffer<T> all = run.buffer<T>(rows(), cols()), beyond = run.buffer<T>(1, cols());
    if (const int64_t got = pull(&run, 0, rows(), all.data(), rows()); got < rows()) ended_early(got, rows());
    if (pull(&run, rows(), 1, beyond.data()) != 0) has_more(rows());
    return make_array_source(std::move(all), rows(), cols());
}

// The rows arrive in pieces and are copied once, when their number is known. If they turn out to be
// too many to be stored, the first pass only counts them.
template <class T>
std::shared_ptr<const Source> ChunkSource::load_unknown(Run &run) const {
    const int64_t d = cols(), most = most_stored(run.budget().get()),
                  piece = std::max<int64_t>(std::min(int64_t{1} << 20, run.budget()->limit() / 16) / row_bytes(), 1);
    std::vector<Buffer<T>> pieces;
    int64_t total = 0, got = piece;
    while (got == piece) {
        if (total <= most) {
            need_room(run, piece, total + piece);
            pieces.push_back(run.buffer<T>(piece, d));
        } else {
            pieces.resize(1); // from here on, rows are only counted, in the memory of one piece
        }
        total += got = pull(&run, total, piece, pieces.back().data());
    }
    if (total > most) return pieces.clear(), by_windows<T>(run, total);
    need_room(run, total, total); // the pieces are copied to one array, and both are held meanwhile
    Buffer<T> all = run.buffer<T>(total, d);
    int64_t at = 0;
    for (Buffer<T> &buffer : pieces) {
        int64_t take = std::min(buffer.size(), (total * d) - at);
        std::copy_n(buffer.data(), take, all.data() + at);
        at += take;
        buffer = Buffer<T>();
    }
    return make_array_source(std::move(all), total, d);
}

std::shared_ptr<Source> make_chunk_source(const mercer_chunks &chunks) { return std::make_shared<ChunkSource>(chunks); }

} // namespace mercer
