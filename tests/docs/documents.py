"""documents.py MERCER SOURCE [--write]: are the documents what the library says of itself?

README.md                           its commands are run; tables of methods and kernels: the registry
docs/parameters.md                  the registry
docs/reference.md                   the comments of mercer.h
docs/tutorial.md and its pictures   its commands are run
With --write they are made to be (`./dev docs`); else a difference is an error.
"""
import difflib
import os
import sys
import tempfile

from reference import reference
from registry import Registry
from session import Session, same


def wanted(mercer, source, read, home):
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
            out[path] = read(path) if same(read(path), picture, 0.05) else picture
    return out


def main(mercer, source, *options):
    source = os.path.abspath(source)

    def read(path):
        try:
            with open(os.path.join(source, path), encoding='utf-8') as file:
                return file.read()
        except FileNotFoundError:
            return ''

    with tempfile.TemporaryDirectory() as home:
        texts = wanted(os.path.abspath(mercer), source, read, home)
    stale = 0
    for path, text in texts.items():
        if text == read(path):
            continue
        stale += 1
        if options == ('--write',):
            with open(os.path.join(source, path), 'w', encoding='utf-8') as file:
                file.write(text)
            print(f'wrote {path}')
        else:
            print(f'FAILED: {path} is not up to date; ./dev docs makes it so')
            lines = difflib.unified_diff(read(path).split('\n'), text.split('\n'), 'there', 'made now', lineterm='', n=1)
            print('\n'.join(list(lines)[:40]))
    print(f'{len(texts)} documents, {stale} not up to date')
    return 0 if options else stale > 0


sys.exit(main(*sys.argv[1:]))
