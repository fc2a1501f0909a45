"""Documents that show a session: their commands are run, and their output has to be the output shown.

```console blocks hold commands ("$ ", continued by "> ") and their output; a line "..." matches any lines. A block
```LANGUAGE FILE is written to that file first. Pictures that a document shows (![...](NAME.svg)) come from the session too.
Numbers count as equal if they agree to a few units of the last digit shown; times and sizes in bytes may differ.
"""
import os
import re
import shutil
import subprocess
import tempfile

NUMBER = r'[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?'


def same(old, new, relative, absolute):
    """Are two texts equal but for blanks, times and sizes, and numbers that close?"""
    def pieces(text):
        return re.split(f'({NUMBER})', ' '.join(re.sub(NUMBER + r' (s|B|[KMG]iB)\b', '#', text).split()))
    a, b = pieces(old), pieces(new)
    return len(a) == len(b) and all(
        x == y if k % 2 == 0 else abs(float(x) - float(y)) <= absolute + relative * abs(float(x))
        for k, (x, y) in enumerate(zip(a, b)))


def shows(old, new):
    """Are the lines `new` what a document shows as `old`, where "..." is any lines?"""
    def like(part, lines):
        return same('\n'.join(part), '\n'.join(lines), 1e-4, 1e-4)
    if '...' not in old:
        return like(old, new)
    k = old.index('...')
    return like(old[:k], new[:k]) and any(shows(old[k + 1:], new[i:]) for i in range(k, len(new) + 1))


class Session:
    def __init__(self, environment, links):
        """links: {name: folder} that the commands find in their own folder."""
        self.folder, self.environment = tempfile.mkdtemp(), environment
        for name, target in links.items():
            os.symlink(target, os.path.join(self.folder, name))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)

    def run(self, command, refused):
        """The lines that it prints; None if its program is not installed. It may fail only where a refusal is shown."""
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
        """The block with what its commands print now; what they printed before where that is the same."""
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
        """The document as it should be."""
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
        """{name: its text} of the pictures that a document shows and this session has drawn."""
        found = {}
        for name in re.findall(r'!\[[^]]*\]\(([\w-]+\.svg)\)', text):
            with open(os.path.join(self.folder, name), encoding='utf-8') as file:
                found[name] = file.read()
        return found
