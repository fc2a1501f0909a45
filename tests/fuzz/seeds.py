"""Writes the seeds of the corpus: small files of every kind that is read, and what was done to other readers.

usage: seeds.py MERCER CORPUS     (MERCER: the command; CORPUS: tests/fuzz/corpus)
"""
import io
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np


def npy_with(header, version=(1, 0), body=b"\0" * 48, length=None):
    text = header.encode("latin1")
    size = len(text) if length is None else length
    count = size.to_bytes(2 if version[0] == 1 else 4, "little")
    return b"\x93NUMPY" + bytes(version) + count + text + body


def npy_seeds():
    x = np.arange(12.0).reshape(4, 3)
    for dtype in "f4 f8 i1 i2 i4 i8 u1 u2 b1".split():
        for order in "CF":
            out = io.BytesIO()
            np.save(out, np.array(x, dtype=dtype, order=order))
            yield f"{dtype}-{order}", out.getvalue()
    for version in ((1, 0), (2, 0), (3, 0)):
        out = io.BytesIO()
        np.lib.format.write_array(out, x, version=version)
        yield f"version-{version[0]}", out.getvalue()
    good = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }\n"
    damaged = {
        "object": good.replace("<f8", "|O"), "big-endian": good.replace("<f8", ">f8"), "complex": good.replace("<f8", "<c16"),
        "record": good.replace("'<f8'", "[('a', '<f8')]"), "negative": good.replace("(2, 3)", "(-2, 3)"),
        "wraps": good.replace("(2, 3)", "(4294967297, 4294967296)"), "scalar": good.replace("(2, 3)", "()"),
        "one": good.replace("(2, 3)", "(6,)"), "cube": good.replace("(2, 3)", "(1, 2, 3)"), "empty": good.replace("(2, 3)", "(0, 3)"),
        "no-columns": good.replace("(2, 3)", "(2, 0)"), "twice": good.replace("}", "'shape': (2, 3)}"), "call": good.replace("False", "exit()"),
        "no-end": good.replace("}", ""), "long-number": good.replace("(2, 3)", "(" + "9" * 80 + ", 3)"), "latin": good.replace("descr", "d\xe9scr"),
        "nested": "{" * 200, "nul": good.replace("2, 3", "2\0, 3"), "spaces": good.replace(" ", " " * 50),
    }
    for name, header in damaged.items():
        yield name, npy_with(header)
    yield "short-body", npy_with(good, body=b"\0" * 47)
    yield "long-body", npy_with(good, body=b"\0" * 49)
    yield "header-beyond", npy_with(good, length=60000)
    yield "version-9", npy_with(good, version=(9, 0))
    yield "v2-huge", npy_with(good, version=(2, 0), length=2**32 - 1)
    yield "nan", npy_with(good, body=np.array([1, np.nan, 3, 4, np.inf, 6]).tobytes())
    yield "nothing", b""
    yield "magic", b"\x93NUMPY"


def csv_seeds():
    texts = {
        "plain": "a,b\n1,2\n3,4\n", "crlf": "a,b\r\n1,2\r\n3,4\r\n", "bom": "\ufeffa;b\n1;2\n3;4\n", "tabs": "1\t2\n3\t4\n", "spaces": "1 2\n3 4\n",
        "quotes": '"a ""x""",b\n"1",2\n3,"4"\n', "open-quote": 'a,b\n"1,2\n3,4\n', "labels": "species,x\nsetosa,1\nvirginica,2\nsetosa,3\n",
        "missing": "x,y\n1,NA\n,nan\n?,null\n2,3\n", "ragged": "1,2\n3\n4,5,6\n", "huge": "1e999,2\n3,4\n", "hex": "0x10,2\n3,4\n", "nul": "1,2\n3,\0\n",
        "no-end": "1,2\n3,4", "one": "7", "nothing": "", "blank-lines": "\n\n1,2\n\n3,4\n\n", "comma-numbers": "1,5;2,5\n3,5;4,5\n",
        "long-number": "1" * 400 + ",2\n", "names-twice": "a,a\n1,2\n", "latin": "caf\u00e9,b\n1,2\n", "only-header": "a,b,c\n", "plus": "+1,-2\n 3 , 4 \n",
        "inf": "1,inf\n2,-inf\n", "wide": ",".join(map(str, range(300))) + "\n" + ",".join("1" for _ in range(300)) + "\n",
    }
    for name, text in texts.items():
        yield name, text.encode("latin1" if name == "latin" else "utf8")


def expression_seeds():
    texts = ["gaussian", "gaussian[0-7] * hamming[8-11] + 0.1 linear", "2e-3 poly+.5 cosine[1,2,7-9]*matern", "user", "a*a", "1 2 linear",
             "linear[", "linear[5-1]", "linear[0-99999999999999999999]", "+", "1e999 linear", "\u03b3 linear", "gaussian" * 40, "[[]]", "0 linear",
             "rbf[0]+rbf[1]+rbf[2]", "wave * sigmoid + 3 anova", "-linear", "linear]", "linear[0-3,2]", "1e-400 linear"]
    for number, text in enumerate(texts):
        yield f"{number:02d}", text.encode()


def model_seeds(mercer):
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        data, model = f"{folder}/x.npy", f"{folder}/m.safetensors"
        recipes = {
            "kpca": ["--components", "2"], "linear-f32": ["--kernel", "linear", "--dtype", "f32"], "nystrom": ["--reducer", "uniform", "--lift", "projected", "--m", "4"],
            "scaled": ["--scale", "standard", "--kernel", "laplacian"], "sum": ["--kernel", "gaussian[0] * matern[1] + 0.5 cosine"],
            "greedy": ["--reducer", "greedy", "--lift", "projected", "--m", "3", "--certificates", "rows"], "weighted": ["--reducer", "uniform", "--m", "5"],
            "bars": ["--bootstrap", "20"], "block": ["--kernel", "anova"],
        }
        np.save(data, rng.standard_normal((8, 2)))
        for name, arguments in recipes.items():
            subprocess.run([mercer, "fit", data, "-o", model, "--method", "kpca", *arguments], check=True, stdout=subprocess.DEVNULL)
            whole = pathlib.Path(model).read_bytes()
            yield name, whole
            yield name + "-cut", whole[: len(whole) * 2 // 3]
            bad = bytearray(whole)
            bad[len(bad) // 3] ^= 4
            yield name + "-flipped", bytes(bad)


def parts_of(model):
    """Its text, as JSON, and its tensors by name."""
    end = 8 + int.from_bytes(model[:8], "little")
    header = json.loads(model[8:end])
    text = json.loads(header.pop("__metadata__")["mercer"])
    kinds = {"F32": "<f4", "F64": "<f8", "I64": "<i8"}
    tensors = {}
    for name, entry in header.items():
        begin, stop = entry["data_offsets"]
        tensors[name] = np.frombuffer(model[end + begin:end + stop], kinds[entry["dtype"]]).reshape(entry["shape"]).copy()
    return text, tensors


def model_of(text, tensors):
    """The file, but for its checksums, which the targets write."""
    names = sorted(tensors, key=lambda name: (tensors[name].itemsize != 8, name))
    metadata = {"crc32": "0" * 8, "format": "mercer", "mercer": json.dumps(text), **{f"crc32.{name}": "0" * 8 for name in names}}
    header, at = {"__metadata__": metadata}, 0
    for name in names:
        kind = {"f4": "F32", "f8": "F64", "i8": "I64"}[tensors[name].dtype.str[1:]]
        header[name] = {"dtype": kind, "shape": list(tensors[name].shape), "data_offsets": [at, at + tensors[name].nbytes]}
        at += tensors[name].nbytes
    written = json.dumps(header, separators=(",", ":")).encode()
    written += b" " * (-(8 + len(written)) % 64)
    return len(written).to_bytes(8, "little") + written + b"".join(tensors[name].tobytes() for name in names)


def derive_seeds(mercer):
    rng = np.random.default_rng(2)
    x = rng.standard_normal((8, 2))
    squares = np.abs(x[:, None] - x[None]).sum(2)
    recipes = {
        "kpca": (x, ["--components", "2"]), "f32": (x, ["--dtype", "f32"]), "matern": (x, ["--kernel", "matern", "--scale", "standard"]),
        "linear": (x, ["--kernel", "linear"]), "poly": (x, ["--kernel", "poly"]), "chi2": (np.abs(x), ["--kernel", "chi2"]),
        "anova": (x, ["--kernel", "anova"]), "sum": (x, ["--kernel", "gaussian[0] * matern[1] + 0.5 cosine"]),
        "l1": (x, ["--kernel", "laplacian", "--norm", "l1"]), "hamming": (np.round(x), ["--kernel", "hamming"]),
        "objects": (squares, ["--precomputed", "distances"]), "nystrom": (x, ["--method", "nystrom", "--m", "4"]),
        "extended": (x, ["--method", "wnystrom", "--m", "3"]), "ncut": (x, ["--method", "ncut"]), "rskpca": (x, ["--method", "rskpca"]),
        "uncentred": (x, ["--centred", "false"]), "diffusion": (x, ["--method", "diffusion"]),
    }
    with tempfile.TemporaryDirectory() as folder:
        data, model = f"{folder}/x.npy", f"{folder}/m.safetensors"
        for name, (rows, arguments) in recipes.items():
            np.save(data, rows)
            method = [] if "--method" in arguments else ["--method", "kpca"]
            subprocess.run([mercer, "fit", data, "-o", model, *method, *arguments], check=True, stdout=subprocess.DEVNULL)
            whole = pathlib.Path(model).read_bytes()
            yield name, whole
            for sign in (1, -1):
                text, tensors = parts_of(whole)
                if "C" in tensors:
                    tensors["C"][1, 0] = sign * (1e38 if tensors["C"].dtype == np.float32 else 1e308)
                    yield f"{name}-far{'-+'[sign > 0]}", model_of(text, tensors)
            text, tensors = parts_of(whole)
            if "C" in tensors:
                whole_rows = {key: value for key, value in tensors.items() if not key.startswith(("shift.", "T."))}
                yield f"{name}-no-columns", model_of(text, {**whole_rows, "C": tensors["C"][:, :0]})
            for other in ("nu", "w", "A", "lambda", "v"):
                text, tensors = parts_of(whole)
                if other in tensors:
                    tensors[other].flat[0] = 1e38 if tensors[other].dtype == np.float32 else 1e308
                    yield f"{name}-{other}", model_of(text, tensors)


def main(mercer, corpus):
    for target, seeds in ("npy", npy_seeds()), ("csv", csv_seeds()), ("expression", expression_seeds()), ("model", model_seeds(mercer)), ("derive", derive_seeds(mercer)):
        folder = pathlib.Path(corpus, target)
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in seeds:
            (folder / name).write_bytes(content)


if __name__ == "__main__":
    main(*sys.argv[1:])
