"""same_bits.py BUILD_A BUILD_B: do two builds of the library give the same models, bit for bit?

This is a test for changes that move code and must not change a number. Each build (a build folder of Meson) fits all
methods to rows that resemble real data, in both types, with the kernel matrix streamed and stored, on 1, 2 and 8
threads; other reducers, kernels, scalings, certificates and kinds of data are fitted on 2 threads. The models are
applied to rows, and every fifth one is compressed. Tensors and outputs are compared as bytes, and the largest
difference is counted in units of rounding of the largest entry of its column.
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

ROWS, QUERIES, COLUMNS = 1500, 200, 5
DTYPES = {'F32': np.float32, 'F64': np.float64, 'I64': np.int64}


def rows(count, seed):
    """Returns rows in clusters of unequal size, with a skewed column, a column with heavy tails, and repeated rows."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(count, COLUMNS)) * 0.4 + random.choice(6, size=(count, 1), p=[.4, .3, .1, .1, .05, .05])
    x[:, 1] = np.exp(x[:, 1])
    x[:, 2] += 0.1 * random.standard_t(2, size=count)
    x[count // 2:count // 2 + 20] = x[:20]
    return x


def read(path):
    with open(path, 'rb') as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), 'little')))
        data = file.read()
    return {name: np.frombuffer(data[slice(*entry['data_offsets'])], DTYPES[entry['dtype']]).reshape(entry['shape'])
            for name, entry in header.items() if name != '__metadata__'}


def cases():
    storages = ([], ['--storage', 'stream'], ['--storage', 'f64'], ['--storage', 'f32'])
    small = ['--components', '6', '--seed', '3']
    methods = ['kpca', 'auto', 'nystrom', 'gkpca', 'nystrom-full', 'subsampled', 'diffusion', 'laplacian-eigenmaps',
               'ncut', 'rskpca', 'rskpca-kmeans', 'rskpca-paring', 'rskpca-herding', 'wnystrom']
    takes_m = {'nystrom', 'gkpca', 'nystrom-full', 'subsampled', 'rskpca-kmeans', 'rskpca-paring', 'rskpca-herding', 'wnystrom'}
    stores = set(methods) - {'nystrom', 'gkpca'}
    for method in methods:
        own = ['--method', method, *small] + (['--m', '120'] if method in takes_m else [])
        for storage in storages if method in stores else storages[:1]:
            for dtype in ('f32', 'f64'):
                for threads in ('1', '2', '8'):
                    yield dtype, [*own, *storage, '--threads', threads]
    two = ['--threads', '2', *small]
    for reducer in ('farthest', 'greedy', 'herding', 'kmeans', 'leverage', 'rpcholesky', 'thinning', 'uniform'):
        for method in ('nystrom', 'subsampled', 'nystrom-full', 'diffusion'):
            yield 'f32', ['--method', method, '--reducer', reducer, '--m', '90', *two]
    for kernel in ('laplacian', 'cosine', 'polynomial', 'matern', 'linear', 'gaussian[0-2] * laplacian[3-4] + 0.5 linear'):
        yield 'f64', ['--method', 'nystrom', '--kernel', kernel, '--m', '80', *two]
        yield 'f32', ['--method', 'kpca', '--kernel', kernel, *two]
    for certificates in ('none', 'cheap', 'rows', 'exact'):
        yield 'f64', ['--method', 'nystrom', '--m', '100', '--certificates', certificates, *two]
        yield 'f32', ['--method', 'rskpca-kmeans', '--m', '100', '--certificates', certificates, *two]
    for more in (['--scale', 'standard'], ['--scale', 'minmax'], ['--ritz', '20'], ['--centred', 'false'],
                 ['--reducer.weights', 'voronoi'], ['--assignment', 'true'], ['--variance', '0.8']):
        yield 'f64', ['--method', 'rskpca-kmeans', '--m', '100', *more, *two]
    for solver in ('dense', 'block-krylov', 'orthogonal'):
        yield 'f64', ['--method', 'kpca', '--solver', solver, *two]
    for accuracy in ('0.1', '0.001'):
        yield 'f64', ['--method', 'auto', '--accuracy', accuracy, *two]
    for method in ('kpca', 'nystrom', 'gkpca', 'diffusion', 'rskpca-kmeans'):
        yield 'square', ['--method', method, '--precomputed', 'kernel', *two] + (['--m', '60'] if method in takes_m else [])


def run(build, folder, number, data, words):
    """Returns the tensors of a fitted model, those of its compressed model and its scores, or the message of a
    refusal."""
    command = os.path.join(build, 'bindings/cli/mercer')
    env = {**os.environ, 'MERCER_PLUGIN_PATH': os.path.join(os.path.abspath(build), 'plugins'), 'OMP_WAIT_POLICY': 'passive'}
    model = os.path.join(folder, 'model.safetensors')

    def call(*args):
        return subprocess.run([command, *args], env=env, capture_output=True, text=True)
    out = call('fit', os.path.join(folder, data + '.npy'), *words, '-o', model)
    if out.returncode != 0:
        return {'refused': out.stderr.splitlines()[-1:]}
    found = dict(read(model))
    if data == 'square':
        return found
    scores = os.path.join(folder, 'scores.npy')
    if call('transform', model, os.path.join(folder, 'queries.npy'), '-o', scores).returncode == 0:
        found['scores'] = np.load(scores)
    if number % 5 == 0 and call('compress', model, '--m', '25', '-o', model).returncode == 0:
        found.update({'compressed.' + name: tensor for name, tensor in read(model).items()})
    return found


def units(a, b):
    """Returns the largest difference in units of rounding of the largest entry of its column."""
    if a.dtype == np.int64:
        return np.inf
    scale = np.abs(a).max(axis=0) if a.size else 1
    with np.errstate(all='ignore'):
        return float(np.nanmax(np.abs(a - b) / (np.finfo(a.dtype).eps / 2 * np.where(scale > 0, scale, 1))))


def main(before, after):
    compared = differing = refused = 0
    with tempfile.TemporaryDirectory() as folder:
        x = rows(ROWS, 1)
        np.save(os.path.join(folder, 'f64.npy'), x)
        np.save(os.path.join(folder, 'f32.npy'), x.astype(np.float32))
        np.save(os.path.join(folder, 'queries.npy'), rows(QUERIES, 2))
        some = x[:400]
        np.save(os.path.join(folder, 'square.npy'), np.exp(-((some[:, None] - some[None]) ** 2).sum(axis=2)))
        for number, (data, words) in enumerate(cases()):
            a, b = run(before, folder, number, data, words), run(after, folder, number, data, words)
            title = data + ' ' + ' '.join(words)
            if 'refused' in a or 'refused' in b:
                refused += 1
                if a != b:
                    differing += 1
                    print(f'{title}: {a.get("refused", "a model")} before, {b.get("refused", "a model")} after')
                continue
            compared += 1
            names = sorted(set(a) | set(b))
            wrong = [name for name in names if name not in a or name not in b or a[name].dtype != b[name].dtype or
                     a[name].shape != b[name].shape or a[name].tobytes() != b[name].tobytes()]
            for name in wrong:
                same_kind = name in a and name in b and a[name].shape == b[name].shape and a[name].dtype == b[name].dtype
                print(f'{title}: {name} differs' + (f' by {units(a[name], b[name]):.3g} units' if same_kind else ' in kind'))
            differing += bool(wrong)
    print(f'{compared} models compared, {refused} refused by one or both, {differing} differ')
    return differing > 0 or compared < 150


sys.exit(main(*sys.argv[1:]))
