#include "plot.h"
#include "commands.h"
#include "files.h"
#include "json.h"
#include "raster.h"
#include "recipe.h"
#include "report.h"
#include "run.h"

#include <algorithm>
#include <charconv>

namespace cli {

namespace {

struct Options {
    InputOptions data;
    std::string model, output = "-", kind, labels, components, title;
    double width = chart::Figure().width;
    bool json = false;
    RunOptions run;

    void add_to(CLI::App &app) {
        app.add_option("MODEL", model, "model file; - for standard input")->type_name("FILE")->required();
        data.add_to(app);
        app.get_option("DATA")->required(false);
        app.add_option("-o,--output", output,
                       "file to write the picture to, .svg, .png or .pdf; - for SVG on standard output")
            ->type_name("FILE")
            ->capture_default_str();
        one_of(app.add_option("--kind", kind, "kind of picture (default: scatter if DATA are given, else scree)"),
               {"scree", "errors", "scatter", "density", "residual"});
        app.add_option("--labels", labels, "class or value of each row, for colours: a file, or a column of DATA")
            ->type_name("FILE|COLUMN");
        app.add_option(
               "--components", components,
               "the two components of a scatter plot, counted from 1; or one, to plot it against the row number")
            ->type_name("I,J");
        app.add_option("--title", title, "title above the picture")->type_name("TEXT");
        within(app.add_option("--width", width, "width of the picture, in pixels of 1/96 inch"), MERCER_REAL, 300, 4000)
            ->capture_default_str();
        app.add_flag("--json", json, "print a description of the picture as JSON");
        run.add_to(app);
    }

    void verify() {
        if (kind.empty()) kind = data.path.empty() ? "scree" : "scatter";
        if (kind == "scatter" && data.path.empty()) throw Failure(MERCER_E_ARGUMENT, "a scatter plot needs DATA");
        if (kind != "scatter" && !components.empty())
            throw Failure(MERCER_E_ARGUMENT, "--components applies to scatter plots, not to kind " + kind);
        if ((kind == "scree" || kind == "errors") && !data.path.empty())
            throw Failure(MERCER_E_ARGUMENT, "a plot of kind " + kind + " takes no DATA");
        if (!labels.empty() && data.path.empty()) throw Failure(MERCER_E_ARGUMENT, "--labels needs DATA");
        if (is_stream(model) + is_stream(data.path) + is_stream(labels) > 1)
            throw Failure(MERCER_E_ARGUMENT, "only one file can be read from standard input");
        if (is_stdout(output) && json)
            throw Failure(MERCER_E_ARGUMENT, "--json and -o - both write to standard output");
        for (const std::string &input : {model, data.path, labels}) check_apart(output, input);
        check_ending("-o", output, {".svg", ".png", ".pdf"}, false, ", or be - for SVG");
        check_encoder(ending_of(output));
        check_writable(output);
    }

    std::vector<int64_t> component_numbers() const {
        std::vector<int64_t> numbers;
        for (const std::string &word : components.empty() ? Words() : split(components, ',')) {
            int64_t number = 0;
            const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
            if (error != std::errc() || end != word.data() + word.size()) number = 0;
            numbers.push_back(number);
            if (number < 1 || numbers.size() > 2)
                throw Failure(MERCER_E_VALUE, "--components = " + components + ", must be one or two numbers >= 1");
        }
        return numbers;
    }
};

chart::Figure figure_of(const std::string &kind, const Subject &subject) {
    if (kind == "scree") return scree(subject);
    if (kind == "errors") return errors(subject);
    return kind == "scatter" ? scatter(subject) : map(subject, kind);
}

} // namespace

Array values_of(const Subject &subject, mercer_data *data, const std::string &name, int64_t columns) {
    const mercer_data_facts facts = facts_of(data);
    if (facts.cols != columns)
        throw Failure(MERCER_E_SHAPE,
                      name + " has " + std::to_string(facts.cols) + " columns, must have " + std::to_string(columns));
    return array_of(data, MERCER_F64, subject.run);
}

chart::Polyline polyline(const std::vector<double> &x, const std::vector<double> &y) {
    chart::Polyline out;
    for (size_t i = 0; i < x.size(); ++i) out.emplace_back(x[i], y[i]);
    return out;
}

double radius_of(size_t marks) { return std::clamp(110.0 / static_cast<double>(marks), 1.8, 4.0); }

std::string component_title(mercer_model *model, int64_t component) {
    const Importance importance = importance_of(model);
    const auto at = static_cast<size_t>(component - 1);
    const std::string name = "component " + std::to_string(component);
    if (at >= importance.values.size() || !(importance.total > 0)) return name;
    return name + " (" + percent(importance.values[at] / importance.total) + " of the variance)";
}

void plot(mercer_context *context, const Words &words) {
    Options options;
    Arguments line("plot",
                   "Draws a model's eigenvalues, the scores of data, or a density or residual map, as SVG, PNG or PDF.",
                   words);
    options.add_to(line.app());
    line.parse();
    options.verify();

    const Run run(options.run);
    const Model model = read_model(context, options.model);
    std::optional<InputData> data;
    options.data.expected = columns_of(model.get());
    if (!is_label_file(options.labels)) options.data.labels = options.labels;
    if (!options.data.path.empty()) data.emplace(context, options.data, run.get());
    chart::Figure figure = figure_of(options.kind, {.context = context,
                                                    .model = model.get(),
                                                    .data = data ? data->get() : nullptr,
                                                    .labels = options.labels,
                                                    .components = options.component_numbers(),
                                                    .run = run.get()});
    figure.title = options.title;
    figure.width = options.width;
    const std::string picture =
        encoded(chart::draw(figure), ending_of(options.output), figure.width, chart::height_of(figure));
    OutputFile file(options.output);
    file.write(picture.data(), picture.size());
    file.commit();
    if (options.json)
        std::printf("%s\n", json::object({{"kind", json::text(options.kind)},
                                          {"path", json::text(options.output)},
                                          {"bytes", std::to_string(picture.size())},
                                          {"caption", json::text(figure.caption)}})
                                .c_str());
}

} // namespace cli
