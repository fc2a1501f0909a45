#!/bin/sh
# consumer.sh installed|uninstalled build-folder shared|builtin [cmake] [compiler ...]: a project of a stranger. Builds consumer.c
# and consumer.cpp with what pkg-config (and find_package of CMake) says and nothing else, against a staged installation or the
# build tree, and runs them: the library has to find its plugins by itself. The same for the example of bindings/cpp. Then makes,
# builds and uses plugins of its own.
set -eu
state=$1 build=$2 plugins=$3
shift 3
cmake=
case ${1-} in */cmake) cmake=$1; shift ;; esac
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
    for header in mercer.h mercer.hpp pivots.h plugin.h; do
        [ -n "$(find "$place" -path "*/include/mercer/$header")" ] || fail "$header was not installed"
    done
    [ -n "$(find "$place" -name LICENSE)" ] || fail "the licence was not installed"
    [ -n "$(find "$place" -path '*/bash-completion/completions/mercer')" ] || fail "the completion was not installed"
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
${CXX:-c++} -std=c++17 -Wall -Wextra -Werror "$here/../../bindings/cpp/example.cpp" $flags -o "$work/example"

# The programs on the README's first screen, as they stand there.
for language in c cpp; do
    awk -v fence="\`\`\`$language" '$0 == fence {on = 1; next} /^```/ && on {exit} on' "$here/../../README.md" > "$work/readme.$language"
done
${CC:-cc} -std=c11 -Wall -Wextra -Werror "$work/readme.c" $flags -o "$work/readme-c"
${CXX:-c++} -std=c++17 -Wall -Wextra -Werror "$work/readme.cpp" $flags -o "$work/readme-cpp"

# The kernel and the reducers that CONTRIBUTING.md shows, as they stand there: one file each against the installed headers.
mkdir -p "$work/plugins"
for name in kernel-student reducer-first reducer-tempered; do
    awk -v file="plugins/${name%%-*}s/${name#*-}.c" '$1 == "+++" && $2 == file {on = 1; next} /^```/ && on {exit} on' \
        "$here/../../CONTRIBUTING.md" | sed 's/^+//' > "$work/$name.c"
    ${CC:-cc} -std=c11 -Wall -Wextra -Werror -O2 -shared -fPIC "$work/$name.c" -o "$work/plugins/$name.so" $(pkg-config --cflags mercer) -lm
done

library=$(dirname "$(find "$place" -name 'libmercer.so.*' ! -path '*.p/*' | head -n 1)")
[ -f "$library/libmercer.so" ] || fail "no libmercer.so beside its versioned name"
if [ "$state" = installed ] && [ "$plugins" = shared ]; then
    folder=$(pkg-config --variable=plugindir mercer)
    case $folder in "$place"*) ;; *) folder=$place$folder ;; esac
    [ -f "$folder/kernel-gaussian.so" ] || fail "plugindir is $folder, where there is no plugin"
fi

# Nothing but the library itself may lead to the plugins.
unset MERCER_PLUGIN_PATH XDG_DATA_HOME
for language in c cpp; do
    (cd "$work" && HOME=$work LD_LIBRARY_PATH=$library "./readme-$language") > "$work/readme-$language.out" || fail "the README's program in $language"
done
[ "$(wc -l < "$work/readme-c.out")" = 6 ] || fail "the README's program does not print 6 rows"
cmp "$work/readme-c.out" "$work/readme-cpp.out" || fail "the README's programs in C and C++ do not print the same"
for module in "$work"/plugins/*.so; do
    "$build/tests/conformance/conformance" "$module" > "$work/check" 2>&1 || fail "CONTRIBUTING's $module: $(tail -n 2 "$work/check")"
done
(cd "$work" && HOME=$work LD_LIBRARY_PATH=$library ./example) > "$work/said" || fail "example.cpp ended with $?"
diff "$here/../../bindings/cpp/expected.txt" "$work/said" || fail "example.cpp prints something else"

# Every function of mercer.h is reached through mercer.hpp: consumer.cpp, which calls none itself, needs them all.
functions() { nm -D "$1" "$2" | sed -n 's/.* [TU] \(mercer_[a-z_0-9]*\).*/\1/p' | sort -u; }
! grep -nE 'mercer_[a-z_]+\(' "$here/consumer/consumer.cpp" || fail "consumer.cpp calls the C functions"
functions --defined-only "$library/libmercer.so" > "$work/exported"
functions --undefined-only "$work/cpp" | diff "$work/exported" - || fail "mercer.hpp does not reach these functions"

for program in c cpp; do
    found=$(cd "$work" && HOME=$work LD_LIBRARY_PATH=$library "./$program") || fail "$program ended with $?: $found"
    echo "$program: $found"
    [ "$plugins" = builtin ] || case $found in "$place"/*) ;; *) fail "the plugins came from '$found', not from $place" ;; esac
done

# Installed as a static library, too: the program needs no other file of ours.
archive=$(find "$place" -name libmercer.a)
if [ "$state" = installed ] && [ "$archive" ]; then
    static=$(pkg-config --static --cflags --libs mercer | sed 's/-lmercer/-l:libmercer.a/')
    ${CC:-cc} -std=c11 -Wall -Wextra -Werror "$here/consumer/consumer.c" $static -lm -o "$work/static"
    (cd "$work" && ./static) || fail "the statically linked program ended with $?"
    ! ldd "$work/static" | grep -q libmercer || fail "it was linked with the shared library"
fi

if [ "$state" = installed ] && [ "$cmake" ]; then
    version=$(pkg-config --modversion mercer)
    prefix=$(pkg-config --variable=prefix mercer)
    prefix=${prefix#"$place"}
    # elsewhere than it was installed to: the package must not know where it lies
    mv "$place" "$work/moved"
    "$cmake" -S "$here/consumer" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$work/moved$prefix" \
        -DMERCER_VERSION="$version" > "$work/log" 2>&1 &&
        "$cmake" --build "$work/cmake" >> "$work/log" 2>&1 || fail "CMake: $(tail -n 20 "$work/log")"
    mv "$work/moved" "$place"
    for program in c cpp static; do
        [ ! -x "$work/cmake/$program" ] || (cd "$work" && HOME=$work LD_LIBRARY_PATH=$library "./cmake/$program") ||
            fail "CMake's $program ended with $?"
    done
fi

# What `mercer plugin-new` writes builds as it says with every compiler, conforms, and can be fitted with.
[ "$state" = installed ] || exit 0
mercer=$(find "$place" -path '*/bin/mercer')
LD_LIBRARY_PATH=$library HOME=$work
export LD_LIBRARY_PATH HOME
cd "$work"
"$mercer" demo -o demo > /dev/null
for kind in kernel reducer solver; do
    "$mercer" plugin-new $kind my-own -C plugins > said
    line=$(sed -n 's/^  cc //p' said)
    for compiler in "$@"; do
        (cd plugins && eval "$compiler -Wpedantic -Werror $line") || fail "$compiler: the $kind of plugin-new"
        "$mercer" plugin-check plugins/$kind-my-own.so > check || fail "the $kind of plugin-new: $(tail -n 1 check)"
        tail -n 1 check | grep -qx conforms || fail "no verdict on the $kind of plugin-new"
    done
    method=subsampled
    [ $kind != solver ] || method=kpca
    MERCER_PLUGIN_PATH=$work/plugins "$mercer" fit demo/rings.csv --labels ring --method $method --$kind my-own --components 2 -o own.safetensors --json > fit ||
        fail "a fit with the $kind of plugin-new: $(cat fit)"
    grep -q '"my-own' fit || fail "the $kind of plugin-new was not used"
done
