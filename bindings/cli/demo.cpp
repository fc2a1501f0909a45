#include "commands.h"
#include "files.h"
#include "npy.h"
#include "report.h"
#include "svg.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <numbers>
#include <random>

namespace cli {

namespace {

/* The example that is run: the words of a `mercer fit`. */
const Words example = {"--method", "kpca", "--kernel", "gaussian", "--set", "kernel.sigma=1.5", "--components", "6"};

constexpr std::array<const char *, 3> ring_names = {"inner ring", "middle ring", "outer ring"};
constexpr size_t rings = ring_names.size(), points_a_ring = 200;

/* Two normal numbers; the standard library's own distributions differ between implementations. */
std::array<double, 2> normal_pair(std::mt19937_64 &random) {
    const auto uniform = [&] { return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53; };
    const double radius = std::sqrt(-2 * std::log(uniform())), angle = 2 * std::numbers::pi * uniform();
    return {radius * std::cos(angle), radius * std::sin(angle)};
}

/* Noisy concentric rings of radius 1, 2 and 3, one after the other. */
Array make_rings() {
    constexpr double noise = 0.12;
    std::mt19937_64 random(1);
    Array data = array_like(MERCER_F64, rings * points_a_ring, 2);
    std::vector<double> values;
    for (size_t ring = 0; ring < rings; ++ring)
        for (size_t i = 0; i < points_a_ring; ++i) {
            const double angle = 2 * std::numbers::pi * static_cast<double>(i) / points_a_ring;
            const double radius = static_cast<double>(ring) + 1;
            const auto [dx, dy] = normal_pair(random);
            values.push_back(radius * std::cos(angle) + noise * dx);
            values.push_back(radius * std::sin(angle) + noise * dy);
        }
    std::memcpy(data.bytes.data(), values.data(), data.bytes.size());
    return data;
}

std::vector<svg::Series> series_of(const Array &points, int64_t x, int64_t y) {
    std::vector<svg::Series> all;
    for (size_t ring = 0; ring < rings; ++ring) {
        svg::Series series{ring_names[ring], {}, {}};
        for (size_t i = ring * points_a_ring; i < (ring + 1) * points_a_ring; ++i) {
            series.x.push_back(points.at(static_cast<int64_t>(i), x));
            series.y.push_back(points.at(static_cast<int64_t>(i), y));
        }
        all.push_back(std::move(series));
    }
    return all;
}

std::string axis_title(const Importance &importance, size_t component) {
    return "component " + std::to_string(component + 1) + " (" +
           percent(importance.eigenvalues.at(component) / importance.total) + " of variance)";
}

void draw(const std::string &path, const Array &data, const Array &scores, const Importance &importance) {
    const auto embedding = [&](const char *title, size_t i, size_t j, bool equal) {
        return svg::Panel{title, axis_title(importance, i), axis_title(importance, j), equal,
                          series_of(scores, static_cast<int64_t>(i), static_cast<int64_t>(j))};
    };
    const std::string picture = svg::scatter({{"(a) data", "x", "y", true, series_of(data, 0, 1)},
                                              embedding("(b) embedding, from above", 0, 1, true),
                                              embedding("(c) embedding, from the side", 0, 2, false)});
    OutputFile file(path);
    file.write(picture.data(), picture.size());
    file.commit();
}

} // namespace

void demo(mercer_context *context, const Words &words) {
    std::string folder = "mercer-demo";
    Arguments line("demo", "Makes three noisy rings, fits a model to them and draws what it sees.", words);
    bool as_json = false;
    line.app().add_option("-o,--output", folder, "the folder for its files")->capture_default_str();
    line.app().add_flag("--json", as_json, "print the model's report as JSON");
    line.parse();
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) throw Failure(MERCER_E_IO, folder + ": cannot create: " + error.message());
    const std::string base = folder + "/rings";
    const std::string data_path = base + ".npy", model_path = base + ".safetensors", scores_path = base + "-scores.npy";

    const Array data = make_rings();
    write_npy(data_path, data);
    Words fit_words = {data_path};
    fit_words.insert(fit_words.end(), example.begin(), example.end());
    fit_words.insert(fit_words.end(), {"-o", model_path, "--scores", scores_path});
    if (as_json) {
        fit_words.push_back("--json");
    } else {
        std::printf("three noisy rings, %lld points in the plane: %s\n\n$ mercer fit",
                    static_cast<long long>(data.rows), data_path.c_str());
        for (const auto &word : fit_words) std::printf(" %s", word.c_str());
        std::printf("\n\n");
        std::fflush(stdout);
    }
    fit(context, fit_words);

    const Model model = read_model(context, model_path);
    draw(base + ".svg", data, read_npy(scores_path), importance_of(model.get()));
    if (as_json) return;
    std::printf("wrote %s.svg: the picture; no line parts the rings in the data (a), component 3 does (c)\n",
                base.c_str());
}

} // namespace cli
