// Prints the results of rows and the description of the machine, and converts them to JSON.
#include "bench.h"

#include <cstdio>
#include <fstream>
#include <map>
#include <sys/utsname.h>

namespace {

std::string duration(double seconds) {
    char text[32];
    if (seconds < 1e-3)
        std::snprintf(text, sizeof text, "%.2f us", seconds * 1e6);
    else
        std::snprintf(text, sizeof text, "%.4f s", seconds);
    return text;
}

// Prints the line of a contestant: its best time, its ratio with the ratio demanded, and the times
// of all runs.
void print_line(const std::string &name, const std::vector<double> &runs, const std::string &ratio,
                const std::string &remark) {
    std::printf("  %-26s %12s  %-28s", name.c_str(), runs.empty() ? "-" : duration(best(runs)).c_str(), ratio.c_str());
    for (double run : runs) std::printf(" %.4g", run);
    std::printf("%s%s\n", remark.empty() ? "" : "  # ", remark.c_str());
}

std::string bounded(const char *format, double ratio, double bound, const char *sign) {
    char text[64];
    int length = std::snprintf(text, sizeof text, format, ratio);
    if (bound > NONE) std::snprintf(text + length, sizeof text - static_cast<size_t>(length), "  (%s %g)", sign, bound);
    return text;
}

std::string against(const Row &row, const Contestant &peer, const char *format) {
    const std::string out = bounded(format, best(peer.runs) / best(row.ours_runs), peer.demanded, ">=");
    return row.beyond(peer) ? out.substr(0, out.size() - 1) + ": below the limit)" : out;
}

std::string stated(double most) {
    char text[32];
    std::snprintf(text, sizeof text, "  (<= %g)", most);
    return text;
}

std::string first_line(const char *path, const std::string &start = "") {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);)
        if (line.rfind(start, 0) == 0) return line;
    return "";
}

std::string setting(const char *name) {
    const char *value = std::getenv(name);
    return std::string(name) + "=" + (value ? value : "");
}

} // namespace

void print(const Row &row) {
    std::printf("\n%s: %s\n", row.name.c_str(), row.what.c_str());
    const double ours = row.ours_runs.empty() ? NAN : best(row.ours_runs);
    if (!row.ours_runs.empty()) print_line("ours", row.ours_runs, "", "");
    if (!row.limit_runs.empty())
        print_line("limit", row.limit_runs, bounded("ours = %.2f x", ours / best(row.limit_runs), row.allowed, "<="),
                   "");
    for (const Contestant &peer : row.peers)
        print_line(peer.name, peer.runs, peer.runs.empty() ? "" : against(row, peer, "%.2f x ours"), peer.remark);
    for (const Check &check : row.checks)
        std::printf("  %-39s  %.3g%s%s\n", check.what.c_str(), check.value,
                    check.most == PRINTED ? "" : stated(check.most).c_str(), check.missed() ? "  MISSED" : "");
    if (row.attempts > 0)
        std::printf("  probe %s before, %s after, attempt %d\n", duration(row.before).c_str(),
                    duration(row.after).c_str(), row.attempts);
    std::printf("  => %s%s%s\n", row.verdict.c_str(), row.reason.empty() ? "" : ":", row.reason.c_str());
    std::fflush(stdout);
}

void print_table(const std::vector<Row> &rows) {
    std::printf("\n%-22s %12s %12s %16s  %-46s %s\n", "row", "ours", "limit", "ratio (<=)", "peers: ratio (>=)",
                "verdict");
    for (const Row &row : rows) {
        const bool ran = !row.ours_runs.empty(), limited = !row.limit_runs.empty();
        const double ours = ran ? best(row.ours_runs) : NAN;
        std::string peers;
        for (const Contestant &peer : row.peers)
            peers += peer.name + (peer.runs.empty() ? " not run" : against(row, peer, " %.1f")) + "; ";
        std::printf("%-22s %12s %12s %16s  %-46s %s\n", row.name.c_str(), ran ? duration(ours).c_str() : "-",
                    limited ? duration(best(row.limit_runs)).c_str() : "-",
                    limited ? bounded("%.2f", ours / best(row.limit_runs), row.allowed, "<=").c_str() : "-",
                    peers.c_str(), row.verdict.c_str());
    }
    std::map<std::string, int> verdicts;
    int64_t demands = 0, beyond = 0;
    for (const Row &row : rows) {
        ++verdicts[row.verdict];
        for (const Contestant &peer : row.peers) demands += peer.judged(), beyond += row.beyond(peer);
    }
    std::printf("\n");
    for (const auto &[verdict, count] : verdicts) std::printf("%d rows %s, ", count, verdict.c_str());
    std::printf("%lld of %lld peer demands beyond the machine's limit (there the limit decides)\n",
                static_cast<long long>(beyond), static_cast<long long>(demands));
}

Json json_of(const Row &row) {
    Json out = {{"name", row.name}, {"what", row.what}, {"verdict", row.verdict}, {"reason", row.reason}};
    const auto add_runs = [](Json &to, const std::vector<double> &runs) {
        if (!runs.empty()) to["seconds"] = best(runs), to["runs"] = runs;
    };
    const double ours = row.ours_runs.empty() ? NAN : best(row.ours_runs);
    add_runs(out["ours"], row.ours_runs);
    if (!row.limit_runs.empty()) {
        add_runs(out["limit"], row.limit_runs);
        out["limit"]["ratio"] = ours / best(row.limit_runs);
        if (row.allowed > NONE) out["limit"]["allowed"] = row.allowed;
    }
    out["peers"] = Json::array();
    for (const Contestant &peer : row.peers) {
        Json one = {{"name", peer.name}, {"remark", peer.remark}};
        add_runs(one, peer.runs);
        if (!peer.runs.empty()) one["ratio"] = best(peer.runs) / ours;
        if (peer.demanded > NONE) one["demanded"] = peer.demanded;
        if (row.beyond(peer)) one["below_the_limit"] = true;
        out["peers"].push_back(one);
    }
    out["checks"] = Json::array();
    for (const Check &check : row.checks) {
        out["checks"].push_back({{"what", check.what}, {"value", check.value}});
        if (check.most != PRINTED) out["checks"].back()["most"] = check.most;
    }
    out["probe"] = {{"before", row.before}, {"after", row.after}, {"attempts", row.attempts}};
    return out;
}

void print_head(Bench &bench, Json &json) {
    utsname system;
    uname(&system);
    std::string peers;
    try {
        peers = bench.python.ask("versions", "-", {}).remark;
    } catch (const std::exception &why) {
        peers = why.what();
    }
    const std::string cpu = first_line("/proc/cpuinfo", "model name");
    const std::vector<std::pair<std::string, std::string>> lines = {
        {"mercer", mercer_version()},
        {"compiler", __VERSION__},
        {"limits", limit::vector_name()},
        {"blas", limit::blas_name()},
        {"machine", cpu.substr(std::min(cpu.find(':') + 2, cpu.size())) + ", " + system.sysname + " " + system.release},
        {"load", first_line("/proc/loadavg")},
        {"pages", first_line("/sys/kernel/mm/transparent_hugepage/enabled")},
        {"peers", peers},
        {"settings", "threads " + std::to_string(bench.options.threads) + ", " + setting("OMP_WAIT_POLICY") + ", " +
                         setting("OMP_NUM_THREADS") + ", " + setting("OPENBLAS_NUM_THREADS") + ", " +
                         setting("OPENBLAS_THREAD_TIMEOUT")}};
    for (const auto &[name, text] : lines) {
        std::printf("%-10s %s\n", name.c_str(), text.c_str());
        json["head"][name] = text;
    }
    if (bench.options.tiny) return;
    std::printf("\n%-26s %10s %10s\n", "rates", "one core", "all");
    for (const limit::Rate &rate : limit::machine(bench.options.threads)) {
        std::printf("%-26s %10.2f %10.2f %s\n", rate.name.c_str(), rate.one, rate.all, rate.unit.c_str());
        json["rates"].push_back({{"name", rate.name}, {"unit", rate.unit}, {"one", rate.one}, {"all", rate.all}});
    }
    std::fflush(stdout);
}
