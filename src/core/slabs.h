// The ordered reduction over rows. The rows are cut into slabs whose length does not depend on
// the number of threads. One thread fills the state of a slab, and the calling thread combines the
// states in the order of the slabs. Therefore the result is bit-identical for any number of
// threads, and combining needs no lock. The slabs are processed in windows of a few slabs each, so
// that few states exist at once. (A version for several machines would start here: each machine
// would send its states to the one that combines them.)
#pragma once
#include "run.h"
#include "threads.h"

namespace mercer {

// Calls body(first, count) for each window of rows first ... first + count - 1, one after the
// other, until body returns false. Each window fills its share of the progress.
template <class Body>
void for_windows(Run &run, int64_t n, int64_t window_rows, Body &&body) {
    for (int64_t first = 0; first < n; first += window_rows) {
        const int64_t count = std::min(window_rows, n - first);
        Run::Span span(run, static_cast<double>(first) / static_cast<double>(n),
                       static_cast<double>(first + count) / static_cast<double>(n));
        if (!body(first, count)) return;
    }
}

struct Slabs {
    int64_t n, rows;     // n: number of rows in total; rows: number of rows of one slab
    int64_t window = 64; // number of slabs whose states exist at once
    bool serial = false; // slabs are filled on the calling thread, in ascending order
};

// Calls fill(row0, rows, state) on any thread with a new state for each slab, and then
// combine(state) on the calling thread, in the order of the slabs.
template <class State, class Fill, class Combine>
void reduce_slabs(Run &run, const Slabs &slabs, Fill &&fill, Combine &&combine) {
    for_windows(run, slabs.n, slabs.window * slabs.rows, [&](int64_t first, int64_t count) {
        const int64_t now = (count + slabs.rows - 1) / slabs.rows;
        std::vector<State> states(static_cast<size_t>(now));
        parallel_for(
            run, now,
            [&](int64_t s) {
                const int64_t row0 = first + s * slabs.rows;
                fill(row0, std::min(slabs.rows, slabs.n - row0), states[static_cast<size_t>(s)]);
            },
            slabs.serial);
        for (State &state : states) combine(state);
        return true;
    });
}

} // namespace mercer
