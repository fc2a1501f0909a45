#!/bin/sh
# headers.sh include-folder compilers...: the public headers compile without a warning in every language they promise,
# each on its own, and layout.c with them; nothing but mercer.h, plugin.h, pivots.h and the standard libraries is included.
set -eu
include=$1
shift
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
checks=0

compile() { # compiler, standard, source, further flags
    "$1" -std="$2" -Wall -Wextra -Wpedantic -Wshadow -Werror $4 -I"$include" -fsyntax-only "$3" ||
        { echo "failed: $1 -std=$2 $3" >&2; exit 1; }
    checks=$((checks + 1))
}

for name in mercer.h plugin.h pivots.h mercer.hpp; do
    for extension in c cpp; do
        printf '#include <mercer/%s>\n#include <mercer/%s>\nint main(void);\n' "$name" "$name" >"$work/$name.$extension"
    done
done

for compiler; do
    case $compiler in
    *++*)
        for standard in c++17 c++20; do
            for name in mercer.h plugin.h pivots.h mercer.hpp; do
                compile "$compiler" "$standard" "$work/$name.cpp" '-Wconversion -Wsign-conversion'
            done
            compile "$compiler" "$standard" "$here/layout.c" '-x c++'
        done ;;
    *)
        for standard in c11 c17; do
            for name in mercer.h plugin.h pivots.h; do
                compile "$compiler" "$standard" "$work/$name.c" '-Wstrict-prototypes -Wpadded'
            done
            compile "$compiler" "$standard" "$here/layout.c" ''
        done ;;
    esac
done
echo "$checks compilations without a warning"
