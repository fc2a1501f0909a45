"""A question that the paper does not ask: at equal m, are the shadow's rows better than random ones or rpcholesky's?"""
import numpy as np

import claims
import drawing
import tables
from runs import BARE, EXACT, SHADOW, digest, eigenvalue_error, fit, info, load, model_of

SHARES, R = (0.05, 0.1, 0.2), 10
OTHERS, LIFTS = ("uniform", "rpcholesky"), ("weighted", "projected")
PAIRS = [(lift, other) for lift in LIFTS for other in OTHERS]
COMBINATIONS = [f"{reducer} x {lift}" for lift in LIFTS for reducer in (SHADOW, *OTHERS)]
WIDTHS = {"ijcnn1": 1.0, "pendigits": 120.0, "usps": 18.0}


def clusters(n, d, seed=0):
    numbers = np.random.default_rng(seed)
    centres = 3 * numbers.standard_normal((20, d))
    return centres[numbers.integers(0, 20, n)] + numbers.standard_normal((n, d))


def recipe_of(combination, m, epsilon):
    """Returns a recipe with the shadow of radius epsilon, or with m other rows. If the lift needs weights, the weight
    of such a row is the number of rows nearest to it."""
    reducer, lift = combination.split(" x ")
    by = {"reducer.epsilon": epsilon} if reducer == SHADOW else {"reducer.m": m}
    cells = {"reducer.weights": "voronoi"} if reducer != SHADOW and lift == "weighted" else {}
    return {"method": "subsampled", "reducer": reducer, "lift": lift, **BARE, **by, **cells}


def sought(x, sigma, m):
    """Returns the radius at which the shadow's number of centres is nearest to m, and this number."""
    model = model_of(x, sigma, {"method": "rskpca", **BARE, "reducer.m": m})
    return {"epsilon": info(model, "/reported/reducer.epsilon"), "m": len(model.tensor("C"))}


def runs_of(runs, name, everything, sigma, rows, seeds):
    """Returns a line of the table for each share: relative l2 errors of the first eigenvalues, and seconds of fits."""
    mark = digest(everything)
    out = {share: {"set": name, "mark": mark, "n": min(rows, len(everything)), "share": share, "m": [], "ell": [],
                   **{what: {c: [] for c in COMBINATIONS} for what in ("errors", "seconds")}} for share in SHARES}
    for seed in seeds:
        x = everything[np.random.default_rng(seed).permutation(len(everything))[:rows]]

        def remember(key, make):
            return runs.remember(["equal", name, mark, len(x), seed, *key], make)

        def one(recipe):
            said = fit(x, [], sigma, R, recipe, seed)[1]
            return {what: said[what] for what in ("m", "eigenvalues", "fit")}

        truth = np.array(remember(["exact"], lambda: one(EXACT))["eigenvalues"])
        for share, row in out.items():
            shade = remember(["sought", share], lambda: sought(x, sigma, round(share * len(x))))
            row["m"].append(shade["m"])
            row["ell"].append(sigma / shade["epsilon"])
            for c in COMBINATIONS:
                said = remember([c, share], lambda: one(recipe_of(c, shade["m"], shade["epsilon"])))
                row["errors"][c].append(eigenvalue_error(truth, said["eigenvalues"]) / float(np.linalg.norm(truth)))
                row["seconds"][c].append(said["fit"])
    print(f"{name}: m = {', '.join(str(round(np.mean(row['m']))) for row in out.values())}", flush=True)
    return list(out.values())


def measured(runs, data, rows, seeds):
    """Returns a line of the table for each data set and share. Absent data sets are left out."""
    sets = {"clusters": (clusters(4 * rows, 16), 5 * np.sqrt(2))}
    for name, sigma in WIDTHS.items():
        if (data / f"{name}.X.npy").exists():
            sets[name] = load(data, name)[0], sigma
    return [row for name, (x, sigma) in sets.items() for row in runs_of(runs, name, x, sigma, rows, seeds)]


def answer(row, lift, other):
    """Returns whether the shadow is better, worse or as good, by a paired test of the logarithms of the errors."""
    own, others = (np.log(np.maximum(row["errors"][f"{reducer} x {lift}"], 1e-16)) for reducer in (SHADOW, other))
    if not claims.differ(own, others, paired=True):
        return "as good"
    return "better" if own.mean() < others.mean() else "worse"


def counts(rows, lift, other):
    said = [answer(row, lift, other) for row in rows]
    return said, said.count("better"), said.count("worse")


def verdicts(rows):
    out = []
    for lift, other in PAIRS:
        _, better, worse = counts(rows, lift, other)
        word = "no" if better == 0 else "yes" if better == len(rows) else "at times"
        out.append((f"equal m, lift {lift}: the shadow is better than {other}", "not asked",
                    f"better in {better}, worse in {worse} of {len(rows)}", word))
    return out


def write(out, rows, seeds):
    names = list(dict.fromkeys(row["set"] for row in rows))
    marks = ", ".join(f"{row['set']} {row['mark']}" for row in rows if row["share"] == SHARES[0])
    note = (f"Relative l2 error of the first {R} eigenvalues against exact kernel PCA, uncentred (geometric mean), and time of the "
            f"fit: {len(seeds)} runs, seeds {seeds[0]} to {seeds[-1]}, each of n random rows. m is that of the shadow whose radius "
            "(ell) was sought for a share of n. `weighted`: rows that are not the shadow's are weighed by the rows nearest to "
            f"each. Digests: {marks}.")

    def cell(row, c):
        return f"{np.exp(np.mean(np.log(np.maximum(row['errors'][c], 1e-16)))):.1e}, {1e3 * np.mean(row['seconds'][c]):.3g} ms"

    table = [[row["set"], row["n"], round(np.mean(row["m"])), f"{np.mean(row['ell']):.2f}", *(cell(row, c) for c in COMBINATIONS)]
             for row in rows]
    shares = ", ".join(f"{share:.0%}" for share in SHARES)
    after = ["", "## Is the shadow better?", "", f"By a paired test at {claims.ALPHA:.0%}, for m of {shares} of n.", "",
             "| lift | than | " + " | ".join(names) + " | in all |", "| --- " * (3 + len(names)) + "|"]
    for lift, other in PAIRS:
        said, better, worse = counts(rows, lift, other)
        cells = [", ".join(word for word, row in zip(said, rows) if row["set"] == name) for name in names]
        after.append(f"| {lift} | {other} | " + " | ".join([*cells, f"better in {better}, worse in {worse} of {len(rows)}"]) + " |")
    head = ["set", "n", "m", "ell", *COMBINATIONS]
    tables.write(out / "equal.md", "Is the shadow better than other rows at equal m?", note, head, table, after)
    panels = []
    for name in names:
        lines = {c: [tables.mean(row["errors"][c]) for row in rows if row["set"] == name] for c in COMBINATIONS}
        panels.append(drawing.panel(f"{name}: relative error of {R} eigenvalues", "m / n", SHARES, lines, log=True))
    caption = f"mean and standard error of {len(seeds)} runs of {rows[0]['n']} rows, at the m of the shadow"
    drawing.save(out / "equal.svg", caption, panels, COMBINATIONS)
