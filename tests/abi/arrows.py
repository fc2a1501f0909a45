"""arrows.py source-root [archive]: what may include and link what. Arrows never point back.

Headers of the same room are always allowed, the public headers mercer/mercer.h and mercer/plugin.h everywhere inside src/. The
archive holds the objects of src/: a symbol that one room defines and another uses is an arrow too.
"""
import os
import re
import subprocess
import sys

# The rooms of src/ in their order: what each may include and link, besides itself.
BELOW_GRAM = ['core', 'io', 'host']
BELOW_CERTIFY = [*BELOW_GRAM, 'gram', 'operator', 'factor', 'recipe', 'model']
ROOMS = {
    'core': [],
    'io': ['core'],
    'host': ['core'],
    'gram': BELOW_GRAM,  # files are sources of rows; tiles call kernel plugins
    'operator': [*BELOW_GRAM, 'gram'],
    'factor': [*BELOW_GRAM, 'gram', 'operator'],
    'recipe': [*BELOW_GRAM, 'gram'],
    'model': [*BELOW_GRAM, 'gram', 'recipe'],
    'certify': BELOW_CERTIFY,
    'lift': [*BELOW_CERTIFY, 'certify'],
    'fit': [*BELOW_CERTIFY, 'certify', 'lift'],
    'derive': [*BELOW_CERTIFY, 'certify', 'lift', 'fit'],
    'check': [*BELOW_CERTIFY, 'certify', 'lift', 'fit'],  # runs plugins on problems of its own
    'api': [*BELOW_CERTIFY, 'certify', 'lift', 'fit', 'derive', 'check'],
}
MOST_MODULES, MOST_LINES = 18, 450  # of a room (a header and its source are one module), of a file

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
PUBLIC = {'include/mercer/mercer.h': {'stdint.h'}, 'include/mercer/plugin.h': {'mercer.h', 'float.h', 'stddef.h'},
          'include/mercer/pivots.h': {'plugin.h', 'math.h'}}

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


def check_src(root, path):
    room = path.split('/')[1]
    if room not in ROOMS:
        failures.append(f'{path}: its folder has no row in ROOMS')
        return
    lines = open(os.path.join(root, path), encoding='utf-8').read().count('\n')
    if lines > MOST_LINES:
        failures.append(f'{path} has {lines} lines, at most {MOST_LINES} are allowed')
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
        if target.split('/')[1] not in [room, *ROOMS[room]]:
            fail(path, target, f'{room} may include {", ".join(ROOMS[room]) or "nothing of the other rooms"}')


def check_sizes(root):
    for room in ROOMS:
        modules = {os.path.splitext(name)[0] for name in os.listdir(os.path.join(root, 'src', room))
                   if re.search(r'\.(h|cpp)$', name)}
        if len(modules) > MOST_MODULES:
            failures.append(f'src/{room} has {len(modules)} modules, at most {MOST_MODULES} are allowed')


def check_links(archive):
    """Which room defines a symbol, and which others need it; templates that several rooms define are nobody's."""
    listing = subprocess.run(['nm', '-C', archive], check=True, capture_output=True, text=True).stdout
    defined, needed, room = {}, {}, None
    for line in listing.splitlines():
        member = re.match(r'(\w+?)_\w+\.cpp\.o:$', line)
        if member:
            room = member.group(1)
            continue
        symbol = re.match(r'[0-9a-f ]* ([A-Za-z]) (.+)$', line)
        if not symbol or 'mercer' not in symbol.group(2):
            continue
        kind, name = symbol.groups()
        if kind == 'U':
            needed.setdefault(name, set()).add(room)
        elif kind.isupper() and kind not in 'VW':
            defined.setdefault(name, set()).add(room)
    for name, users in sorted(needed.items()):
        for user in sorted(users):
            owners = defined.get(name, set())
            if owners and not owners & {user, *ROOMS.get(user, [])}:
                failures.append(f'src/{user} links {name} of src/{", ".join(sorted(owners))}')
    return len(defined)


def check_plugins(root, path):
    for name in includes(root, path):
        if name not in ('mercer/plugin.h', 'mercer/pivots.h') and name not in C_LIBRARY:
            fail(path, name, 'plugins include mercer/plugin.h, mercer/pivots.h and the C library')


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


def main(root, archive=None):
    count = 0
    for top, check in {'src': check_src, 'plugins': check_plugins, 'bindings': check_bindings, 'include': check_public}.items():
        for path in source_files(root, top):
            check(root, path)
            count += 1
    for path in source_files(root, 'src'):
        text = open(os.path.join(root, path), encoding='utf-8').read()
        if '#pragma omp' in text and path != 'src/core/threads.cpp':
            failures.append(f'{path} opens a parallel region: only src/core/threads.cpp may')
    check_sizes(root)
    symbols = check_links(archive) if archive else None
    for failure in failures:
        print('FAILED:', failure)
    print(f'{count} files' + (f', {symbols} symbols' if archive else ''))
    return bool(failures) or count < 30 or (symbols is not None and symbols < 300)


sys.exit(main(*sys.argv[1:]))
