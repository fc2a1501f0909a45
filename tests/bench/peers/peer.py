"""The peers in Python. A request is one line, and so is its answer (see ../peer.h). If a package is not installed, the
answer is "absent"."""
import platform
import sys
import time

import numpy as np

sys.stdout.reconfigure(line_buffering=True)
DATA = {}  # the last file read


def load(path):
    if path.endswith(".csv"):
        return path  # reading the file is what is measured
    if path not in DATA:
        DATA.clear()
        DATA[path] = np.load(path)
    return DATA[path]


def timed(work):
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def gaussian(x, sigma, y=None):
    """Returns exp(z_i . z_j - |z_i|^2 / 2 - |z_j|^2 / 2) with z = x / sigma: one matrix product, the rest in place."""
    z = x / x.dtype.type(sigma)
    w = z if y is None else y / x.dtype.type(sigma)
    k = z @ w.T
    k -= (np.einsum("ij,ij->i", z, z) / 2)[:, None]
    k -= (np.einsum("ij,ij->i", w, w) / 2)[None, :]
    return np.exp(k, out=k)


def centred(x, sigma):
    k = gaussian(x, sigma)
    means = k.mean(axis=0, dtype=np.float64).astype(k.dtype)
    k -= means[None, :]
    k -= means[:, None]
    k += means.mean()
    return k


# ---- kernel matrices


def kernel_sklearn(x, sigma):
    from sklearn.metrics.pairwise import rbf_kernel

    return timed(lambda: rbf_kernel(x, gamma=0.5 / sigma**2))[0], [], ""


def kernel_numpy(x, sigma):
    return timed(lambda: gaussian(x, sigma))[0], [], ""


# ---- exact kernel PCA

FASTEST = {}  # the fastest solver of scikit-learn for each shape and type


def sklearn_kpca(sigma, r, tol, solver):
    from sklearn.decomposition import KernelPCA

    return KernelPCA(int(r), kernel="rbf", gamma=0.5 / sigma**2, eigen_solver=solver, tol=tol, random_state=0)


def fastest_solver(x, sigma, r, tol):
    """Returns the solver that is fastest on all rows. dense, which costs n^3, takes part only if it is the fastest on a
    quarter of the rows, because otherwise it is even slower, relative to the others, on all rows."""
    key = x.shape, x.dtype
    if key not in FASTEST:
        few = x[: len(x) // 4]
        seconds = {}
        for solver in ("arpack", "randomized", "dense"):
            seconds[solver] = timed(lambda: sklearn_kpca(sigma, r, tol, solver).fit(few))[0]
        names = [name for name in seconds if name != "dense" or seconds[name] <= min(seconds.values())]
        FASTEST[key] = min(names, key=lambda name: timed(lambda: sklearn_kpca(sigma, r, tol, name).fit(x))[0])
    return FASTEST[key]


def kpca_sklearn(x, sigma, r, tol):
    solver = fastest_solver(x, sigma, r, tol)
    seconds, model = timed(lambda: sklearn_kpca(sigma, r, tol, solver).fit(x))
    return seconds, model.eigenvalues_ / len(x), solver


def kpca_sklearn_scores(x, sigma, r, tol):
    solver = fastest_solver(x, sigma, r, tol)
    return timed(lambda: sklearn_kpca(sigma, r, tol, solver).fit(x).transform(x))[0], [], solver


def kpca_arpack(x, sigma, r, tol):
    from scipy.sparse.linalg import eigsh

    seconds, (values, _) = timed(lambda: eigsh(centred(x, sigma), k=int(r), tol=tol))
    return seconds, np.sort(values)[::-1] / len(x), ""


def eigenvalues(x, sigma, r):
    """Returns the reference eigenvalues: in f64 for data of any type, converged to rounding."""
    return kpca_arpack(x.astype(np.float64), sigma, r, 0)


# ---- walks


def walk_eigenvalues(x, sigma, r, alpha):
    """Returns the reference eigenvalues, without lambda_0 = 1, of the diffusion map with density normalisation alpha,
    in f64."""
    from scipy.sparse.linalg import eigsh

    k = gaussian(x.astype(np.float64), sigma)
    q = k.sum(axis=1) ** alpha
    k /= q[:, None]
    k /= q[None, :]
    root = np.sqrt(k.sum(axis=1))
    k /= root[:, None]
    k /= root[None, :]
    seconds, (values, _) = timed(lambda: eigsh(k, k=int(r) + 1))
    return seconds, np.sort(values)[::-1][1:], ""


def spectral_embedding(x, sigma, r):
    from sklearn.manifold import SpectralEmbedding

    model = SpectralEmbedding(n_components=int(r), affinity="rbf", gamma=0.5 / sigma**2, random_state=0, n_jobs=-1)
    return timed(lambda: model.fit(x))[0], [], ""


# ---- pivoted Cholesky


def cholesky_of_candidates(h, d, random):
    """The inner loop of accelerated RPCholesky. h is the residual matrix of the candidates, which were drawn with
    probabilities proportional to d. Each is taken with probability (its present residual) / d. Returns the candidates
    taken and their Cholesky factor."""
    h = h.copy()
    taken, columns = [], []
    for i, chance in enumerate(random.random(len(d))):
        if h[i, i] <= chance * d[i] or h[i, i] <= 0:
            continue
        column = h[:, i] / np.sqrt(h[i, i])
        h[i + 1 :, i + 1 :] -= np.outer(column[i + 1 :], column[i + 1 :])
        taken.append(i)
        columns.append(column)
    return taken, np.array(columns).T[taken]


def rpcholesky(x, sigma, m, block=192):
    """Epperly, Tropp & Webber, Embrace rejection (2024). Work on n rows is done by matrix products and solves."""
    from scipy.linalg import solve_triangular

    def work():
        n, size, random = len(x), int(m), np.random.default_rng(0)
        factor, d, done = np.empty((n, size), x.dtype), np.ones(n), 0
        while done < size:
            # may repeat a row; a row that is already taken has no residual left
            drawn = random.choice(n, block, p=d / d.sum())
            h = gaussian(x[drawn], sigma) - factor[drawn, :done] @ factor[drawn, :done].T
            taken, corner = cholesky_of_candidates(h, d[drawn], random)
            taken, corner = taken[: size - done], corner[: size - done, : size - done]
            pivots, end = drawn[taken], done + len(taken)
            new = gaussian(x, sigma, x[pivots])
            new -= factor[:, :done] @ factor[pivots, :done].T
            factor[:, done:end] = solve_triangular(corner, new.T, lower=True, overwrite_b=True, check_finite=False).T
            d -= np.einsum("ij,ij->i", factor[:, done:end], factor[:, done:end])
            np.maximum(d, 0, out=d)
            d[pivots] = 0
            done = end
        return d.mean()

    seconds, mse = timed(work)
    return seconds, [mse], f"mean residual {mse:.3g}"


def rpcholesky_published(x, sigma, m):
    """The same algorithm as its authors distribute it: m / 10 candidates a round, and two stored m x n arrays, the
    factor and the kernel rows."""

    def work():
        n, size, random = len(x), int(m), np.random.default_rng(0)
        block = -(-size // 10)
        factor, rows, d, done = np.zeros((size, n), x.dtype), np.zeros((size, n), x.dtype), np.ones(n), 0
        while done < size:
            drawn = random.choice(n, block, p=d / d.sum())
            h = gaussian(x[drawn], sigma) - factor[:done, drawn].T @ factor[:done, drawn]
            taken, corner = cholesky_of_candidates(h, d[drawn], random)
            taken, corner = taken[: size - done], corner[: size - done, : size - done]
            pivots, end = drawn[taken], done + len(taken)
            rows[done:end] = gaussian(x[pivots], sigma, x)
            factor[done:end] = rows[done:end] - factor[:done, pivots].T @ factor[:done]
            factor[done:end] = np.linalg.solve(np.tril(corner), factor[done:end])
            d -= np.sum(factor[done:end] ** 2, axis=0)
            d = d.clip(min=0)
            done = end
        return d.mean()

    seconds, mse = timed(work)
    return seconds, [mse], f"mean residual {mse:.3g}"


def pivoted_cholesky(x, sigma, m, *given):
    """The textbook algorithm: each column takes one product with all columns before it. If pivots are given, they are
    used instead, and the answer lists those of them that did not have the largest residual, up to ties."""

    def work():
        n, size = len(x), int(m)
        factor, d, pivots = np.empty((n, size), x.dtype, order="F"), np.ones(n), []
        worse = []
        z = x / sigma
        half = np.einsum("ij,ij->i", z, z) / 2
        for s in range(size):
            j = int(np.argmax(d >= d.max() * (1 - 1e-10)))  # the first of equal ones
            if given:
                j = int(given[s])
                if d[j] < d.max() * (1 - 1e-9):
                    worse.append(j)
            column = np.exp(z @ z[j] - half - half[j])
            column -= factor[:, :s] @ factor[j, :s]
            column /= np.sqrt(d[j])
            factor[:, s] = column
            d -= column * column
            np.maximum(d, 0, out=d)
            pivots.append(j)
            d[pivots] = 0
        return d.mean(), worse if given else pivots

    seconds, (mse, pivots) = timed(work)
    return seconds, pivots, f"mean residual {mse:.3g}"


# ---- new points, and approximations


def available_bytes():
    with open("/proc/meminfo") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable"))


def transform_sklearn(x, sigma, r, m, at_once):
    """Times KernelPCA.transform. It stores the kernel matrix of new points and centres and a centred copy, so it gets
    only as many points at once as fit in memory, and the seconds are scaled to all points."""
    model = sklearn_kpca(sigma, r, 0, "dense").fit(x[: int(m)])
    rows = min(len(x), int(at_once), int(0.7 * available_bytes() / (2 * m * x.dtype.itemsize)))
    seconds = timed(lambda: model.transform(x[:rows]))[0] * len(x) / rows
    return seconds, [], f"{rows} points at once" + (", scaled" if rows < len(x) else "")


def nystroem(sigma, r, m):
    from sklearn.decomposition import PCA
    from sklearn.kernel_approximation import Nystroem
    from sklearn.pipeline import make_pipeline

    features = Nystroem(gamma=0.5 / sigma**2, n_components=int(m), random_state=0)
    return make_pipeline(features, PCA(int(r), svd_solver="auto", random_state=0))


def nystroem_pca(x, sigma, r, m):
    seconds, model = timed(lambda: nystroem(sigma, r, m).fit(x))
    return seconds, model[-1].explained_variance_ * (len(x) - 1) / len(x), ""


def nystroem_pca_transform(x, sigma, r, m):
    model = nystroem(sigma, r, m).fit(x[: len(x) // 10])
    return timed(lambda: model.transform(x))[0], [], ""


# ---- centres


def kmeans(x, m, iterations):
    """Starts from the first m rows. With tol = 0 it runs until the assignment repeats, as our k-means does."""
    from sklearn.cluster import KMeans

    method = KMeans(int(m), init=x[: int(m)], n_init=1, max_iter=max(int(iterations), 1), tol=0, algorithm="lloyd")
    seconds, model = timed(lambda: method.fit(x))
    return seconds, [model.inertia_, model.n_iter_], ""


# ---- files


def csv_numpy(path):
    return timed(lambda: np.loadtxt(path, delimiter=",", skiprows=1))[0], [], ""


def csv_pandas(path):
    import pandas

    return timed(lambda: pandas.read_csv(path, float_precision="round_trip").to_numpy())[0], [], ""


def versions(_):
    names = [f"Python {platform.python_version()}"]
    for module in ("numpy", "scipy", "sklearn"):
        try:
            names.append(f"{module} {__import__(module).__version__}")
        except ImportError:
            names.append(f"no {module}")
    return 0, [], ", ".join(names)


def main():
    for line in filter(str.strip, sys.stdin):
        name, path, *numbers = line.split()
        try:
            x = None if path == "-" else load(path)
            seconds, values, remark = globals()[name](x, *map(float, numbers))
            print("ok", seconds, *(repr(float(v)) for v in values), "#", remark)
        except ImportError as error:
            print("absent", error)
        except Exception as error:  # the bench must go on after any error
            print("error", name, type(error).__name__, str(error).replace("\n", " "))


if __name__ == "__main__":
    main()
