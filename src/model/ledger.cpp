#include "ledger.h"

#include "../core/error.h"

#include <cmath>

namespace mercer {
namespace {

struct LedgerEntry {
    const char *name;
    double Ledger::*value;
};
constexpr LedgerEntry ledger_entries[] = {{"n_eff", &Ledger::n_eff},
                                          {"self", &Ledger::self},
                                          {"lost", &Ledger::lost},
                                          {"resid", &Ledger::resid},
                                          {"moved", &Ledger::moved}};

} // namespace

Json ledger_json(const Ledger &ledger) {
    Json out = Json::object();
    for (const LedgerEntry &entry : ledger_entries) out[entry.name] = ledger.*entry.value;
    return out;
}

std::optional<Ledger> read_ledger(const Json &text) {
    if (!text.contains("ledger")) return std::nullopt;
    const Json &from = text["ledger"];
    Ledger out;
    for (const LedgerEntry &entry : ledger_entries) {
        const double value = from.is_object() && from.contains(entry.name) && from[entry.name].is_number()
                                 ? from[entry.name].get<double>()
                                 : NAN;
        if (!(value >= 0 && std::isfinite(value)))
            fail(MERCER_E_MODEL, "header: 'ledger': '%s' must be a finite number >= 0", entry.name);
        out.*entry.value = value;
    }
    if (!(out.n_eff > 0)) fail(MERCER_E_MODEL, "header: 'ledger': 'n_eff' must be > 0");
    return out;
}

} // namespace mercer
