#!/bin/sh
# serving.sh MERCER SERVING: the program of docs/serving.md on models of both types; it has to serve while models change, and says
# how long a row takes.
set -eu
mercer=$(realpath "$1") serving=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$mercer" demo -o . >/dev/null
for dtype in f64 f32; do
    "$mercer" fit rings.csv --labels ring --dtype $dtype --components 6 -o $dtype.safetensors >/dev/null
    "$serving" $dtype.safetensors 2000 | tee said
    grep -qx '2 threads, 2000 rows each, the model replaced while they ran: yes' said
    [ "$(grep -cE '^median [0-9.]+ us, 99 % below [0-9.]+ us$' said)" = 2 ]
done
! "$serving" none.safetensors 2>said
grep -q 'none.safetensors' said
