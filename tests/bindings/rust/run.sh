#!/bin/sh
# Builds spike.rs with the rustc that comes first and runs it against MERCER_LIB. 77: not possible here.
set -eu
command -v rustc >/dev/null || { echo "skipped: rustc is not installed"; exit 77; }
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
libdir=$(dirname "$MERCER_LIB")
rustc --version
rustc --edition 2021 -O -D warnings -L "native=$libdir" -C "link-arg=-Wl,-rpath,$libdir" -o "$work/spike" "$here/spike.rs"
"$work/spike"
