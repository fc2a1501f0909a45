// serving.cpp MODEL [ROWS]: scores of single rows as a server computes them, on several threads, while the model is
// replaced; prints how long a row takes. docs/serving.md explains it.
//
//     c++ -std=c++17 -O2 -pthread serving.cpp $(pkg-config --cflags --libs mercer) -o serving && ./serving MODEL
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <mercer/mercer.hpp>
#include <mutex>
#include <thread>

namespace {

// The model in use. A Model is a counted reference: a request keeps the one it began with, and the last request that uses
// an old model frees it.
class Current {
  public:
    explicit Current(mercer::Model model) : model_(std::move(model)) {}
    mercer::Model get() const {
        const std::lock_guard<std::mutex> lock(mutex_);
        return model_;
    }
    void replace(mercer::Model model) { // loaded before the lock is taken, so that no request waits for the disk
        const std::lock_guard<std::mutex> lock(mutex_);
        std::swap(model_, model);
    }

  private:
    mutable std::mutex mutex_;
    mercer::Model model_;
};

// What one thread needs: a row, its scores, and a Data that is made once and looks at the row. A Data belongs to one
// thread at a time; the numbers behind its view may be rewritten between calls.
class Worker {
  public:
    Worker(const mercer::Context &context, const mercer::Model &model)
        : row(static_cast<size_t>(model.summary().d)), scores(static_cast<size_t>(model.summary().r)),
          data_(mercer::Data::from_view(context, mercer::row_major(row.data(), 1, model.summary().d))) {
        run_.threads = 1; // parallel requests, not parallel rows
    }
    void serve(const mercer::Model &model) {
        model.transform(data_, {mercer::row_major(scores.data(), 1, static_cast<int64_t>(scores.size()))}, nullptr,
                        run_);
    }
    std::vector<double> row, scores;

  private:
    mercer::Data data_;
    mercer::Run run_;
};

// Serves `count` rows and returns the microseconds that each took.
std::vector<double> serve_rows(const mercer::Context &context, const Current &current, int thread, int count) {
    using Clock = std::chrono::steady_clock;
    Worker worker(context, current.get());
    std::vector<double> took(static_cast<size_t>(count));
    for (int request = 0; request < count; ++request) {
        for (size_t j = 0; j < worker.row.size(); ++j)
            worker.row[j] = std::sin(0.1 * request + thread + static_cast<double>(j));
        const auto begin = Clock::now();
        worker.serve(current.get());
        const std::chrono::duration<double, std::micro> us = Clock::now() - begin;
        took[static_cast<size_t>(request)] = us.count();
        if (!std::isfinite(worker.scores.at(0))) throw std::runtime_error("a score is not finite");
    }
    std::sort(took.begin(), took.end());
    return took;
}

} // namespace

int main(int argc, char **argv) {
    if (argc < 2) return std::fprintf(stderr, "usage: serving MODEL [ROWS]\n"), 2;
    try {
        constexpr int threads = 2;
        const int count = argc > 2 ? std::max(1, std::atoi(argv[2])) : 10000;
        const mercer::Context context;
        Current current(mercer::Model::load(context, argv[1]));

        std::vector<std::vector<double>> took(threads);
        std::atomic<int> failures{0}, working{threads};
        std::vector<std::thread> pool;
        for (int t = 0; t < threads; ++t)
            pool.emplace_back([&, t] {
                try {
                    const mercer::Context own; // of this thread, as its Data is
                    took[static_cast<size_t>(t)] = serve_rows(own, current, t, count);
                } catch (const std::exception &e) {
                    std::fprintf(stderr, "thread %d: %s\n", t, e.what());
                    ++failures;
                }
                --working;
            });
        int swaps = 0;
        do { // a new file of the same shape, while requests run
            current.replace(mercer::Model::load(context, argv[1]));
            ++swaps;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        } while (working > 0);
        for (std::thread &thread : pool) thread.join();
        if (failures) return 1;

        std::printf("%d threads, %d rows each, the model replaced while they ran: %s\n", threads, count,
                    swaps > 0 ? "yes" : "no");
        for (const std::vector<double> &of : took)
            std::printf("median %.2f us, 99 %% below %.2f us\n", of[of.size() / 2], of[of.size() * 99 / 100]);
    } catch (const std::exception &e) {
        return std::fprintf(stderr, "%s\n", e.what()), 1;
    }
}
