"""links.py SOURCE: checks that every link and every file name in each .md exists, and that a README names every folder.

`code` that looks like the name of a source file must be one, relative to the folder of the document or to the root, or
as the end of any path; a file that is made from one (.in) counts, too. {a,b} and * are expanded, and capitals as in
NAME.c stand for any name. Each folder must have a README.md, or the nearest README.md above must name it.
"""
import fnmatch
import itertools
import os
import re
import sys

SKIPPED = {'.git', 'build', '__pycache__', '.cache'}
SOURCE_NAME = re.compile(r'[\w{},*./-]+\.(?:c|h|cpp|hpp|py|sh|R|rs|in|md|build)')


def tree(root):
    files, folders = [], []
    for folder, inside, names in os.walk(root):
        inside[:] = sorted(name for name in inside if name not in SKIPPED)
        here = os.path.relpath(folder, root)
        folders.append(here)
        files += [os.path.normpath(os.path.join(here, name)) for name in names]
    return folders, files


def without_blocks(text):
    return re.sub(r'^```.*?^```$', '', text, flags=re.M | re.S)


def anchors(text):
    """Returns the anchors that GitHub makes of the headings, and the ids."""
    heads = re.findall(r'^#+ (.+)$', without_blocks(text), re.M)
    return {re.sub(r'[^\w\- ]', '', head.lower()).replace(' ', '-') for head in heads} | set(re.findall(r'<a id="([^"]+)"', text))


def expanded(name):
    """a.{c,h} -> a.c, a.h"""
    parts = [part[1:-1].split(',') if part.startswith('{') else [part] for part in re.split(r'(\{[^}]*\})', name)]
    return [''.join(choice) for choice in itertools.product(*parts)]


class Tree:
    def __init__(self, root):
        self.root = root
        self.folders, self.files = tree(root)
        self.texts, self.failures = {}, []
        for path in self.files:
            if path.endswith('.md'):
                with open(os.path.join(root, path), encoding='utf-8') as file:
                    self.texts[path] = file.read()

    def is_file(self, folder, name):
        if re.search(r'\b[A-Z]+\b', name.replace('_', ' ')) and not name.endswith('README.md'):
            return True
        places = [os.path.normpath(os.path.join(folder, name)), '*/' + name.removeprefix('../')]
        return any(fnmatch.fnmatchcase(start + file.removesuffix('.in'), place)
                   for file in self.files for start in ('', '/') for place in places)

    def check_links(self, path, text):
        folder = os.path.dirname(path)
        for target in re.findall(r'\]\(([^)\s]+)\)', without_blocks(text)):
            if re.match(r'\w+:', target):
                continue
            file, _, anchor = target.partition('#')
            full = os.path.normpath(os.path.join(folder, file)) if file else path
            if full not in self.files and full not in self.folders:
                self.failures.append(f'{path}: the link {target} leads nowhere')
            elif anchor and anchor not in anchors(self.texts.get(full, '')):
                self.failures.append(f'{path}: the link {target} has no heading there')

    def check_names(self, path, text):
        for code in filter(SOURCE_NAME.fullmatch, re.findall(r'`([^`\n]+)`', without_blocks(text))):
            self.failures += [f'{path}: there is no {name}' for name in expanded(code)
                              if not self.is_file(os.path.dirname(path), name)]

    def check_folder(self, folder):
        above, parts = folder, []
        while os.path.normpath(os.path.join(above, 'README.md')) not in self.files:
            above, part = os.path.split(above)
            parts.insert(0, part)
            above = above or '.'
        readme = self.texts[os.path.normpath(os.path.join(above, 'README.md'))]
        if parts and not re.search(r'[`/ ]' + re.escape(parts[-1]) + r'[`/]', readme):
            self.failures.append(f'{folder}: it has no README.md, and {above}/README.md does not tell of it')

    def check(self):
        for path, text in self.texts.items():
            self.check_links(path, text)
            if path != 'CHANGELOG.md':  # the change log also names files that no longer exist
                self.check_names(path, text)
        for folder in self.folders:
            if any(os.path.dirname(file) == ('' if folder == '.' else folder) for file in self.files):
                self.check_folder(folder)


def main(root):
    found = Tree(root)
    found.check()
    for failure in found.failures:
        print('FAILED:', failure)
    print(f'{len(found.texts)} documents, {len(found.folders)} folders')
    return bool(found.failures) or len(found.texts) < 20


sys.exit(main(sys.argv[1]))
