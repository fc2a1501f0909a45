"""Calls libmercer from Python by ctypes and numpy; a package could start from this file.

A callback must not raise into C, because ctypes would print the exception and return an arbitrary value. So the
exception is kept, and raised after the call. While native code runs, a handler of this file catches SIGINT, because an
exception raised by Python's handler would surface at the first bytecode of a callback, before any try. Our handler sets
the cancel flag, and the old handler runs after the call.
"""
import ctypes as C
import os
import signal
import threading
import weakref

import numpy as np

i32, i64, f64, ptr, text = C.c_int32, C.c_int64, C.c_double, C.c_void_p, C.c_char_p


def struct(name, /, **fields):
    def init(self, **values):
        C.Structure.__init__(self, struct_size=C.sizeof(type(self)), **values)
    return type(name, (C.Structure,), {"_fields_": [("struct_size", i64), *fields.items()], "__init__": init})


View = struct("View", dtype=i32, reserved=i32, rows=i64, cols=i64, row_stride=i64, col_stride=i64, data=ptr)
PROGRESS = C.CFUNCTYPE(i32, ptr, ptr)
TILE = C.CFUNCTYPE(i32, ptr, C.POINTER(View), C.POINTER(View), C.POINTER(View))
RELEASE, WRITE = C.CFUNCTYPE(None, ptr), C.CFUNCTYPE(i32, ptr, ptr, i64)
READ = C.CFUNCTYPE(i32, ptr, ptr, i64, C.POINTER(i64))
Run = struct("Run", threads=i64, memory=i64, progress=PROGRESS, user=ptr, cancel=C.POINTER(i32))
UserKernel = struct("UserKernel", flags=i32, reserved=i32, tile=TILE, user=ptr, release=RELEASE)
Output = struct("Output", name=text, doc=text, rows=i64, cols=i64, dtype=i32, reserved=i32)
Sink, Source = struct("Sink", write=WRITE, user=ptr), struct("Source", read=READ, user=ptr)

lib = C.CDLL(os.environ.get("MERCER_LIB", "libmercer.so.0"))
lib.mercer_last_error.restype = text
DTYPES = {1: np.float32, 2: np.float64, 3: np.int64}
CODES = {np.dtype(t): code for code, t in DTYPES.items()}


class MercerError(RuntimeError):
    status = 0


def check(status):
    if status:
        error = MercerError(lib.mercer_last_error().decode("utf-8", "replace"))
        error.status = status
        raise error


def view_of(array):
    """Returns a view of the array's own memory. numpy counts strides in bytes, and the stride of a side of length 0
    or 1 is arbitrary there."""
    rows, cols = array.shape
    strides = [s // array.itemsize for s in array.strides]
    if cols <= 1:
        strides[1] = 1
    if rows <= 1:
        strides[0] = cols if strides[1] == 1 else 1
    if array.size == 0:
        strides = [cols, 1]
    return View(dtype=CODES[array.dtype], rows=rows, cols=cols, row_stride=strides[0], col_stride=strides[1], data=array.ctypes.data)


def array_of(view, base=None):
    """Returns the view's memory as an array that keeps base alive. The views of a callback are valid only during it."""
    dtype = np.dtype(DTYPES[view.dtype])
    if view.rows * view.cols == 0:
        return np.empty((view.rows, view.cols), dtype)
    last = (view.rows - 1) * view.row_stride + (view.cols - 1) * view.col_stride
    memory = (C.c_char * ((last + 1) * dtype.itemsize)).from_address(view.data)
    memory.base = base
    strides = (view.row_stride * dtype.itemsize, view.col_stride * dtype.itemsize)
    return np.ndarray((view.rows, view.cols), dtype, memory, strides=strides)


class Call:
    """One long call, with its mercer_run, the handling of the interrupt key, and the exceptions of its callbacks."""
    # The innermost call of each thread. A kernel may be used by several calls, and its exceptions
    # belong to the call that is using it.
    here = threading.local()

    def __init__(self, progress=None):
        self.cancel, self.progress = i32(0), progress
        self.raised = self.interrupted = self.inside = None
        self.callback = PROGRESS(lambda user, told: self.guard(self.progress) if self.progress else 0)
        self.run = Run(progress=self.callback, cancel=C.pointer(self.cancel))

    def guard(self, function, *args):
        try:
            self.inside = True
            function(*args)
            return 0
        except BaseException as error:
            self.raised = self.raised or error
            return 1
        finally:
            self.inside = False

    def on_signal(self, number, frame):
        self.cancel.value, self.interrupted = 1, (number, frame)
        if self.inside:
            raise KeyboardInterrupt

    def __call__(self, function, *args):
        main = threading.current_thread() is threading.main_thread()
        before = signal.signal(signal.SIGINT, self.on_signal) if main else None
        outer, Call.here.call = getattr(Call.here, "call", None), self
        try:
            status = function(*args, C.byref(self.run))
        finally:
            Call.here.call = outer
            if main:
                signal.signal(signal.SIGINT, before)
        if self.interrupted and callable(before):
            before(*self.interrupted)
        if self.raised:
            raise self.raised
        check(status)


class Handle:
    def __init__(self, kind, make, *keep):
        self._as_parameter_, self.keep = ptr(), keep
        check(make(C.byref(self._as_parameter_)))
        self._end = weakref.finalize(self, getattr(lib, f"mercer_{kind}_destroy"), self._as_parameter_)


class Kernel:
    """A kernel function(x, y) -> k of tiles. `living` keeps it alive until the library calls release; no handle
    does."""
    living = {}

    def __init__(self, function):
        def tile(user, x, y, k):
            def fill():
                array_of(k[0])[:] = function(array_of(x[0]), array_of(y[0]))
            return Call.here.call.guard(fill)
        key = id(self)
        self.struct = UserKernel(tile=TILE(tile), user=key, release=Kernel.release)
        Kernel.living[key] = self

    @RELEASE
    def release(user):
        Kernel.living.pop(user)


context = Handle("context", lib.mercer_context_create)


def data(array):
    return Handle("data", lambda out: lib.mercer_data_from_view(out, context, C.byref(view_of(array))), array)


class Model(Handle):
    def __init__(self, make):
        super().__init__("model", make)

    @classmethod
    def fit(cls, array, method, function=None, progress=None, **parameters):
        recipe = Handle("recipe", lambda out: lib.mercer_recipe_create(out, context, method.encode()))
        pairs = [(n.replace("__", ".").encode(), str(v).encode()) for n, v in parameters.items()]
        if pairs:
            names, values = ((text * len(pairs))(*side) for side in zip(*pairs))
            check(lib.mercer_recipe_set_many(recipe, names, values, i64(len(pairs))))
        if function:
            check(lib.mercer_recipe_set_kernel(recipe, C.byref(Kernel(function).struct)))
        x = data(array)
        return cls(lambda out: Call(progress)(lib.mercer_model_fit, out, recipe, x))

    def transform(self, array, what=None):
        x, out, count = data(array), Output(), i64()
        recipe = what and Handle("recipe", lambda out: lib.mercer_recipe_create(out, context, what.encode()))
        check(lib.mercer_model_output(self, recipe, x, i64(0), C.byref(out), C.byref(count)))
        scores = np.empty((out.rows, out.cols), DTYPES[out.dtype])
        Call()(lib.mercer_model_transform, self, recipe, x, C.byref(view_of(scores)), i64(1))
        return scores

    def tensor(self, name):
        view = View()
        check(lib.mercer_model_tensor(self, name.encode(), C.byref(view)))
        return array_of(view, self)

    def bind(self, function):
        struct = Kernel(function).struct
        return Model(lambda out: lib.mercer_model_bind(out, self, C.byref(struct)))

    def __reduce__(self):
        parts = []
        check(lib.mercer_model_write(self, C.byref(Sink(write=WRITE(lambda u, b, n: parts.append(C.string_at(b, n)) or 0)))))
        return Model.read, (b"".join(parts),)

    @classmethod
    def read(cls, content):
        at = 0

        def read(user, to, capacity, count):
            nonlocal at
            part = content[at:at + capacity]
            C.memmove(to, part, len(part))
            count[0], at = len(part), at + len(part)
            return 0
        return cls(lambda out: lib.mercer_model_read(out, context, C.byref(Source(read=READ(read)))))
