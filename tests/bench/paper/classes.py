"""Figures 4, 5, 7, 8: classification by three nearest neighbours among the scores, in ten folds."""
import functools

import numpy as np

import claims
import drawing
import tables
from runs import ESTIMATES, NYSTROM_FAMILY, SHADOW, beside_rivals, digest, fit

NEIGHBOURS, FOLDS = 3, 10
BASE = "kpca"
TITLES = {"accuracy": "accuracy", "retained": "share of the rows retained", "training": "training speed-up",
          "testing": "testing speed-up"}


def nearest_classes(train, labels, test):
    """Returns the class of most of the three neighbours, or that of the nearest one if all three differ."""
    out = np.empty(len(test), labels.dtype)
    squares = (train**2).sum(1)
    for first in range(0, len(test), 500):
        distances = squares[None] - 2 * test[first : first + 500] @ train.T
        near = np.argpartition(distances, NEIGHBOURS, axis=1)[:, :NEIGHBOURS]
        order = np.argsort(np.take_along_axis(distances, near, axis=1), axis=1, kind="stable")
        for row, picked in enumerate(labels[np.take_along_axis(near, order, axis=1)]):
            classes, votes = np.unique(picked, return_counts=True)
            out[first + row] = classes[votes.argmax()] if votes.max() > 1 else picked[0]
    return out


class Folds:
    def __init__(self, runs, name, x, y):
        self.runs, self.x, self.y, self.paper, self.key = runs, x, y, claims.SETS[name], [name, digest(x, y)]
        self.parts = np.array_split(np.random.default_rng(0).permutation(len(x)), FOLDS)
        self.split = functools.lru_cache(maxsize=1)(self._split)

    def _split(self, fold):
        train = np.concatenate([part for k, part in enumerate(self.parts) if k != fold])
        return self.x[train], self.y[train], self.x[self.parts[fold]], self.y[self.parts[fold]]

    def run(self, method, by, fold, recipe):
        def make():
            train, labels, test, truth = self.split(fold)
            (own, z), said = fit(train, [train, test], self.paper["sigma"], self.paper["r"], recipe, fold)
            return {"accuracy": float((nearest_classes(own, labels, z) == truth).mean()), "tested": len(truth),
                    "m": said["m"], "retained": said["m"] / len(train), "fit": said["fit"], "transform": said["transform"]}

        return dict(self.runs.remember([*self.key, method, by, "fold", fold], make))


def measured(runs, name, x, y, ells, folds):
    """Returns the results of each fold. Training is the fit and the scores of its rows, as in the paper."""
    def speeds(run, base):
        return ((base["fit"] + base["transform"][0]) / (run["fit"] + run["transform"][0]),
                base["transform"][1] / run["transform"][1])

    return beside_rivals(name, "fold", BASE, ells, folds, Folds(runs, name, x, y).run, speeds)


def verdicts(name, results):
    ells, limit = sorted(results), claims.SETS[name]["retained"]
    small, large = ells[0], ells[-1]

    def mean(ell, method, what="accuracy"):
        return float(np.mean([fold[what] for fold in results[ell][method]]))

    def error(ell):  # standard error of the difference of two accuracies, by the binomial law
        tested = sum(fold["tested"] for fold in results[ell][SHADOW])
        return float(np.sqrt(2 * mean(ell, SHADOW) * (1 - mean(ell, SHADOW)) / tested))

    def gap(ell):
        return mean(ell, "nystrom") - mean(ell, SHADOW)

    def everywhere(claim, holds):
        return claims.everywhere(f"{name}: {claim}", ells, holds)

    def spread(ell):
        accuracies = [mean(ell, estimate) for estimate in (SHADOW, *ESTIMATES)]
        return max(accuracies) - min(accuracies)

    def listed(names):
        return ", ".join(names) or "none"

    worst = max(ells, key=gap)
    most = max(mean(ell, SHADOW, "retained") for ell in ells)
    exacter = [one for one in ESTIMATES if mean(small, one) > mean(small, SHADOW) + error(small)]
    cheaper = [one for one in exacter if mean(small, one, "training") >= mean(small, SHADOW, "training")]
    testing = [mean(ell, one, "testing") / mean(ell, SHADOW, "testing") for ell in ells for one in ESTIMATES]
    return [
        (f"{name}: accuracy competitive with Nystrom's", "at most 2 s.e. behind",
         f"behind by {gap(worst):.4f} at {worst:g}, s.e. {error(worst):.4f}", all(gap(ell) <= 2 * error(ell) for ell in ells)),
        everywhere("trains faster than kernel PCA", lambda ell: mean(ell, SHADOW, "training") > 1),
        everywhere("tests faster than kernel PCA", lambda ell: mean(ell, SHADOW, "testing") > 1),
        everywhere("trains faster than Nystrom, whose training scores take all rows",
                   lambda ell: mean(ell, SHADOW, "training") > mean(ell, "nystrom", "training")),
        (f"{name}: share of the rows retained", f"below {limit:.0%}", f"up to {most:.0%}", most < limit),
        (f"{name}: which estimate matters less at large ell", "spread of accuracies falls",
         f"{spread(small):.4f} at {small:g}, {spread(large):.4f} at {large:g}", spread(large) < spread(small)),
        (f"{name}: more accurate estimates cost more", "all of them",
         f"more accurate at {small:g}: {listed(exacter)}; of these as fast: {listed(cheaper)}",
         not cheaper if exacter else None),
        (f"{name}: all estimates test alike", "as fast as the shadow", f"{min(testing):.2f} to {max(testing):.2f} times as fast",
         2 / 3 < min(testing) and max(testing) < 3 / 2),
    ]


def write(out, name, results, about, count):
    paper, ells = claims.SETS[name], sorted(results)
    for figure, rivals in ((paper["figure"], NYSTROM_FAMILY), (paper["figure"] + 3, ESTIMATES)):
        methods = [BASE, SHADOW, *rivals]
        note = (f"{about}; runs are folds 0 to {count - 1} of {FOLDS}, which are the seeds, too; r = {paper['r']}, sigma = "
                f"{paper['sigma']}. Three nearest neighbours among the scores. Training: the fit and the scores of its rows. "
                "Speed-ups are over kernel PCA.")
        tables.by_ell(out / f"figure{figure}.md", f"Figure {figure}: classification, {name}", note, results, list(TITLES), methods)
        panels = []
        for what, words in TITLES.items():
            shown = methods if what != "retained" else [SHADOW]
            level = (paper["retained"], f"paper: below {paper['retained']:.0%}") if what == "retained" else None
            panels.append(drawing.panel(words, "ell", ells, tables.means(results, shown, what), log="speed" in words, level=level))
        caption = f"{name}: mean and standard error of {count} folds, r = {paper['r']}"
        drawing.save(out / f"figure{figure}.svg", caption, panels, methods)
