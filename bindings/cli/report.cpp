#include "report.h"
#include "json.h"
#include "recipe.h"

#include <array>
#include <cmath>
#include <cstdlib>

namespace cli {

namespace {

std::string format(const char *pattern, double x) {
    char text[64];
    std::snprintf(text, sizeof text, pattern, x);
    return text;
}

/* Letters, not bytes, of UTF-8. */
size_t width_of(const std::string &text) {
    size_t width = 0;
    for (const char c : text) width += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    return width;
}

std::string status_name(int32_t code) {
    try {
        const Context context = make<Context>(mercer_context_create);
        for (const Entry &entry : entries_of(context.get(), "statuses"))
            if (entry.value == code) return entry.name;
    } catch (const Failure &) { // then without its name
    }
    return "";
}

} // namespace

void print_table(FILE *stream, const Cells &cells, const std::string &align) {
    std::vector<size_t> widths(align.size());
    for (const auto &row : cells)
        for (size_t j = 0; j < row.size(); ++j) widths[j] = std::max(widths[j], width_of(row[j]));
    for (const auto &row : cells) {
        std::string line;
        for (size_t j = 0; j < row.size(); ++j) {
            const std::string pad(widths[j] - width_of(row[j]), ' ');
            line += (j ? "  " : "") + (align[j] == 'r' ? pad + row[j] : row[j] + pad);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        std::fprintf(stream, "%s\n", line.c_str());
    }
}

std::string human_bytes(double bytes) {
    constexpr std::array<const char *, 5> units = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    for (; bytes >= 1024 && unit + 1 < units.size(); ++unit) bytes /= 1024;
    return format(unit == 0 ? "%.0f " : "%.1f ", bytes) + units[unit];
}

std::string human_count(double count) { return format(std::fabs(count) < 1e6 ? "%.0f" : "%.3g", count); }

std::string human_seconds(double seconds) { return format(seconds < 10 ? "%.3f s" : "%.1f s", seconds); }

std::string percent(double share) { return format("%.1f %%", 100 * share); }

std::string fact_of(mercer_model *model, const std::string &path) {
    const char *text = "";
    const int32_t status = mercer_model_info(model, path.c_str(), &text);
    if (status == MERCER_E_NAME) return "";
    check(status);
    return text;
}

Importance importance_of(mercer_model *model) {
    auto summary = sized<mercer_summary>();
    check(mercer_model_summary(model, &summary));
    auto lambda = sized<mercer_view>();
    if (mercer_model_tensor(model, "lambda", &lambda) != MERCER_OK || lambda.dtype != MERCER_F64) return {};
    Importance importance;
    const auto *values = static_cast<const double *>(lambda.data);
    importance.eigenvalues.assign(values, values + lambda.rows * lambda.cols);
    importance.total = summary.total_variance;
    return importance;
}

void print_importance(FILE *stream, const Importance &importance, size_t most) {
    const auto &values = importance.eigenvalues;
    if (values.empty()) return;
    Cells cells = {{"component", "eigenvalue", "share", "cumulative"}};
    double sum = 0;
    for (size_t j = 0; j < values.size() && j < most; ++j) {
        sum += values[j];
        const bool known = importance.total > 0;
        cells.push_back({std::to_string(j + 1), format("%.6g", values[j]),
                         known ? percent(values[j] / importance.total) : "",
                         known ? percent(sum / importance.total) : ""});
    }
    print_table(stream, cells, "rrrr");
    if (values.size() > most) std::fprintf(stream, "... and %zu more\n", values.size() - most);
    std::fputc('\n', stream);
}

void print_headline(FILE *stream, mercer_model *model) {
    auto s = sized<mercer_summary>();
    check(mercer_model_summary(model, &s));
    const std::string rows = std::to_string(s.n) + (s.d > 0    ? " x " + std::to_string(s.d)
                                                    : s.n == 1 ? " object"
                                                               : " objects");
    const long long asked = std::atoll(fact_of(model, "/parameters/reducer.m").c_str()), m = s.m;
    std::fprintf(stream, "%s, kernel %s: %s %s -> %lld component%s on %lld centre%s%s\n",
                 fact_of(model, "/method").c_str(), fact_of(model, "/kernel").c_str(), rows.c_str(),
                 fact_of(model, "/dtype").c_str(), static_cast<long long>(s.r), s.r == 1 ? "" : "s", m,
                 m == 1 ? "" : "s", asked > m ? (", " + std::to_string(asked) + " requested").c_str() : "");
    const std::string road = fact_of(model, "/road/why");
    if (!road.empty()) std::fprintf(stream, "%s\n", road.c_str());
}

void print_costs(FILE *stream, mercer_model *model, const std::optional<mercer_forecast> &forecast, double seconds) {
    using Show = std::string (*)(double);
    const auto happened = [&](const char *name, Show show) {
        const std::string text = fact_of(model, name);
        return text.empty() ? "" : show(std::strtod(text.c_str(), nullptr));
    };
    Cells cells = {{"", "", "actual"},
                   {"memory", "", happened("/peak_bytes", human_bytes)},
                   {"kernel evaluations", "", happened("/kernel_evaluations", human_count)},
                   {"passes over the kernel matrix", "", happened("/kernel_passes", human_count)}};
    if (forecast) {
        const auto foreseen = [](const mercer_figure &figure, Show show) {
            return show(figure.likely) + (figure.most > figure.likely ? ", <= " + show(figure.most) : "");
        };
        cells[0][1] = "forecast";
        cells[1][1] = foreseen(forecast->bytes, human_bytes);
        cells[2][1] = foreseen(forecast->kernel_evaluations, human_count);
        cells[3][1] = foreseen(forecast->passes, human_count);
        cells.push_back(
            {"flops", foreseen(forecast->flops, human_count), happened("/forecast/flops/happened", human_count)});
        cells.push_back({"longest uncancellable step", human_seconds(forecast->dense_seconds), ""});
        const std::string passes = fact_of(model, "/kernel_passes"); // a forecast may have meant the other road
        const bool projects = passes.empty() ? forecast->passes.likely == 0 : std::strtod(passes.c_str(), nullptr) == 0;
        cells.push_back({"kernel matrix",
                         projects            ? "not used: a projection"
                         : forecast->streams ? "streamed"
                                             : "stored",
                         ""});
    }
    cells.push_back({"time", forecast ? human_seconds(forecast->seconds) : "", human_seconds(seconds)});
    print_table(stream, cells, "lrr");
}

void warn_of_outcome(mercer_model *model) {
    if (const std::string missing = fact_of(model, "/missing"); !missing.empty())
        std::fprintf(stderr, "mercer: warning: this model can only be inspected: %s\n", missing.c_str());
    static constexpr std::array<std::pair<uint32_t, const char *>, 3> texts = {{
        {MERCER_RANK_REACHED, "fewer components than requested: all others are below rounding"},
        {MERCER_INDEFINITE, "the kernel matrix has negative eigenvalues, which were dropped"},
        {MERCER_NOT_CONVERGED,
         "not converged: the residuals, the certified accuracy or the components kept fall short of the request"},
    }};
    auto summary = sized<mercer_summary>();
    check(mercer_model_summary(model, &summary));
    for (const auto &[bit, text] : texts)
        if (summary.outcome & bit) std::fprintf(stderr, "mercer: warning: %s\n", text);
    for (const json::Value &warning : json::parse(fact_of(model, "/warnings")).members)
        std::fprintf(stderr, "mercer: warning: %s\n", warning.text.c_str());
}

void print_failure(const Failure &failure, bool as_json) {
    std::fprintf(stderr, "mercer: %s\n", failure.what());
    if (!as_json) return;
    const std::string error = json::object({{"code", std::to_string(failure.code)},
                                            {"name", json::text(status_name(failure.code))},
                                            {"text", json::text(failure.what())}});
    std::printf("%s\n", json::object({{"error", error}}).c_str());
}

} // namespace cli
