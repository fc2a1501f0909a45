// Benchmark rows for scores of new points: of a million points, and of a single one.
#include "allocations.h"
#include "problem.h"

#include <ctime>

namespace {

constexpr double SIGMA = 5;
constexpr int64_t D = 16, R = 10;

// Fits a model with m centres and R components.
template <class T>
mercer::Model model_of(Bench &bench, const Table<T> &x, int64_t m) {
    const mercer::Data data = mercer::Data::from_view(bench.context, mercer::row_major(x.values.data(), x.n, x.d));
    return mercer::Model::fit(recipe_of(bench, "subsampled", SIGMA,
                                        {{"reducer.m", std::to_string(m)}, {"output.components", std::to_string(R)}}),
                              data, bench.run());
}

template <class T>
void many(Bench &bench, Row &row, int64_t size) {
    const int64_t n = bench.rows(1000000), m = bench.centres(size), few = std::min<int64_t>(n, 100000);
    auto problem = std::make_shared<Problem<T>>(bench, row, clusters<T>(n, D, 20, 1), SIGMA);
    const Table<T> head{few, D, {problem->x.values.begin(), problem->x.values.begin() + few * D}};
    auto model = std::make_shared<mercer::Model>(model_of(bench, head, m));
    auto scores = std::make_shared<std::vector<T>>(static_cast<size_t>(n * R), T(1)); // its pages are mapped
    const mercer::Run run = bench.run();
    const auto transform = [=] {
        Clock clock;
        model->transform(problem->data, {mercer::row_major(scores->data(), n, R)}, nullptr, run);
        return clock.seconds();
    };
    const Growth growth;
    transform();
    row.checks.push_back({"MiB of extra memory, resident", growth.mebibytes(), 100});

    auto points = problem->template points<T>();
    auto centres = std::make_shared<limit::Points<T>>(problem->x.values.data(), m, *points);
    row.ours = transform;
    row.limit = [=, threads = bench.options.threads] { return limit::transform(*points, *centres, R, threads); };
    row.allowed = 1.4;
    const std::string path = bench.file(row.name + ".npy");
    write_npy(path, problem->x);
    bench.against(row, bench.python, "scikit-learn transform", sizeof(T) == 4 ? 40 : 20, "transform_sklearn", path,
                  {SIGMA, double(R), double(m), double(n)});
    bench.against(row, bench.python, "the same in pieces", NONE, "transform_sklearn", path,
                  {SIGMA, double(R), double(m), double(few)});
}

double cpu_seconds(clockid_t clock) {
    timespec time;
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

template <class T>
void one(Bench &bench, Row &row) {
    constexpr int64_t CALLS = 2000;
    const int64_t m = bench.centres(1000);
    const Table<T> x = clusters<T>(20 * m, D, 20, 1);
    auto model = std::make_shared<mercer::Model>(model_of(bench, x, m));
    auto query = std::make_shared<Problem<T>>(bench, row, Table<T>{1, D, {x.row(0), x.row(1)}}, SIGMA);
    auto scores = std::make_shared<std::vector<T>>(R);
    const auto calls = [=] {
        const mercer_view out = mercer::row_major(scores->data(), 1, R);
        Clock clock;
        for (int64_t call = 0; call < CALLS; ++call)
            if (mercer_model_transform(model->get(), nullptr, query->data.get(), &out, 1, nullptr) != MERCER_OK)
                throw std::runtime_error(mercer_last_error());
        return clock.seconds() / CALLS;
    };
    calls();
    const int64_t before = allocations();
    const double all = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID), own = cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
    calls();
    const double own_used = cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - own;
    const double allocated = static_cast<double>(allocations() - before);
    row.checks.push_back({"allocations a call", allocated / CALLS, 0});
    row.checks.push_back(
        {"CPU time of other threads / own", (cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - all - own_used) / own_used, 0.05});
    row.checks.push_back({"us of both GEMVs + exp", limit::one_row<T>(m, D, R) * 1e6, PRINTED});
    row.ours = calls;
    row.limit = [m] { return limit::one_row<T>(m, D, 0); };
    row.allowed = 2;
}

// Transforms one row by a model of few centres in several ways, which are compared with the plain
// call of C.
class Few {
  public:
    static constexpr int64_t CALLS = 20000;
    Few(Bench &bench, Row &row)
        : x_(clusters<double>(2000, D, 20, 1)), model_(model_of(bench, x_, 128)),
          query_(bench, row, Table<double>{1, D, {x_.row(0), x_.row(1)}}, SIGMA), scores_(R) {}

    void plain() { call(nullptr); }
    void with_run() {
        mercer_run run{};
        run.struct_size = sizeof run, run.threads = 1, run.memory = int64_t{1} << 30;
        call(&run);
    }
    void from_cpp() { model_.transform(query_.data, {mercer::row_major(scores_.data(), 1, R)}); }

    // Returns the seconds of a call, from the fastest of twenty pieces of the calls. A piece is
    // shorter than a time slice of the scheduler, so some pieces run without interruption.
    template <class Call>
    static double seconds(Call &&call) {
        constexpr int64_t PIECE = CALLS / 20;
        double least = INFINITY;
        for (int64_t piece = 0; piece < CALLS / PIECE; ++piece) {
            Clock clock;
            for (int64_t k = 0; k < PIECE; ++k) call();
            least = std::min(least, clock.seconds() / PIECE);
        }
        return least;
    }
    // Returns the 99th percentile of the time of a call, divided by the median.
    template <class Call>
    static double tail(Call &&call) {
        std::vector<double> times;
        for (int64_t k = 0; k < CALLS; ++k) {
            Clock clock;
            call();
            times.push_back(clock.seconds());
        }
        std::sort(times.begin(), times.end());
        return times[CALLS * 99 / 100] / times[CALLS / 2];
    }

  private:
    void call(const mercer_run *run) {
        const mercer_view out = mercer::row_major(scores_.data(), 1, R);
        if (mercer_model_transform(model_.get(), nullptr, query_.data.get(), &out, 1, run) != MERCER_OK)
            throw std::runtime_error(mercer_last_error());
    }
    Table<double> x_;
    mercer::Model model_;
    Problem<double> query_;
    std::vector<double> scores_;
};

void beside_plain(Bench &bench, Row &row, void (Few::*way)()) {
    auto few = std::make_shared<Few>(bench, row);
    const auto call = [=] { ((*few).*way)(); };
    Few::seconds(call);
    const int64_t before = allocations();
    Few::seconds(call);
    const double allocated = static_cast<double>(allocations() - before);
    row.checks.push_back({"allocations a call", allocated / Few::CALLS, 0});
    row.checks.push_back({"99th percentile of a call's time / median", Few::tail(call), 3});
    row.ours = [=] { return Few::seconds(call); };
    row.limit = [=] { return Few::seconds([&] { few->plain(); }); };
    row.physical = false;
    row.allowed = 1.1;
}

} // namespace

std::vector<Entry> transform_rows() {
    return {
        {"transform-f32-500", "scores of 1 000 000 x 16, m = 500, r = 10, f32", false,
         [](Bench &bench, Row &row) { many<float>(bench, row, 500); }},
        {"transform-f32-1000", "the same, m = 1000", false,
         [](Bench &bench, Row &row) { many<float>(bench, row, 1000); }},
        {"transform-f64-500", "scores of 1 000 000 x 16, m = 500, r = 10, f64", false,
         [](Bench &bench, Row &row) { many<double>(bench, row, 500); }},
        {"transform-f64-1000", "the same, m = 1000", false,
         [](Bench &bench, Row &row) { many<double>(bench, row, 1000); }},
        {"one-row-f64", "scores of one row, d = 16, m = 1000, r = 10: a call", false, one<double>},
        {"one-row-f32", "the same in f32", false, one<float>},
        {"one-row-run", "scores of one row, m = 128, with a run that sets threads and memory", false,
         [](Bench &bench, Row &row) { beside_plain(bench, row, &Few::with_run); }},
        {"one-row-cpp", "the same from C++, without a run", false,
         [](Bench &bench, Row &row) { beside_plain(bench, row, &Few::from_cpp); }},
    };
}
