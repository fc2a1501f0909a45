"""What the public headers declare: functions, and structs with their fields in order."""
import re


def without_comments(path):
    text = open(path, encoding='utf-8').read()
    return re.sub(r'/\*.*?\*/|//[^\n]*', ' ', text, flags=re.S)


def functions(path):
    return sorted(set(re.findall(r'MERCER_API[^;(]*?\b(mercer_\w+)\s*\(', without_comments(path))))


def structs(path):
    found = {}
    pattern = r'(?:typedef )?struct (mercer_\w+) \{(.*?)\n\}'
    for name, body in re.findall(pattern, without_comments(path), flags=re.S):
        fields = []
        for field in body.split(';'):
            pointer = re.match(r'[^(]*\(\*(\w+)\)\s*\(', field, flags=re.S)
            if pointer:
                fields.append(pointer.group(1))
            elif field.strip():
                first, *more = field.split(',')
                fields += [part.split()[-1].lstrip('*') for part in [first, *more]]
        found[name] = fields
    return found
