#include "commands.h"
#include "files.h"
#include "npy.h"
#include "plot.h"
#include "run.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <numbers>
#include <random>

namespace cli {

namespace {

// The flags of the `mercer fit` that the demo runs, apart from its files.
const Words example = {"--labels", "ring",  "--method",         "kpca",         "--kernel",
                       "gaussian", "--set", "kernel.sigma=1.5", "--components", "6"};

constexpr std::array<const char *, 3> ring_names = {"inner", "middle", "outer"};
constexpr size_t rings = ring_names.size(), points_a_ring = 200;

// Two normal numbers by the method of Box and Muller. The standard library's own distributions are
// not used, because they differ between implementations.
std::array<double, 2> normal_pair(std::mt19937_64 &random) {
    const auto uniform = [&] { return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53; };
    const double radius = std::sqrt(-2 * std::log(uniform())), angle = 2 * std::numbers::pi * uniform();
    return {radius * std::cos(angle), radius * std::sin(angle)};
}

// Noisy concentric rings of radius 1, 2 and 3, one after the other.
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

// Writes the points as CSV, with a third column that names the ring.
void write_rings(const std::string &path, const Array &data) {
    std::string text = "x,y,ring\n";
    for (int64_t i = 0; i < data.rows; ++i) {
        char line[64];
        std::snprintf(line, sizeof line, "%.4f,%.4f,%s\n", data.at(i, 0), data.at(i, 1),
                      ring_names[static_cast<size_t>(i) / points_a_ring]);
        text += line;
    }
    OutputFile file(path);
    file.write(text.data(), text.size());
    file.commit();
}

chart::Panel panel_of(const std::string &title, const Array &points, const std::vector<int64_t> &columns,
                      const std::vector<std::string> &titles) {
    chart::Marks marks;
    for (size_t ring = 0; ring < rings; ++ring) marks.styles.push_back(chart::style_of_class(ring));
    for (int64_t i = 0; i < points.rows; ++i) {
        marks.x.push_back(points.at(i, columns[0]));
        marks.y.push_back(points.at(i, columns[1]));
        marks.style.push_back(static_cast<uint32_t>(i) / points_a_ring);
    }
    chart::fade(marks);
    chart::Panel panel;
    panel.title = title;
    panel.x = {titles[0], chart::padded(chart::range_of(marks.x), 0.06)};
    panel.y = {titles[1], chart::padded(chart::range_of(marks.y), 0.06)};
    panel.layers.push_back({marks});
    return panel;
}

void draw(const std::string &path, const Array &data, const Array &scores, mercer_model *model) {
    const auto embedding = [&](const char *title, int64_t i, int64_t j) {
        return panel_of(title, scores, {i, j}, {component_title(model, i + 1), component_title(model, j + 1)});
    };
    chart::Figure figure;
    figure.width = 1140;
    figure.aspect = 1;
    figure.panels = {panel_of("(a) data", data, {0, 1}, {"x", "y"}), embedding("(b) embedding, from above", 0, 1),
                     embedding("(c) embedding, from the side", 0, 2)};
    for (const size_t k : {0, 1}) chart::equalise(figure.panels[k].x.range, figure.panels[k].y.range, figure.aspect);
    for (size_t ring = 0; ring < rings; ++ring)
        figure.legend.push_back({std::string(ring_names[ring]) + " ring", chart::style_of_class(ring)});
    const std::string picture = chart::draw(figure);
    OutputFile file(path);
    file.write(picture.data(), picture.size());
    file.commit();
}

} // namespace

void demo(mercer_context *context, const Words &words) {
    std::string folder = "mercer-demo";
    Arguments line("demo", "Makes three noisy rings, fits a model to them, and draws the embedding.", words);
    bool as_json = false;
    line.app().add_option("-o,--output", folder, "folder for the files")->type_name("FOLDER")->capture_default_str();
    line.app().add_flag("--json", as_json, "print the model's report as JSON");
    line.parse();
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) throw Failure(MERCER_E_IO, folder + ": cannot create: " + error.message());
    const std::string base = folder + "/rings";
    const std::string data_path = base + ".csv", model_path = base + ".safetensors", scores_path = base + "-scores.npy";

    const Array data = make_rings();
    write_rings(data_path, data);
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
    RunOptions quietly;
    quietly.quiet = true;
    const Run run(quietly);
    InputOptions written;
    written.path = scores_path;
    const InputData scores(context, written, run.get());
    draw(base + ".svg", data, array_of(scores.get(), MERCER_F64, run.get()), model.get());
    if (as_json) return;
    std::printf(
        "wrote %s.svg: the picture; no straight line separates the rings in the data (a), but component 3 does (c)\n",
        base.c_str());
}

} // namespace cli
