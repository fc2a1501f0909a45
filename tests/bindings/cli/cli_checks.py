"""The checks of cli_test.sh that need Python: cli_checks.py CHECK ARGUMENTS... in the folder with the test's files."""
import csv
import json
import re
import subprocess
import sys

import numpy as np

SIGMA, R = 2.0, 5


def gram(x, y):
    d2 = ((x[:, None, :] - y[None, :, :]) ** 2).sum(-1)
    return np.exp(-d2 / (2 * SIGMA**2))


def load(path):
    return json.load(open(path))


def make():
    rng = np.random.default_rng(7)
    x = rng.normal(size=(200, 4)) * [3, 2, 1, 1]
    np.save("X.npy", x)
    np.save("Q.npy", rng.normal(size=(50, 4)))
    np.save("F32.npy", np.asfortranarray(x.astype("f4")))
    weights = np.ones(200)
    weights[:30] = 2
    np.save("W.npy", weights)
    np.save("TWICE.npy", np.vstack([x, x[:30]]))
    rows = rng.choice(200, 40, replace=False)
    np.save("I.npy", rows.astype("i8"))
    np.save("P.npy", x[rows])
    np.save("I32.npy", rows.astype("u4"))
    np.save("PF.npy", np.asfortranarray(x[rows]))
    np.savetxt("P.csv", x[rows], delimiter=",")
    np.save("W32.npy", weights.astype("u1"))
    np.savetxt("W.csv", weights)
    bad = x.copy()
    bad[3, 2] = np.nan
    np.save("NAN.npy", bad)
    np.save("PICKLED.npy", np.array([{}, None], dtype=object), allow_pickle=True)
    np.save("NARROW.npy", x[:, :3])
    open("SHORT.npy", "wb").write(open("X.npy", "rb").read()[:-100])
    open("MAGIC.npy", "w").write("1,2,3,4\n5,6,7,9\n")
    open("TEXT.npy", "w").write("this is no array, and no model either; " * 20)
    open("FLIPPED.safetensors", "wb").write(b"\x08\0\0\0\0\0\0\0{}")


    islands = np.vstack([rng.normal(size=(200, 2)), [[30, 0], [0, 40]]])
    np.save("ISLANDS.npy", islands)
    write_csvs(x, weights)
    d2 = ((x[:, None, :] - x[None, :, :]) ** 2).sum(-1)
    np.save("K.npy", np.exp(-d2 / (2 * SIGMA**2)))
    np.savetxt("K.csv", np.exp(-d2 / (2 * SIGMA**2)), delimiter=",")
    np.save("D.dist.npy", np.sqrt(d2))
    queries = np.load("Q.npy")
    np.save("KQ.npy", gram(queries, x))


# Writes the rows x as CSV files: with names, texts and weights; without names; and with missing
# values. Writes the queries with other columns among theirs, in another order.
def write_csvs(x, weights):
    with open("X.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "a", "b, or \"b\"", "c", "kind", "d", "w"])
        for i, row in enumerate(x):
            writer.writerow([f"row {i}", *map(repr, map(float, row[:3])), ["one", "two\nlines", "3"][i % 3], repr(float(row[3])), weights[i]])
    queries = np.load("Q.npy")
    with open("Q.csv", "w", newline="") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(["d", "other", "c", "a", "b, or \"b\""])
        writer.writerows([repr(float(row[3])), 7, *(repr(float(row[k])) for k in (2, 0, 1))] for row in queries)
    np.savetxt("PLAIN.csv", x, delimiter=" ")
    with open("GAPS.csv", "w") as file:
        file.writelines(",".join("NA" if (i, j) in ((3, 1), (7, 0)) else repr(float(v)) for j, v in enumerate(row)) + "\n"
                        for i, row in enumerate(x))
    np.save("COMPLETE.npy", np.delete(x, (3, 7), 0))


# Checks that the manual page and the help of each command list the same flags. The flags of
# parameters are described by `mercer describe` only.
def manual(page, mercer):
    sections = re.split(r"\n\.S[SH] ", open(page).read().replace("\\-", "-"))
    section = {text.split("\n")[0]: text for text in sections}
    say = lambda *words: subprocess.run([mercer, *words], check=True, capture_output=True, text=True).stdout
    commands = re.findall(r"^  (\S+)  ", say("--help"), re.M)
    assert "fit" in commands and "--version" in commands, commands
    for command in commands:
        subject = ["kpca"] if command == "describe" else []  # without a subject, its help lists no parameters
        fixed = say(command, *subject, "--help").split("\nParameters:")[0]
        flags = set(re.findall(r"^  (?:-\w,)?(--[a-z-]+)", fixed, re.M)) | set(re.findall(r"^  (-\w)[, ]", fixed, re.M))
        flags -= {"--help", "-h"}
        told = set(re.findall(r"(?<![\w-])--?[a-zA-Z][a-z-]*", section[command]))
        entries = " ".join(re.findall(r"^\.TP\n\.B[RI]? (.*)", section[command], re.M))
        # --part.name stands for any parameter
        told_alone = set(re.findall(r"(?<![\w-])--[a-z-]+", entries)) - {"--part", "--name"}
        assert flags <= told, (command, "not in the manual", flags - told)
        assert told_alone <= flags, (command, "not in the help", told_alone - flags)


# Checks that two forecasts of the same data are equal in all but time.
def same_work(one, other):
    one, other = load(one), load(other)
    for name in ("bytes", "kernel_evaluations", "passes", "flops"):
        assert one[name] == other[name], (name, one[name], other[name])


# Checks the accuracy that the report states against the certificates: it is the largest distance of
# an eigenvalue from one of its bounds, relative to the eigenvalue.
def accuracy(report, info):
    told = re.search(r"^eigenvalues certified to (\S+) % or better \((.*)\)", open(report).read(), re.M)
    entries = [c for c in load(info)["certificates"] if c["name"] == "eigenvalue"]
    worst = max(max(c["upper"] - c["value"], c["value"] - c["lower"]) / c["value"] for c in entries)
    assert told[1] == (f"{100 * worst:.2g}" if worst < 0.1 else f"{100 * worst:.0f}"), (told[1], worst)
    likely = min(c["probability"] for c in entries)
    assert (f"with probability {likely:g}" in told[2]) == (likely < 1), told[2]


def csv_equal(path, npy):
    with open(path, newline="") as file:
        header, *rows = csv.reader(file)
    values = np.array(rows, float)
    assert np.array_equal(values, np.load(npy)), "not the same numbers"
    assert len(header) == values.shape[1] and header[0].startswith("scores"), header


# Checks that several outputs in one file, as fields of a structured array or (several_csv) as
# columns of a CSV file, equal the outputs of each operation alone.
def several(path, file, alone):
    z = np.load(file)
    assert z.dtype.names == ("scores", "t2", "residual") and z.shape == (50,), z.dtype
    parts = load(path)["outputs"]
    assert [(p["name"], p["path"], p["shape"]) for p in parts] == [
        (name, file, [50, R if name == "scores" else 1]) for name in z.dtype.names], parts
    for name in z.dtype.names:
        assert np.allclose(z[name].reshape(50, -1), np.load(f"{alone}.{name}.npy"), rtol=0, atol=1e-12), name


def several_csv(path, alone):
    with open(path, newline="") as file:
        header, *rows = csv.reader(file)
    assert header == [f"scores.{j + 1}" for j in range(R)] + ["t2", "residual"], header
    whole = np.hstack([np.load(f"{alone}.{name}.npy") for name in ("scores", "t2", "residual")])
    assert np.allclose(np.array(rows, float), whole, rtol=0, atol=1e-12)


def whitened(path):
    z = np.load(path)
    assert z.dtype.names == ("t2", "scores") and np.allclose((z["scores"] ** 2).sum(1), z["t2"], rtol=1e-10)


# Checks that the texts of the column id precede the outputs of each row, as they are in the input.
def with_ids(path, parts=("t2", *(f"scores.{j + 1}" for j in range(R)))):
    with open(path, newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["id", *parts], header
    assert [row[0] for row in rows] == [f"row {i}" for i in range(200)] and all(len(row) == len(header) for row in rows)


def with_ids_alone(path):
    with_ids(path, [f"scores.{j + 1}" for j in range(R)])


def with_ids_npy(path):
    z = np.load(path)
    assert z.dtype.names == ("kind", "t2", "scores"), z.dtype
    assert list(z["kind"]) == [["one", "two\nlines", "3"][i % 3] for i in range(200)], z["kind"]


def csv_columns(path):
    assert load(path)["columns"] == ["a", 'b, or "b"', "c", "d"], load(path)["columns"]


def nan_rows(path, complete):
    z, whole = np.load(path), np.load(complete)
    assert np.isnan(z[[3, 7]]).all() and np.array_equal(np.delete(z, (3, 7), 0), whole), "not aligned"


def large():
    x = np.random.default_rng(1).normal(size=(12000, 100))
    np.save("LARGE.npy", x)
    np.save("DENSE.npy", x[:6000])


def names(path):
    print(*(e["name"] for registry in load(path).values() for e in registry))


def underscored(path):
    for row in load(path)["rows"]:
        if "_" in row["name"] and row["default"]:
            print(row["name"] + "=" + row["default"])
            return


def no_row(path, name):
    assert name not in [row["name"] for row in load(path)["rows"]], name


def one_row(path, name):
    assert [row["name"] for row in load(path)["rows"]] == [name]


def error(path, code):
    e = load(path)["error"]
    assert e["code"] == int(code), e
    assert e["name"] and e["text"] and "\n" not in e["text"], e


def info(path):
    fields = """version method kernel reducer lift solver parameters dtype n d m r eigenvalues total_variance
        explained_ratio outcome capabilities certificates timings kernel_evaluations kernel_passes peak_bytes"""
    i = load(path)
    missing = [f for f in fields.split() if f not in i]
    assert not missing, missing
    assert (i["method"], i["n"], i["d"], i["r"], i["dtype"]) == ("kpca", 200, 4, R, "f64"), i


def centres(path, m):
    assert load(path)["m"] == int(m), load(path)["m"]


# Checks the scores of a compressed model. Its components are the old ones, projected onto the span
# of the new centres and replaced by the nearest orthonormal ones; its mean is the projected mean.
def compressed(old, new, scores):
    c, b, q = tensor(old, "C"), tensor(new, "C"), np.load("Q.npy")
    lower = np.linalg.cholesky(gram(b, b))
    z = np.linalg.solve(lower, gram(b, c) @ np.column_stack([tensor(old, "A"), tensor(old, "nu")]))
    u, _, v = np.linalg.svd(z[:, :R], full_matrices=False)
    expected = (np.linalg.solve(lower, gram(b, q)).T - z[:, R:].T) @ (u @ v)
    assert np.abs(np.load(scores) - expected).max() < 1e-8, np.abs(np.load(scores) - expected).max()


def outputs(path, file):
    z = np.load(file)
    (out,) = load(path)["outputs"]
    assert out.pop("name")
    assert out == {"path": file, "dtype": z.dtype.str[1:], "shape": list(z.shape)}, out


def equal(a, b):
    a, b = np.load(a), np.load(b)
    assert a.shape == b.shape and a.dtype == b.dtype, (a.shape, b.shape, a.dtype, b.dtype)
    assert np.allclose(a, b, rtol=0, atol=1e-9 * np.abs(b).max()), np.abs(a - b).max()


def f32(a, b):
    a, b = np.load(a), np.load(b)
    assert a.dtype == "f4" and np.abs(a - b).max() < 1e-4, np.abs(a - b).max()


def peer():
    from sklearn.decomposition import KernelPCA

    return KernelPCA(R, kernel="rbf", gamma=1 / (2 * SIGMA**2), eigen_solver="dense").fit(np.load("X.npy"))


def same_up_to_sign(a, b):
    a, b = (np.load(z) if isinstance(z, str) else z for z in (a, b))
    signs = np.sign((a * b).sum(0))
    assert a.shape == b.shape, (a.shape, b.shape)
    assert np.abs(a * signs - b).max() < 1e-8, np.abs(a * signs - b).max()


def tensor(path, name):
    blob = open(path, "rb").read()
    size = int.from_bytes(blob[:8], "little")
    t = json.loads(blob[8 : 8 + size])[name]
    begin, end = t["data_offsets"]
    values = np.frombuffer(blob[8 + size + begin : 8 + size + end], {"F64": "<f8", "F32": "<f4"}[t["dtype"]])
    return values.reshape(t["shape"])


def sklearn(model, scores):
    kpca = peer()
    values = tensor(model, "lambda").ravel()
    assert np.allclose(values, kpca.eigenvalues_ / 200, rtol=1e-9, atol=0), (values, kpca.eigenvalues_ / 200)
    same_up_to_sign(np.load(scores), kpca.transform(np.load("X.npy")))


def sklearn_queries(scores):
    same_up_to_sign(np.load(scores), peer().transform(np.load("Q.npy")))


def gram_of(path):
    k = np.load(path)
    assert k.dtype == np.float64 and np.abs(k - gram(np.load("X.npy"), np.load("X.npy"))).max() < 1e-14


def gram_between(path):
    k = np.load(path)
    assert k.dtype == np.float32 and np.abs(k - gram(np.load("X.npy"), np.load("Q.npy"))).max() < 1e-5


def foreseen(path):  # the forecast number of kernel values must be plausible
    text = load(path)
    assert text["passes"]["likely"] >= 1 and text["bytes"]["likely"] <= text["bytes"]["most"]
    rows = len(np.load("X.npy"))
    assert rows * (rows + 1) / 2 <= text["kernel_evaluations"]["likely"] <= 4 * rows * rows, text


def converted(path, model):
    values = load(path)["values"]
    with open(model, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    assert sorted(values) == sorted(name for name in header if name != "__metadata__")
    for name in values:
        assert np.array_equal(np.array(values[name]).ravel(), tensor(model, name).ravel()), name


def converted_folder(folder, path):
    whole = load(path)
    values = whole.pop("values")
    assert load(folder + "/model.json") == whole
    for name, value in values.items():
        assert np.array_equal(np.load(f"{folder}/{name}.npy"), np.array(value)), name


def density(path):
    expected = gram(np.load("Q.npy"), np.load("X.npy")).mean(1)
    got = np.load(path).ravel()
    assert np.allclose(got, expected, rtol=1e-9), np.abs(got - expected).max()


def residual(path):
    """The output must be the distance in feature space to the span of the r components, or the square of the
    distance."""
    x, q = np.load("X.npy"), np.load("Q.npy")
    centred = 1 - 2 * gram(q, x).mean(1) + gram(x, x).mean()
    squared = centred - (peer().transform(q) ** 2).sum(1)
    got = np.load(path).ravel()
    assert np.allclose(got, squared, atol=1e-9) or np.allclose(got, np.sqrt(squared), atol=1e-9), (got, squared)


def white(path, scores, model):
    z = np.load(path)
    assert np.allclose(z, np.load(scores) / np.sqrt(tensor(model, "lambda").ravel()), rtol=0, atol=1e-10)
    assert np.allclose(z.T @ z / len(z), np.eye(R), rtol=0, atol=1e-9)


def t2(path, whitened):
    assert np.allclose(np.load(path).ravel(), (np.load(whitened) ** 2).sum(1), rtol=1e-10)


def limits(info, residuals, t2s):
    found = load(info)["limits"]
    assert found["kind"] == "exact", found
    for name, path in ("residual", residuals), ("t2", t2s):
        values = np.sort(np.load(path).ravel())
        for level in 95, 99:
            value = values[-(-len(values) * level // 100) - 1]
            assert abs(found[name][f"p{level}"] - value) < 1e-9, (name, level, found, value)


def gradient(path, model):
    """Column j d + c = df_j/dx_c = sum_i A_ij k(x, c_i) (c_i - x)_c / sigma^2."""
    q, c, a = np.load("Q.npy"), tensor(model, "C"), tensor(model, "A")
    expected = np.einsum("qi,ij,qic->qjc", gram(q, c), a, c[None] - q[:, None]) / SIGMA**2
    got = np.load(path)
    assert np.allclose(got, expected.reshape(len(q), -1), rtol=0, atol=1e-10), np.abs(got - expected.reshape(len(q), -1)).max()


def damage(path):
    blob = bytearray(open(path, "rb").read())
    open("CUT.safetensors", "wb").write(blob[:-8])
    blob[-5] ^= 1
    open("FLIPPED.safetensors", "wb").write(blob)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
