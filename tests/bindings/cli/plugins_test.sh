#!/bin/sh
# `mercer plugins`, `plugin-check` and `plugin-new` as a script sees them: plugins_test.sh MERCER FOLDER-OF-HOSTILE-PLUGINS PLUGIN
# sanitized|shipped|plain. The hostile ones crash, hang and cheat: each has to get a verdict that names the check it was in.
set -u
mercer=$(realpath "$1") hostile=$(realpath "$2") sound=$3 build=$4
python=/usr/bin/python3
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
checks=0 failures=0

fail() {
    failures=$((failures + 1))
    printf 'FAILED: %s\n' "$1"
    head -c 600 err
}

# status WANTED WORDS...: runs mercer with these words into out and err
status() {
    checks=$((checks + 1))
    wanted=$1
    shift
    "$mercer" "$@" >out 2>err </dev/null
    got=$?
    [ $got = "$wanted" ] || fail "exit code $got, not $wanted: mercer $*"
}
says() { checks=$((checks + 1)) && { grep -qF -- "$1" err || fail "standard error does not say: $1"; }; }
shows() { checks=$((checks + 1)) && { grep -qF -- "$1" out || fail "standard output does not show: $1"; }; }
json() { checks=$((checks + 1)) && { $python -m json.tool <out >/dev/null || fail 'standard output is no JSON'; }; }

# ---- a verdict ---------------------------------------------------------------------------------------------------------

status 0 plugin-check "$sound" && shows 'pass: symmetry' && [ "$(tail -n 1 out)" = conforms ] || fail 'no verdict'
status 0 plugin-check "$sound" --json && json && shows '"conforms": true' && shows '"symmetry"'
(cd "$hostile" && "$mercer" plugin-check kernel-marker.so >"$work/out" 2>"$work/err") || fail 'a relative path'
ln -s "$hostile" elsewhere
status 0 plugin-check elsewhere/kernel-marker.so
status 2 plugin-check
status 2 plugin-check kernel-nothing && says 'nothing'
status 2 plugin-check gaussian && says 'PLUGIN = gaussian, must be a file such as ./kernel-own.so, or a name such as kernel-gaussian'
status 2 plugin-check "$sound" --timeout 0
status 4 plugin-check "$hostile/kernel-ops-null.so" && says 'does not conform: ' && says 'ops is NULL'
status 4 plugin-check "$hostile/kernel-missing.so" && says 'No such file'
status 4 plugin-check "$hostile/kernel-undefined.so" --json && json && shows 'undefined symbol'
shows 'kernel-undefined.so: undefined symbol' # and not the number under which the linker opened it
status 0 plugin-check kernel-linear && shows 'not present: finish' && shows 'not present: log_map' && shows 'not present: derivative'
status 0 plugin-check kernel-sigmoid && shows 'not claimed: positive semidefinite' && shows 'pass: several threads'

# verdict NAME TEXT: this plugin does not conform, and the text says where and why
verdict() {
    before=$(date +%s)
    status 4 plugin-check "$hostile/kernel-$1.so" --timeout 4
    says 'does not conform: '
    says "$2"
    checks=$((checks + 1))
    [ $(($(date +%s) - before)) -le 20 ] || fail "kernel-$1 took $(($(date +%s) - before)) s"
    [ "$(wc -l <err)" -le 1 ] || [ "$build" = sanitized ] || fail "kernel-$1: more than one line"
}
at="in the check 'values'"
verdict exits "$at: it ended the process, with exit status 0"
verdict spins "$at: it did not finish within 4 s (--timeout)"
verdict sleeps "$at: it did not finish within 4 s"
verdict stops "$at: it did not finish within 4 s"
verdict floods 'it wrote to standard output or error (it printed: all is well'
verdict forks 'it left processes behind'
verdict closes 'it ended the process, with exit status 0'
verdict rounds 'it changed the floating-point mode'
verdict throws 'exception'
verdict oops 'kernel oops: values: map threw an exception: oops'
if [ "$build" = shipped ]; then
    verdict crashes "$at: it crashed: Segmentation fault"
    verdict aborts "$at: it crashed: Aborted"
    verdict leaks "$at: it crashed: Segmentation fault"
else
    verdict crashes "$at: it "
    verdict aborts "$at: it "
fi
checks=$((checks + 1))
ps -eo args | grep -F "$hostile/" | grep -v grep && fail 'a hostile plugin is still running'

# ---- what there is, and where was looked -------------------------------------------------------------------------------

mkdir a b
cp "$hostile/kernel-marker.so" a && cp "$hostile/kernel-marker.so" "$hostile/kernel-ops-null.so" b
echo text >b/kernel-text.so
MERCER_PLUGIN_PATH=$work/a:$work/b:relative
export MERCER_PLUGIN_PATH
status 0 plugins && shows 'solver   block-krylov' && shows gaussian && shows rbf && shows "$work/a/kernel-marker.so"
shows 'ops is NULL' && shows 'not an ELF file'
status 0 plugins --trace && shows "$work/a: 1 plugin" && shows "$work/b: 3 plugins" && shows 'relative: a plugin folder must be absolute'
shows "the same as $work/a/kernel-marker.so" && shows 'refused, it is not an ELF file'
status 0 plugins --trace --json && json && shows '"folders"' && shows '"state": "found"'
status 4 fit X.npy --method kpca --kernel text -o M && says 'kernel-text.so: refused'
status 2 fit X.npy --method kpca --kernel nothing -o M && says "'relative' was not searched"
strip -o b/kernel-marker.so "$hostile/kernel-marker.so" 2>/dev/null # of the same build, as packages install it
status 0 describe marker && status 0 plugins --trace && shows "the same as $work/a/kernel-marker.so"
cp "$hostile/kernel-aged-1.so" a/kernel-aged.so && cp "$hostile/kernel-aged-2.so" b/kernel-aged.so # one name, two plugins
for words in 'fit X.npy --method kpca --kernel aged -o M' 'describe aged' 'plugin-check kernel-aged'; do
    status 4 $words && says "two different plugins are called kernel 'aged', $work/a/kernel-aged.so and $work/b/kernel-aged.so"
done
status 0 plugins && shows "two different plugins are called kernel 'aged'"
status 0 plugins --trace && shows "not the same as $work/a/kernel-aged.so"
status 0 describe gaussian
unset MERCER_PLUGIN_PATH

# ---- a model without its plugin ------------------------------------------------------------------------------------------

mkdir aged && cp "$hostile/kernel-aged-1.so" aged/kernel-aged.so
seq 40 | awk '{print sin($1) "," cos(3 * $1) "," $1 % 7}' >rows.csv
MERCER_PLUGIN_PATH=$work/aged
export MERCER_PLUGIN_PATH
status 0 fit rows.csv --method kpca --kernel aged --height 2 --components 2 -o A.safetensors --scores Z.npy
status 0 info A.safetensors && shows kpca && cp A.safetensors before
unset MERCER_PLUGIN_PATH
status 0 info A.safetensors && shows kpca && shows eigenvalue && says 'warning: this model can only be inspected: the kernel'
says 'there is no kernel-aged.so in'
status 0 info A.safetensors --json && json && shows '"missing"'
status 0 convert A.safetensors -o A.json
status 0 plot A.safetensors -o A.svg
status 4 transform A.safetensors rows.csv -o Z2.npy && says "there is no kernel-aged.so in"
status 4 transform A.safetensors rows.csv -o Z2.npy --json && json && shows '"code": 7'
MERCER_PLUGIN_PATH=$work/aged
export MERCER_PLUGIN_PATH
status 0 transform A.safetensors rows.csv -o Z2.npy
checks=$((checks + 1))
cmp -s Z.npy Z2.npy || fail 'not the scores of the fit'
cp "$hostile/kernel-aged-2.so" aged/kernel-aged.so # it became another
changed="the model was fitted with the kernel 'aged', version \"1.0\", and $work/aged/kernel-aged.so is version \"2.0\""
status 0 transform A.safetensors rows.csv -o Z2.npy && says "warning: $changed"
status 0 info A.safetensors --json && json && says "warning: $changed" && shows '"changed"'
unset MERCER_PLUGIN_PATH

# ---- a fit notices what a plugin does wrong -------------------------------------------------------------------------------

mkdir careless && cp "$hostile"/*-careless.so "$hostile/kernel-oops.so" careless
MERCER_PLUGIN_PATH=$work/careless
export MERCER_PLUGIN_PATH
fits() { status 0 fit rows.csv "$@" --components 3 -o C.safetensors; }
refused() { status "$code" fit rows.csv "$@" --components 3 -o C.safetensors; }
for dtype in f64 f32; do
    code=4
    solver="--method kpca --data.dtype $dtype --kernel gaussian --solver careless --solver.fault"
    fits $solver none
    refused $solver vectors && says 'solver careless gave vector 0 of length 0, must be 1'
    refused $solver length && says 'solver careless gave vector 0 of length 2, must be 1'
    refused $solver order && says 'solver careless gave eigenvalue 1 = ' && says 'must descend'
    refused $solver dimension && says 'solver careless: dense: lda = 1, must be >= n = '
    refused $solver block && says 'solver careless: block: columns = -1, must be 0 to '
    refused $solver negative && says 'solver careless returned most_negative = nan, must be finite'
    refused $solver cost && says 'solver careless forecasts passes = -1, must be 0 to 2^60'
    doubts() { fits "$@" && says 'not converged' && refused_strictly "$@"; }
    refused_strictly() { status 5 fit rows.csv "$@" --solver.strict true --components 3 -o C.safetensors && says 'solver careless did not converge'; }
    doubts $solver eager
    doubts $solver honest
    fits $solver nearly --solver.strict true
    reducer="--method subsampled --data.dtype $dtype --kernel gaussian --reducer careless --reducer.fault"
    fits $reducer none
    refused $reducer twice && says 'reducer careless gave row 4 twice, must be once at most'
    refused $reducer more && says 'reducer careless forecast at most 10 centres and gave 30'
    refused $reducer bytes && says 'reducer careless forecasts bytes = 9223372036854775807, must be 0 to 2^60'
    refused $reducer flops && says 'reducer careless forecasts flops = nan, must be finite and >= 0'
    refused $reducer beyond && says 'reducer careless: visit: rows 9223372036854775807 to '
    refused $reducer count && says 'reducer careless: count = -1, must be >= 0'
    refused $reducer number && says 'reducer careless: report: number = nan, must be finite'
    refused $reducer unassigned --output.assignment true && says 'reducer careless assigned row 7 to centre -1, must be 0 to 9'
    fits $reducer wide
    for report in radius epsilon; do
        refused $reducer $report && says "the reducer reported 'epsilon' or 'radius' = 0.001, the largest distance of a row to its centre, but a row is"
    done
    refused --method kpca --data.dtype $dtype --kernel oops && says 'kernel oops: map threw an exception: oops'
    code=5
    kernel="--method gkpca --m 20 --data.dtype $dtype --kernel careless --kernel.fault"
    fits $kernel none
    refused $kernel number && says 'kernel = careless gave nan for rows ' && cp err number-$dtype
    refused --method kpca --data.dtype $dtype --kernel careless --kernel.fault number && says 'the kernel gave nan for centres '
    refused $kernel definite && says 'kernel = careless is not positive semi-definite' && cp err definite-$dtype
done
for text in number definite; do # to compute in f64 is advised only to those who do not
    checks=$((checks + 2))
    grep -qF 'data.dtype = f64' $text-f32 || fail "$text: no advice in f32"
    ! grep -qF 'f64' $text-f64 || fail "$text: f64 is advised in f64"
done
unset MERCER_PLUGIN_PATH
cd careless || exit 1
MERCER_PLUGIN_PATH=. "$mercer" fit ../rows.csv --method kpca --kernel careless -o C.safetensors >../out 2>../err
cd ..
says "unknown kernel 'careless'; the folder '.' was not searched: a plugin folder must be absolute"

# ---- a new one ---------------------------------------------------------------------------------------------------------

for kind in kernel reducer solver; do
    status 0 plugin-new $kind my-own && shows "cc -std=c11" && shows "plugin-check ./$kind-my-own.so"
    checks=$((checks + 2))
    grep -q "\"my-own\"" $kind-my-own.c && grep -q my_own_params $kind-my-own.c || fail "$kind-my-own.c has another name"
    ! grep -q example $kind-my-own.c || fail "$kind-my-own.c: the skeleton's name is left"
    before=$(cksum $kind-my-own.c)
    status 8 plugin-new $kind my-own && says 'File exists'
    [ "$before" = "$(cksum $kind-my-own.c)" ] || fail "$kind-my-own.c was overwritten"
done
for name in Bad bad_name 9lives -x a/b .. '' "$(printf %061d 0 | tr 0 a)"; do
    status 2 plugin-new kernel "$name"
done
status 2 plugin-new kernel gaussian && says 'already'
status 2 plugin-new kernel rbf && says 'already'
status 2 plugin-new thing own && says 'KIND = thing, must be one of kernel, reducer, solver'
status 8 plugin-new kernel own -C /nonexistent
status 0 plugin-new kernel own --json && json && shows '"path": "./kernel-own.c"'

# ---- what it is made of, and how long that takes to say -----------------------------------------------------------------

status 0 --version && shows 'mercer 0.' && shows OpenBLAS && shows simd && shows threads
status 0 --version --json && json && shows '"blas"'
if [ "$build" = plain ]; then
    for words in --version methods 'fit --complete X.npy --method auto --kernel g'; do
        checks=$((checks + 1))
        $python - "$mercer" $words <<'END' || fail "mercer $words takes too long"
import subprocess, sys, time
times = []
for _ in range(8):
    start = time.perf_counter()
    subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
    times.append(time.perf_counter() - start)
print(f'{" ".join(sys.argv[2:])}: {1000 * min(times):.1f} ms')
sys.exit(min(times) > 0.020)
END
    done
fi

echo "cli plugins: $checks checks, $failures failed"
[ $failures = 0 ]
