"""documents.py MERCER BENCH SOURCE [--write]: do the documents say what the library says of itself?

README.md                           output of its commands; tables of methods and kernels from the registry
docs/parameters.md                  made from the registry
docs/reference.md                   made from the comments of mercer.h
docs/*.md and their pictures        output of their commands
docs/choosing.md                    the rows of the bench that it names must exist
With --write the documents are brought up to date (`./dev docs`); otherwise a difference is an error.
"""
import glob
import difflib
import os
import re
import subprocess
import sys
import tempfile

from reference import reference
from registry import Registry, rows_of_table
from session import Session, same


def wanted(mercer, read, home, pages, links):
    """Returns {path: the text that the file should have}, which is the present text if it differs only in details
    that may vary."""
    build = os.path.dirname(os.path.dirname(os.path.dirname(mercer)))
    # HOME is an empty folder and MERCER_PLUGIN_PATH is not set, so only the library's own plugins
    # are found.
    environment = {'PATH': f'{os.path.dirname(mercer)}:/usr/bin:/bin', 'HOME': home, 'LC_ALL': 'C.UTF-8',
                   'OMP_WAIT_POLICY': 'passive',
                   'LD_LIBRARY_PATH': f'{build}/src', 'PKG_CONFIG_PATH': f'{build}/meson-uninstalled'}
    registry = Registry(mercer, environment)
    out = {'README.md': registry.fill(read('README.md')), 'docs/parameters.md': registry.parameters(),
           'docs/reference.md': reference(read('include/mercer/mercer.h'))}
    for path in ['README.md', *pages]:
        with Session(environment, links) as session:
            out[path] = session.replay(out.get(path) or read(path))
            for name, picture in session.pictures(out[path]).items():
                drawn = f'{os.path.dirname(path)}/{name}'
                out[drawn] = read(drawn) if same(read(drawn), picture, 0, 0.11) else picture
    return out


def unknown_rows(bench, text):
    """Returns the names in the last column of the tables, if its title is "bench row", that the bench does not list."""
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

    pages = sorted(os.path.relpath(path, source) for path in glob.glob(os.path.join(source, 'docs', '*.md')))
    with tempfile.TemporaryDirectory() as home:
        texts = wanted(os.path.abspath(mercer), read, home, pages, {'examples': os.path.join(source, 'docs', 'examples')})
    stale = {path: text for path, text in texts.items() if text != read(path)}
    for path, text in stale.items():
        (write if options == ('--write',) else complain)(path, text)
    unknown = unknown_rows(os.path.abspath(bench), read('docs/choosing.md'))
    if unknown:
        print(f'FAILED: docs/choosing.md: the bench has no row {", ".join(unknown)}')
    print(f'{len(texts)} documents, {len(stale)} were not up to date')
    return bool(unknown) or bool(stale and not options)


sys.exit(main(*sys.argv[1:]))
