#!/bin/sh
# Builds mercer_mex.cpp against MERCER_INCLUDE and MERCER_LIB, runs spike.m, then a session that is interrupted. 77: not possible here.
set -eu
command -v mkoctfile >/dev/null && command -v octave-cli >/dev/null || { echo "skipped: octave and octave-dev are not installed"; exit 77; }
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here"/*.m "$work"
cd "$work"
libdir=$(dirname "$MERCER_LIB")
mkoctfile --mex -Wall -Wextra -Werror -o mercer_mex.mex "$here/mercer_mex.cpp" "-I$MERCER_INCLUDE" "-L$libdir" -lmercer "-Wl,-rpath,$libdir"
octave-cli --no-init-file --norc --no-history -q spike.m
printf '%s\n' 'global late = []' 'press_key stream' 'press_key kernel' 'press_key tile' late \
    'if (numel (late) == 3 && all (late < 0.5)) disp ("interrupts arrived"), end' >session
octave-cli --no-init-file --norc --no-history -q <session >out 2>&1 || { cat out; exit 1; }
cat out
grep -q '^interrupts arrived' out
