"""Kernels and kernel PCA against scikit-learn, through the shared library's C API.

usage: sklearn_test.py libmercer.so.0
"""
import ctypes
import sys
import unittest

import numpy as np
from sklearn.decomposition import KernelPCA
from sklearn.gaussian_process.kernels import Matern, RationalQuadratic
from sklearn.metrics import pairwise

F32, F64 = 1, 2
KERNEL = 2
POINTER, INT64, TEXT = ctypes.c_void_p, ctypes.c_int64, ctypes.c_char_p
LIBRARY = None


class View(ctypes.Structure):
    _fields_ = [("struct_size", INT64), ("dtype", ctypes.c_int32), ("reserved", ctypes.c_int32), ("rows", INT64),
                ("cols", INT64), ("row_stride", INT64), ("col_stride", INT64), ("data", POINTER)]

    def __init__(self, array):
        size = array.itemsize
        super().__init__(ctypes.sizeof(View), F32 if size == 4 else F64, 0, array.shape[0], array.shape[1],
                         array.strides[0] // size, array.strides[1] // size, array.ctypes.data)


def call(name, *arguments):
    if getattr(LIBRARY, name)(*arguments) != 0:
        raise RuntimeError(LIBRARY.mercer_last_error().decode())


def destroy(name, handle):
    function = getattr(LIBRARY, name)
    function.restype, function.argtypes = None, [POINTER]
    function(handle)


class Session:
    def __init__(self):
        self.context = POINTER()
        call("mercer_context_create", ctypes.byref(self.context))

    def data(self, array):
        handle = POINTER()
        call("mercer_data_from_view", ctypes.byref(handle), self.context, ctypes.byref(View(array)))
        return handle

    def kernel_values(self, array):
        handle = POINTER()
        call("mercer_data_from_matrix", ctypes.byref(handle), self.context, ctypes.byref(View(array)), KERNEL)
        return handle

    def recipe(self, **settings):
        handle = POINTER()
        call("mercer_recipe_create", ctypes.byref(handle), self.context, b"kpca")
        names = (TEXT * len(settings))(*(name.replace("__", ".").encode() for name in settings))
        values = (TEXT * len(settings))(*(str(value).encode() for value in settings.values()))
        call("mercer_recipe_set_many", handle, names, values, INT64(len(settings)))
        return handle

    def kernel(self, x, y=None, **settings):
        recipe, dx = self.recipe(**settings), self.data(x)
        dy = self.data(y) if y is not None else POINTER()
        out = np.empty((len(x), len(x if y is None else y)), x.dtype)
        call("mercer_recipe_kernel", recipe, dx, dy, ctypes.byref(View(out)), None)
        for handle in (dx, dy):
            destroy("mercer_data_destroy", handle)
        destroy("mercer_recipe_destroy", recipe)
        return out

    def kpca(self, x, queries, components, bring=None, **settings):
        bring = bring or self.data
        recipe, data, model = self.recipe(output__components=components, **settings), bring(x), POINTER()
        call("mercer_model_fit", ctypes.byref(model), recipe, data, None)
        view = View(np.empty((1, 1)))
        call("mercer_model_tensor", model, b"lambda", ctypes.byref(view))
        values = np.ctypeslib.as_array(ctypes.cast(view.data, ctypes.POINTER(ctypes.c_double)), (view.rows,)).copy()
        asked, out = bring(queries), np.empty((len(queries), components))
        call("mercer_model_transform", model, None, asked, ctypes.byref(View(out)), INT64(1), None)
        for handle in (data, asked):
            destroy("mercer_data_destroy", handle)
        destroy("mercer_model_destroy", model)
        destroy("mercer_recipe_destroy", recipe)
        return values, out


def kernels():
    """Name, our settings, scikit-learn's function."""
    return [
        ("linear", dict(kernel="linear"), pairwise.linear_kernel),
        ("rbf", dict(kernel="rbf", gamma=0.3), lambda x, y: pairwise.rbf_kernel(x, y, gamma=0.3)),
        ("laplacian", dict(kernel="laplacian", norm="l1", gamma=0.2), lambda x, y: pairwise.laplacian_kernel(x, y, gamma=0.2)),
        ("chi2", dict(kernel="chi2", gamma=0.7), lambda x, y: pairwise.chi2_kernel(x, y, gamma=0.7)),
        # theirs is -sum (x-y)^2/(x+y) = sum 4xy/(x+y) - sum (x+y); ours sum 2xy/(x+y)
        ("additive-chi2", dict(kernel="additive-chi2"),
         lambda x, y: (pairwise.additive_chi2_kernel(x, y) + x.sum(1)[:, None] + y.sum(1)[None, :]) / 2),
        ("polynomial", dict(kernel="poly", gamma=0.2, coef0=0.5, degree=4),
         lambda x, y: pairwise.polynomial_kernel(x, y, gamma=0.2, coef0=0.5, degree=4)),
        ("polynomial's defaults", dict(kernel="polynomial"), pairwise.polynomial_kernel),
        ("sigmoid", dict(kernel="sigmoid", gamma=0.02, coef0=-0.1), lambda x, y: pairwise.sigmoid_kernel(x, y, gamma=0.02, coef0=-0.1)),
        ("cosine", dict(kernel="cosine"), pairwise.cosine_similarity),
        ("matern 0.5", dict(kernel="matern", nu=0.5, sigma=1.3), Matern(1.3, nu=0.5)),
        ("matern 1.5", dict(kernel="matern", nu=1.5, sigma=1.3), Matern(1.3, nu=1.5)),
        ("matern 2.5", dict(kernel="matern", nu=2.5, sigma=1.3), Matern(1.3, nu=2.5)),
        ("rational-quadratic", dict(kernel="rational-quadratic", alpha=0.7, sigma=1.3), RationalQuadratic(1.3, 0.7)),
    ]


class SklearnTest(unittest.TestCase):
    def setUp(self):
        rng = np.random.default_rng(5)
        self.x, self.y = rng.random((90, 6)) * 2, rng.random((31, 6)) * 2
        self.session = Session()

    # Entries: sums of 6 terms up to 24, (d + 8) u of them, in f32 times 2^29.
    def test_kernels(self):
        for name, settings, function in kernels():
            for y in (None, self.y):
                exact = function(self.x, self.x if y is None else y)
                size = max(1, exact.max() / 24)  # of powers
                for dtype, allowed in ((np.float64, 1e-13), (np.float32, 5e-5)):
                    x32, y32 = self.x.astype(dtype), None if y is None else y.astype(dtype)
                    with self.subTest(kernel=name, dtype=dtype.__name__, square=y is None):
                        np.testing.assert_allclose(self.session.kernel(x32, y32, **settings), exact, rtol=0, atol=allowed * size)
                        np.testing.assert_array_equal(self.session.kernel(np.asfortranarray(x32), y32, **settings),
                                                      self.session.kernel(x32, y32, **settings))

    def test_scale(self):  # gamma = 1/(d var), scikit-learn's "scale"
        exact = pairwise.rbf_kernel(self.x, gamma=1 / (6 * self.x.var()))
        ours = self.session.kernel(self.x, kernel="gaussian", bandwidth="scale")
        np.testing.assert_allclose(ours, exact, rtol=0, atol=1e-13)

    # Eigenvalues of theirs are unnormalised; scores may differ in sign. Gaps of these spectra are above 1e-3 lambda_1.
    def test_kernel_pca(self):
        for name, settings, function in kernels():
            with self.subTest(kernel=name):
                peer = KernelPCA(4, kernel="precomputed", eigen_solver="dense").fit(function(self.x, self.x))
                near = function(self.y, self.x)
                theirs = peer.transform(near)
                for values, ours in (self.session.kpca(self.x, self.y, 4, **settings),
                                     self.session.kpca(function(self.x, self.x), near, 4, bring=self.session.kernel_values,
                                                       kernel="user")):
                    np.testing.assert_allclose(values * len(self.x), peer.eigenvalues_, rtol=1e-11)
                    signs = np.sign((ours * theirs).sum(0))
                    np.testing.assert_allclose(ours * signs, theirs, rtol=0, atol=1e-9)

    def test_own_kernels(self):  # without a detour over our formulas
        for ours, theirs in ((dict(kernel="rbf", gamma=0.3), dict(kernel="rbf", gamma=0.3)), (dict(kernel="linear"), dict(kernel="linear"))):
            peer = KernelPCA(4, eigen_solver="dense", **theirs).fit(self.x)
            values, scores = self.session.kpca(self.x, self.x, 4, **ours)
            np.testing.assert_allclose(values * len(self.x), peer.eigenvalues_, rtol=1e-11)
            np.testing.assert_allclose(np.abs(scores), np.abs(peer.transform(self.x)), rtol=0, atol=1e-9)


if __name__ == "__main__":
    LIBRARY = ctypes.CDLL(sys.argv.pop(1))
    LIBRARY.mercer_last_error.restype = TEXT
    unittest.main()
