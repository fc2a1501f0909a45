#!/bin/sh
# prefix.sh build-folder shared|builtin: an installation under a prefix of one's own, in use without root, ldconfig and any variable
# of the environment: the command, a program, Python; moved as a whole, too. Documents and examples come with it.
set -eu
build=$1 plugins=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }
clean() { env -i HOME="$work" PATH=/usr/bin:/bin "$@"; }

meson install -C "$build" --no-rebuild --quiet --destdir "$work/stage"
mercer=$(find "$work/stage" -path '*/bin/mercer')
mv "${mercer%/bin/mercer}" "$work/own"

use() { # prefix
    clean "$1/bin/mercer" demo -o "$work/demo" >"$work/said" || fail "mercer demo: $(cat "$work/said")"
    clean "$1/bin/mercer" plugins >"$work/said" || fail "mercer plugins: $(cat "$work/said")"
    [ "$plugins" = builtin ] || grep -q "$1/.*/mercer/kernel-gaussian.so" "$work/said" || fail "not its own plugins: $(cat "$work/said")"
    clean ldd "$1/bin/mercer" | grep -q "libmercer.so.* => $1/" || clean ldd "$1/bin/mercer" | grep -q "$1/bin/../.*libmercer" ||
        fail "not its own library: $(ldd "$1/bin/mercer")"
}
use "$work/own"
mv "$work/own" "$work/moved"
use "$work/moved"

# As README.md says, for a program; Python opens the library by its path.
library=$(dirname "$(find "$work/moved" -name libmercer.so)")
awk '$0 == "```c" {on = 1; next} /^```/ && on {exit} on' "$here/../../README.md" >"$work/demo.c"
${CC:-cc} "$work/demo.c" -I"$work/moved/include" -L"$library" -lmercer -Wl,-rpath,"$library" -o "$work/program"
clean "$work/program" >"$work/said" && [ "$(wc -l <"$work/said")" = 6 ] || fail "the program of README.md: $(cat "$work/said")"
if clean python3 -c 'import numpy' 2>"$work/said"; then
    awk '$0 == "```python kpca.py" {on = 1; next} /^```/ && on {exit} on' "$here/../../README.md" |
        sed -e "s|libmercer.so.0|$library/libmercer.so.0|" -e "s|mercer-demo|$work/demo|" >"$work/kpca.py"
    clean python3 "$work/kpca.py" >"$work/said" 2>&1 || fail "README.md in Python: $(cat "$work/said")"
fi

documents=$(dirname "$(find "$work/moved" -path '*/doc/libmercer/README.md')")
for name in LICENSE CHANGELOG.md docs/tutorial.md docs/scores.svg docs/glossary.md docs/examples/serving.cpp docs/examples/scores.c \
    include/README.md bindings/cpp/example.cpp bindings/python/read_model.py; do
    [ -f "$documents/$name" ] || fail "$name was not installed"
done
