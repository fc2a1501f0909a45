// Tests the operations of kernels on several threads at once. Each thread has form values (or rows)
// of its own, repeats an operation on them until the time is up, and compares each result, bit by
// bit, with what one thread alone computed before. An operation that writes to a static variable
// mixes the numbers of threads if two of them are inside it at once, or if one is interrupted in
// the middle of it.
//
// A short time suffices to detect this. There are more threads than most machines have idle
// processors, so that even on one processor the system interrupts a call every few milliseconds.
// With arrays of 1600 values a thread spends nearly all of its time inside the operation, so a few
// switches between threads are enough.
#include "check_subject.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>

namespace mercer {
namespace {

constexpr int64_t team_size = 4;

template <class T>
struct Difference {
    int64_t thread = -1; // the thread that found a difference; -1: none
    size_t at = 0;
    T value{};
};

// The state of a team of threads: they wait until all are ready, go on together, and stop when they
// are done.
struct Signal {
    enum State { waiting, going, done };
    std::atomic<State> state{waiting};
    std::atomic<int64_t> ready{0};
};

// Runs member(t) on thread t of a team. Each member counts itself in signal.ready and waits. When
// all are ready they go on together, until `time` is over or one of them sets the state to done.
// Returns false if the system gives no more threads.
bool run_team(Signal &signal, std::chrono::microseconds time, const std::function<void(int64_t)> &member) {
    std::vector<std::thread> team;
    std::exception_ptr failure;
    bool complete = true;
    // Whatever is thrown here, the threads that were started must be joined.
    try {
        for (int64_t t = 0; t < team_size; ++t) team.emplace_back(member, t);
        while (signal.ready < team_size) std::this_thread::yield();
        signal.state = Signal::going;
        const auto end = std::chrono::steady_clock::now() + time;
        while (signal.state == Signal::going && std::chrono::steady_clock::now() < end)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    } catch (const std::system_error &) {
        complete = false;
    } catch (...) {
        failure = std::current_exception();
    }
    signal.state = Signal::done;
    for (std::thread &one : team) one.join();
    if (failure) std::rethrow_exception(failure);
    return complete;
}

// Releases all threads of a team together. Thread t then repeats work(t) until `time` is over or
// some thread has found a difference from its expected[t]. Returns a difference that was found.
template <class T>
Difference<T> race(Suite &suite, const std::vector<std::vector<T>> &expected, std::chrono::microseconds time,
                   const std::function<std::vector<T>(int64_t)> &work) {
    Signal signal;
    std::mutex lock;
    Difference<T> found;
    std::exception_ptr failure;
    const auto member = [&](int64_t t) {
        const Budget::Scope counting(suite.run.budget().get());
        const size_t own = static_cast<size_t>(t);
        signal.ready.fetch_add(1);
        while (signal.state == Signal::waiting) std::this_thread::yield();
        try {
            while (signal.state == Signal::going) {
                const std::vector<T> got = work(t);
                if (std::memcmp(got.data(), expected[own].data(), got.size() * sizeof(T)) == 0) continue;
                size_t at = 0;
                while (std::memcmp(&got[at], &expected[own][at], sizeof(T)) == 0) ++at;
                std::lock_guard hold(lock);
                found = {t, at, got[at]};
                signal.state = Signal::done;
            }
        } catch (...) {
            std::lock_guard hold(lock);
            failure = std::current_exception();
            signal.state = Signal::done;
        }
    };
    if (!run_team(signal, time, member)) suite.note("left out: the system gives no more threads");
    if (failure) std::rethrow_exception(failure);
    return found;
}

// Returns the results that the threads of the team should get, computed one after the other on this
// thread.
template <class T>
std::vector<std::vector<T>> alone(const std::function<std::vector<T>(int64_t)> &work) {
    std::vector<std::vector<T>> out;
    for (int64_t t = 0; t < team_size; ++t) out.push_back(work(t));
    return out;
}

template <class T>
void maps_at_once(Suite &suite, const Subject &subject, Map which, std::chrono::microseconds time) {
    std::vector<std::vector<T>> form;
    for (int64_t t = 0; t < team_size; ++t) {
        SubjectRows rows = subject.rows;
        for (double &x : rows.x) x *= 1 + static_cast<double>(t) / 4; // other numbers for every thread
        form.push_back(values_of<T>(suite, subject, rows, rows, What::form));
    }
    const std::function<std::vector<T>(int64_t)> work = [&](int64_t t) {
        return mapped(subject, form[static_cast<size_t>(t)], which);
    };
    const std::vector<std::vector<T>> expected = alone(work);
    const Difference<T> found = race(suite, expected, time, work);
    if (found.thread < 0) return;
    const size_t t = static_cast<size_t>(found.thread);
    broken("not thread-safe: %s of %.9g is %.9g, but %.9g while other threads call it", map_name(which),
           static_cast<double>(form[t][found.at]), static_cast<double>(expected[t][found.at]),
           static_cast<double>(found.value));
}

template <class T>
void blocks_at_once(Suite &suite, const Subject &subject, std::chrono::microseconds time) {
    const int64_t n = subject.rows.n, d = subject.rows.d;
    std::vector<std::vector<T>> rows;
    for (int64_t t = 0; t < team_size; ++t) {
        std::vector<T> own;
        for (double x : subject.rows.x) own.push_back(static_cast<T>(x * (1 + static_cast<double>(t) / 4)));
        rows.push_back(own);
    }
    const std::function<std::vector<T>(int64_t)> work = [&](int64_t t) {
        std::vector<T> k(static_cast<size_t>(n * n));
        const mercer_view x = view_of_rows(dtype_of<T>, n, d, rows[static_cast<size_t>(t)].data()),
                          out = view_of_rows(dtype_of<T>, n, n, k.data());
        mercer_task task(suite.run, Random(0, Stage::gram));
        suite.need(subject.ops().block(&host_table(), &task, subject.leaf().values(), &x, &x, &out), task, "block");
        return k;
    };
    const std::vector<std::vector<T>> expected = alone(work);
    const Difference<T> found = race(suite, expected, time, work);
    if (found.thread < 0) return;
    broken("not thread-safe: k(%d, %d) = %.9g, but %.9g while other threads call block",
           static_cast<int>(static_cast<int64_t>(found.at) / n), static_cast<int>(static_cast<int64_t>(found.at) % n),
           static_cast<double>(expected[static_cast<size_t>(found.thread)][found.at]),
           static_cast<double>(found.value));
}

} // namespace

// Tests only subjects of 3 columns, to save time. The defaults get most of the time; other settings
// get some, because they may take other branches.
template <class T>
void at_once(Suite &suite, const Subject &subject) {
    if (subject.rows.d != 3) return;
    const std::chrono::microseconds time(subject.setting.text == "defaults" ? 40000 : 3000);
    if (subject.block()) return blocks_at_once<T>(suite, subject, time);
    for (Map which : {Map::plain, Map::log, Map::derivative})
        if (subject.has(which)) maps_at_once<T>(suite, subject, which, time);
}

template void at_once<float>(Suite &, const Subject &);
template void at_once<double>(Suite &, const Subject &);

} // namespace mercer
