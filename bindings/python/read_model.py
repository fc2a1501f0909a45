"""Reads a model of libmercer with NumPy and Python's own modules: the page on the format, include/README.md, as a program.

    python3 read_model.py M.safetensors               what it holds
    python3 read_model.py M.safetensors X.npy Z.npy   writes the scores of the rows of X, where the kernel is "gaussian"
"""
import json
import sys
import zlib

import numpy as np

DTYPES = {"F32": "<f4", "F64": "<f8", "I64": "<i8"}


def check(crc32, expected, what):
    if crc32 != int(expected, 16):
        raise ValueError(f"{what} is damaged")


def read(path):
    """The report, a dictionary, and the arrays by name."""
    with open(path, "rb") as file:
        data = file.read()
    begin = 8 + int.from_bytes(data[:8], "little")
    tensors = json.loads(data[8:begin])
    metadata = tensors.pop("__metadata__")
    digits = data.index(b'"crc32":"') + 9  # of the header's own sum, which counts them as zeros
    check(zlib.crc32(data[:digits] + b"00000000" + data[digits + 8:begin]), metadata["crc32"], "the header")
    arrays = {}
    for name, entry in tensors.items():
        first, end = entry["data_offsets"]
        content = data[begin + first:begin + end]
        check(zlib.crc32(content), metadata["crc32." + name], f"the tensor {name}")
        arrays[name] = np.frombuffer(content, DTYPES[entry["dtype"]]).reshape(entry["shape"])
    report = json.loads(metadata["mercer"])
    if report["format"] != 1 or report["requires"]:
        raise ValueError(f"format {report['format']} that requires {report['requires']} is not known here")
    return report, arrays


def scores(report, arrays, x):
    """f(x) = A^T k_C(T x) / g(x) - b of each row of x."""
    if report["kernel"] != "gaussian":
        raise ValueError(f"the kernel {report['kernel']} is not known here")
    parameters = report["parameters"]
    gamma = parameters.get("kernel.gamma") or 0.5 / parameters["kernel.sigma"] ** 2
    if "T.shift" in arrays:
        x = (x - arrays["T.shift"]) * arrays["T.scale"]
    squares = sum(np.subtract.outer(x[:, j], c) ** 2 for j, c in enumerate(arrays["C"].T.astype(float)))
    k = np.exp(-gamma * squares)
    f = k @ arrays["A"]
    if "v" in arrays:
        f /= (k @ arrays["v"])[:, None]
    return f - arrays["b"]


if __name__ == "__main__":
    report, arrays = read(sys.argv[1])
    if len(sys.argv) == 4:
        np.save(sys.argv[3], scores(report, arrays, np.load(sys.argv[2])))
    else:
        print(json.dumps(report, indent=2))
        for name, array in arrays.items():
            print(name, array.dtype, array.shape)
