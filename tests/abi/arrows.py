"""arrows.py source-root: what may include what (DESIGN section 2). Arrows never point back.

A row names a folder and what its files may include: a folder means any of its headers, a file only that one. Headers of the
same folder are always allowed, the public headers mercer/mercer.h and mercer/plugin.h everywhere inside src/.
"""
import os
import re
import sys

ARROWS = {
    'src/core': [],
    'src/io': ['src/core', 'src/gram/source.h'],  # npy files are sources of rows
    'src/host': ['src/core'],
    'src/gram': ['src/core', 'src/host'],  # tiles call kernel plugins
    'src/model': ['src/core', 'src/host', 'src/gram', 'src/io'],
    'src/fit': ['src/core', 'src/host', 'src/gram', 'src/io', 'src/model'],
    'src/check': ['src/core', 'src/host', 'src/gram', 'src/fit'],  # runs plugins on problems of its own
    'src/api': ['src/core', 'src/host', 'src/gram', 'src/io', 'src/model', 'src/fit', 'src/check'],
}

# Headers of others that are the business of a few files only.
KEEPERS = {
    r'cblas\.h|lapacke\.h': ['src/core/blas.cpp'],
    r'omp\.h': ['src/core/blas.cpp', 'src/core/threads.cpp'],
    r'dlfcn\.h': ['src/host/modules.cpp'],
    r'zlib\.h': ['src/io/safetensors.cpp'],
    r'nlohmann/.*': ['src/core/json.h'],
}
GENERATED = {'plugin_aliases.h'}
C_LIBRARY = {'assert.h', 'float.h', 'limits.h', 'math.h', 'stdbool.h', 'stddef.h', 'stdint.h', 'stdlib.h', 'string.h'}
PUBLIC = {'include/mercer/mercer.h': {'stdint.h'}, 'include/mercer/plugin.h': {'mercer.h', 'float.h', 'stddef.h'}}

failures = []


def fail(path, included, why):
    failures.append(f'{path} includes {included}: {why}')


def source_files(root, top):
    for folder, subfolders, files in os.walk(os.path.join(root, top)):
        subfolders[:] = [name for name in subfolders if name not in ('target', 'build')]
        for file in files:
            if re.search(r'\.(c|h|cc|cpp|hpp)$', file):
                yield os.path.relpath(os.path.join(folder, file), root)


def includes(root, path):
    text = open(os.path.join(root, path), encoding='utf-8').read()
    return re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', text, re.M)


def allowed(target, rows):
    return any(target == row or target.startswith(row + '/') for row in rows)


def check_src(root, path):
    folder = '/'.join(path.split('/')[:2])
    if folder not in ARROWS:
        failures.append(f'{path}: its folder has no row in ARROWS')
        return
    for name in includes(root, path):
        if name.startswith('mercer/'):
            if name not in ('mercer/mercer.h', 'mercer/plugin.h'):
                fail(path, name, 'src uses mercer.h and plugin.h only')
            continue
        for pattern, keepers in KEEPERS.items():
            if re.fullmatch(pattern, name) and path not in keepers:
                fail(path, name, f'only {", ".join(keepers)} may')
        target = os.path.normpath(os.path.join(os.path.dirname(path), name))
        if name in GENERATED or not os.path.exists(os.path.join(root, target)):
            continue
        if not allowed(target, [folder, *ARROWS[folder]]):
            fail(path, target, f'{folder} may include {ARROWS[folder] or "nothing of the other folders"}')


def check_plugins(root, path):
    for name in includes(root, path):
        if name != 'mercer/plugin.h' and name not in C_LIBRARY:
            fail(path, name, 'plugins include mercer/plugin.h and the C library')


def check_bindings(root, path):
    if path.startswith('bindings/cli/skeletons/'):  # plugins that `mercer plugin-new` writes
        return check_plugins(root, path)
    for name in includes(root, path):
        target = os.path.normpath(os.path.join(os.path.dirname(path), name))
        if name.startswith('mercer/') and name not in ('mercer/mercer.h', 'mercer/mercer.hpp'):
            fail(path, name, 'bindings use mercer.h or mercer.hpp')
        if target.startswith(('src/', 'plugins/', 'tests/')):
            fail(path, name, 'bindings use installed headers only')


def check_public(root, path):
    standard = {name for name in includes(root, path) if re.fullmatch(r'[a-z_]+', name)}
    extra = set(includes(root, path)) - PUBLIC.get(path, standard | {'mercer.h'})
    for name in extra:
        fail(path, name, 'public headers include each other and the standard library')


def main(root):
    count = 0
    for top, check in {'src': check_src, 'plugins': check_plugins, 'bindings': check_bindings, 'include': check_public}.items():
        for path in source_files(root, top):
            check(root, path)
            count += 1
    for path in source_files(root, 'src'):
        text = open(os.path.join(root, path), encoding='utf-8').read()
        if '#pragma omp' in text and path != 'src/core/threads.cpp':
            failures.append(f'{path} opens a parallel region: only src/core/threads.cpp may')
    for failure in failures:
        print('FAILED:', failure)
    print(f'{count} files')
    return bool(failures) or count < 30


sys.exit(main(sys.argv[1]))
