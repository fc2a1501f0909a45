"""make_layout.py include-folder [cc]: prints the pinned part of layout.c as it is now. For the days of MERCER_ABI 0, when
structs still change; afterwards lines are only added by hand."""
import os
import subprocess
import sys
import tempfile

import public_headers

include, compiler = sys.argv[1], (sys.argv[2:] or ['cc'])[0]
lines = ['#include <mercer/plugin.h>', '#include <stdio.h>', 'int main(void) {']
for header in 'mercer.h', 'plugin.h':
    for name, fields in public_headers.structs(f'{include}/mercer/{header}').items():
        lines.append(f'printf("\\nSIZE({name}, %zu);\\n", sizeof({name}));')
        lines += [f'printf("AT({name}, {field}, %zu);\\n", offsetof({name}, {field}));' for field in fields]
with tempfile.TemporaryDirectory() as folder:
    source = os.path.join(folder, 'layout.c')
    with open(source, 'w', encoding='utf-8') as file:
        file.write('\n'.join([*lines, 'return 0;', '}']))
    subprocess.run([compiler, '-I' + include, source, '-o', source + '.out'], check=True)
    subprocess.run([source + '.out'], check=True)
