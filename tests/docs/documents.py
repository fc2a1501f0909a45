"""documents.py MERCER BENCH SOURCE [--write]: are the documents what the library says of itself?

README.md                           its commands are run; tables of methods and kernels: the registry
docs/parameters.md                  the registry
docs/reference.md                   the comments of mercer.h
docs/tutorial.md and its pictures   its commands are run
docs/choosing.md                    rows of the bench that it names: there are such
With --write they are made to be (`./dev docs`); else a difference is an error.
"""
import difflib
import os
import re
import subprocess
import sys
import tempfile

from reference import reference
from registry import Registry, rows_of_table
from session import Session, same


def wanted(mercer, read, home):
    """{path: its text as it should be}, which is what is there where that is as good."""
    environment = {'PATH': f'{os.path.dirname(mercer)}:/usr/bin:/bin', 'HOME': home, 'LC_ALL': 'C.UTF-8',
                   'OMP_WAIT_POLICY': 'passive'} # no plugins but the library's own
    registry = Registry(mercer, environment)
    out = {'docs/parameters.md': registry.parameters(),
           'docs/reference.md': reference(read('include/mercer/mercer.h'))}
    with Session(environment) as session:
        out['README.md'] = session.replay(registry.fill(read('README.md')))
    with Session(environment) as session:
        out['docs/tutorial.md'] = session.replay(read('docs/tutorial.md'))
        for name, picture in session.pictures(out['docs/tutorial.md']).items():
            path = f'docs/{name}'
            out[path] = read(path) if same(read(path), picture, 0, 0.11) else picture
    return out


def unknown_rows(bench, text):
    """Names in the last column of the tables, that being "bench row", which the bench does not list."""
    listed = subprocess.run([bench, '--list'], check=True, capture_output=True, text=True).stdout.split('\n')
    known = {line.split()[0] for line in listed if line}
    tables = [part for part in text.split('\n\n') if re.match(r'\|.*\| bench row \|\n', part)]
    named = {name for part in tables for row in rows_of_table(part) for name in re.findall('`(.+?)`', row[-1])}
    if not named:
        raise SystemExit('FAILED: docs/choosing.md names no row of the bench')
    return sorted(named - known)


def main(mercer, bench, source, *options):
    source = os.path.abspath(source)

    def read(path):
        try:
            with open(os.path.join(source, path), encoding='utf-8') as file:
                return file.read()
        except FileNotFoundError:
            return ''

    def write(path, text):
        with open(os.path.join(source, path), 'w', encoding='utf-8') as file:
            file.write(text)
        print(f'wrote {path}')

    def complain(path, text):
        print(f'FAILED: {path} is not up to date; ./dev docs makes it so')
        lines = difflib.unified_diff(read(path).split('\n'), text.split('\n'), 'there', 'made now', lineterm='', n=1)
        print('\n'.join(list(lines)[:40]))

    with tempfile.TemporaryDirectory() as home:
        texts = wanted(os.path.abspath(mercer), read, home)
    stale = {path: text for path, text in texts.items() if text != read(path)}
    for path, text in stale.items():
        (write if options == ('--write',) else complain)(path, text)
    unknown = unknown_rows(os.path.abspath(bench), read('docs/choosing.md'))
    if unknown:
        print(f'FAILED: docs/choosing.md: the bench has no row {", ".join(unknown)}')
    print(f'{len(texts)} documents, {len(stale)} were not up to date')
    return bool(unknown) or bool(stale and not options)


sys.exit(main(*sys.argv[1:]))
