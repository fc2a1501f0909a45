#!/bin/sh
# first_hour.sh SOURCE: what `./dev demo` and `./dev setup --build-only` install and build, with stand-ins for apt-get, dpkg-query and
# meson that write down how they were called: no more than a build needs, in a folder in which `./dev build` then adds the tests.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*" >&2; cat "$work/calls" >&2; exit 1; }
mkdir -p "$work/bin" "$work/tree/bindings/cli" "$work/tree/build/deps/unity/lib/pkgconfig"
cp "$1/dev" "$work/tree"
: >"$work/tree/build/deps/unity/lib/pkgconfig/unity.pc"
echo 'echo "demo $1" >>"$CALLS"' >"$work/tree/bindings/cli/demo.sh"
for name in apt-get sudo; do printf '#!/bin/sh\necho "%s $*" >>"$CALLS"\n' $name >"$work/bin/$name"; done
printf '#!/bin/sh\nexit 1\n' >"$work/bin/dpkg-query" # nothing is installed
cat >"$work/bin/meson" <<'END'
#!/bin/sh
echo "meson $*" >>"$CALLS"
case $1 in
    setup) mkdir -p "$2"; echo 'build src/libmercer.so.0: x' >"$2/build.ninja" ;;
    configure) echo 'build tests/a: x' >>"$2/build.ninja" ;;
esac
END
chmod +x "$work/bin"/*
export CALLS="$work/calls" PATH="$work/bin:$PATH"
unset BUILD

dev() { : >"$CALLS"; "$work/tree/dev" "$@" >"$work/said" 2>&1 || fail "dev $*: $(cat "$work/said")"; }
called() { grep -q -- "$1" "$CALLS" || fail "no '$1'"; }
lean() {
    called 'install.* g++ .*libopenblas-dev'
    ! grep -qE 'r-base|octave|rustc|clang|valgrind|cmocka|cmake|numpy|sklearn|gcovr' "$CALLS" || fail "$1 installs what no build needs"
}

dev setup --build-only
lean 'setup --build-only'
! grep -q '^meson ' "$CALLS" || fail 'setup builds'
dev demo
lean demo
called 'meson setup build/release .*-Dtests=false'
called 'meson compile -C build/release demo$'
called '^demo build/release$'
dev build
called 'install.*cmocka'
called 'meson configure build/release -Dtests=true'
dev demo # keeps the tests
! grep -qE '^meson (setup|configure)' "$CALLS" || fail 'demo configures anew'
dev build
! grep -qE '^meson (setup|configure)' "$CALLS" || fail 'build configures anew'
! "$work/tree/dev" setup --all >"$work/said" 2>&1 || fail 'setup takes any word'
