"""Writes the seeds of the corpus: small files of every kind that is read, and what was done to other readers.

usage: seeds.py MERCER CORPUS     (MERCER: the command; CORPUS: tests/fuzz/corpus)
"""
import io
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


def main(mercer, corpus):
    for target, seeds in ("npy", npy_seeds()), ("csv", csv_seeds()), ("expression", expression_seeds()), ("model", model_seeds(mercer)):
        folder = pathlib.Path(corpus, target)
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in seeds:
            (folder / name).write_bytes(content)


if __name__ == "__main__":
    main(*sys.argv[1:])
