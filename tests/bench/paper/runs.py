"""Fits by the library in this process, whose results are remembered, and the data for them."""
import ctypes
import hashlib
import json
import os
import pathlib
import sys
import time

import numpy as np

import mercer  # from tests/bindings/python

SHADOW = "shadow"
EXACT = {"method": "kpca"}
BARE = {"report.certificates": "none"}  # the paper's seconds include no certificates
# The recipes of the rivals; their m is the mean m of the shadow. KDE paring is uniform subsampling;
# 'paring' weights the same rows by the number of rows nearest to each.
RIVALS = {
    "uniform": {"method": "subsampled", **BARE},
    "nystrom": {"method": "nystrom-full"},
    "wnystrom": {"method": "wnystrom"},
    "projected": {"method": "nystrom", **BARE},
    "kmeans": {"method": "rskpca-kmeans", **BARE},
    "paring": {"method": "rskpca-paring", **BARE},
    "herding": {"method": "rskpca-herding", **BARE},
}
NYSTROM_FAMILY = ("uniform", "nystrom", "wnystrom", "projected")
ESTIMATES = ("kmeans", "paring", "herding")


def shadow(ell):
    return {"method": "rskpca", **BARE, "reducer.ell": ell}


def rival(name, m):
    return {**RIVALS[name], "reducer.m": m}


def beside_rivals(name, one, base, ells, seeds, run, speeds):
    """Returns {ell: {method: [results of each seed, ...]}}, computed by run(method, by, seed, recipe). The m of the
    rivals is the mean m of the shadow. speeds(run, base) returns how many times faster a run trains and tests than
    the base. name (of the data set) and one (the word for a run) are only printed."""
    out = {ell: {method: [] for method in (base, SHADOW, *RIVALS)} for ell in ells}
    for seed in seeds:
        for ell, found in out.items():
            found[base].append(run(base, 0, seed, EXACT))
            found[SHADOW].append(run(SHADOW, ell, seed, shadow(ell)))
    for seed in seeds:
        for found in out.values():
            m = round(np.mean([figures["m"] for figures in found[SHADOW]]))
            for method in RIVALS:
                found[method].append(run(method, m, seed, rival(method, m)))
        print(f"{name}: {one} {seed + 1} of {len(seeds)}", flush=True)
    for found in out.values():
        for of_method in found.values():
            for figures, beside in zip(of_method, found[base]):
                figures["training"], figures["testing"] = speeds(figures, beside)
    return out


def load(data, name):
    x, y = np.load(data / f"{name}.X.npy").astype(np.float64), np.load(data / f"{name}.y.npy")
    if name == "pendigits":
        x, y = x[7494:], y[7494:]  # the 3498 rows of its test file; the paper does not say which 3500 it took
    if name == "yaleb_pose":
        x = x / x.max(axis=1, keepdims=True)  # a stand-in for the paper's 5768 x 520 faces
    return x, y


def digest(*arrays):
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()[:12]


class Runs:
    """The results of the fits, one line of a file each. The key is what decides a result: build, data, method, seed."""

    def __init__(self, out):
        out.mkdir(parents=True, exist_ok=True)
        self.path = out / "runs.jsonl"
        mercer.lib.mercer_version.restype = ctypes.c_char_p
        self.version = f"libmercer {mercer.lib.mercer_version().decode()}"
        parts = [pathlib.Path(mercer.lib._name), *sorted(pathlib.Path(os.environ["MERCER_PLUGIN_PATH"]).glob("*.so"))]
        self.build = hashlib.sha256(b"".join(part.read_bytes() for part in parts)).hexdigest()[:12]
        lines = self.path.read_text().splitlines(keepends=True) if self.path.exists() else []
        whole = [line for line in lines if line.endswith("\n")]  # the last line of a killed run may be cut
        if len(whole) != len(lines):
            self.path.write_text("".join(whole))
        entries = map(json.loads, whole)
        self.known = {json.dumps(entry["key"]): entry["value"] for entry in entries}

    def remember(self, key, make):
        key = [self.build, *key]
        text = json.dumps(key)
        if text not in self.known:
            self.known[text] = make()
            with self.path.open("a") as file:
                file.write(json.dumps({"key": key, "value": self.known[text]}) + "\n")
        return self.known[text]


def info(model, path):
    text = ctypes.c_char_p()
    mercer.check(mercer.lib.mercer_model_info(model, path.encode(), ctypes.byref(text)))
    return json.loads(text.value)


def model_of(x, sigma, recipe, seed=0, components=2):
    """Fits an uncentred model with the kernel exp(-r^2 / sigma^2), as in the paper."""
    kernel = {"kernel.gamma": f"{1 / sigma**2:.17g}", "lift.centred": "false"}
    try:
        return mercer.Model.fit(x, **recipe, **kernel, **{"output.components": components, "seed": seed})
    except mercer.MercerError as error:
        sys.exit(f"{recipe}: {error}")


def scores(model, x):
    """Returns the scores of the rows x, and the seconds of the fastest of several calls."""
    least, end = np.inf, time.perf_counter() + 0.02
    while True:
        start = time.perf_counter()
        z = model.transform(x)
        now = time.perf_counter()
        least = min(least, now - start)
        if now > end:
            return z, least


def fit(x, queries, sigma, r, recipe, seed):
    """Returns the scores of each element of queries, and facts about the fit."""
    model = model_of(x, sigma, recipe, seed, r)
    found = [scores(model, q) for q in queries]
    centres, a = model.tensor("C"), model.tensor("A")
    return [z for z, _ in found], {
        "m": len(centres), "eigenvalues": model.tensor("lambda").ravel().tolist(), "fit": info(model, "/timings/total"),
        "transform": [seconds for _, seconds in found], "stored": centres.size + a.size,
    }


# ---- measures


def misalignment(exact, approximate):
    """min_A |exact - approximate A|_F"""
    a = np.linalg.lstsq(approximate, exact, rcond=None)[0]
    return float(np.linalg.norm(exact - approximate @ a))


def eigenvalue_error(exact, approximate):
    """Returns the l2 error of the eigenvalues of the normalised operator, where missing ones count as 0."""
    padded = np.zeros(len(exact))
    padded[: min(len(exact), len(approximate))] = approximate[: len(exact)]
    return float(np.linalg.norm(np.array(exact) - padded))
