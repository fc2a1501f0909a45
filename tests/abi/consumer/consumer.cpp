// A program outside the build of the library, as a user would write it with mercer.hpp: fits kernel
// PCA, saves, loads and streams the model, and lets callbacks throw. Prints the path of the kernel
// plugin.
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <mercer/mercer.hpp>

namespace {

struct Stop {}; // not derived from std::exception

void must(bool condition, const char *what) {
    if (!condition) throw std::logic_error(what);
}

template <class Exception, class Body>
std::string thrown_by(Body &&body) {
    try {
        body();
    } catch (const Exception &e) {
        if constexpr (std::is_base_of_v<std::exception, Exception>) return e.what();
        return "thrown";
    }
    throw std::logic_error("nothing was thrown");
}

struct Counted { // a callback's state, to see that it is released
    std::atomic<int> *alive;
    explicit Counted(std::atomic<int> *count) : alive(count) { ++*alive; }
    Counted(const Counted &other) : alive(other.alive) { ++*alive; }
    ~Counted() { --*alive; }
};

std::vector<double> numbers(size_t count) {
    std::vector<double> out(count);
    for (size_t i = 0; i < count; ++i) out[i] = std::sin(1 + 0.7 * static_cast<double>(i));
    return out;
}

void fit_save_load(const mercer::Context &context, const mercer::Data &data) {
    mercer::Recipe recipe(context, "kpca");
    recipe.set("kernel.sigma", 5).set("components", "4").set({{"seed", "7"}, {"kernel", "gaussian"}});
    must(recipe.value("seed") == "7" && recipe.rows().size() > 10, "rows");
    recipe.set("kernel.sigma", 0.1);
    must(recipe.value("sigma") == "0.1", "a number comes back as it was set");
    const mercer_row first = recipe.rows().front();
    mercer_row own = first;
    own.name = "--width", own.type = MERCER_REAL, own.lo = 1, own.hi = 2;
    mercer::Recipe::check_value(own, "1.5");
    must(thrown_by<mercer::Error>([&] { mercer::Recipe::check_value(own, "3"); }) ==
             "--width = 3, must be >= 1 and <= 2",
         "a row of the caller");
    must(thrown_by<mercer::Error>([&] { recipe.set("seed", int64_t{9007199254740993}); }).find("9007199254740993") !=
             std::string::npos,
         "2^53 + 1, which is no double and too large, is not stored as 2^53");
    recipe.set("seed", 7).set("lift.centred", true);
    must(recipe.forecast(data).bytes.most > 0, "forecast");

    mercer::Model model = mercer::Model::fit(recipe, data), copy = model;
    mercer::Matrix<double> scores = model.transform<double>(data);
    must(scores.rows == 200 && scores.cols == 4 && std::fabs(scores(0, 0)) > 0, "scores");
    model.save("cpp.safetensors");
    model = mercer::Model::load(context, "cpp.safetensors"); // `copy` keeps the old model
    must(model.transform<double>(data).values == scores.values, "the loaded model gives the same bits");
    must(copy.transform<double>(data).values == scores.values, "the copy is the old model");
    mercer::Recipe compress(context, "compress");
    compress.set("m", "50");
    must(mercer::Model::forecast(compress, {model}).bytes.most > 0, "forecast of a derivation");
    mercer::Model fewer = mercer::Model::derive(compress, {model});
    must(fewer.summary().m == 50 && fewer.transform<double>(data).cols == 4, "a model of a model");
    must(copy.summary().r == 4 && copy.tensor("lambda").rows == 4, "summary and tensor");
    must(copy.info().find("\"kernel\"") != std::string::npos && copy.info("/kernel") == "gaussian", "info");

    std::string bytes;
    model.write([&](const void *from, int64_t count) {
        bytes.append(static_cast<const char *>(from), static_cast<size_t>(count));
    });
    size_t at = 0;
    auto source = [&](void *to, int64_t capacity) {
        size_t take = std::min(static_cast<size_t>(capacity), bytes.size() - at);
        std::memcpy(to, bytes.data() + at, take);
        at += take;
        return static_cast<int64_t>(take);
    };
    must(mercer::Model::read(context, source).transform<double>(data).values == scores.values, "read");
    must(thrown_by<Stop>([&] { model.write([](const void *, int64_t) { throw Stop(); }); }) == "thrown", "sink");
    must(thrown_by<std::runtime_error>([&] {
             mercer::Model::read(context, [](void *, int64_t) -> int64_t { throw std::runtime_error("no more"); });
         }) == "no more",
         "source");

    mercer::Recipe density(context, "density");
    must(model.transform<double>(data, &density).cols == 1, "an operation with its own output");
    auto wrong = thrown_by<mercer::Error>([&] { recipe.set("kernel.sigma", -1); });
    must(wrong.find("sigma = -1") != std::string::npos, "an error says the value");
    must(thrown_by<Stop>([&] {
             mercer::Run run;
             run.progress = [](const mercer_progress &) -> bool { throw Stop(); };
             mercer::Model::fit(recipe, data, run);
         }) == "thrown",
         "progress");
    must(thrown_by<mercer::Error>([&] {
             mercer::Run run;
             run.progress = [](const mercer_progress &) { return true; };
             mercer::Model::fit(recipe, data, run);
         }).find("cancelled") != std::string::npos,
         "progress asks to stop");
}

mercer::Tile linear(Counted state) {
    return [state](const mercer_view &x, const mercer_view &y, const mercer_view &k) {
        auto a = static_cast<const double *>(x.data), b = static_cast<const double *>(y.data);
        auto out = static_cast<double *>(k.data);
        for (int64_t i = 0; i < x.rows; ++i)
            for (int64_t j = 0; j < y.rows; ++j) {
                double sum = 0;
                for (int64_t l = 0; l < x.cols; ++l) sum += a[i * x.row_stride + l] * b[j * y.row_stride + l];
                out[i * k.row_stride + j] = sum;
            }
    };
}

void callbacks(const mercer::Context &context, const mercer::Data &data, const std::vector<double> &x) {
    std::atomic<int> alive{0};
    {
        mercer::Recipe recipe(context, "kpca");
        recipe.set({{"components", "2"}, {"kernel", "user"}});
        recipe.set_kernel(linear(Counted(&alive)), MERCER_PSD);
        mercer::Model model = mercer::Model::fit(recipe, data);
        must(model.summary().r == 2, "fit with a user kernel");
        model.save("user.safetensors");
        mercer::Model loaded = mercer::Model::load(context, "user.safetensors");
        thrown_by<mercer::Error>([&] { loaded.transform<double>(data); });
        must(loaded.bind(linear(Counted(&alive)), MERCER_PSD).transform<double>(data).values ==
                 model.transform<double>(data).values,
             "bind");

        recipe.set_kernel([](const mercer_view &, const mercer_view &, const mercer_view &) { throw Stop(); });
        must(thrown_by<Stop>([&] { mercer::Model::fit(recipe, data); }) == "thrown", "kernel");
        must(alive > 0, "the model keeps the kernel");

        auto rows = [&, state = Counted(&alive)](int64_t first, int64_t capacity, double *buffer) {
            int64_t take = std::min<int64_t>(capacity, 200 - first);
            std::copy_n(x.data() + first * 3, take * 3, buffer);
            return take;
        };
        mercer::Data chunks = mercer::Data::from_chunks<double>(context, -1, 3, rows, MERCER_REWINDABLE);
        must(chunks.facts().cols == 3, "facts");
        mercer::Recipe plain(context, "kpca");
        plain.set({{"components", "2"}, {"kernel", "linear"}});
        must(mercer::Model::fit(plain, chunks).summary().n == 200, "chunks");
        auto bad = mercer::Data::from_chunks<float>(context, 10, 2,
                                                    [](int64_t, int64_t, float *) -> int64_t { throw Stop(); });
        must(thrown_by<Stop>([&] { mercer::Model::fit(plain, bad); }) == "thrown", "chunks that throw");

        auto pairs = [&](const int64_t *i, const int64_t *j, int64_t count, double *values) {
            for (int64_t k = 0; k < count; ++k)
                values[k] = std::fabs(x[static_cast<size_t>(i[k])] - x[static_cast<size_t>(j[k])]);
        };
        mercer::Data objects = mercer::Data::from_objects(context, 100, MERCER_DISTANCE, pairs);
        mercer::Recipe gaussian(context, "kpca");
        must(mercer::Model::fit(gaussian, objects).summary().n == 100, "objects");
    }
    must(alive == 0, "every callback was released once");
}

void other_data(const mercer::Context &context, const std::vector<double> &x) {
    std::ofstream("cpp.csv") << "height;kind;w\n1;a;1\n2;b;2\n4;a;1\n";
    mercer::File file;
    file.labels = "kind", file.weights = "w", file.separator = ';';
    mercer::Data csv = mercer::Data::from_file(context, "cpp.csv", file);
    must(csv.facts().rows == 3 && csv.facts().cols == 1, "a CSV file");
    const mercer::Matrix<double> rows = csv.read<double>();
    must(rows.rows == 3 && rows.cols == 1 && rows(1, 0) == csv.read<float>()(1, 0), "the rows of a CSV file");
    must(mercer::View<const int64_t>(csv.facts().labels)(1) == 1, "labels");
    must(thrown_by<mercer::Error>([&] { mercer::View<double>(csv.facts().labels); }).find("dtype = 3") !=
             std::string::npos,
         "a view of another type");

    const std::vector<int32_t> offsets = {0, 1, 3}, columns = {0, 0, 1};
    const std::vector<float> values = {1, 2, 3};
    must(mercer::Data::from_sparse(context, MERCER_CSR, 2, 2, offsets, columns, values).facts().kind == MERCER_SPARSE,
         "sparse");
    thrown_by<mercer::Error>([&] { mercer::Data::from_sparse(context, MERCER_CSR, 3, 2, offsets, columns, values); });

    const std::vector<double> distances = {0, 1, 2, 1, 0, 3, 2, 3, 0}, weights = {1, 2, 1};
    mercer::Data matrix =
        mercer::Data::from_matrix(context, mercer::column_major(distances.data(), 3, 3), MERCER_DISTANCE);
    matrix.attach("weights", mercer::column(weights));
    mercer::Recipe recipe(context, "kpca");
    must(mercer::Model::fit(recipe.set("kernel.sigma", 1), matrix).summary().n == 3, "a matrix");

    mercer::Matrix<double> k(3, 3);
    recipe.set("kernel", "linear")
        .kernel(mercer::Data::from_view(context, mercer::strided(x.data(), 3, 1, 3, 1)), nullptr, k.view());
    must(k(1, 2) == x[3] * x[6], "a kernel matrix of every third number");

    const std::vector<double> centres = {1, 2};
    auto model = mercer::Model::from_tensors(context, R"({"kernel": "linear"})",
                                             {{"C", mercer::column(centres)}, {"A", mercer::column(centres)}});
    mercer::Data one = mercer::Data::from_view(context, mercer::row_major(centres.data(), 1, 1));
    must(model.transform<double>(one)(0, 0) == 1 * 1 + 2 * 2, "a model from arrays");
}

void contexts(mercer::Context &context) {
    must(mercer::version().find(MERCER_VERSION) == 0, "version");
    must(context.entries("statuses").size() == 16, "entries");
    thrown_by<mercer::Error>([&] { context.add_plugins("relative"); });
    thrown_by<mercer::Error>([&] { context.check_plugin("kernel-no-such"); });
    mercer::Run run;
    run.threads = 2;
    context.set_run(std::move(run));
    static_assert(!std::is_copy_constructible_v<mercer::Context> && !std::is_copy_constructible_v<mercer::Recipe> &&
                  !std::is_copy_constructible_v<mercer::Data> && std::is_copy_constructible_v<mercer::Model>);
    static_assert(std::is_nothrow_move_constructible_v<mercer::Context> &&
                  std::is_nothrow_move_assignable_v<mercer::Data> &&
                  std::is_nothrow_move_constructible_v<mercer::Model>);
}

} // namespace

int main() {
    try {
        std::vector<double> x = numbers(600);
        mercer::Context context;
        context.set_log([](int32_t, const char *) {});
        mercer::Data data = mercer::Data::from_view(context, mercer::row_major(x.data(), 200, 3));
        contexts(context);
        fit_save_load(context, data);
        other_data(context, x);
        callbacks(context, data, x);
        std::cout << context.find("kernels", "rbf").path << '\n';
        return 0;
    } catch (const std::exception &e) {
        std::cerr << "failed: " << e.what() << '\n';
        return 1;
    }
}
