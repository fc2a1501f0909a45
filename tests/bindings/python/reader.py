"""reader.py MERCER READ_MODEL: checks bindings/python/read_model.py on models of the command. Its scores must be
those of `mercer transform`, and for a flipped bit it must say where the damage is."""
import importlib.util
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    raise SystemExit(77)

mercer, script = map(os.path.abspath, sys.argv[1:])
spec = importlib.util.spec_from_file_location("read_model", script)
reader = importlib.util.module_from_spec(spec)
spec.loader.exec_module(reader)


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def same_scores(flags, dtype, unit):
    run(mercer, "fit", "X.npy", "--components", "5", "--dtype", dtype, "-o", "M.safetensors", *flags)
    run(mercer, "transform", "M.safetensors", "Q.npy", "-o", "Z.npy")
    run(sys.executable, script, "M.safetensors", "Q.npy", "OWN.npy")
    theirs, own = np.load("Z.npy"), np.load("OWN.npy")
    report, arrays = reader.read("M.safetensors")
    # Each score is a sum of m products k A. A kernel value has an error of a few units times 1 +
    # gamma r^2; where this factor exceeds 40, the value is below 2e-17. A sum of m terms, in any
    # order, has an error of at most m units.
    bound = 4 * (40 + len(arrays["A"])) * unit * (abs(arrays["A"]).sum(0) + abs(arrays["b"]))
    assert theirs.shape == (30, 5) and theirs.std() > 0.01, "no scores to compare"
    assert (abs(theirs - own) <= bound).all(), (flags, dtype, abs(theirs - own).max())
    print(f"{' '.join(flags)} {dtype}: {abs(theirs - own).max():.1e}")


def damage_is_named():
    content = open("M.safetensors", "rb").read()
    report, arrays = reader.read("M.safetensors")
    begin = 8 + int.from_bytes(content[:8], "little")
    places = {begin // 2: "the header", len(content) - 1: "the tensor "}
    for at, said in places.items():
        with open("D.safetensors", "wb") as file:
            file.write(content[:at] + bytes([content[at] ^ 1]) + content[at + 1:])
        try:
            reader.read("D.safetensors")
        except ValueError as error:  # includes json.JSONDecodeError
            assert said in str(error) or said == "the header", error
        else:
            raise AssertionError(f"a flipped bit at {at} was not noticed")
    assert "lambda" in run(sys.executable, script, "M.safetensors") and report["n"] == 200


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    rng = np.random.default_rng(3)
    np.save("X.npy", rng.normal(size=(200, 4)) * [3, 1, 1, 0.5] + 7)
    np.save("Q.npy", rng.normal(size=(30, 4)) * [3, 1, 1, 0.5] + 7)
    for dtype, unit in (("f64", 2.0**-53), ("f32", 2.0**-24)):
        for flags in (["--method", "kpca", "--sigma", "2"], ["--method", "kpca", "--gamma", "0.2", "--scale", "standard"],
                      ["--method", "nystrom", "--m", "50"], ["--method", "auto", "--lengths", "1,2,3,4"]):
            same_scores(flags, dtype, unit)
    damage_is_named()
