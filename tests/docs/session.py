"""Runs the commands that a document shows; their output must be the output that it shows.

```console blocks hold commands ("$ ", continued by "> ") and their output; a line "..." matches any lines. A block
```LANGUAGE FILE is written to that file before the next commands run. The pictures that a document shows
(![...](NAME.svg)) are made by its commands, too. Numbers in the output count as equal if they differ by at most
1e-4 (1 + |number|); times and sizes in bytes may differ.
"""
import os
import re
import shutil
import subprocess
import tempfile

NUMBER = r'[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?'


def same(old, new, relative, absolute):
    """Returns whether two texts are equal, apart from blanks, times, sizes, and differences of numbers of at most
    absolute + relative |number|."""
    def pieces(text):
        return re.split(f'({NUMBER})', ' '.join(re.sub(NUMBER + r' (s|B|[KMG]iB)\b', '#', text).split()))
    a, b = pieces(old), pieces(new)
    return len(a) == len(b) and all(
        x == y if k % 2 == 0 else abs(float(x) - float(y)) <= absolute + relative * abs(float(x))
        for k, (x, y) in enumerate(zip(a, b)))


def shows(old, new):
    """Returns whether the lines `new` match the lines `old` of a document, where "..." matches any lines."""
    def like(part, lines):
        return same('\n'.join(part), '\n'.join(lines), 1e-4, 1e-4)
    if '...' not in old:
        return like(old, new)
    k = old.index('...')
    return like(old[:k], new[:k]) and any(shows(old[k + 1:], new[i:]) for i in range(k, len(new) + 1))


class Session:
    def __init__(self, environment, links):
        """links: {name: folder}; each becomes a symbolic link in the folder in which the commands run."""
        self.folder, self.environment = tempfile.mkdtemp(), environment
        for name, target in links.items():
            os.symlink(target, os.path.join(self.folder, name))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)

    def run(self, command, refused):
        """Returns the lines that the command prints, or None if its program or a module is not installed. The command
        may fail only if `refused` is set, which means that the document shows a refusal."""
        program = command.split()[0]
        if not shutil.which(program, path=self.environment['PATH']) and not os.access(os.path.join(self.folder, program), os.X_OK):
            print(f'not run, because its program is not installed: {command}')
            return None
        done = subprocess.run(['sh', '-c', command], cwd=self.folder, env=self.environment, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode and 'ModuleNotFoundError' in done.stdout:
            print(f'not run, because a module is not installed: {command}')
            return None
        if done.returncode and not refused:
            raise SystemExit(f'FAILED: {command}\n{done.stdout}')
        return done.stdout.rstrip('\n').split('\n') if done.stdout.strip() else []

    def console(self, lines):
        """Returns the block with what its commands print now, or with the old output if that still matches."""
        out, k = [], 0
        while k < len(lines):
            command = [lines[k]]
            while (k := k + 1) < len(lines) and lines[k].startswith('> '):
                command.append(lines[k])
            old = []
            while k < len(lines) and not lines[k].startswith('$ '):
                old.append(lines[k])
                k += 1
            new = self.run('\n'.join(line[2:] for line in command), any(line.startswith('mercer: ') for line in old))
            out += command + (old if new is None or shows(old, new) else new)
        return out

    def replay(self, text):
        """Returns the document as it should be."""
        out, block = [], None
        for line in text.split('\n'):
            if block is None:
                out.append(line)
                if line.startswith('```'):
                    info, block = line[3:].split(), []
            elif line != '```':
                block.append(line)
            else:
                if len(info) > 1:
                    with open(os.path.join(self.folder, info[1]), 'w', encoding='utf-8') as file:
                        file.write('\n'.join(block) + '\n')
                out += (self.console(block) if info == ['console'] else block) + [line]
                block = None
        return '\n'.join(out)

    def pictures(self, text):
        """Returns {name: text} of the pictures that the document shows. The commands must have drawn them."""
        found = {}
        for name in re.findall(r'!\[[^]]*\]\(([\w-]+\.svg)\)', text):
            with open(os.path.join(self.folder, name), encoding='utf-8') as file:
                found[name] = file.read()
        return found
