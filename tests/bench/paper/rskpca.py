"""The experiments of paper 000 (reduced set KPCA, shadow density), with the command alone: `./dev bench rskpca`.

    rskpca.py MERCER DATA OUT [--full] [--only eigen|classes|equal|cost|picture]

Each fit is one line of OUT/runs.jsonl, so that a stopped run goes on where it was. OUT gets a table (Markdown) and a picture (SVG)
for each figure. What the paper says stands once, in PAPER; every verdict is computed from the runs of this machine.
"""
import argparse
import hashlib
import json
import pathlib
import subprocess
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import figures

# What the paper claims: from which ell on, on the same data; shares retained; where the choice of the estimate matters.
PAPER = {
    "german": {"sigma": 30, "r": 5, "better than nystrom from": 3.3, "no worse than wnystrom from": 4.8},
    "pendigits": {"sigma": 120, "r": 5, "better than nystrom from": 3.2, "no worse than wnystrom from": 4.0},
    "usps": {"sigma": 18, "r": 15, "retained below": 0.10},
    "yaleb_pose": {"sigma": 17, "r": 10, "retained below": 0.10},
}
ALPHA = 0.05  # of the paper's ANOVA
NEIGHBOURS = 3
SHADOW = "shadow"
RIVALS = {  # name: flags; m is the shadow's mean m
    "uniform": ["--method", "subsampled"],
    "nystrom": ["--method", "nystrom-full"],
    "wnystrom": ["--method", "wnystrom"],
    "kmeans": ["--method", "rskpca-kmeans"],
    "paring": ["--method", "rskpca-paring"],
    "herding": ["--method", "rskpca-herding"],
    "rpcholesky": ["--method", "nystrom", "--reducer", "rpcholesky"],
}
NYSTROM_FAMILY = ("uniform", "nystrom", "wnystrom")
ESTIMATES = ("kmeans", "paring", "herding", "rpcholesky")


class Runs:
    """Fits by the command, each remembered by what decides it."""

    def __init__(self, mercer, out):
        self.mercer, self.out = mercer, out
        self.work = out / "work"
        self.work.mkdir(parents=True, exist_ok=True)
        self.path = out / "runs.jsonl"
        self.version = self.call("--version").splitlines()[0]
        library = pathlib.Path(mercer).resolve().parents[2] / "src" / "libmercer.so.0"
        if library.exists():  # what another build found is not reused
            self.version += " " + hashlib.sha256(library.read_bytes()).hexdigest()[:12]
        self.known = {}
        for line in self.path.read_text().splitlines() if self.path.exists() else []:
            try:
                entry = json.loads(line)
            except json.JSONDecodeError:  # of a run that was killed
                continue
            self.known[json.dumps(entry["key"])] = entry["value"]

    def call(self, *arguments):
        done = subprocess.run([self.mercer, *map(str, arguments)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"mercer {' '.join(map(str, arguments))}\n{done.stderr}")
        return done.stdout

    def remember(self, key, make):
        key = [self.version, *key]
        text = json.dumps(key)
        if text not in self.known:
            self.known[text] = make()
            with self.path.open("a") as file:
                file.write(json.dumps({"key": key, "value": self.known[text]}) + "\n")
        return self.known[text]

    def fit(self, x, queries, sigma, r, flags, seed):
        """Scores of each of queries, the report's numbers and the seconds; uncentred, exp(-r^2 / sigma^2), as in the paper."""
        train, model = self.work / "train.npy", self.work / "model.safetensors"
        np.save(train, x)
        report = json.loads(
            self.call("fit", train, *flags, "--kernel", "gaussian", "--set", f"kernel.gamma={1 / sigma**2:.17g}", "--set",
                      "lift.centred=false", "--components", r, "--seed", seed, "-o", model, "--json"))
        scores, seconds = [], 0.0
        for q in queries:
            np.save(self.work / "queries.npy", q)
            said = json.loads(self.call("transform", model, self.work / "queries.npy", "-o", self.work / "z.npy", "--json"))
            scores.append(np.load(self.work / "z.npy"))
            seconds = said["seconds"]  # of the last
        return scores, {
            "m": report["m"], "eigenvalues": report["eigenvalues"], "fit": report["timings"]["total"], "transform": seconds,
        }


# ---- measures


def misalignment(exact, approximate):
    """min_A |exact - approximate A|_F"""
    a = np.linalg.lstsq(approximate, exact, rcond=None)[0]
    return float(np.linalg.norm(exact - approximate @ a))


def eigenvalue_error(exact, approximate):
    """Of eigenvalues of the normalised operator, with zeros for those that are missing."""
    padded = np.zeros(len(exact))
    padded[: min(len(exact), len(approximate))] = approximate[: len(exact)]
    return float(np.linalg.norm(np.array(exact) - padded))


def nearest_classes(train, labels, test):
    """Majority of three neighbours, ties to the class of the nearest."""
    out = np.empty(len(test), labels.dtype)
    squares = (train**2).sum(1)
    for first in range(0, len(test), 500):
        q = test[first : first + 500]
        near = np.argsort(squares[None] - 2 * q @ train.T, axis=1, kind="stable")[:, :NEIGHBOURS]
        for row, picked in enumerate(labels[near]):
            classes, votes = np.unique(picked, return_counts=True)
            out[first + row] = classes[votes.argmax()] if votes.max() > 1 else picked[0]
    return out


def load(data, name):
    x, y = np.load(data / f"{name}.X.npy").astype(np.float64), np.load(data / f"{name}.y.npy")
    if name == "pendigits":
        x, y = x[7494:], y[7494:]  # the 3498 of its test file: which 3500 the paper took it does not say
    if name == "yaleb_pose":
        x = x / x.max(axis=1, keepdims=True)  # a stand-in for the paper's 5768 x 520 faces
    return x, y


def digest(x, y):
    return hashlib.sha256(x.tobytes() + y.tobytes()).hexdigest()[:12]


def shadow_flags(ell):
    return ["--method", "rskpca", "--set", f"reducer.ell={ell:g}"]


def rival_flags(name, m):
    return [*RIVALS[name], "--set", f"reducer.m={m}"]


# ---- figures 2 and 3: eigenembedding


def eigen_runs(runs, name, x, y, ells, seeds):
    """{ell: {method: [figures of a run, ...]}}; the baseline is trained on all rows, the others on 80 % of them."""
    paper, mark = PAPER[name], digest(x, y)
    out = {}

    def splits(seed):
        order = np.random.default_rng(seed).permutation(len(x))
        return order[: len(x) * 4 // 5], order[len(x) * 4 // 5 :]

    def baseline(seed):
        train, test = splits(seed)
        (z,), all_rows = runs.fit(x, [x[test]], paper["sigma"], paper["r"], ["--method", "kpca"], seed)
        _, equal = runs.fit(x[train], [x[test]], paper["sigma"], paper["r"], ["--method", "kpca"], seed)
        return {"scores": z.tolist(), "eigenvalues": all_rows["eigenvalues"], "fit": equal["fit"], "transform": equal["transform"]}

    def one(seed, flags):
        train, test = splits(seed)
        base = runs.remember([name, mark, "baseline", seed], lambda: baseline(seed))
        (z,), figures_of = runs.fit(x[train], [x[test]], paper["sigma"], paper["r"], flags, seed)
        return {
            "embedding": misalignment(np.array(base["scores"]), z),
            "eigenvalues": eigenvalue_error(base["eigenvalues"], figures_of["eigenvalues"]),
            "training": base["fit"] / figures_of["fit"], "testing": base["transform"] / max(figures_of["transform"], 1e-9),
            "retained": figures_of["m"] / len(train), "m": figures_of["m"],
        }

    for ell in ells:
        out[ell] = {SHADOW: [
            runs.remember([name, mark, SHADOW, ell, seed], lambda seed=seed: one(seed, shadow_flags(ell))) for seed in seeds
        ]}
        m = round(np.mean([run["m"] for run in out[ell][SHADOW]]))
        for rival in RIVALS:
            out[ell][rival] = [
                runs.remember([name, mark, rival, m, seed], lambda seed=seed: one(seed, rival_flags(rival, m)))
                for seed in seeds
            ]
        print(f"{name}, ell = {ell:g}: m = {m}", flush=True)
    return out


def first_lasting(ells, holds):
    """The smallest ell from which on it holds for all; None: not even for the last."""
    good = None
    for ell in reversed(ells):
        if not holds(ell):
            break
        good = ell
    return good


def eigen_verdicts(name, results):
    from scipy.stats import f_oneway

    def errors(ell, method):
        return [run["embedding"] for run in results[ell][method]]

    def differs(ell, rival):
        return f_oneway(errors(ell, SHADOW), errors(ell, rival)).pvalue < ALPHA

    def mean(ell, method):
        return np.mean(errors(ell, method))

    ells, step = sorted(results), 0.1
    step = max(step, np.diff(ells).max() if len(ells) > 1 else step)  # no finer than was looked
    found = {
        "better than nystrom from": first_lasting(
            ells, lambda ell: differs(ell, "nystrom") and mean(ell, SHADOW) < mean(ell, "nystrom")),
        "no worse than wnystrom from": first_lasting(
            ells, lambda ell: not differs(ell, "wnystrom") or mean(ell, SHADOW) < mean(ell, "wnystrom")),
    }
    out = []
    for claim, ell in found.items():
        said = PAPER[name][claim]
        out.append((f"{name}: shadow {claim}", f"ell {said:g}", "never" if ell is None else f"ell {ell:g}",
                    ell is not None and ell <= said + step + 1e-9))
    worst = all(mean(ell, "uniform") >= max(mean(ell, other) for other in (SHADOW, *NYSTROM_FAMILY)) - 1e-12 for ell in ells)
    out.append((f"{name}: uniform subsampling is worst", "all ell", "all ell" if worst else "not for all", worst))
    return out


# ---- figures 4, 5, 7, 8: classification


def class_runs(runs, name, x, y, ells, folds):
    paper, mark = PAPER[name], digest(x, y)
    order = np.random.default_rng(0).permutation(len(x))
    parts = np.array_split(order, 10)
    out = {}

    def one(fold, flags):
        test = parts[fold]
        train = np.concatenate([parts[k] for k in range(10) if k != fold])
        (own, z), said = runs.fit(x[train], [x[train], x[test]], paper["sigma"], paper["r"], flags, fold)
        right = float((nearest_classes(own, y[train], z) == y[test]).mean())
        return {"accuracy": right, "fit": said["fit"], "transform": said["transform"], "m": said["m"],
                "retained": said["m"] / len(train)}

    def all_folds(method, key, flags):
        return [runs.remember([name, mark, method, key, "fold", fold], lambda fold=fold: one(fold, flags)) for fold in folds]

    none = all_folds("kpca", 0, ["--method", "kpca"])
    for ell in ells:
        out[ell] = {"kpca": none, SHADOW: all_folds(SHADOW, ell, shadow_flags(ell))}
        m = round(np.mean([run["m"] for run in out[ell][SHADOW]]))
        for rival in RIVALS:
            out[ell][rival] = all_folds(rival, m, rival_flags(rival, m))
        for method in out[ell].values():
            for run, base in zip(method, none):
                run["training"], run["testing"] = base["fit"] / run["fit"], base["transform"] / max(run["transform"], 1e-9)
        print(f"{name}, ell = {ell:g}: m = {m}", flush=True)
    return out


def class_verdicts(name, results):
    ells = sorted(results)

    def mean(ell, method, what="accuracy"):
        return float(np.mean([run[what] for run in results[ell][method]]))

    def error(ell):  # of an accuracy, by the binomial law
        count = len(results[ell][SHADOW]) * (930 if name == "usps" else 200)
        return float(np.sqrt(mean(ell, SHADOW) * (1 - mean(ell, SHADOW)) / count))

    gap = max(mean(ell, "nystrom") - mean(ell, SHADOW) for ell in ells)
    faster = all(mean(ell, SHADOW, "training") > 1 and mean(ell, SHADOW, "testing") > 1 for ell in ells)
    most = max(mean(ell, SHADOW, "retained") for ell in ells)

    def spread(ell):
        return max(mean(ell, e) for e in (SHADOW, *ESTIMATES)) - min(mean(ell, e) for e in (SHADOW, *ESTIMATES))

    return [
        (f"{name}: accuracy competitive with nystrom", "within 2 s.e.", f"behind by at most {gap:.4f}", gap <= 2 * error(ells[0])),
        (f"{name}: faster than KPCA in training and testing", "all ell", "all ell" if faster else "not for all", faster),
        (f"{name}: share retained", f"below {PAPER[name]['retained below']:.0%}", f"up to {most:.0%}",
         most < PAPER[name]["retained below"]),
        (f"{name}: the estimate matters less at large ell", "spread falls", f"{spread(ells[0]):.4f} to {spread(ells[-1]):.4f}",
         spread(ells[-1]) <= spread(ells[0])),
    ]


# ---- beyond the paper: equal m


def clusters(n, d, seed=0):
    numbers = np.random.default_rng(seed)
    centres = 3 * numbers.standard_normal((20, d))
    return centres[numbers.integers(0, 20, n)] + numbers.standard_normal((n, d))


def equal_runs(runs, data, rows):
    """Relative l2 error of the first ten eigenvalues, for the shadow's m, by three choices of rows and three lifts."""
    out = []
    sets = {"clusters": (clusters(rows, 16), 5 * np.sqrt(2))}
    for name, sigma in (("ijcnn1", 1.0), ("pendigits", 120.0), ("usps", 18.0)):
        if (data / f"{name}.X.npy").exists():
            x, _ = load(data, name)
            sets[name] = (x[np.random.default_rng(1).permutation(len(x))[:rows]], sigma)
    for name, (x, sigma) in sets.items():
        mark = digest(x, np.empty(0))

        def exact():
            return runs.fit(x, [x[:1]], sigma, 10, ["--method", "kpca"], 0)[1]["eigenvalues"]

        truth = np.array(runs.remember([name, mark, "equal", "exact"], exact))
        for ell in (3.0, 4.0, 5.0):
            def chosen(reducer, lift, m):
                flags = ["--method", "subsampled", "--reducer", reducer, "--lift", lift]
                flags += ["--set", f"reducer.ell={ell:g}" if reducer == SHADOW else f"reducer.m={m}"]
                if reducer != SHADOW and lift == "weighted":
                    flags += ["--set", "reducer.weights=voronoi"]
                said = runs.fit(x, [x[:1]], sigma, 10, flags, 0)[1]
                return {"m": said["m"], "eigenvalues": said["eigenvalues"], "fit": said["fit"]}

            m, row = 0, {"set": name, "ell": ell, "n": len(x)}
            for lift in ("weighted", "projected"):
                for reducer in (SHADOW, "uniform", "rpcholesky"):
                    said = runs.remember([name, mark, "equal", reducer, lift, ell], lambda: chosen(reducer, lift, m))
                    m = m or said["m"]
                    row[f"{reducer} x {lift}"] = eigenvalue_error(truth, said["eigenvalues"]) / float(np.linalg.norm(truth))
            row["m"] = m
            out.append(row)
            print(f"{name}, ell = {ell:g}: m = {m}", flush=True)
    return out


# ---- table 2: exponents


def cost_runs(runs, largest):
    """Seconds of training and numbers stored over n at fixed m, and over m at fixed n; slopes of their logarithms."""
    methods = {"shadow": None, "nystrom": "nystrom", "wnystrom": "wnystrom"}

    def seconds(method, n, m):
        x = clusters(n, 16).astype(np.float32)
        flags = ["--method", "rskpca", "--set", f"reducer.m={m}"] if method == "shadow" else rival_flags(method, m)
        best = min((runs.fit(x, [x[:1]], 5 * np.sqrt(2), 10, flags, 0)[1] for _ in range(3)), key=lambda run: run["fit"])
        return {"fit": best["fit"], "m": best["m"]}

    out = []
    for method in methods:
        by_n = [(n, runs.remember(["cost", method, n, 200], lambda: seconds(method, n, 200))) for n in
                (largest // 8, largest // 4, largest // 2, largest)]
        by_m = [(m, runs.remember(["cost", method, largest, m], lambda: seconds(method, largest, m))) for m in (100, 200, 400, 800)]
        slope = lambda pairs: float(np.polyfit(np.log([p[0] for p in pairs]), np.log([p[1] for p in pairs]), 1)[0])
        out.append({"method": method, "training over n": slope([(n, run["fit"]) for n, run in by_n]),
                    "training over m": slope([(run["m"], run["fit"]) for _, run in by_m]),
                    "stored over n": slope([(n, run["m"]) for n, run in by_n]),
                    "stored over m": slope([(m, run["m"]) for m, run in by_m])})
    return out


# ---- all of it


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mercer")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--only", choices=("eigen", "classes", "equal", "cost", "picture"))
    asked = parser.parse_args()
    runs = Runs(asked.mercer, asked.out)
    full = asked.full
    verdicts = []

    def wanted(part):
        return asked.only in (None, part)

    def there(name):
        if (asked.data / f"{name}.X.npy").exists():
            return True
        print(f"skipped: {name} is not in {asked.data}")
        return False

    if wanted("picture"):
        figures.picture(runs, asked.out)
    if wanted("eigen"):
        ells = [round(3 + 0.1 * k, 1) for k in range(21)] if full else [3.0, 3.5, 4.0, 4.5, 5.0]
        seeds = range(50 if full else 20)
        for figure, name in ((2, "german"), (3, "pendigits")):
            if there(name):
                x, y = load(asked.data, name)
                results = eigen_runs(runs, name, x, y, ells, seeds)
                figures.eigen(asked.out, figure, name, results, digest(x, y), len(seeds))
                verdicts += eigen_verdicts(name, results)
    if wanted("classes"):
        ells = [round(3 + 0.2 * k, 1) for k in range(11)] if full else [3.0, 4.0, 5.0]
        folds = range(10 if full else 2)
        for number, name in ((4, "usps"), (5, "yaleb_pose")):
            if there(name):
                x, y = load(asked.data, name)
                results = class_runs(runs, name, x, y, ells, folds)
                figures.classes(asked.out, number, name, results, digest(x, y), len(folds), NYSTROM_FAMILY)
                figures.classes(asked.out, number + 3, name, results, digest(x, y), len(folds), ESTIMATES)
                verdicts += class_verdicts(name, results)
    if wanted("equal"):
        figures.equal(asked.out, equal_runs(runs, asked.data, 10000 if full else 4000))
    if wanted("cost"):
        figures.cost(asked.out, cost_runs(runs, 80000 if full else 16000))
    if wanted("eigen") or wanted("classes"):
        figures.retained(asked.out)
    figures.verdicts(asked.out, verdicts, runs.version, full)


if __name__ == "__main__":
    main()
