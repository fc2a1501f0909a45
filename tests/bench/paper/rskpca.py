"""The experiments of paper 000 (reduced set KPCA, shadow density): `./dev bench rskpca`.

    rskpca.py DATA OUT [--full | --tiny] [--only figure1|eigen|classes|equal|cost]

MERCER_LIB names the library, and MERCER_PLUGIN_PATH the folder of its plugins; tests/bindings/python is on PYTHONPATH.
Each fit is one line of OUT/runs.jsonl, so a stopped run can be resumed. For each figure, a table (Markdown) and a
picture (SVG) are written to OUT. The claims of the paper are stored once, in claims.py; every verdict is computed from
the runs of this machine. --tiny checks that the script itself works; the exit status then depends on the verdicts of
figure 1 alone, because the others mean nothing at this size.
"""
import argparse
import pathlib
import sys

try:
    import claims
    import classes
    import cost
    import drawing
    import eigen
    import equal
    import plane
    import tables
    from runs import SHADOW, Runs, digest, load
except ImportError as missing:  # NumPy or SciPy is not installed
    print(f"skipped: {missing}")
    raise SystemExit(77)


def retained(out, results):
    """Figure 6: the share of the rows that the shadow keeps."""
    panels, rows = [], []
    for name, (about, found) in results.items():
        ells, values = sorted(found), tables.means(found, [SHADOW], "retained")
        most = claims.SETS[name].get("retained")
        panels.append(drawing.panel(name, "ell", ells, values, level=most and (most, f"paper: below {most:.0%}")))
        rows += [[about, len(found[ell][SHADOW]), f"{ell:g}", "{:.3f} +- {:.2g}".format(*value)]
                 for ell, value in zip(ells, values[SHADOW])]
    title, note = "Figure 6: share of the rows that the shadow retains", "Seeds are 0 to runs - 1."
    tables.write(out / "figure6.md", title, note, ["rows", "runs", "ell", "share"], rows)
    drawing.save(out / "figure6.svg", "share of the rows retained, mean and standard error of the runs", panels, [SHADOW])


def steps(by):
    return [round(3 + by * k, 1) for k in range(round(2 / by) + 1)]


class Experiments:
    def __init__(self, runs, data, out, mode):
        self.runs, self.data, self.out, self.mode = runs, data, out, mode
        self.verdicts, self.found = [], {}

    def pick(self, tiny, quick, full):
        return {"tiny": tiny, "quick": quick, "full": full}[self.mode]

    def there(self, name):
        if (self.data / f"{name}.X.npy").exists():
            return True
        print(f"skipped: {name} is not in {self.data}")
        return False

    def keep(self, part, name, about, results, count):
        part.write(self.out, name, results, about, count)
        self.verdicts += part.verdicts(name, results)
        self.found[name] = about, results

    def figure1(self):
        self.verdicts += plane.measured(self.out)

    def eigen(self):
        seeds = range(self.pick(2, 50, 50))
        for name in filter(self.there, ("german", "pendigits")):
            x, _ = load(self.data, name)
            claimed = {claims.SETS[name]["better"], claims.SETS[name]["no worse"]}
            ells = self.pick([3.0, 5.0], sorted({3.0, 4.0, 4.5, 5.0} | claimed), steps(0.1))
            results = eigen.measured(self.runs, name, x, ells, seeds)
            self.keep(eigen, name, tables.about(name, x, digest(x)), results, len(seeds))

    def classes(self):
        for name, few in (("usps", 2), ("yaleb_pose", classes.FOLDS)):
            if self.there(name):
                x, y = load(self.data, name)
                folds = range(self.pick(1, few, classes.FOLDS))
                results = classes.measured(self.runs, name, x, y, self.pick([3.0, 4.0], [3.0, 4.0, 5.0], steps(0.2)), folds)
                self.keep(classes, name, tables.about(name, x, digest(x, y)), results, len(folds))

    def equal(self):
        seeds = range(self.pick(2, 5, 10))
        rows = equal.measured(self.runs, self.data, self.pick(300, 4000, 8000), seeds)
        equal.write(self.out, rows, seeds)
        self.verdicts += equal.verdicts(rows)

    def cost(self):
        sizes = [n * self.pick(1, 16, 64) for n in (1000, 2000, 4000, 8000)]
        ms = [m * self.pick(1, 8, 8) for m in (25, 50, 100, 200)]
        found = cost.measured(self.runs, sizes, ms)
        cost.write(self.out, found, sizes, ms)
        self.verdicts += cost.verdicts(found)

    def speed(self):
        """Judges the claim of the abstract by the largest mean speed-ups of the shadow over all data sets."""
        training, testing = (max(pair[0] for _, results in self.found.values()
                                 for pair in tables.means(results, [SHADOW], what)[SHADOW]) for what in ("training", "testing"))
        return (f"training and evaluation faster by up to an order of magnitude, of {', '.join(self.found)}", f"up to {claims.MAGNITUDE} x",
                f"up to {training:.0f} x and {testing:.0f} x", min(training, testing) >= claims.MAGNITUDE)

    def close(self):
        if self.found:
            retained(self.out, self.found)
            self.verdicts.append(self.speed())
        note = (f"{self.runs.version}, build {self.runs.build}, {self.mode} mode. A claim of an ell reproduces "
                "where it holds at every ell from there on that was looked at. 'No worse' is said the more easily the fewer runs "
                "there are: a paired test of the same runs, which see the same splits, tells more, and stands in brackets. Runs, "
                "seeds and digests are in the tables of the figures.")
        words = {True: "reproduces", False: "does not", None: "cannot be told"}
        rows = [[*said, holds if isinstance(holds, str) else words[None if holds is None else bool(holds)]]
                for *said, holds in self.verdicts]
        tables.write(self.out / "verdicts.md", "What reproduces", note, ["claim", "paper", "here", "verdict"], rows)
        print((self.out / "verdicts.md").read_text())


PARTS = ("figure1", "eigen", "classes", "equal", "cost")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--full", dest="mode", action="store_const", const="full", default="quick")
    parser.add_argument("--tiny", dest="mode", action="store_const", const="tiny")
    parser.add_argument("--only", choices=PARTS)
    asked = parser.parse_args()
    experiments = Experiments(Runs(asked.out), asked.data, asked.out, asked.mode)
    for part in PARTS:
        if asked.only in (None, part):
            getattr(experiments, part)()
    experiments.close()
    return asked.mode == "tiny" and not all(holds for claim, _, _, holds in experiments.verdicts if claim.startswith("figure 1"))


if __name__ == "__main__":
    sys.exit(main())
