#include "report.h"

#include "../core/text.h"

#include <cinttypes>
#include <cmath>
#include <numeric>

namespace mercer {

Json parameter_json(const std::map<std::string, std::string> &stored) {
    Json out = Json::object();
    for (const auto &[name, text] : stored) {
        int64_t whole = 0;
        double real = 0;
        if (text == "true" || text == "false")
            out[name] = text == "true";
        else if (parse_number(text, &whole))
            out[name] = whole;
        else if (parse_number(text, &real))
            out[name] = real;
        else
            out[name] = text;
    }
    return out;
}

Json timings_json(const Run &run) {
    Json out = Json::object();
    for (const auto &[stage, seconds] : run.stage_seconds()) out[stage] = out.value(stage, 0.0) + seconds;
    out["total"] = run.seconds();
    return out;
}

namespace {

Json certificate_json(const Certificate &one) {
    Json out = record({{"name", one.name},
                       {"value", one.value},
                       {"kind", one.conditional   ? "conditional"
                                : one.failure > 0 ? "probable"
                                                  : "certain"},
                       {"probability", 1 - one.failure}});
    if (one.component >= 0) out["component"] = one.component;
    if (one.interval)
        out["theta"] = one.interval->theta, out["lower"] = one.interval->lower, out["upper"] = one.interval->upper;
    if (*one.by) out["by"] = one.by;
    if (!std::isnan(one.measured)) out["measured"] = one.measured;
    if (one.error > 0) out["stderr"] = one.error;
    if (one.applies) out["applicable"] = *one.applies;
    if (one.conditional) out["if"] = "no eigenvalue above the last one was missed";
    return out;
}

Json quantiles_json(const Quantiles &of) { return record({{"p95", of.p95}, {"p99", of.p99}}); }

Json limits_json(const Limits &limits) {
    Json out = Json::object();
    if (limits.t2) out["t2"] = quantiles_json(*limits.t2);
    if (limits.residual) out["residual"] = quantiles_json(*limits.residual);
    out["kind"] = limits.kind;
    return out;
}

Json error_bars_json(const ErrorBars &bars) {
    Json out = record({{"replicates", bars.replicates},
                       {"level", bars.level},
                       {"noise", bars.noise},
                       {"sd", bars.sd},
                       {"lower", bars.lower},
                       {"upper", bars.upper},
                       {"overlaps_noise", Json::array()}});
    for (double lower : bars.lower) out["overlaps_noise"].push_back(!(lower > bars.noise));
    return out;
}

// Writes what the solver reported, and the passes and residuals of the solution.
void write_solution(const Lifted &lifted, Json &text) {
    if (!lifted.solver.empty()) text["solver"] = lifted.solver;
    if (lifted.checkpointed) text["checkpointed"] = true;
    for (const auto &[name, value] : lifted.solver_report) text["reported"]["solver." + name] = value;
    if (lifted.passes_made) {
        text["passes"] = Json::array();
        for (const Pass &pass : *lifted.passes_made)
            text["passes"].push_back(record({{"width", pass.width}, {"dtype", pass.f32 ? "f32" : "f64"}}));
    }
    if (!lifted.residuals.empty()) text["residuals"] = lifted.residuals;
    if (lifted.most_negative) text["most_negative"] = *lifted.most_negative;
    if (!lifted.stopped.empty()) text["stopped"] = lifted.stopped;
}

} // namespace

void write_facts(const Lifted &lifted, const std::map<std::string, double> &reducer, Json &text) {
    text["outcome"] = outcome_names(lifted.outcome);
    text["capabilities"] = capability_names(lifted.capabilities);
    text["certificates"] = Json::array();
    for (const Certificate &one : lifted.certificates) text["certificates"].push_back(certificate_json(one));
    if (!lifted.uncertified.empty()) text["uncertified"] = lifted.uncertified;
    if (lifted.error_bars) text["error_bars"] = error_bars_json(*lifted.error_bars);
    if (lifted.total_variance)
        text["total_variance"] =
            record({{"value", lifted.total_variance->value}, {"kind", lifted.total_variance->kind}});
    if (lifted.mean_square) text["mean_square"] = *lifted.mean_square;
    if (lifted.mse) text["mse"] = *lifted.mse;
    if (lifted.mse_components) text["mse_components"] = *lifted.mse_components;
    if (lifted.ledger) text["ledger"] = ledger_json(*lifted.ledger);
    if (lifted.limits) text["limits"] = limits_json(*lifted.limits);
    if (lifted.rank) text["rank"] = *lifted.rank;
    write_solution(lifted, text);
    text.update(lifted.details);
    for (const std::string &warning : lifted.warnings) text["warnings"].push_back(warning);
    for (const auto &[name, value] : reducer) text["reported"]["reducer." + name] = value;
    text["kernel_evaluations"] = lifted.kernel_evaluations;
    text["kernel_passes"] = lifted.passes;
}

void warn_of_share(const CoreValues &asked, int64_t n, int64_t m, Lifted &lifted) {
    const Tensor *found = variances_of(lifted.tensors);
    if (std::isnan(asked.variance) || !found || !lifted.total_variance || !(lifted.total_variance->value > 0)) return;
    const double *values = tensor_data<double>(*found);
    const double share = std::accumulate(values, values + found->rows, 0.0) / lifted.total_variance->value;
    if (share >= asked.variance * (1 - 1e-9)) return;
    const std::string what =
        format("%" PRId64 " components explain %.3g %% of the variance, %.3g %% requested: ", found->rows, 100 * share,
               100 * asked.variance);
    if (asked.components > 0 && found->rows >= asked.components) {
        lifted.warnings.push_back(what + format("output.components = %" PRId64
                                                " limits their number, 0 removes the limit",
                                                asked.components));
    } else if (m < n && lifted.stopped.empty()) {
        lifted.outcome |= MERCER_RANK_REACHED;
        lifted.warnings.push_back(what + format("%" PRId64 " centres hold no more than that, use more of them", m));
    }
}

} // namespace mercer
