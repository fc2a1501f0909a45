// Measures a row. The contestants run in turn, and a probe runs before and after them; if the two
// times of the probe differ, the row is measured again.
#include "bench.h"

#include <cstring>
#include <fstream>
#include <malloc.h>

namespace {

// The machine counts as quiet if the times of the probe before and after a row differ by at most
// this factor.
constexpr double STEADY = 1.15;
constexpr int ATTEMPTS = 5;
// A peer whose best run takes at least this many seconds runs at most three times. A peer that is
// only printed runs at most twice.
constexpr double SLOW = 5;

double probe(const Row &row, const Options &options) {
    const auto once = [&] {
        return row.limit && row.physical ? row.limit() : limit::gemm<double>(1024, options.threads, true);
    };
    return std::min(once(), once());
}

void round(Row &row) {
    if (row.ours) row.ours_runs.push_back(row.ours());
    if (row.limit) row.limit_runs.push_back(row.limit());
    for (Contestant &peer : row.peers) {
        const size_t enough = peer.demanded == NONE ? 2 : peer.runs.empty() || best(peer.runs) < SLOW ? 99 : 3;
        if (!peer.run || peer.runs.size() >= enough) continue;
        try {
            peer.runs.push_back(peer.run());
        } catch (const Absent &why) {
            peer.run = nullptr;
            peer.remark = std::string("absent: ") + why.what();
        }
    }
}

// Returns the ratios that were missed, and those that are unknown because a peer did not run.
std::pair<std::string, std::string> judge(const Row &row) {
    std::string missed, unknown;
    const double ours = row.ours_runs.empty() ? NAN : best(row.ours_runs);
    if (row.allowed > NONE && !(ours <= row.allowed * best(row.limit_runs))) missed += " limit";
    for (const Contestant &peer : row.peers) {
        if (peer.judged() && !row.beyond(peer) && !(best(peer.runs) >= peer.demanded * ours)) missed += " " + peer.name;
        if (peer.demanded > NONE && peer.runs.empty()) unknown += " " + peer.name + " (" + peer.remark + ")";
    }
    return {missed, unknown};
}

// Returns a field of /proc/self/status in kB.
double status_of(const char *field) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.rfind(field, 0) == 0) return std::stod(line.substr(std::strlen(field)));
    return NAN;
}

} // namespace

void measure(Row &row, const Options &options) {
    const int rounds = row.rounds > 0 ? row.rounds : options.rounds;
    bool steady = false;
    while (!steady && row.attempts < (rounds > 1 ? ATTEMPTS : 1)) { // a row of one round takes too long to be repeated
        ++row.attempts;
        row.ours_runs.clear();
        row.limit_runs.clear();
        for (Contestant &peer : row.peers) peer.runs.clear();
        row.before = probe(row, options);
        for (int k = 0; k < rounds; ++k) round(row);
        row.after = probe(row, options);
        steady = std::max(row.before, row.after) <= STEADY * std::min(row.before, row.after);
        if (options.tiny) break;
    }

    std::string checks;
    bool stated = row.allowed > NONE;
    for (const Check &check : row.checks) {
        stated |= check.most != PRINTED;
        if (check.missed()) checks += " " + check.what + ";";
    }
    for (const Contestant &peer : row.peers) stated |= peer.demanded > NONE;
    const auto [ratios, unknown] = judge(row);
    if (!stated || options.tiny)
        row.verdict = "printed", row.reason = options.tiny ? "tiny" : "";
    else if (!checks.empty() || (steady && !ratios.empty()))
        row.verdict = "missed", row.reason = checks + (steady ? ratios : "");
    else if (!steady)
        row.verdict = "no verdict", row.reason = " the machine was not quiet";
    else if (!unknown.empty())
        row.verdict = "no verdict", row.reason = unknown;
    else
        row.verdict = "met";
}

Growth::Growth() {
    malloc_trim(0);
    std::ofstream("/proc/self/clear_refs") << "5"; // sets VmHWM to the present resident memory
    start_ = status_of("VmRSS:");
}
double Growth::mebibytes() const { return (status_of("VmHWM:") - start_) / 1024; }
