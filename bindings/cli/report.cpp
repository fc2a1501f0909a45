#include "report.h"
#include "json.h"
#include "recipe.h"

#include <algorithm>
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

// The number of characters, not of bytes, in a UTF-8 text.
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
    } catch (const Failure &) {
        // The failure is then reported without the name of its status.
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
    Importance importance;
    if (mercer_model_tensor(model, "lambda", &lambda) != MERCER_OK) {
        if (mercer_model_tensor(model, "variance", &lambda) != MERCER_OK) return {};
        importance.name = "variance";
    }
    if (lambda.dtype != MERCER_F64) return {};
    const auto *values = static_cast<const double *>(lambda.data);
    importance.values.assign(values, values + lambda.rows * lambda.cols);
    importance.total = summary.total_variance;
    return importance;
}

void print_importance(FILE *stream, const Importance &importance, size_t most) {
    const auto &values = importance.values;
    if (values.empty()) return;
    const bool known = importance.total > 0; // otherwise the columns of shares are left out
    Cells cells = {{"component", importance.name, "share", "cumulative"}};
    double sum = 0;
    for (size_t j = 0; j < values.size(); ++j) {
        sum += values[j];
        const bool last = j + 1 == values.size();
        if (j == most && !last) cells.push_back({"..."});
        if (j < most || last)
            cells.push_back({std::to_string(j + 1), format("%.6g", values[j]), percent(values[j] / importance.total),
                             percent(sum / importance.total)});
    }
    for (auto &row : cells) row.resize(std::min<size_t>(row.size(), known ? 4 : 2));
    print_table(stream, cells, "rrrr");
    std::fputc('\n', stream);
}

namespace {

// What the certificates of all eigenvalues say together.
struct Accuracy {
    // The largest distance of an eigenvalue from one of its bounds, relative to the eigenvalue. A
    // negative number means that nothing is certified.
    double worst = -1;
    double probability = 1;
    std::vector<std::string> by, conditions;
};

void add_once(std::vector<std::string> &list, const std::string &word) {
    if (!word.empty() && std::find(list.begin(), list.end(), word) == list.end()) list.push_back(word);
}

Accuracy accuracy_of(mercer_model *model) {
    Accuracy out;
    for (const json::Value &entry : json::parse(fact_of(model, "/certificates")).members) {
        const double value = number_of(member(entry, "value"));
        if (member(entry, "name").text != "eigenvalue" || !(value > 0)) continue;
        const double off =
            std::max(number_of(member(entry, "upper")) - value, value - number_of(member(entry, "lower")));
        out.worst = std::max(out.worst, off / value);
        out.probability = std::min(out.probability, number_of(member(entry, "probability")));
        const std::string by = member(entry, "by").text;
        // The certificate "frobenius" comes from sampled entries of the residual, that is, from
        // pairs of rows, so users read "pairs".
        add_once(out.by, by == "frobenius" ? "pairs" : by);
        add_once(out.conditions, member(entry, "if").text);
    }
    return out;
}

} // namespace

void print_accuracy(FILE *stream, mercer_model *model, const std::string &tighter) {
    // If the bounds are closer than this, no tighter ones are suggested.
    constexpr double close = 0.01;
    const Accuracy found = accuracy_of(model);
    if (found.worst < 0 || !fact_of(model, "/strategy/why").empty()) return;
    std::string how = "by " + joined(found.by, " and ");
    if (found.probability < 1) how += format(", with probability %g", found.probability);
    if (!found.conditions.empty()) how += ", if " + joined(found.conditions, " and ");
    const std::string share = format(found.worst < 0.1 ? "%.2g" : "%.0f", 100 * found.worst);
    std::fprintf(stream, "eigenvalues certified to %s %% or better (%s)%s\n\n", share.c_str(), how.c_str(),
                 tighter.empty() || found.worst < close ? "" : ("; " + tighter + " may be tighter").c_str());
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
    const std::string strategy = fact_of(model, "/strategy/why");
    if (!strategy.empty()) std::fprintf(stream, "%s\n", strategy.c_str());
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
        // What the fit did counts, because it may have taken another strategy than the forecast
        // assumed.
        const std::string passes = fact_of(model, "/kernel_passes");
        const bool lift_passes = forecast->passes.likely > 0,
                   projects = passes.empty() ? !lift_passes : std::strtod(passes.c_str(), nullptr) == 0;
        cells.push_back({"kernel matrix",
                         projects            ? "not used: a projection"
                         : !lift_passes      ? "used by the reducer alone"
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
