"""symbols.py include-folder tests/abi/layout.c libmercer.so abi [plugin.so ...]

The library exports the functions of mercer.h and nothing else; a plugin exports mercer_plugin and needs nothing of the
library or of a BLAS; layout.c pins every public struct, and each opens with struct_size but for those that are only parts of others.
"""
import re
import subprocess
import sys

import public_headers

failures = []


def expect(condition, text):
    if not condition:
        failures.append(text)


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def dynamic_symbols(path, which):
    # "address type name@version", the address missing where undefined; type A is the name of a version
    rows = [line.split() for line in output('nm', '-D', which, path).splitlines()]
    return sorted(row[-1].split('@')[0] for row in rows if row[-2] != 'A')


def check_library(path, declared, abi):
    exported = dynamic_symbols(path, '--defined-only')
    expect(exported == declared, f'exported but not in mercer.h: {sorted(set(exported) - set(declared))}; '
                                 f'in mercer.h but not exported: {sorted(set(declared) - set(exported))}')
    expect(len(declared) <= 50, f'mercer.h has {len(declared)} functions, must be at most 50')
    dynamic = output('readelf', '-dW', path)
    expect(f'[libmercer.so.{abi}]' in dynamic, f'{path}: its soname is not libmercer.so.{abi}')
    for flag in 'NOW', 'NODELETE':
        expect(re.search(r'FLAGS.*\b' + flag, dynamic), f'{path}: not linked with -z {flag.lower()}')
    # clang's -fopenmp names the folder of its own libomp
    paths = [found for found in re.findall(r'R(?:UN)?PATH.*\[(.*)\]', dynamic) if not re.fullmatch(r'/usr/lib/llvm-\d+/lib', found)]
    expect(not paths, f'{path}: it has a run path, {paths}')
    expect('TEXTREL' not in dynamic, f'{path}: it has text relocations')
    segments = output('readelf', '-lW', path)
    expect('GNU_RELRO' in segments, f'{path}: no relro')
    expect(re.search(r'GNU_STACK.* RW ', segments), f'{path}: its stack is executable')


def check_plugin(path):
    exported = dynamic_symbols(path, '--defined-only')
    expect(exported == ['mercer_plugin'], f'{path}: exports {exported}, must be mercer_plugin alone')
    foreign = [name for name in dynamic_symbols(path, '--undefined-only')
               if re.match(r'mercer|cblas|LAPACKE|openblas|_Z.*mercer|omp_|GOMP|d?(gemm|syrk|trsm|potrf|syev)', name)]
    expect(not foreign, f'{path}: needs {foreign}')
    expect(re.search(r' R mercer_plugin$| D mercer_plugin$', output('nm', '-D', path), re.M), f'{path}: mercer_plugin is no data')


PARTS = ['mercer_figure', 'mercer_range'] # of other structs, or passed by value


def check_layout(path, structs):
    pinned = {}
    for name, field in re.findall(r'^AT\((\w+), (\w+), \d+\);', open(path, encoding='utf-8').read(), re.M):
        pinned.setdefault(name, []).append(field)
    for name, fields in structs.items():
        expect(fields[0] == 'struct_size' or name in PARTS, f'{name} opens with {fields[0]}')
        expect(pinned.get(name) == fields, f'layout.c pins {pinned.get(name)} of {name}, the header has {fields}')


include, layout, library, abi, *plugins = sys.argv[1:]
headers = [f'{include}/mercer/{name}' for name in ('mercer.h', 'plugin.h')]
declared = public_headers.functions(headers[0])
structs = {name: fields for header in headers for name, fields in public_headers.structs(header).items()}
expect(len(structs) > 30, 'the headers were not understood')
check_library(library, declared, abi)
check_layout(layout, structs)
for plugin in plugins:
    check_plugin(plugin)
for failure in failures:
    print('FAILED:', failure)
print(f'{len(declared)} functions, {len(structs)} structs, {len(plugins)} plugins')
sys.exit(bool(failures))
