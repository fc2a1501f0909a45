"""limits_test.py MERCER BARE: runs commands under increasing limits of `ulimit -v`, compared with a bare call of
OpenBLAS.

At each limit at which a bare cblas_dgemm (BARE, on one thread) succeeds, every command must end before the timeout:
with its result, or with the exit code for memory and one line that says so, but not by a signal or with another exit
code. If the bare call fails at a limit, OpenBLAS cannot work there, and a command only has to end at SIGTERM. At the
largest limit, all commands must succeed.
"""
import concurrent.futures
import os
import resource
import signal
import subprocess
import sys
import tempfile

import numpy as np

LADDER = [40000, 50000, 60000, 80000, 120000, 160000, 180000, 190000, 200000, 220000, 240000, 260000, 280000, 300000,
          320000, 340000, 360000, 400000, 500000, 600000, 800000, 1500000]  # KiB
BARE_SECONDS, SECONDS, GRACE = 10, 60, 10  # timeouts; normally a bare call takes 0.1 s and a command 0.5 s
DONE, OUT_OF_MEMORY, SKIPPED = 0, 6, 77


def ended(words, kib, environment, seconds):
    """Returns the exit code (negative: a signal) and the standard error. The code is None if SIGTERM was necessary, and
    "KILL" if even SIGKILL was."""
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (kib * 1024, kib * 1024))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    process = subprocess.Popen(words, env=environment, preexec_fn=limit, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    for signalled, wait in ((None, seconds), (signal.SIGTERM, GRACE), (signal.SIGKILL, None)):
        if signalled:
            process.send_signal(signalled)
        try:
            errors = process.communicate(timeout=wait)[1]
            return {None: process.returncode, signal.SIGTERM: None}.get(signalled, "KILL"), errors
        except subprocess.TimeoutExpired:
            pass


def wrong(bare_fails, top, code, errors):
    """Returns what is wrong with how a command ended, or "" if nothing is."""
    if code == "KILL":
        return "SIGTERM does not end it"
    if bare_fails:
        return ""
    if code is None:
        return "it never ends"
    if code == OUT_OF_MEMORY and not top:
        return "" if errors.startswith("mercer: ") and errors.count("\n") == 1 else f"exit code 6 says {errors!r}"
    return "" if code == DONE else f"exit code {code}: {errors!r}"


def main(mercer, bare):
    rng = np.random.default_rng(1)
    np.save("X.npy", rng.normal(size=(3000, 8)))
    np.save("F.npy", rng.normal(size=(900, 8)).astype("f4"))
    commands = {
        "version": ["--version"],
        "nystrom": "fit X.npy --method nystrom --m 400 --sigma 3 --threads 2 -o N.safetensors".split(),
        "kpca": "fit F.npy --method kpca --sigma 3 --threads 2 -o K.safetensors".split(),
        "dense": "fit F.npy --method kpca --solver dense --sigma 3 --threads 2 -o D.safetensors".split(),
    }
    one = dict(os.environ, OPENBLAS_NUM_THREADS="1")
    many = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        bare_codes = list(pool.map(lambda kib: ended([bare], kib, one, BARE_SECONDS)[0], LADDER))
        runs = [(kib, name, environment) for kib in LADDER for name in commands for environment in (one, many)]
        results = list(pool.map(lambda run: ended([mercer, *commands[run[1]]], run[0], run[2], SECONDS), runs))

    failures, codes = 0, {}
    for (kib, name, environment), (code, errors) in zip(runs, results):
        bare_code = bare_codes[LADDER.index(kib)]
        codes.setdefault((kib, bare_code), []).append(f"{name} {code}")
        if reason := wrong(bare_code != DONE, kib == LADDER[-1], code, errors):
            threads = environment.get("OPENBLAS_NUM_THREADS", "all")
            print(f"FAILED: {name} at {kib} KiB, {threads} threads of OpenBLAS: {reason}")
            failures += 1
    for (kib, bare_code), line in codes.items():
        print(f"{kib:>8} KiB  bare {bare_code}:  {', '.join(line)}")
    if DONE not in bare_codes[:-1]:
        print("no limit of the ladder lets OpenBLAS work")
        return SKIPPED
    return failures > 0


if __name__ == "__main__":
    paths = [os.path.realpath(path) for path in sys.argv[1:]]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        sys.exit(main(*paths))
