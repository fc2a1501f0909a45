#!/bin/sh
# consumer.sh installed|uninstalled build-folder shared|builtin: a project of a stranger. Builds consumer.c and consumer.cpp with
# what pkg-config says and nothing else, against a staged installation or the build tree, and runs them: the library has to
# find its plugins by itself.
set -eu
state=$1 build=$2 plugins=$3
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }

if [ "$state" = installed ]; then
    place=$work/stage
    meson install -C "$build" --no-rebuild --quiet --destdir "$place"
    pc=$(find "$place" -name mercer.pc)
    PKG_CONFIG_SYSROOT_DIR=$place
    export PKG_CONFIG_SYSROOT_DIR
    [ -f "$pc" ] || fail "no mercer.pc was installed"
    [ -z "$(sed -n 's/^Requires.*: *//p' "$pc")" ] || fail "mercer.pc needs the .pc files of others: $(grep Requires "$pc")"
    for header in mercer.h mercer.hpp plugin.h; do
        [ -n "$(find "$place" -path "*/include/mercer/$header")" ] || fail "$header was not installed"
    done
    [ -n "$(find "$place" -name LICENSE)" ] || fail "the licence was not installed"
else
    place=$build
    pc=$build/meson-uninstalled/mercer-uninstalled.pc
fi
PKG_CONFIG_PATH=$(dirname "$pc")
PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 PKG_CONFIG_ALLOW_SYSTEM_LIBS=1
export PKG_CONFIG_PATH PKG_CONFIG_ALLOW_SYSTEM_CFLAGS PKG_CONFIG_ALLOW_SYSTEM_LIBS

flags=$(pkg-config --cflags --libs mercer)
${CC:-cc} -std=c11 -Wall -Wextra -Werror "$here/consumer/consumer.c" $flags -lm -o "$work/c"
${CXX:-c++} -std=c++17 -Wall -Wextra -Werror "$here/consumer/consumer.cpp" $flags -o "$work/cpp"

# The program on the README's first screen, as it stands there.
awk '/^```c$/ {on = 1; next} /^```/ && on {exit} on' "$here/../../README.md" > "$work/readme.c"
${CC:-cc} -std=c11 -Wall -Wextra -Werror "$work/readme.c" $flags -o "$work/readme"

# The kernel and the reducer that CONTRIBUTING.md shows, as they stand there: one file each against the installed plugin.h.
mkdir -p "$work/plugins"
for name in kernel-student reducer-first; do
    awk -v file="plugins/${name%%-*}s/${name#*-}.c" '$1 == "+++" && $2 == file {on = 1; next} /^```/ && on {exit} on' \
        "$here/../../CONTRIBUTING.md" | sed 's/^+//' > "$work/$name.c"
    ${CC:-cc} -std=c11 -Wall -Wextra -Werror -O2 -shared -fPIC "$work/$name.c" -o "$work/plugins/$name.so" $(pkg-config --cflags mercer) -lm
done

library=$(dirname "$(find "$place" -name 'libmercer.so.*' ! -path '*.p*' | head -n 1)")
[ -f "$library/libmercer.so" ] || fail "no libmercer.so beside its versioned name"
if [ "$state" = installed ] && [ "$plugins" = shared ]; then
    folder=$(pkg-config --variable=plugindir mercer)
    case $folder in "$place"*) ;; *) folder=$place$folder ;; esac
    [ -f "$folder/kernel-gaussian.so" ] || fail "plugindir is $folder, where there is no plugin"
fi

# Nothing but the library itself may lead to the plugins.
unset MERCER_PLUGIN_PATH XDG_DATA_HOME
[ "$(cd "$work" && HOME=$work LD_LIBRARY_PATH=$library ./readme | wc -l)" = 6 ] || fail "the README's program does not print 6 rows"
for module in "$work"/plugins/*.so; do
    "$build/tests/conformance/conformance" "$module" > "$work/check" 2>&1 || fail "CONTRIBUTING's $module: $(tail -n 2 "$work/check")"
done
for program in c cpp; do
    found=$(cd "$work" && HOME=$work LD_LIBRARY_PATH=$library "./$program") || fail "$program ended with $?: $found"
    echo "$program: $found"
    [ "$plugins" = builtin ] || case $found in "$place"/*) ;; *) fail "the plugins came from '$found', not from $place" ;; esac
done
