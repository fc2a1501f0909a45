// The ordered reduction over rows, of which there is one. Rows are cut into slabs whose length does not depend on the number of
// threads; each slab has a state of its own, which one thread fills, and states are combined on the calling thread in the order
// of the slabs. So any number of threads gives the same bits, and combining needs no lock. Few states exist at once, because
// slabs are taken in windows. (Processes on several machines will meet here: a state goes to whoever combines.)
#pragma once
#include "run.h"
#include "threads.h"

namespace mercer {

// body(first, count) for rows first ... first + count, a window after the other; each fills its part of the progress.
template <class Body>
void for_windows(Run &run, int64_t n, int64_t window_rows, Body &&body) {
    for (int64_t first = 0; first < n; first += window_rows) {
        const int64_t count = std::min(window_rows, n - first);
        Run::Span span(run, static_cast<double>(first) / static_cast<double>(n),
                       static_cast<double>(first + count) / static_cast<double>(n));
        body(first, count);
    }
}

struct Slabs {
    int64_t n, rows;     // of all slabs, of one
    int64_t window = 64; // slabs whose states exist at once
    bool serial = false; // on the calling thread alone, as callbacks may need
    int64_t count() const { return (n + rows - 1) / rows; }
};

// fill(row0, rows, state) on any thread, for a new state; then combine(state) on this thread, in order.
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
    });
}

} // namespace mercer
