"""The reference of the C interface as Markdown. All descriptions come from the comments of mercer.h.

A comment belongs to the declarations that follow it without a blank line; one that stands alone is prose of its section.
A function, struct or enum without a comment is an error.
"""
import re
import textwrap

SECTION = re.compile(r'/\* -{4} (.+?) -+ \*/')
CONSTANT = re.compile(r'(MERCER_\w+) = (\d+),?\s*(?:/\* (.*?) \*/)?')


class Group:
    """A comment and the declarations under it."""

    def __init__(self):
        self.comment, self.declarations = [], []

    def functions(self):
        return re.findall(r'MERCER_API[^;(]*?\b(mercer_\w+)\s*\(', '\n'.join(self.declarations))

    def types(self):
        return re.findall(r'typedef struct (mercer_\w+)', '\n'.join(self.declarations))

    def names(self):
        return self.types() + self.functions()


def groups_of(text):
    """Returns [(title of the section, [Group])]. The comment that opens the header is in the section ''."""
    sections, group, lines = [('', [])], Group(), iter(text.split('\n'))

    def close():
        nonlocal group
        if group.comment or group.declarations:
            sections[-1][1].append(group)
        group = Group()

    for line in lines:
        title = SECTION.fullmatch(line)
        if title:
            close()
            sections.append((title[1], []))
        elif line.startswith('/*'):
            close()
            group.comment.append(line)
            while '*/' not in line:
                line = next(lines)
                group.comment.append(line)
        elif not line.strip():
            close()
        elif line.startswith('#'):
            while line.endswith('\\'):
                line = next(lines)
        elif line != 'extern "C" {' and line != '}':
            declaration = line
            while declaration.count('{') > declaration.count('}') or ';' not in declaration.split('}')[-1]:
                declaration += '\n' + next(lines)
            group.declarations.append(declaration)
    close()
    return sections


def undocumented(sections):
    return [name for _, groups in sections for group in groups if not group.comment
            for name in group.names() or [' '.join(text.split())[:60] for text in group.declarations]]


def plain(comment):
    """Returns the lines of the comment without its frame."""
    text = '\n'.join(comment)[2:].rsplit('*/', 1)[0]
    return [re.sub(r'^ \* ?', '', line).rstrip() for line in text.strip().split('\n')]


def marked(text, known):
    """Marks names as code, with a link if they have an entry or are a document, and escapes all other markup."""
    def shown(word):
        if word[0] in '`"':
            return word
        place = f'#{word}' if word in known else f'../{word}' if word.endswith('.md') else ''
        return f'[`{word}`]({place})' if place else f'`{word}`'
    parts = re.split(r'(`[^`]*`|"[^"]*"|\b[A-Za-z][\w/]*(?:\.\w+)+\b|\b\w+_\w+\b)', text)
    parts[1::2] = map(shown, parts[1::2])
    parts[::2] = [re.sub(r'([*_<|\[\]])', r'\\\1', part) for part in parts[::2]]
    return ''.join(parts)


def prose(comment, known):
    """Returns the comment as Markdown. Paragraphs and lists ("- ") keep their lines; a block of which every line is
    indented is shown verbatim."""
    out = []
    for block in '\n'.join(plain(comment)).split('\n\n'):
        lines = block.split('\n')
        if all(line.startswith('  ') for line in lines):
            out.append('```\n' + textwrap.dedent(block) + '\n```\n')
        else:
            out.append('\n'.join(marked(line, known) for line in lines) + '\n')
    return '\n'.join(out)


def codes(group, known):
    rows = ['| code | name | meaning |', '| --- | --- | --- |']
    for name, number, meaning in CONSTANT.findall(group.declarations[0]):
        meaning = marked(meaning or 'a usable object exists; its outcome may say more', known)
        rows.append(f'| {number} | `{name}` | {meaning} |')
    return '\n'.join(rows) + '\n'


def entry(group, known):
    names, out = group.names(), []
    if names:
        heading = group.functions() or names
        others = [name for name in names if [name] != heading] # a heading of one name is its own anchor
        out += [''.join(f'<a id="{name}"></a>' for name in others) + '\n'] if others else []
        out.append('### ' + ', '.join(f'`{name}`' for name in heading) + '\n')
    text = prose(group.comment, known)
    if any('MERCER_E_ARGUMENT =' in text for text in group.declarations):
        return out + [text, codes(group, known)]
    if group.declarations:
        lines = '\n'.join(group.declarations)
        lines = re.sub(r'^MERCER_API (.*?;)', lambda m: m[1].replace('\n' + ' ' * 11, '\n'), lines, flags=re.M | re.S)
        out.append(f'```c\n{lines}\n```\n')
    return out + [text]


def reference(header):
    """header: the text of mercer.h."""
    sections = groups_of(header)
    missing = undocumented(sections)
    if missing:
        raise SystemExit(f'mercer.h: no comment at {", ".join(missing)}')
    known = {name for _, groups in sections for group in groups for name in group.names()}
    opening = sections[0][1][0]
    out = ['# The C interface\n',
           'Made by `./dev docs` from the comments of [mercer.h](../include/mercer/mercer.h); change them there. C++ has the'
           '\nsame as classes in [mercer.hpp](../include/mercer/mercer.hpp), the command `mercer` as flags.\n',
           '| section | functions |', '| --- | --- |']
    for title, groups in sections[1:]:
        names = [f'[`{name}`](#{name})' for group in groups for name in group.functions()]
        out.append(f'| [{title}](#{title}) | {" ".join(names)} |')
    out += ['', prose(opening.comment, known)]
    for title, groups in sections[1:]:
        out.append(f'## {title}\n')
        for group in groups:
            out += entry(group, known)
    return '\n'.join(out)
