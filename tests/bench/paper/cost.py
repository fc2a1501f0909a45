"""Table 2 as exponents: how the seconds of training and the count of stored numbers grow with n at a fixed m, and with
m at a fixed n.

The rows are m sites with a little noise, so the shadow at a fixed ell has one centre for each site, whatever n is. If m
were prescribed instead, the shadow would need additional passes to find ell.
"""
import numpy as np

import claims
import tables
from runs import SHADOW, fit, rival, shadow

D, SIGMA, R, ELL, REPEATS = 16, 5 * np.sqrt(2), 10, 4.0, 3
SLACK = 0.15  # uncertainty of a slope that is fitted to four logarithms


def sites(n, m):
    numbers = np.random.default_rng(m)
    which = np.concatenate([np.arange(m), numbers.integers(0, m, n - m)])
    return 3 * numbers.standard_normal((m, D))[which] + 1e-3 * numbers.standard_normal((n, D))


def measured(runs, sizes, ms):
    """Returns {method: {"training over n": exponent, ...}}: slopes of logarithms, for the fastest of REPEATS fits."""
    def best(method, n, m):
        def make():
            x, recipe = sites(n, m), shadow(ELL) if method == SHADOW else rival(method, m)
            fits = [fit(x, [], SIGMA, R, recipe, seed)[1] for seed in range(REPEATS)]
            return {"training": min(one["fit"] for one in fits), "stored": fits[0]["stored"], "m": fits[0]["m"]}

        return runs.remember(["cost", method, n, m], make)

    def slope(over, found, what):
        return round(float(np.polyfit(np.log(over), np.log([one[what] for one in found]), 1)[0]), 2) + 0.0  # avoids -0

    out = {}
    for method in claims.COSTS:
        by_n, by_m = [best(method, n, ms[1]) for n in sizes], [best(method, sizes[1], m) for m in ms]
        out[method] = {f"{what} over {axis}": slope(over, found, what) for what in ("training", "stored")
                       for axis, over, found in (("n", sizes, by_n), ("m", ms, by_m))}
        print(f"table 2: {method}", flush=True)
    return out


def verdicts(found):
    """Checks that each exponent is at most that of the paper, plus SLACK."""
    return [(f"table 2: {method}, {name}", f"at most {said}", f"{found[method][name]:.2f}", found[method][name] <= said + SLACK)
            for method, costs in claims.COSTS.items() for name, said in costs.items()]


def write(out, found, sizes, ms):
    names = list(next(iter(found.values())))
    note = (f"Slopes of the logarithms of seconds and of numbers stored (centres and coefficients), in brackets the paper's: n = "
            f"{', '.join(map(str, sizes))} at m = {ms[1]}, m = {', '.join(map(str, ms))} at n = {sizes[1]}. {D} columns, m sites with "
            f"noise (seed m), r = {R}, ell = {ELL:g}; the fastest of {REPEATS} runs, seeds 0 to {REPEATS - 1}.")
    rows = [[method, *(f"{one[name]:.2f} ({claims.COSTS[method][name]})" for name in names)] for method, one in found.items()]
    tables.write(out / "table2.md", "Table 2: exponents of the cost, measured", note, ["method", *names], rows)
