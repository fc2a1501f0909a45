"""Tries what a Python package needs of the ABI: arrays, callbacks, models as bytes, interrupts and releases."""
import gc
import os
import pickle
import signal
import subprocess
import tempfile
import time

try:
    import numpy as np
    from sklearn.decomposition import KernelPCA
except ImportError as missing:
    print(f"skipped: {missing}")
    raise SystemExit(77)

import mercer

rng = np.random.default_rng(1)
X = rng.standard_normal((400, 5)) + 3 * rng.integers(0, 3, (400, 1))
Q = rng.standard_normal((70, 5))
SIGMA, R = 4.0, 6


def fit(array, **more):
    return mercer.Model.fit(array, "kpca", **{"sigma": SIGMA, "components": R, **more})


def fit_user(function, array=X, **more):
    return mercer.Model.fit(array, "kpca", function, kernel="user", components=R, **more)


def gaussian(x, y):
    return np.exp(-((x[:, None, :] - y[None, :, :]) ** 2).sum(2) / (2 * SIGMA**2))


def raised(kind, function, *args, **kwargs):
    try:
        function(*args, **kwargs)
    except kind as error:
        return str(error)
    raise AssertionError(f"no {kind.__name__}")


def close_up_to_sign(a, b, tol):
    return (np.minimum(abs(a - b).max(0), abs(a + b).max(0)) < tol).all()


def test_numbers():
    oracle = KernelPCA(R, kernel="rbf", gamma=1 / (2 * SIGMA**2), eigen_solver="dense").fit(X)
    wide = np.zeros((400, 9))
    wide[:, :5] = X
    for array in (X, np.asfortranarray(X), wide[:, :5]):
        model = fit(array)
        assert np.allclose(model.tensor("lambda").ravel() * len(X), oracle.eigenvalues_, rtol=1e-9)
        assert close_up_to_sign(model.transform(Q), oracle.transform(Q), 1e-8)
    single = fit(X.astype(np.float32, order="F")).transform(Q.astype(np.float32))
    assert single.dtype == np.float32 and close_up_to_sign(single, oracle.transform(Q), 2e-3)
    thin, every = fit(X[:, :1]), fit(X)
    assert np.allclose(thin.transform(X[:1, :1]), thin.transform(X[:, :1])[:1])
    for rows in range(3):
        for array in (X[:rows], np.asfortranarray(X[:rows]), np.asfortranarray(X)[:rows]):
            assert np.allclose(every.transform(array), every.transform(X)[:rows])


def test_callbacks():
    model = fit_user(gaussian)
    assert close_up_to_sign(model.transform(Q), fit(X).transform(Q), 1e-8)

    def broken(*_):
        raise ZeroDivisionError("my own text, ü")
    assert raised(ZeroDivisionError, fit_user, broken) == "my own text, ü"
    assert raised(ZeroDivisionError, fit, X, progress=broken) == "my own text, ü"

    def nested(x, y):  # calls the library during a call of the library
        raised(mercer.MercerError, model.transform, x[:, :2].copy())
        raised(ZeroDivisionError, fit_user, broken)
        return gaussian(x, y)
    assert (fit_user(nested).transform(Q) == model.transform(Q)).all()
    model.transform(Q)


def test_bytes():
    model, user = fit(X), fit_user(gaussian)
    assert (pickle.loads(pickle.dumps(model)).transform(Q) == model.transform(Q)).all()
    again = pickle.loads(pickle.dumps(user))
    assert "user" in raised(mercer.MercerError, again.transform, Q)
    assert (again.bind(gaussian).transform(Q) == user.transform(Q)).all()


def interrupt(function, seconds=2):
    """Sends a real SIGINT to this process. KeyboardInterrupt must follow within 0.5 s, and the next fit must
    succeed."""
    with tempfile.NamedTemporaryFile("r") as at:
        killer = subprocess.Popen(["sh", "-c", f"sleep {seconds}; date +%s.%N >{at.name}; kill -INT {os.getpid()}"])
        raised(KeyboardInterrupt, function)
        now = time.time()
        killer.wait()
        late = now - float(at.read())
    print(f"    KeyboardInterrupt after {late:.3f} s")
    assert late < 0.5
    fit(X)


def test_interrupt():
    big = rng.standard_normal((60000, 16))
    # A pass computes 1.8e9 kernel values, in 3 s on two cores; the solver never converges to 1e-15.
    interrupt(lambda: fit(big, gram__storage="stream", solver__tol=1e-15, solver__max_passes=1000))
    # The first fit has 2080 tiles of 20 ms each; in the second, a single tile takes a minute.
    interrupt(lambda: fit_user(lambda x, y: time.sleep(0.02) or x @ y.T, big[:16384]))
    interrupt(lambda: fit_user(lambda x, y: time.sleep(60), big[:1000]))


def test_release():
    def once():
        model = fit_user(gaussian)
        raised(ZeroDivisionError, fit_user, lambda x, y: 1 / 0)
        model.transform(Q[:2])
        column = model.tensor("lambda")
        del model
        gc.collect()
        return column
    gc.collect()
    living = len(mercer.Kernel.living)
    column = once()
    assert len(mercer.Kernel.living) == living + 1 and column[0] > 0  # a tensor keeps its model alive
    del column
    gc.collect()
    assert len(mercer.Kernel.living) == living


def rss():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmRSS")).split()[1])


def test_misuse():
    bad = X.copy()
    bad[3, 1] = np.nan
    model = fit(X)
    cases = [lambda: fit(X, sigm=1), lambda: fit(X, sigma=-1), lambda: fit(bad), lambda: mercer.Model.fit(X, "kpcaa"),
             lambda: model.transform(Q[:, :2].copy()), lambda: mercer.Model.read(b"\x08" + b"\0" * 99), lambda: model.tensor("Z")]
    for case in cases:
        print("   ", raised(mercer.MercerError, case))
    for repeat in range(250):
        if repeat == 50:
            before = rss()
        for case in cases:
            raised(mercer.MercerError, case)
    print(f"    {rss() - before} kB more after 200 repeats of {len(cases)} errors")
    assert rss() - before < 2000


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job starts with SIGINT ignored
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            start = time.time()
            test()
            print(f"{name}: {time.time() - start:.1f} s", flush=True)
