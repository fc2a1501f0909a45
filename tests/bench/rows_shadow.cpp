// Benchmark rows for the reducers shadow and farthest, compared with plain loops. All of them run
// on one thread.
#include "problem.h"

#include <filesystem>
#include <set>

namespace {

constexpr int64_t D = 16;

struct Shadow {
    std::vector<int64_t> index;
    std::vector<double> weights;
    double seconds = 0, pairs = 0;
};

// The shadow by Algorithm 2 of the paper on reduced sets, as a single loop: each row is assigned to
// the first centre within epsilon, or becomes a new centre.
template <class T>
Shadow plain_loop(const Table<T> &x, double epsilon) {
    Shadow out;
    const double square = epsilon * epsilon;
    std::vector<double> row(static_cast<size_t>(x.d)), centres;
    const Clock clock;
    for (int64_t i = 0; i < x.n; ++i) {
        std::copy_n(x.row(i), x.d, row.begin());
        size_t k = 0;
        for (; k < out.index.size(); ++k) {
            const double *c = centres.data() + k * row.size();
            double sum = 0;
            for (size_t j = 0; j < row.size(); ++j) sum += (row[j] - c[j]) * (row[j] - c[j]);
            if (sum < square) break;
        }
        out.pairs += static_cast<double>(std::min(k + 1, out.index.size()));
        if (k < out.index.size()) {
            out.weights[k] += 1;
            continue;
        }
        out.index.push_back(i);
        out.weights.push_back(1);
        centres.insert(centres.end(), row.begin(), row.end());
    }
    out.seconds = clock.seconds();
    return out;
}

mercer::Run one_thread(Bench &bench) {
    mercer::Run run = bench.run();
    run.threads = 1;
    return run;
}

// Returns how many centres of the model differ from those of the plain loop, in position or in
// weight, or INFINITY if the numbers of centres differ.
template <class T>
double differences(const mercer::Model &model, const Table<T> &x, const Shadow &plain) {
    const mercer_view c = model.tensor("C"), w = model.tensor("w");
    const int64_t m = static_cast<int64_t>(plain.index.size());
    if (c.rows != m || w.rows != m) return INFINITY;
    double count = 0;
    for (int64_t k = 0; k < m; ++k) {
        const auto at = static_cast<size_t>(k);
        const T *row = static_cast<const T *>(c.data) + k * x.d;
        const bool same = std::equal(row, row + x.d, x.row(plain.index[at])) &&
                          std::fabs(static_cast<const double *>(w.data)[k] - plain.weights[at]) < 1e-6;
        count += !same;
    }
    return count;
}

double reduce_seconds(const mercer::Recipe &recipe, const mercer::Data &data, const mercer::Run &run) {
    return report_of(mercer::Model::fit(recipe, data, run))["timings"]["reduce"].get<double>();
}

// Prints the time of the reduction for this n, d and m. Several calls show how the time grows.
void growth(Bench &bench, Row &row, int64_t n, int64_t d, int64_t m) {
    const Table<float> x = clusters<float>(bench.rows(n), d, 20, 1);
    const mercer::Data data = mercer::Data::from_view(bench.context, mercer::row_major(x.values.data(), x.n, x.d));
    const auto with = [&](const char *name, const std::string &value) {
        return recipe_of(bench, "subsampled", 5, {{"reducer", "shadow"}, {name, value}, {"output.components", "1"}});
    };
    const Json sought = report_of(
        mercer::Model::fit(with("reducer.m", std::to_string(bench.centres(m))), data, one_thread(bench)))["reported"];
    const std::string epsilon = text_of(sought["reducer.epsilon"].get<double>());
    row.checks.push_back({"seconds for n = " + std::to_string(x.n) + ", d = " + std::to_string(d) + ", m near " +
                              std::to_string(bench.centres(m)),
                          reduce_seconds(with("reducer.epsilon", epsilon), data, one_thread(bench)), PRINTED});
}

void shadow(Bench &bench, Row &row, Table<float> x, int64_t m, double faster) {
    auto problem = std::make_shared<Problem<float>>(bench, row, std::move(x), 5);
    const auto with = [&](const char *name, const std::string &value) {
        return recipe_of(bench, "subsampled", 5, {{"reducer", "shadow"}, {name, value}, {"output.components", "1"}});
    };
    const mercer::Run run = one_thread(bench);
    const Json sought =
        report_of(mercer::Model::fit(with("reducer.m", std::to_string(m)), problem->data, run))["reported"];
    const double epsilon = sought["reducer.epsilon"].get<double>();
    auto recipe = std::make_shared<mercer::Recipe>(with("reducer.epsilon", text_of(epsilon)));
    const mercer::Model model = mercer::Model::fit(*recipe, problem->data, run);
    const Shadow plain = plain_loop(problem->x, epsilon);
    const double pairs = report_of(model)["reported"]["reducer.pairs"].get<double>();

    row.ours = [=] { return reduce_seconds(*recipe, problem->data, run); };
    row.limit = [=] { return limit::pairs(pairs, problem->x.d); };
    row.allowed = 2;
    row.peers.push_back({"the plain loop", faster, [=] { return plain_loop(problem->x, epsilon).seconds; }, "", {}});
    row.checks.push_back({"centres and weights that are not the loop's", differences(model, problem->x, plain), 0});
    row.checks.push_back({"centres", double(plain.index.size()), PRINTED});
    row.checks.push_back({"passes to seek them", sought["reducer.passes"].get<double>(), 8});
    row.checks.push_back({"pairs, of those that the loop visits", pairs / plain.pairs, PRINTED});
    row.checks.push_back({"seconds on all threads", reduce_seconds(*recipe, problem->data, bench.run()), PRINTED});
}

void shadow_of_clusters(Bench &bench, Row &row) {
    shadow(bench, row, clusters<float>(bench.rows(100000), D, 20, 1), bench.centres(2000), 3);
    growth(bench, row, 50000, D, 2000);
    growth(bench, row, 200000, D, 2000);
    growth(bench, row, 100000, D, 1000);
    growth(bench, row, 100000, D, 4000);
    growth(bench, row, 100000, 64, 2000);
}

void shadow_of_images(Bench &bench, Row &row, const std::string &name, int64_t n) {
    const std::string path = bench.options.data + "/" + name + ".X.npy";
    if (bench.options.data.empty()) throw Skipped("no folder of data: set MERCER_DATA or give --data");
    if (!std::filesystem::exists(path)) throw Skipped("there is no " + path);
    Table<float> x = read_npy<float>(path);
    x.n = std::min(x.n, bench.rows(n));
    x.values.resize(static_cast<size_t>(x.n * x.d));
    shadow(bench, row, std::move(x), x.n / 3, 12);
}

// The reducer farthest as a plain loop, which computes the distances from each centre to all rows.
// Returns the seconds.
template <class T>
double farthest_loop(const Table<T> &x, int64_t first, int64_t m, std::vector<int64_t> &index) {
    std::vector<double> to(static_cast<size_t>(x.n), INFINITY);
    index.clear();
    const Clock clock;
    for (int64_t next = first; static_cast<int64_t>(index.size()) < m;) {
        index.push_back(next);
        const T *c = x.row(next);
        double best = -1;
        for (int64_t i = 0; i < x.n; ++i) {
            double sum = 0;
            for (int64_t j = 0; j < x.d; ++j) {
                const double difference = static_cast<double>(x.row(i)[j]) - static_cast<double>(c[j]);
                sum += difference * difference;
            }
            double &known = to[static_cast<size_t>(i)];
            known = std::min(known, sum);
            if (known > best) best = known, next = i;
        }
    }
    return clock.seconds();
}

void farthest(Bench &bench, Row &row) {
    const int64_t m = bench.centres(500);
    auto problem = std::make_shared<Problem<float>>(bench, row, clusters<float>(bench.rows(100000), D, 20, 1), 5);
    auto recipe = std::make_shared<mercer::Recipe>(
        recipe_of(bench, "subsampled", 5,
                  {{"reducer", "farthest"}, {"reducer.m", std::to_string(m)}, {"output.components", "1"}}));
    const mercer::Run run = one_thread(bench);
    const mercer::Model model = mercer::Model::fit(*recipe, problem->data, run);
    const auto *c = static_cast<const float *>(model.tensor("C").data);
    int64_t first = 0;
    while (!std::equal(c, c + D, problem->x.row(first))) ++first;
    std::vector<int64_t> index;
    farthest_loop(problem->x, first, m, index);
    double other = 0;
    for (int64_t k = 0; k < m; ++k)
        other += !std::equal(c + k * D, c + k * D + D, problem->x.row(index[static_cast<size_t>(k)]));
    row.ours = [=] { return reduce_seconds(*recipe, problem->data, run); };
    row.limit = [=] { return limit::pairs(double(problem->x.n) * double(m), D); };
    row.peers.push_back({"the plain loop",
                         NONE,
                         [=] {
                             std::vector<int64_t> chosen;
                             return farthest_loop(problem->x, first, m, chosen);
                         },
                         "",
                         {}});
    const Json report = report_of(model);
    row.checks.push_back({"centres that are not the loop's", other, 0});
    row.checks.push_back({"sweeps", report["reported"]["reducer.sweeps"].get<double>(), PRINTED});
    row.checks.push_back({"MiB", report["peak_bytes"].get<double>() / 0x1p20, 1024});
    row.checks.push_back({"seconds on all threads", reduce_seconds(*recipe, problem->data, bench.run()), PRINTED});
}

} // namespace

std::vector<Entry> shadow_rows() {
    return {
        {"shadow-clusters", "shadow n = 100 000, d = 16, m near 2000, f32, one thread: selection", false,
         shadow_of_clusters},
        {"shadow-usps", "shadow usps, m near n/3, one thread", false,
         [](Bench &bench, Row &row) { shadow_of_images(bench, row, "usps", 9298); }},
        {"shadow-mnist", "shadow mnist, 8000 rows, m near n/3, one thread", false,
         [](Bench &bench, Row &row) { shadow_of_images(bench, row, "mnist", 8000); }},
        {"farthest-500", "farthest n = 100 000, d = 16, m = 500, f32, one thread: selection", false, farthest},
    };
}
