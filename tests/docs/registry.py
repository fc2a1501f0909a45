"""Tables of everything that the library knows by name, from the output of `mercer methods` and `mercer describe`."""
import json
import re
import subprocess
import textwrap


def cell(text):
    return text.replace('|', r'\|')


def marked(text):
    return re.sub(r'([*_<])', r'\\\1', text)


def code(names, between=' '):
    return between.join(f'`{name}`' for name in names)


def table(heads, rows):
    lines = [heads, ['---'] * len(heads), *rows]
    return ''.join('|' + '|'.join(f' {text} ' if text else ' ' for text in line) + '|\n' for line in lines)


def rows_of_table(text):
    """Returns [[cell, ...], ...] of the first table in a Markdown text, without its head."""
    lines = [line for line in text.split('\n') if line.startswith('|')][2:]
    return [[part.strip() for part in re.split(r'(?<!\\)\|', line)[1:-1]] for line in lines]


def allowed(row):
    if row['part']:
        return 'a name, see below'
    if row['choices']:
        return code(row['choices'])
    if row['type'] == 'bool':
        return '`true` `false`'
    low, high = row['lo'], row['hi']
    if row['type'] == 'text' or low is high is None:
        return row['type']
    if high is None or high >= 9e15:  # 9e15, near the largest exact integer of a double, means no limit
        return f'{row["type"]} {">" if row["lo_open"] else ">="} {low:g}'
    return f'{row["type"]} in {"(" if row["lo_open"] else "["}{low:g}, {high:.15g}{")" if row["hi_open"] else "]"}'


def default(row):
    return f'`{row["default"]}`' if row['default'] else 'automatic' if row['auto'] else ''


def parameter(row):
    return [f'`{row["name"]}`', cell(allowed(row)), default(row), cell(row['doc'])]


class Registry:
    def __init__(self, mercer, environment):
        self.mercer, self.environment, self.known = mercer, environment, {}

    def ask(self, *words):
        if words not in self.known:
            done = subprocess.run([self.mercer, *words, '--json'], env=self.environment, check=True, capture_output=True)
            self.known[words] = json.loads(done.stdout)
        return self.known[words]

    def entries(self, registry):
        return self.ask('methods', registry)[registry]

    def rows(self, name, start=''):
        return [row for row in self.ask('describe', name)['rows'] if row['name'].startswith(start)]

    def names(self, part):
        """Returns the choices for a part such as `reducer`, including those that no registry has."""
        rows = [row for method in self.entries('methods') for row in self.rows(method['name'], part)]
        return next(row['choices'] for row in rows if row['name'] == part)

    # ---- README.md

    def methods(self, _):
        rows = []
        for method in self.entries('methods'):
            value = {row['name']: f'`{row["default"]}`' for row in self.rows(method['name'])}
            rows.append([f'`{method["name"]}`', cell(method['summary']), value.get('reducer', 'automatic'),
                         value.get('lift', 'automatic'), cell(method['reference'])])
        parts = [f'{part}s {code(self.names(part))}' for part in ('reducer', 'lift', 'solver')]
        told = textwrap.fill('The parts: ' + '; '.join(parts) + '.', 120, break_long_words=False, break_on_hyphens=False)
        return table(['method', '', 'reducer', 'lift', 'source'], rows) + f'\n{told}\n'

    def kernel_parameters(self, name):
        groups = {}
        for row in self.rows(name, 'kernel.'):
            text = f'`{row["name"].split(".")[-1]}`' + (f' = {row["default"]}' if row['default'] else '')
            groups.setdefault(row['group'] or row['name'], []).append(text)
        return ', '.join(' or '.join(group) for group in groups.values())

    def kernels(self, old):
        """Renews the table of kernels. The order and the columns of other packages are kept; the rest is the
        registry's."""
        kept = {re.findall('`(.+?)`', row[0])[0]: row[3:] for row in rows_of_table(old)}
        entries = {entry['name']: entry for entry in self.entries('kernels')}
        rows = []
        for name in [name for name in kept if name in entries] + [name for name in entries if name not in kept]:
            names = code([name, *entries[name]['aliases']], ', ')
            summary = self.ask('describe', name)['summary']
            rows.append([names, cell(summary), self.kernel_parameters(name), *kept.get(name, [''] * 4)])
        return table(['kernel', 'k(x, y)', 'parameters', 'scikit-learn', 'kernlab', 'mlpack', 'MATLAB'], rows)

    def fill(self, text):
        """Replaces the text between <!-- NAME: ... --> and <!-- end --> for NAME = methods, kernels."""
        def renewed(match):
            return match[1] + getattr(self, match[2])(match[3]) + match[4]
        return re.sub(r'(<!-- (\w+): .*?-->\n)(.*?)(<!-- end -->)', renewed, text, flags=re.S)

    # ---- docs/parameters.md

    def of_methods(self):
        """Returns the table of the parameters that belong to no kernel or reducer, with the methods that have them."""
        methods = [method['name'] for method in self.entries('methods')]
        found = {}
        for method in methods:
            for row in self.rows(method):
                if row['name'] != 'method' and not row['name'].startswith(('kernel.', 'reducer.')):
                    found.setdefault(row['name'], []).append((method, row))
        out = []
        for having in found.values():
            name, what, value, doc = parameter(having[0][1])
            value = value if len({row['default'] for _, row in having}) == 1 else "the method's"
            out.append([name, what, value, doc, 'all' if len(having) == len(methods) else code(m for m, _ in having)])
        return table(['parameter', 'allowed', 'default', '', 'of the methods'], out)

    def part(self, registry, start):
        out = []
        for entry in self.entries(registry):
            told = self.ask('describe', entry['name'])
            names = code([entry['name'], *entry['aliases']], ', ')
            source = f' ({told["reference"]})' if told['reference'] else ''
            out.append(f'**{names}**: {marked(told["summary"])}{source}\n')
            rows = self.rows(entry['name'], start)
            if rows:
                out.append(table(['parameter', 'allowed', 'default', ''], map(parameter, rows)))
        return '\n'.join(out)

    def parameters(self):
        return f'''# Methods and parameters

Made by `./dev docs` from the registries of the library: what `mercer methods` and `mercer describe NAME` print. A
parameter is the flag `--part.name` of `mercer fit`, and `mercer_recipe_set(recipe, "part.name", "value")` in C. Its last
part is enough where that is unique: `--sigma`. A recipe has only the parameters that have an effect in it.

## Methods

{table(['method', '', 'source'], [[f'`{m["name"]}`', cell(m['summary']), cell(m['reference'])] for m in self.entries('methods')])}
{self.of_methods()}
## Kernels

{self.part('kernels', 'kernel.')}
## Reducers

{self.part('reducers', 'reducer.')}
## Lifts

{self.part('lifts', 'none.')}
## Solvers

{self.part('solvers', 'none.')}
## Operations

The outputs of a model for rows: `mercer transform --what NAME`.

{self.part('operations', '')}
## Derivations

Operations that make a model from models, each a command: `mercer NAME MODEL -o NEW`. Parameters of reducers are listed
above.

{self.part('derivations', 'output.')}'''
