"""Figures 2 and 3: how far the scores of held-out rows are from those of kernel PCA of all rows."""
import functools

import numpy as np

import claims
import drawing
import tables
from runs import EXACT, NYSTROM_FAMILY, SHADOW, beside_rivals, digest, eigenvalue_error, fit, misalignment

FLOOR = "kpca"  # fitted to the same 80 % of the rows; no other error is much smaller than its error
TITLES = {"embedding": "error of the embedding", "eigenvalues": "error of the eigenvalues", "training": "training speed-up",
          "testing": "testing speed-up"}


class Splits:
    """Fits to a random 80 % of the rows, compared with a baseline that is fitted to all rows."""

    def __init__(self, runs, name, x):
        self.runs, self.x, self.paper, self.key = runs, x, claims.SETS[name], [name, digest(x)]
        self.split = functools.lru_cache(maxsize=1)(self._split)

    def _split(self, seed):
        order, count = np.random.default_rng(seed).permutation(len(self.x)), len(self.x) * 4 // 5
        return self.x[order[:count]], self.x[order[count:]]

    def fit(self, rows, seed, recipe):
        (z,), said = fit(rows, [self.split(seed)[1]], self.paper["sigma"], self.paper["r"], recipe, seed)
        return z, said

    def baseline(self, seed):
        def make():
            z, said = self.fit(self.x, seed, EXACT)
            return {"scores": z.tolist(), "eigenvalues": said["eigenvalues"]}

        return self.runs.remember([*self.key, "baseline", seed], make)

    def run(self, method, by, seed, recipe):
        def make():
            truth = self.baseline(seed)
            z, said = self.fit(self.split(seed)[0], seed, recipe)
            return {"embedding": misalignment(np.array(truth["scores"]), z), "m": said["m"], "fit": said["fit"],
                    "eigenvalues": eigenvalue_error(truth["eigenvalues"], said["eigenvalues"]),
                    "transform": said["transform"][0], "retained": said["m"] / len(self.split(seed)[0])}

        return dict(self.runs.remember([*self.key, method, by, seed], make))


def measured(runs, name, x, ells, seeds):
    """Returns the results of each run."""
    def speeds(run, base):
        return base["fit"] / run["fit"], base["transform"] / run["transform"]

    return beside_rivals(name, "run", FLOOR, ells, seeds, Splits(runs, name, x).run, speeds)


def verdicts(name, results):
    paper, ells = claims.SETS[name], sorted(results)

    def values(ell, method, what="embedding"):
        return [run[what] for run in results[ell][method]]

    def mean(ell, method, what="embedding"):
        return np.mean(values(ell, method, what))

    def better(ell, paired):
        return (mean(ell, SHADOW) < mean(ell, "nystrom")
                and claims.differ(values(ell, SHADOW), values(ell, "nystrom"), paired))

    def no_worse(ell, paired):
        return (mean(ell, SHADOW) < mean(ell, "wnystrom")
                or not claims.differ(values(ell, SHADOW), values(ell, "wnystrom"), paired))

    def from_on(claim, holds, said):
        words, ell = claims.from_on(ells, lambda ell: holds(ell, False))
        paired, _ = claims.from_on(ells, lambda ell: holds(ell, True))
        return (f"{name}: embedding {claim} from", f"ell {said:g}", f"{words} (paired: {paired})",
                ell is not None and ell <= said)

    def everywhere(claim, holds):
        return claims.everywhere(f"{name}: {claim}", ells, holds)

    def slower(ell, other):
        return mean(ell, SHADOW, "training") < mean(ell, other, "training")

    some = (ells[0], ells[len(ells) // 2], ells[-1])
    excess = [mean(ell, SHADOW) - mean(ell, FLOOR) for ell in some]
    return [
        from_on("better than Nystrom's", better, paper["better"]),
        from_on("no worse than WNystrom's", no_worse, paper["no worse"]),
        everywhere("uniform subsampling is worst", lambda ell: mean(ell, "uniform") > max(
            mean(ell, other) for other in (SHADOW, "nystrom", "wnystrom"))),
        (f"{name}: the shadow approaches kernel PCA", "asymptotically",
         "above it by " + ", ".join(f"{e:.3f} at {ell:g}" for e, ell in zip(excess, some)), excess[0] > excess[1] > excess[2]),
        everywhere("trains faster than kernel PCA", lambda ell: mean(ell, SHADOW, "training") > 1),
        everywhere("tests faster than kernel PCA", lambda ell: mean(ell, SHADOW, "testing") > 1),
        everywhere("trains slower than uniform and Nystrom", lambda ell: slower(ell, "uniform") and slower(ell, "nystrom")),
    ]


def write(out, name, results, about, count):
    paper, methods = claims.SETS[name], (FLOOR, SHADOW, *NYSTROM_FAMILY)
    figure, ells = paper["figure"], sorted(results)
    note = (f"{about}; {count} runs, seeds 0 to {count - 1}, each on a random 80 %; r = {paper['r']}, sigma = {paper['sigma']}. "
            "Errors against kernel PCA of all rows: Frobenius norm of the aligned scores of the other 20 %, l2 norm of the "
            "eigenvalues. Speed-ups are over kernel PCA of the same 80 %.")
    tables.by_ell(out / f"figure{figure}.md", f"Figure {figure}: eigenembedding, {name}", note, results, [*TITLES, "retained"])
    marks = [(paper["better"], "better than Nystrom"), (paper["no worse"], "no worse than WNystrom")]
    panels = [drawing.panel(words, "ell", ells, tables.means(results, methods, what), log=True,
                            marks=marks if what == "embedding" else ()) for what, words in TITLES.items()]
    caption = f"{name}, r = {paper['r']}: mean and standard error of {count} runs; dashed: from where on the paper says so"
    drawing.save(out / f"figure{figure}.svg", caption, panels, methods)
