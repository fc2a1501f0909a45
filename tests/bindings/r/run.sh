#!/bin/sh
# Builds mercer.c against MERCER_INCLUDE and MERCER_LIB, runs spike.R. 77: not possible here.
set -eu
command -v R >/dev/null || { echo "skipped: R is not installed"; exit 77; }
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here/mercer.c" "$here/spike.R" "$work"
cd "$work"
libdir=$(dirname "$MERCER_LIB")
PKG_CPPFLAGS="-I$MERCER_INCLUDE" PKG_CFLAGS="-Wall -Wextra -Wno-cast-function-type -Werror" PKG_LIBS="-L$libdir -lmercer -Wl,-rpath,$libdir" R CMD SHLIB mercer.c
Rscript --vanilla spike.R
