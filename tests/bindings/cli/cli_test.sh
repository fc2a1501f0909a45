#!/bin/sh
# Every command of `mercer` as a script sees it: cli_test.sh MERCER. Prints a reason for each check that fails.
set -u
# A CI that was started with nohup ignores hangups, and so would the commands whose hangups are tested here.
[ "${HANGUPS-}" ] || exec env --default-signal=HUP HANGUPS=default "$0" "$@"
mercer=$(realpath "$1") && [ -x "$mercer" ] || exit 1
here=$(cd "$(dirname "$0")" && pwd)
python=/usr/bin/python3
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
checks=0 failures=0

# Many failures have one reason.
count_failure() {
    failures=$((failures + 1))
    printf 'FAILED: %s\n' "$1"
    [ $failures -lt 12 ] || { echo 'cli: giving up'; exit 1; }
}

fail() {
    head -c 600 out 2>/dev/null | tr -cd '[:print:]\n'
    head -c 600 err 2>/dev/null
    count_failure "$1"
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

# says TEXT: the last run's standard error has it
says() {
    checks=$((checks + 1))
    grep -qF -- "$1" err || fail "standard error does not say: $1"
}

shows() {
    checks=$((checks + 1))
    grep -qF -- "$1" out || fail "standard output does not show: $1"
}

# json: the last run's standard output is one JSON text
json() {
    checks=$((checks + 1))
    $python -m json.tool <out >json.out 2>&1 || fail 'standard output is no JSON'
}

# py NAME ARGUMENTS..., pic NAME ARGUMENTS...: a check of cli_checks.py or plot_checks.py, which prints what is wrong
py() { run_python cli_checks.py "$@"; }
pic() { run_python plot_checks.py "$@"; }

run_python() {
    checks=$((checks + 1))
    script=$1
    shift
    $python "$here/$script" "$@" >py.out 2>&1 && return
    tail -n 3 py.out
    count_failure "$script $*"
}

same() {
    checks=$((checks + 1))
    cmp -s "$1" "$2" || fail "$1 and $2 differ: $3"
}

# error WANTED CODE WORDS...: fails with this exit code, and with --json says so as an object with this status code
error() {
    code=$2
    wanted=$1
    shift 2
    status "$wanted" "$@" --json
    json
    [ ! -s out ] || py error out "$code"
}

py make # X.npy and friends
printf old | tee OLD >OLD.svg # an output that failures must leave alone

fit='fit X.npy --method kpca --kernel gaussian --set kernel.sigma=2 --components 5'

# ---- what there is ---------------------------------------------------------------------------------------------------

status 0 --version && shows 'mercer 0.'
status 0 --version --json && json && shows '"abi": 0, "blas": "'
error 2 1 trasform && says "did you mean 'transform'"
error 2 4 methods --jsno && says 'did you mean --json'
status 0 --help && shows transform
status 2 && says "usage: mercer COMMAND" && says "no command was given"
for command in fit transform compress kernel forecast convert info methods describe plot plugins plugin-check plugin-new demo; do
    status 0 $command --help
    shows "mercer $command"
    status 0 help $command && shows "mercer $command"
done
py manual "$here/../../../bindings/cli/mercer.1" "$mercer"
status 0 fit --method kpca --help && shows --kernel
status 0 fit --help && shows --accuracy # auto's
status 0 methods && shows kpca && shows gaussian && shows scores
status 0 methods kernels && shows gaussian
status 0 methods statuses && shows 'exit 2  a parameter outside its range'
status 0 methods statuses --json && json && shows '"exit"'
status 0 methods --json && json
status 0 methods kernels --json && json && shows '"summary": "sum 2xy / (x + y), x, y >= 0"'
"$mercer" methods --json >methods.json
for name in $($python "$here/cli_checks.py" names methods.json); do
    status 0 describe "$name"
    status 0 describe "$name" --json
    json
done
status 0 describe kpca && shows --components
status 0 describe gaussian && shows --sigma
status 0 describe kpca --kernel linear --json && json && py no_row out kernel.sigma
status 0 describe kpca --sigma 3 && shows 3
status 2 describe gausian && says gaussian
status 0 describe kernel.sigma && shows --sigma && shows 'Excludes kernel.gamma'
status 0 describe accuracy --json && json && py one_row out accuracy
status 0 describe whiten && shows scores
status 0 describe user && shows 'user, kernel: your own function' && shows '--precomputed kernel'
status 0 describe bootstrap && shows 'default 0' && ! grep -q automatic out || fail 'bootstrap: 0 is none, not automatic'
error 2 4 describe foo && says "'foo' is not the name of a method, operation, kernel"
error 2 4 describe foo.bar && says "unknown parameter 'foo.bar': known names are method"
error 2 4 describe kernel.sgima && says "did you mean 'kernel.sigma'"
status 0 describe auto && shows --accuracy && shows '--solver.max-passes, --max-passes'
for words in 'describe auto' 'fit --help'; do # a flag has one form, although both are accepted
    status 0 $words
    ! grep -E -- '--[a-z.]*_' out || fail "mercer $words shows a flag with an underscore"
done
status 0 describe kpca --json && py no_row out accuracy
status 0 describe nystrom --json && py no_row out solver.tol && py no_row out solver
status 0 describe nystrom --lift weighted --solver block-krylov && shows --solver.block
status 2 describe kpca --method scores && says "unknown method 'scores'"
status 2 describe
error 2 1 nothing

# ---- fit and transform -----------------------------------------------------------------------------------------------

status 0 $fit -o M.safetensors --scores Z.npy
shows component && shows cumulative && shows forecast && shows M.safetensors
py sklearn M.safetensors Z.npy
status 0 $fit -o M2.safetensors --json && json && py info out
status 0 info M.safetensors && shows kpca
status 0 info M.safetensors --json && json && py info out
status 0 transform M.safetensors X.npy -o T.npy
py equal T.npy Z.npy
status 0 transform M.safetensors Q.npy -o TQ.npy --json && json && py outputs out TQ.npy
py sklearn_queries TQ.npy
status 0 kernel X.npy --kernel gaussian --set kernel.sigma=2 -o OWN.npy --json && json && py gram_of OWN.npy
status 0 kernel X.npy Q.npy --sigma 2 --dtype f32 -o OWNQ.npy && py gram_between OWNQ.npy
error 2 4 kernel X.npy --components 3 -o OLD && says components
error 3 2 kernel X.npy NARROW.npy -o OLD
error 2 1 kernel X.npy
status 0 forecast X.npy --method kpca --components 5 && shows 'kernel evaluations'
status 0 forecast X.npy --method kpca --components 5 --json && json && py foreseen out
error 6 11 forecast X.npy --method kpca --memory 1kB
# the flags of a fit are those of its forecast: what names columns is no data, what would be written is not touched
status 0 forecast X.csv --method kpca --id c --labels kind --weights w --json && cp out FEWER.json
status 0 forecast X.csv --method kpca --columns 'a,"b, or ""b""",d' --weights w --json && py same_work FEWER.json out
status 0 forecast X.csv --method kpca --id c -o OLD --scores OLD2.xlsx --checkpoint nowhere/C.part --format npy --quiet
error 2 4 forecast X.csv --method kpca --weights no_such_column
status 0 forecast X.npy --method subsampled --reducer given --landmarks I.npy
error 2 3 forecast X.npy --method subsampled --reducer given
status 0 convert M.safetensors -o M.json && py converted M.json M.safetensors
status 0 convert M.safetensors -o - && json
status 0 convert M.safetensors -o FOLDER && py converted_folder FOLDER M.json
error 8 14 convert M.safetensors -o FOLDER && says 'exists already'
status 0 transform M.safetensors Q.npy -o D.npy --what density && py density D.npy
status 0 transform M.safetensors Q.npy -o R.npy --what residual && py residual R.npy
status 0 describe scores && shows --whiten
status 0 transform M.safetensors X.npy -o WHITE.npy --whiten true && py white WHITE.npy Z.npy M.safetensors
status 0 transform M.safetensors X.npy -o WHITE2.npy --what scores --set whiten=true && same WHITE2.npy WHITE.npy '--set whiten'
status 0 transform M.safetensors X.npy -o T2.npy --what t2 && py t2 T2.npy WHITE.npy
status 0 transform M.safetensors X.npy -o XR.npy --what residual
status 0 info M.safetensors --json && py limits out XR.npy T2.npy
status 0 transform M.safetensors Q.npy -o G.npy --what gradient && py gradient G.npy M.safetensors
status 2 transform M.safetensors Q.npy -o G.npy --what gradient --whiten true
status 2 transform M.safetensors Q.npy -o G.npy --what scores --set whiten=maybe && says 'true or false'

# a model of a model: fewer centres
status 0 compress M.safetensors --m 30 -o FEW.safetensors && shows residual && shows 'on 30 centres' && shows 'wrote FEW.safetensors'
status 0 transform FEW.safetensors Q.npy -o FEWQ.npy && py compressed M.safetensors FEW.safetensors FEWQ.npy
status 0 compress M.safetensors --set reducer.m=30 --threads 1 -o FEW2.safetensors --json && json && py centres out 30
status 0 transform FEW2.safetensors Q.npy -o FEWQ2.npy && same FEWQ.npy FEWQ2.npy 'compress --set'
status 0 compress M.safetensors --reducer greedy --trace 1e-3 --orthonormal false -o FEW2.safetensors
error 2 8 transform FEW2.safetensors Q.npy -o OLD --what residual && says 'not orthonormal'
checks=$((checks + 1))
"$mercer" compress - --m 30 -o - <M.safetensors 2>err >piped.safetensors || fail 'compress - -o -'
status 0 transform piped.safetensors Q.npy -o FEWQ2.npy && same FEWQ.npy FEWQ2.npy 'compress - -o -'
status 0 describe compress && shows --reducer.m && shows --orthonormal
error 2 1 compress M.safetensors M.safetensors --m 3 -o OLD && says "count = 2, 'compress' takes 1 model"
error 2 1 compress M.safetensors -o M.safetensors
error 2 4 compress M.safetensors --components 3 -o OLD && says "'compress' does not accept it"
error 6 11 compress M.safetensors --m 3 --memory 1kB -o OLD
error 4 6 compress X.npy -o OLD

# one parameter in all its spellings
for flags in '--sigma 2' '--sigma=2' '--kernel.sigma 2' '--kernel.sigma=2' '--set sigma=2'; do
    status 0 fit X.npy --method kpca $flags --kernel gaussian --output.components 5 -o S.safetensors --scores S.npy
    same S.npy Z.npy "$flags"
done
"$mercer" describe kpca --json >rows.json
pair=$($python "$here/cli_checks.py" underscored rows.json)
if [ "$pair" ]; then
    name=${pair%=*} value=${pair#*=}
    for spelling in "$name" "$(printf %s "$name" | tr _ -)"; do
        status 0 $fit "--$spelling" "$value" -o S.safetensors
        status 0 $fit --set "$spelling=$value" -o S.safetensors
    done
fi
for threads in 1 2; do
    status 0 $fit --threads $threads --memory 1GiB --seed 1 -o S.safetensors --scores "S$threads.npy"
done
same S1.npy S2.npy 'threads'

# dtypes, orders, weights, landmarks
status 0 fit F32.npy --method kpca --sigma 2 --components 5 -o F.safetensors --scores F.npy && py f32 F.npy Z.npy
status 0 fit X.npy --method kpca --sigma 2 --components 5 --dtype f32 -o F.safetensors --scores F.npy && py f32 F.npy Z.npy
status 0 $fit --weights W.npy -o W.safetensors
status 0 transform W.safetensors Q.npy -o WQ.npy
status 0 fit TWICE.npy --method kpca --sigma 2 --components 5 -o V.safetensors
status 0 transform V.safetensors Q.npy -o VQ.npy && py same_up_to_sign WQ.npy VQ.npy
status 0 fit X.npy --method subsampled --reducer given --landmarks I.npy --sigma 2 --components 3 -o L.safetensors --json
json && py centres out 40
status 0 fit X.npy --method subsampled --reducer given --landmarks P.npy --sigma 2 --components 3 -o P.safetensors
status 0 transform L.safetensors Q.npy -o LQ.npy
status 0 transform P.safetensors Q.npy -o PQ.npy && py equal LQ.npy PQ.npy
# ... of any type and order that data may have
for landmarks in I32.npy PF.npy P.csv; do
    status 0 fit X.npy --method subsampled --reducer given --landmarks $landmarks --sigma 2 --components 3 -o P.safetensors
    status 0 transform P.safetensors Q.npy -o PQ.npy && py equal LQ.npy PQ.npy
done
for weights in W32.npy W.csv; do
    status 0 $fit --weights $weights -o V.safetensors
    status 0 transform V.safetensors Q.npy -o VQ.npy && py same_up_to_sign WQ.npy VQ.npy
done

# CSV: the same rows give the same model, by name whatever their order; text is left out, and said so
fit_csv='--method kpca --sigma 2 --components 5 -o C.safetensors'
status 0 fit X.csv $fit_csv --labels kind --columns 'a,"b, or ""b""",c,d' --scores ZC.npy --json && json && py csv_columns out
same ZC.npy Z.npy 'rows of a CSV file'
status 0 transform C.safetensors Q.csv -o CQ.npy && same CQ.npy TQ.npy 'columns by name'
status 0 transform C.safetensors Q.npy -o CQ.npy && same CQ.npy TQ.npy 'columns by number'
status 0 transform M.safetensors PLAIN.csv --separator blank --header no -o CQ.npy && py equal CQ.npy Z.npy
status 0 transform M.safetensors X.npy -o T.csv && py csv_equal T.csv Z.npy
status 0 fit X.csv $fit_csv --labels kind --weights w && says 'left out' && says id
status 0 transform C.safetensors Q.csv -o WC.npy && same WC.npy WQ.npy 'weights by name'
checks=$((checks + 1))
"$mercer" transform C.safetensors - -o - <Q.csv 2>err >piped.npy || fail 'transform C - -o - of CSV'
same piped.npy WQ.npy 'CSV from standard input'
status 3 fit GAPS.csv $fit_csv && says 'line 4, column 1 is NaN'
status 0 fit GAPS.csv $fit_csv --data.missing rows --scores ZG.npy
status 0 fit COMPLETE.npy $fit_csv --scores ZD.npy && py nan_rows ZG.npy ZD.npy
error 2 4 fit X.csv $fit_csv --labels knid && says kind
error 3 2 transform M.safetensors X.csv --columns a,c -o OLD2
error 2 3 fit X.csv $fit_csv --separator x && says semicolon

# matrices instead of rows
for input in 'K.npy --precomputed kernel' 'K.csv --precomputed kernel' 'D.dist.npy --precomputed distances --sigma 2'; do
    status 0 fit $input --method kpca --components 5 -o K.safetensors --scores KZ.npy && py equal KZ.npy Z.npy
done
status 0 forecast K.npy --precomputed kernel --method kpca --components 5
status 0 forecast X.csv --labels kind --method kpca
status 0 fit K.npy --precomputed kernel --method kpca --components 5 -o K.safetensors
status 0 transform K.safetensors KQ.npy --precomputed kernel -o KZ.npy && py equal KZ.npy TQ.npy
status 0 compress K.safetensors --data K.npy --precomputed kernel --reducer greedy --m 30 -o K2.safetensors
error 2 1 compress K.safetensors --m 30 -o OLD && says 'centres of the model are objects'

error 3 2 fit D.dist.npy --precomputed distances --method subsampled --reducer given --landmarks X.npy -o OLD
says 'landmarks: rows of 4 columns, but the data are objects: must be row numbers'
status 0 fit D.dist.npy --precomputed distances --method kpca -o K.safetensors && shows ': 200 objects f64'
# a fit of objects that ran out of passes goes on from its checkpoint, which is refused for others
objects='--precomputed distances --method kpca --sigma 0.5 --solver block-krylov --tol 1e-12 --components 3 -o K.safetensors'
status 0 fit D.dist.npy $objects --scores WHOLE.npy
status 0 fit D.dist.npy $objects --max-passes 3 --checkpoint D.part && says 'converge'
[ -s D.part ] || fail 'no checkpoint of objects'
$python -c 'import numpy; numpy.save("FAR.npy", 1.001 * numpy.load("D.dist.npy"))'
error 2 3 fit FAR.npy $objects --checkpoint D.part && says 'the data differ (sampled pairs)'
status 0 fit D.dist.npy $objects --checkpoint D.part --scores RESUMED.npy && py equal RESUMED.npy WHOLE.npy
[ ! -e D.part ] || fail 'the checkpoint is still there'

# ---- several outputs of one pass, ids of rows, forms and names of outputs -----------------------------------------------

for what in scores t2 residual; do status 0 transform M.safetensors Q.npy --what $what -o ALONE.$what.npy; done
status 0 transform M.safetensors Q.npy --what scores,t2,residual -o ALL.npy --json && json && py several out ALL.npy ALONE
status 0 transform M.safetensors Q.npy --what scores,t2,residual -o ALL.csv && py several_csv ALL.csv ALONE
status 0 transform M.safetensors Q.npy --what t2,scores --whiten true -o ALL.npy && py whitened ALL.npy
status 0 fit X.csv $fit_csv --labels kind --columns 'a,"b, or ""b""",c,d'
status 0 transform C.safetensors X.csv --what t2,scores --id id -o IDS.csv && py with_ids IDS.csv
status 0 transform C.safetensors X.csv --what t2,scores --id kind -o IDS.npy && py with_ids_npy IDS.npy
status 0 fit X.csv $fit_csv --labels kind --id id --scores IDS.csv && py with_ids_alone IDS.csv # and it is not fitted on
status 0 fit X.csv --method kpca --id w -o C2.safetensors --json && json && py csv_columns out
error 2 4 transform M.safetensors Q.npy --what scores,t3 -o OLD && says "unknown operation 't3'"
error 2 3 transform M.safetensors Q.npy --what t2,t2 -o OLD && says 'listed twice'
error 2 8 transform M.safetensors Q.npy --what scores,labels -o OLD && says '--method ncut'
error 2 8 transform M.safetensors Q.npy --id a -o OLD && says 'CSV files only'
error 2 4 transform M.safetensors X.csv --id di -o OLD && says "did you mean 'id'"

status 0 transform M.safetensors X.npy -o - --format csv && cp out PIPED.csv
status 0 transform M.safetensors X.npy -o T.csv && same PIPED.csv T.csv 'CSV on standard output'
status 0 transform M.safetensors X.npy -o T.CSV && same T.CSV T.csv 'an ending in capitals'
status 0 transform M.safetensors X.npy -o T.txt --format csv && same T.txt T.csv 'any name, once the form is said'
status 0 kernel X.npy --sigma 2 -o - --format csv && grep -q '^k.1,k.2,' out || fail 'the kernel as CSV on standard output'
error 2 1 transform M.safetensors X.npy -o T.npy --format csv && says '--format = csv, but -o = T.npy'
error 2 3 transform M.safetensors X.npy -o T.npy --format xlsx && says 'must be one of npy, csv'
for ending in xlsx tsv npz csv.gz; do # nothing is written in a form that the name does not say
    error 2 1 transform M.safetensors X.npy -o x.$ending && says "-o = x.$ending, must end in .npy or .csv"
    error 2 1 kernel X.npy -o x.$ending && says "-o = x.$ending, must end in .npy or .csv"
    error 2 1 $fit -o S.safetensors --scores x.$ending && says "--scores = x.$ending, must end in .npy or .csv"
    error 2 1 $fit -o x.$ending && says "-o = x.$ending, must end in .safetensors"
    error 2 1 compress M.safetensors --m 3 -o x.$ending && says "-o = x.$ending, must end in .safetensors"
    error 2 1 convert M.safetensors -o x.$ending && says "-o = x.$ending, must end in .json"
    error 2 1 plot M.safetensors -o x.$ending && says "-o = x.$ending, must end in .svg, .png or .pdf"
done
[ -z "$(ls -d x.* 2>/dev/null)" ] || fail 'a refused name was written to'
status 0 convert M.safetensors -o dot.ted/ && [ -f dot.ted/A.npy ] || fail 'a folder with a dot in its name'

# rows that are left out are counted, and said
status 0 fit GAPS.csv $fit_csv --data.missing rows && says '2 of 200 rows are left out of the fit: they have missing values'
status 0 info C.safetensors && shows 'left_out '
status 0 transform C.safetensors GAPS.csv -o ZG.npy --json && says '2 of 200 rows have no output, because they have missing values'
json && shows '"left_out": 2'
status 0 transform C.safetensors COMPLETE.npy -o ZG.npy --json && [ ! -s err ] || fail 'nothing was left out'
error 2 3 fit X.npy --method kpca --components 0.95 -o OLD && says 'did you mean --variance 0.95?'
error 2 3 fit X.npy --method kpca --set output.components=.5 -o OLD && says 'did you mean --variance .5?'
status 0 fit X.npy --method kpca --variance 0.95 -o S.safetensors

# isolated rows: which they are and what helps
status 0 fit ISLANDS.npy --method ncut --sigma 1 --components 2 -o S.safetensors
says 'rows 200 and 201 (counted from 0), hardly connected to the others: use a wider kernel'
status 0 info S.safetensors && says 'a wider kernel'
status 0 fit ISLANDS.npy --method diffusion --sigma 1 --components 2 -o S.safetensors && says 'lift.alpha = 0'
status 0 fit X.npy --method ncut --sigma 3 --components 2 -o S.safetensors && ! grep -q connected err || fail 'no row is isolated'
error 2 8 transform M.safetensors Q.npy --what labels -o OLD && says '--method ncut'

# a screen is a screen, and all of it is there for who asks
status 0 info M.safetensors && [ "$(wc -l <out)" -le 40 ] && shows 'certificates.eigenvalue' && shows 'mercer info --verbose' ||
    fail 'mercer info is longer than a screen'
status 0 info M.safetensors --verbose && shows 'certificates.5.upper' && shows 'tensors.A.shape'
status 0 methods && shows 'exp(-r^2 / (2 sigma^2))' && shows 'rows of largest residual' && ! grep -q '[.]so' out || fail 'methods: paths'

# sizes are decimal
for size in 1e9 1000000000 1000000000B 1GB 1gb '1 GB' 0.5e9 976562.5KiB 1e6k; do
    status 0 $fit --memory "$size" -o S.safetensors
done
for size in 0x10 0x1p30 1f 1e400 inf nan 1.5.2 1XB 4GiBB 1e-3 ''; do
    error 2 3 $fit --memory "$size" -o OLD && says 'must be a number of bytes, such as 4GiB, 500MB or 1e9'
done
error 6 11 $fit --memory 1e3 -o OLD

# how far the eigenvalues are from the exact ones, of models that are certified; the last component is always shown
status 0 fit X.npy --method nystrom --m 40 --sigma 2 --components 3 -o S.safetensors && shows 'eigenvalues certified to' &&
    shows '; --report.certificates rows may be tighter'
status 0 info S.safetensors --json && cp out info.json
status 0 fit X.npy --method nystrom --m 40 --sigma 2 --components 3 -o S.safetensors && py accuracy out info.json
status 0 fit X.npy --method nystrom --m 40 --sigma 2 --components 3 --report.certificates exact -o S.safetensors
shows 'eigenvalues certified to' && ! grep -q tighter out || fail 'nothing is tighter than exact'
status 0 fit X.npy --method ncut --sigma 3 --components 2 -o S.safetensors && ! grep -q 'certified\|cumulative' out ||
    fail 'ncut has neither certificates nor shares'
status 0 fit X.npy --method kpca --sigma 2 --components 24 -o S.safetensors && shows ' 20  ' && shows ' ...' && shows '       24  ' &&
    ! grep -q '^ *21 ' out || fail 'the first 20 components and the last'
status 0 info S.safetensors && shows '       10  ' && shows '       24  '
status 0 fit X.npy --method kpca --sigma 2 --components 21 -o S.safetensors && ! grep -q '[.][.][.]' out || fail 'nothing is left out'

# outcomes are warnings
status 0 fit X.npy --method kpca --kernel linear --components 9 -o S.safetensors && says warning

slow='fit X.npy --method kpca --sigma 0.5 --components 5 --solver block-krylov --solver.max_passes 1'
status 0 $slow -o S.safetensors && says 'not converged'
error 5 9 $slow --solver.strict true -o S.safetensors

# ---- pictures --------------------------------------------------------------------------------------------------------

pic make_plots
for r in 1 2 60; do
    status 0 fit X.npy --method kpca --sigma 2 --components $r --bootstrap 20 -o S.safetensors
    "$mercer" info S.safetensors --json >info.json
    status 0 plot S.safetensors -o S.svg && pic scree S.svg S.safetensors && pic bars S.svg
done
status 0 fit X.npy --method kpca --sigma 2 --components 10 -o S.safetensors
"$mercer" info S.safetensors --json >info.json
status 0 plot S.safetensors -o S.svg --width 300 && pic scree S.svg S.safetensors
status 0 fit X.npy --method nystrom --m 40 --sigma 2 --components 10 -o S.safetensors && "$mercer" info S.safetensors --json >info.json
status 0 plot S.safetensors -o S.svg && pic picture S.svg 20 eigenvalue 'certified bounds' 'cumulative share'
status 0 info S.safetensors --verbose && shows 'certificates.3.component              1' # people count from 1
status 0 fit N10000.npy --method nystrom --m 20 --components 5 -o S.safetensors # pairs of rows that were drawn
status 0 plot S.safetensors -o S.svg && pic picture S.svg 10 eigenvalue 'certified bounds (probability 99.9 %)' 'cumulative share'
status 0 fit ROUND.npy --method kpca --kernel linear --components 39 --bootstrap 100 -o S.safetensors # the last are noise
"$mercer" info S.safetensors --json >info.json
status 0 plot S.safetensors -o S.svg && pic scree S.svg S.safetensors && pic bars S.svg 1

for n in 1 10 10000; do
    status 0 transform M.safetensors N$n.npy -o Z.npy
    status 0 plot M.safetensors N$n.npy -o N.svg && pic scatter N.svg Z.npy
    status 0 plot M.safetensors N$n.npy -o N.svg --components 5,3 --width 320 && pic scatter N.svg Z.npy 5 3
    status 0 plot M.safetensors N$n.npy -o N.svg --components 2 && pic scatter N.svg Z.npy 0 2
    for classes in 1 2 12; do
        [ $n -ge $classes ] || continue
        status 0 plot M.safetensors N$n.npy --labels N${n}C$classes.npy -o N.svg && pic classes N.svg $classes
        pic small N.svg 2000000
    done
done
status 0 plot M.safetensors N10000.npy --labels REAL.npy -o N.svg --json && json && pic colour_bar N.svg
status 0 plot M.safetensors LONG.npy -o N.svg && pic picture N.svg 30000 && pic caption N.svg '1 in 2 of 60000 rows drawn'
status 0 transform M.safetensors CONSTANT.npy -o Z.npy
status 0 plot M.safetensors CONSTANT.npy -o N.svg && pic scatter N.svg Z.npy
status 0 plot M.safetensors CONSTANT.npy -o N.svg --title "a < b & \"c\" 'd' $(printf '\001\377')" && pic title N.svg
status 0 plot M.safetensors N10.npy -o N.svg && cp N.svg N2.svg
status 0 plot M.safetensors N10.npy && same out N.svg 'plot to standard output'

for scale in none standard; do
    status 0 fit PLANE.npy --method kpca --components 3 --scale $scale -o S.safetensors && "$mercer" info S.safetensors --json >info.json
    status 0 plot S.safetensors --kind density -o D.svg && pic picture D.svg 0
    status 0 plot S.safetensors PLANE.npy --kind residual -o R.svg
    for level in 95 99; do
        pic crossing R.svg $level P.npy
        status 0 transform S.safetensors P.npy --what residual -o V.npy && pic at_limit V.npy $level
    done
done

status 0 fit FLOWERS.csv --columns length,width --data.missing rows --method kpca --components 3 -o S.safetensors
"$mercer" info S.safetensors --json >info.json
for kind in scatter density residual; do
    status 0 plot S.safetensors FLOWERS.csv --labels species --kind $kind -o F.svg
    pic caption F.svg '1 of 150 rows omitted because their values are not finite'
    [ $kind = residual ] || pic picture F.svg 149 '<green>' blue 'red & round'
done
pic caption F.svg width && pic caption F.svg length # the columns' names
status 0 plot S.safetensors FLOWERS.csv --labels mass -o F.svg && pic colour_bar F.svg && pic caption F.svg mass
status 0 plot S.safetensors FLOWERS.csv --labels number -o F.svg && pic colour_bar F.svg
# rows without a label are drawn, too
awk 'BEGIN { print "length,width,mass,kind"
    for (i = 0; i < 40; i++) print i % 7 "," i % 5 "," (i % 8 == 3 ? "NA" : i + 0.5) "," (i % 10 == 4 ? "" : "k" i % 2) }' >GAPS.csv
status 0 plot S.safetensors GAPS.csv --labels mass -o G.svg && pic caption G.svg mass && pic picture G.svg 40 'no label'
status 0 plot S.safetensors GAPS.csv --labels kind -o G.svg && pic picture G.svg 40 k0 k1 'no label'
error 2 4 plot S.safetensors FLOWERS.csv --labels spcies -o OLD.svg && says species
# more classes than a picture can show; and those of rows that are not drawn
awk 'BEGIN { print "length,width,plate,batch,gap"
    for (i = 0; i < 66; i++) print i % 7 "," (i == 5 ? "" : i % 5) ",plate" i % 33 "," i % 33 "," (i == 5 ? "" : "k" i % 2) }' >PLATES.csv
error 2 8 plot S.safetensors PLATES.csv --labels plate -o OLD.svg && says "column 'plate' has more than 32 classes"
status 0 plot S.safetensors PLATES.csv --labels batch -o G.svg && says 'batch has more than 32 classes' && pic colour_bar G.svg
status 0 plot S.safetensors PLATES.csv --labels gap -o G.svg && pic picture G.svg 65 k0 k1

# one point has no components: a picture all the same
status 0 fit ONE.npy --method kpca -o S.safetensors && says 'all others are below rounding'
none='the model has no components: all variances are below rounding'
status 0 plot S.safetensors -o S.svg && pic picture S.svg 0 && pic caption S.svg "$none"
status 0 plot S.safetensors ONE.npy -o S.svg && pic picture S.svg 1 && pic caption S.svg "$none"
for kind in density residual; do
    status 0 plot S.safetensors --kind $kind -o S.svg && pic sound S.svg
    status 0 plot S.safetensors ONE.npy --kind $kind -o S.svg && pic points_of S.svg 1
done
status 0 fit TEN.npy --method kpca --bootstrap 50 -o S.safetensors && "$mercer" info S.safetensors --json >info.json
status 0 plot S.safetensors -o S.svg && pic scree S.svg S.safetensors && pic bars S.svg 1 && pic decades S.svg 6

# classes look the same whatever comes first
status 0 fit NAMES.csv --columns x,y --method kpca -o S.safetensors
for file in NAMES SEMAN; do
    status 0 plot S.safetensors $file.csv --labels run -o $file.svg && pic picture $file.svg 12 1 2 10 blue 'run 2' 'run 10'
    status 0 plot S.safetensors $file.csv --labels number -o $file.svg && pic picture $file.svg 12 1 2 3 10
done
status 0 fit PLANE10000.npy --method nystrom --m 20 --components 2 --kernel linear -o S.safetensors
for kind in density residual; do
    status 0 plot S.safetensors PLANE10000.npy --kind $kind -o S.svg && pic shows_the_map S.svg 10000
done

# PNG and PDF by librsvg, where it is installed; where not, words
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" # of its own libraries
"$mercer" plot M.safetensors N10.npy -o P.png >out 2>err
got=$?
checks=$((checks + 1))
if [ $got = 0 ]; then
    pic png P.png N2.svg
    status 0 plot M.safetensors N10.npy -o P.pdf --json && json && pic pdf P.pdf N2.svg
    status 0 plot M.safetensors N10.npy --title 'wide & high' --width 900 -o P.PNG
elif [ $got != 2 ]; then
    fail "plot -o P.png: exit code $got"
fi
mkdir hidden
if cc -shared -o hidden/librsvg-2.so.2 -x c /dev/null 2>/dev/null; then # one that is no use
    checks=$((checks + 1))
    LD_LIBRARY_PATH=$work/hidden${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$mercer" plot M.safetensors -o P2.png >out 2>err
    [ $? = 2 ] || fail 'a picture without librsvg'
    says 'need librsvg 2.46 and cairo, which are not installed: write F.svg and convert it, for example with `rsvg-convert F.svg -o F.png`'
fi

# the label -1
status 0 plot M.safetensors N10.npy --labels NOISE.npy -o N.svg && pic picture N.svg 10 0 1 '-1: in no cluster'
status 0 plot M.safetensors N10.npy --labels SIGNS.npy -o N.svg && pic picture N.svg 10 -1 1
error 2 3 plot M.safetensors --kind scre -o OLD.svg && says "--kind = scre, must be one of scree, errors, scatter, density, residual: did you mean 'scree'"
error 2 3 plot M.safetensors X.npy --components 1,9 -o OLD.svg && says 'component 9'
error 2 3 plot M.safetensors X.npy --components 0 -o OLD.svg && says 'numbers >= 1'
error 2 3 plot M.safetensors X.npy --components 1,2,3 -o OLD.svg
error 2 8 plot M.safetensors X.npy --kind density -o OLD.svg && says '2 columns'
error 2 1 plot M.safetensors --kind scatter -o OLD.svg && says DATA
error 2 1 plot M.safetensors X.npy --kind scree -o OLD.svg
error 2 1 plot M.safetensors --labels REAL.npy -o OLD.svg
error 2 1 plot M.safetensors --components 1 -o OLD.svg
error 2 1 plot M.safetensors X.npy -o X.npy
error 2 3 plot M.safetensors X.npy --width 3 -o OLD.svg && says '--width = 3, must be >= 300 and <= 4000'
error 2 1 plot M.safetensors
error 3 2 plot M.safetensors X.npy --labels REAL.npy -o OLD.svg && says '200 rows'
error 3 2 plot M.safetensors X.npy --labels X.npy -o OLD.svg && says 'X.npy has 4 columns, must have 1'
error 3 2 plot M.safetensors NARROW.npy -o OLD.svg
error 8 14 plot M.safetensors X.npy --labels missing.npy -o OLD.svg && says missing.npy
error 8 14 plot missing.safetensors -o OLD.svg

# ---- streams ---------------------------------------------------------------------------------------------------------

checks=$((checks + 3))
"$mercer" fit - --method kpca --sigma 2 --components 5 -o - <X.npy 2>err >piped.safetensors || fail 'fit - -o -'
grep -q component err || fail 'the report is not on standard error'
"$mercer" transform - Q.npy -o - <piped.safetensors 2>err >piped.npy || fail 'transform - X.npy -o -'
py equal piped.npy TQ.npy
checks=$((checks + 2))
"$mercer" transform M.safetensors - -o - <Q.npy 2>err >piped.npy || fail 'transform M - -o -'
"$mercer" info - --json <M.safetensors >out 2>err || fail 'info -'
py equal piped.npy TQ.npy
checks=$((checks + 1))
"$mercer" fit X.npy --method subsampled --reducer given --landmarks - --sigma 2 --components 3 -o S.safetensors <I.npy >out 2>err || fail '--landmarks -'
status 0 transform S.safetensors Q.npy -o SQ.npy && same SQ.npy LQ.npy '--landmarks -'
checks=$((checks + 4))
"$mercer" kernel - Q.npy --sigma 2 --dtype f32 -o - <X.npy 2>err >piped.npy || fail 'kernel - -o -'
same piped.npy OWNQ.npy 'kernel from standard input'
"$mercer" convert - -o - <M.safetensors 2>err >piped.json || fail 'convert - -o -'
same piped.json M.json 'a model from standard input'
"$mercer" forecast - --method kpca <X.npy >out 2>err && shows memory || fail 'forecast -'
# pipes with names, as a shell's <(...) has them: each is read once, whatever it brings
mkfifo one other
piped() { # FILE PIPE: sends a file through a pipe
    cat "$1" >"$2" &
}
piped X.npy one
status 0 fit one --method kpca --sigma 2 --components 5 -o piped.safetensors
status 0 transform piped.safetensors Q.npy -o fifo.npy
status 0 fit X.npy --method kpca --sigma 2 --components 5 -o named.safetensors
status 0 transform named.safetensors Q.npy -o named.npy && same fifo.npy named.npy 'an array from a pipe'
status 0 fit X.csv --method kpca --sigma 2 --components 5 --labels kind --weights w -o names.safetensors
status 0 transform names.safetensors Q.csv -o named.npy
piped Q.csv one
piped names.safetensors other
status 0 transform other one -o fifo.npy && same fifo.npy named.npy 'a model and CSV from pipes'
piped I.npy one
piped X.npy other
status 0 fit other --method subsampled --reducer given --landmarks one --sigma 2 --components 3 -o S.safetensors
$python -c 'import numpy as n; x = n.load("X.npy"); n.save("ONES.npy", 1.0 + n.arange(len(x)) % 3)'
piped ONES.npy one
status 0 fit X.npy --method kpca --sigma 2 --components 3 --weights one -o fifo.safetensors
status 0 fit X.npy --method kpca --sigma 2 --components 3 --weights ONES.npy -o named.safetensors
status 0 transform fifo.safetensors Q.npy -o fifo.npy
status 0 transform named.safetensors Q.npy -o named.npy && same fifo.npy named.npy 'weights from a pipe'
yes | head -c 2000000 >JUNK
piped JUNK one
status 3 fit one --method kpca -o S.safetensors
says 'one is not data'
wait
"$mercer" plot M.safetensors - -o - <N10.npy 2>err >piped.svg || fail 'plot M - -o -'
same piped.svg N2.svg 'a picture to standard output'
# what else is said never joins what is written to standard output
checks=$((checks + 3))
"$mercer" $fit -o M3.safetensors --scores /dev/stdout --format csv 2>err | cat >piped.csv
head -n 1 piped.csv | grep -q '^scores.1,' && [ "$(wc -l <piped.csv)" = 201 ] || fail '--scores /dev/stdout'
grep -q cumulative err || fail 'the report is not on standard error'
"$mercer" $fit -o M3.safetensors --scores /dev/stdout --format csv >piped2.csv 2>err
same piped2.csv piped.csv '--scores /dev/stdout as a file'
"$mercer" $fit -o /dev/stdout >piped.safetensors 2>err && "$mercer" info piped.safetensors >out || fail '-o /dev/stdout'
"$mercer" transform M.safetensors Q.npy -o /dev/stdout --json >out 2>err
[ $? = 2 ] || fail '--json and -o /dev/stdout'
# closed streams, whose numbers the next files would get
for what in 'fit - --method kpca -o S.safetensors' 'transform M.safetensors - -o Z9.npy' 'transform - Q.npy -o Z9.npy' 'info -' \
    "$fit --weights - -o S.safetensors"; do
    checks=$((checks + 1))
    "$mercer" $what <&- >out 2>err
    [ $? = 8 ] || fail "a closed standard input is not exit code 8: $what"
    says 'standard input is closed'
done
checks=$((checks + 3))
"$mercer" transform M.safetensors Q.npy -o - >&- 2>err
[ $? = 8 ] && says 'standard output is closed' || fail 'a closed standard output'
"$mercer" $fit -o M3.safetensors >&- 2>err # the report has nowhere to go
[ $? = 8 ] && "$mercer" info M3.safetensors >out || fail 'the report is in the model'
"$mercer" $fit -o M3.safetensors >out 2>&- </dev/null || fail 'a closed standard error'
# links go on pointing, to files that are there and to files that are made
mkdir linked && ln -s linked/to.npy link.npy && ln -s link.npy link2.npy && ln -s linked/M.safetensors link.safetensors
for turn in made replaced; do
    status 0 transform M.safetensors Q.npy -o link2.npy && same linked/to.npy TQ.npy "what a link leads to is $turn"
    status 0 $fit -o link.safetensors && status 0 transform linked/M.safetensors Q.npy -o SQ.npy
    same SQ.npy TQ.npy "a model through a link is $turn"
    [ -h link.npy ] && [ -h link2.npy ] && [ -h link.safetensors ] || fail 'a link became a file'
done
ln -s nowhere/to.npy astray.npy && error 8 14 transform M.safetensors Q.npy -o astray.npy && says 'No such file'
status 2 fit - --method kpca --weights - -o S.safetensors
status 2 transform - - -o Z.npy
status 2 $fit -o - --json
checks=$((checks + 1))
"$mercer" $fit -o - >/dev/full 2>err
[ $? = 8 ] || fail 'a full standard output is not exit code 8'
mkdir grown && cp M.safetensors grown/M
for what in "fit X.npy --method kpca -o grown/M" "transform M.safetensors X.npy -o grown/Z.npy"; do
    checks=$((checks + 1))
    (ulimit -f 1 && "$mercer" $what) >out 2>err
    [ $? = 8 ] || fail "a file that may not grow is not exit code 8: $what"
    [ "$(ls -A grown)" = M ] && cmp -s grown/M M.safetensors || fail "a file that may not grow leaves something: $what"
done
for what in "info M.safetensors --json" "methods" "--help"; do # longer than the buffer, and shorter
    checks=$((checks + 1))
    "$mercer" $what >/dev/full 2>err
    [ $? = 8 ] || fail "a full standard output is not exit code 8: $what"
done
for what in "-o twice.safetensors" "-o W.safetensors --scores ./twice.safetensors"; do # would be removed as no longer needed
    status 2 $fit $what --checkpoint twice.safetensors --format npy
    says 'cannot be its output'
done
status 0 transform M.safetensors Q.npy -o /dev/null
[ -c /dev/null ] || fail '/dev/null was replaced'
checks=$((checks + 1))
"$mercer" transform M.safetensors - -o Z9.npy </dev/null >out 2>err
[ $? = 3 ] || fail 'an empty standard input is not exit code 3'
says 'standard input'
checks=$((checks + 1)) # found when the fit reads the rows, long after the file was opened
printf 'a,b\n1,2\nnan,3\n' | "$mercer" fit - --method kpca -o S.safetensors >out 2>err
[ $? = 3 ] || fail 'NaN from standard input is not exit code 3'
says "'standard input': line 3"
checks=$((checks + 1))
yes | "$mercer" fit - --method kpca -o S.safetensors >out 2>err # refused by its first bytes: it has no end
[ $? = 3 ] || fail 'an endless standard input that is no array is not exit code 3'

# ---- misuse and bad input --------------------------------------------------------------------------------------------

# words of other packages, of other commands and methods
error 2 4 fit X.npy --random_state 1 -o OLD && says 'did you mean --seed?'
error 2 4 fit X.npy --n-jobs 1 -o OLD && says 'did you mean --threads?'
error 2 4 fit X.npy --n_jobs=1 -o OLD && says 'did you mean --threads?'
error 2 4 fit X.npy --eigen_solver arpack -o OLD && says 'did you mean --solver?'
error 2 4 fit X.npy --method auto --m 3 -o OLD && says "--m belongs to the methods nystrom, gkpca, " && says "not to 'auto'"
error 2 4 fit X.npy --method rpcholesky -o OLD && says 'it is a reducer: --method nystrom --reducer rpcholesky'
error 2 4 fit X.npy --method laplacian -o OLD && says 'it is a kernel: --kernel laplacian'
error 2 3 fit X.npy --sigma median -o OLD && says 'for a rule: --bandwidth median'
error 2 3 fit X.npy --gamma scale -o OLD && says 'for a rule: --bandwidth scale'
error 2 3 fit X.npy --sigma many -o OLD && ! grep -q rule err || fail 'many is no rule'
error 2 3 fit X.npy --sigma -1 --bandwidth median -o OLD && ! grep -q 'for a rule' err || fail 'a rule was given'
error 2 4 transform M.safetensors Q.npy --what spe -o OLD && says "did you mean 'residual'?"
error 2 4 transform M.safetensors Q.npy --labels kind -o OLD && says '--labels: it belongs to fit, forecast and plot'
status 0 fit X.npy --method kpca --sigma 2 --components 5 --dtype float32 -o F.safetensors && shows 'f32 -> 5'
status 0 fit X.npy --method kpca --sigma 2 --components 5 --set data.dtype=float64 -o F.safetensors && shows 'f64 -> 5'
error 2 3 fit X.npy --method kpca --dtype float16 -o OLD && says 'must be one of'

# files of another kind, and tables that are not quite one
error 3 5 fit M.safetensors -o OLD && says "'M.safetensors' is a model, not data (model and data swapped?)"
error 4 6 transform Q.npy M.safetensors -o OLD && says "'Q.npy' is an .npy file, not a model (model and data swapped?)"
error 4 6 transform X.csv M.safetensors -o OLD && says "'X.csv' is text, not a model"
printf 'Sample name,"area, total",b,c,d,run\n1,2,3,4,5,6\n2,3,4,5,6,x\n' >SIX.csv
error 3 5 fit SIX.csv --columns run -o OLD && says "line 3, column 'run': 'x' is not a number"
error 2 4 fit SIX.csv --id sample -o OLD && says "did you mean 'Sample name'?"
error 2 4 fit SIX.csv --id plate -o OLD && says "known names are 'Sample name', 'area, total', b, c, d, run"
error 3 2 transform M.safetensors SIX.csv --columns 0,1,2,3,4 -o OLD
says 'queries have 5 columns, but the model was fitted on 4: name an id column with --id, or choose columns with --columns'
error 3 2 transform M.safetensors NARROW.npy -o OLD && ! grep -q -- --id err || fail 'an array has no id column'
printf 'Instrument: XYZ\n\na;b;c\n1;2;3\n4;5;6\n' >PREAMBLE.csv
error 3 5 fit PREAMBLE.csv -o OLD && says 'line 1 has 1 field and line 3 has 3: remove the lines before the header'

error 2 4 fit X.npy --method kpac -o OLD && says kpca
error 2 4 fit X.npy --method kpca --kernel gausian -o OLD && says gaussian
error 2 4 fit X.npy --method kpca --sigmma 2 -o OLD && says sigma
error 2 4 fit X.npy --method kpca --set kernel.sigmma=2 -o OLD && says sigma
error 2 3 fit X.npy --method kpca --sigma -1 -o OLD && says sigma
error 2 3 fit X.npy --method kpca --components many -o OLD && says components
error 2 3 fit X.npy --method kpca --components 99999999999999999999 -o OLD && says 'at most 18 digits'
error 2 3 fit X.npy --method kpca --threads 99999999999999999999 -o OLD && says 'at most 18 digits'
error 2 3 fit X.npy --method kpca --kernel '' -o OLD && says "--kernel = '', must be a name; \`mercer methods kernels\`"
error 2 3 fit X.npy --method kpca --set kernel= -o OLD && says "--kernel = ''"
error 2 3 fit X.npy --method '' -o OLD && says "--method = ''"
error 2 3 fit X.npy --method kpca --kernel 'gaussian[0-1,0]' -o OLD && says 'column 0 of gaussian is listed twice'
error 2 3 fit X.npy --method kpca --sigma 1 --gamma 1 -o OLD
error 2 1 fit X.npy --method kpca && says '--output is missing: file to write the model to'
error 2 1 fit -o OLD
error 2 1 fit --method kpca -o OLD && says 'DATA is missing: data file'
error 2 1 fit X.npy Y.npy --method kpca -o OLD && says 'unexpected argument Y.npy' 
error 2 1 fit X.npy --method kpca --set sigma -o OLD && says '--set = sigma, must be NAME=VALUE'
error 2 3 fit X.npy --method kpca --memory lots -o OLD && says '--memory = lots, must be a number of bytes, such as 4GiB'
error 2 3 fit X.npy --method kpca --threads two -o OLD && says '--threads = two is not a finite number, must be >= 0'
error 2 3 fit X.npy --method kpca --threads -1 -o OLD && says '--threads = -1, must be >= 0'
status 0 fit X.npy --method kpca --threads 1e0 -o TEN.safetensors
error 2 3 fit X.npy --method kpca --header maybe -o OLD && says '--header = maybe, must be one of yes, no'
error 2 3 fit X.npy --method kpca --precomputed kernels -o OLD && says "did you mean 'kernel'"
status 2 fit X.npy --method kpca -o OLD --sigma && says '--kernel.sigma has no value; it must be real > 0'
error 2 1 fit X.npy --method kpca -o OLD -q && says 'unknown flag -q'
error 2 3 fit X.npy --method kpca --memory -1 -o OLD && says 'a number of bytes'
error 2 1 fit X.npy --method kpca --sigma 1 --sigma 2 -o OLD && says 'sigma is given twice'
error 2 3 methods nothing && says 'must be one of methods'
error 2 1 fit X.npy --method kpca --sigma 1 --set kernel.sigma=2 -o OLD && says 'kernel.sigma is given twice'
error 2 4 fit X.npy --method kpca --accuracy 0.1 -o OLD && says "accuracy applies to the method 'auto'; 'kpca' takes solver.tol"
error 2 4 fit X.npy --method auto --reducer uniform -o OLD && says 'reducer applies to'
error 2 4 fit X.npy --method scores -o OLD && says "unknown method 'scores'"
error 2 4 transform M.safetensors Q.npy --what nothing -o OLD && says 'known names are scores, density'
error 2 4 transform M.safetensors Q.npy --what denisty -o OLD && says "did you mean 'density'"
error 2 4 transform M.safetensors Q.npy --nothing 1 -o OLD
error 8 14 fit missing.npy --method kpca -o OLD && says missing.npy
error 8 14 transform missing.safetensors Q.npy -o OLD && says missing.safetensors
error 8 14 info missing.safetensors
error 8 14 $fit -o missing/M.safetensors
error 8 14 $fit -o M3.safetensors --landmarks missing.npy
error 3 5 fit NAN.npy --method kpca -o OLD
error 3 5 fit PICKLED.npy --method kpca -o OLD
error 3 5 fit SHORT.npy --method kpca -o OLD
error 3 5 fit TEXT.npy --method kpca -o OLD
error 3 5 fit MAGIC.npy --method kpca -o OLD && says 'the first bytes are wrong'
error 3 5 transform M.safetensors MAGIC.npy -o OLD && says 'the first bytes are wrong'
error 3 5 $fit --weights TEXT.npy -o OLD
error 3 5 $fit --weights SHORT.npy -o OLD
error 3 5 $fit --weights PICKLED.npy -o OLD
error 3 2 $fit --weights I.npy -o OLD
error 2 4 $fit --treads 1 -o OLD && says threads
error 3 2 transform M.safetensors NARROW.npy -o OLD
error 4 6 info FLIPPED.safetensors
py damage M.safetensors
error 4 6 info FLIPPED.safetensors
error 4 6 transform CUT.safetensors Q.npy -o OLD
error 4 6 info TEXT.npy
error 6 11 $fit --memory 1kB -o OLD
error 6 11 transform M.safetensors LONG.npy --memory 2MB -o OLD && says 'the scores need 2.3 MiB, the budget is 1.9 MiB'
error 6 11 kernel X.npy --memory 300kB -o OLD && says "the kernel values need"
error 6 11 $fit --weights W.npy --memory 1kB -o OLD && says 'landmarks and weights need'
error 6 11 fit K.npy --precomputed kernel --method kpca --memory 100kB -o OLD
checks=$((checks + 2))
[ "$(cat OLD OLD.svg)" = oldold ] || fail 'a failed command changed its output file'
left=$(ls -A | grep -E '\.[A-Za-z0-9]{6}$|tmp|^\.mercer' | grep -v safetensors)
[ "$left" = '' ] || fail "left behind: $left"

# ---- signals ---------------------------------------------------------------------------------------------------------

# stopped WANTED NAME...: the command in the background ended with this exit code, and no file of these names is there
stopped() {
    wanted=$1
    shift
    wait $!
    got=$?
    checks=$((checks + 1))
    [ $got = "$wanted" ] || fail "exit code $got, not $wanted, after a signal"
    for name in "$@"; do
        checks=$((checks + 1))
        [ -z "$(find . -name "$name*")" ] || fail "left behind after a signal: $(find . -name "$name*")"
    done
}

# until_there FILE: waits for it, at most 20 seconds
until_there() {
    tries=0
    while [ ! -e "$1" ] && [ $tries -lt 200 ]; do sleep 0.1; tries=$((tries + 1)); done
}

py large # LARGE.npy, 6000 rows of it in DENSE.npy
large='fit LARGE.npy --method kpca --sigma 2 --storage stream --threads 1'
for signal in INT TERM HUP XCPU; do
    "$mercer" $large -o STOPPED.safetensors >out 2>err &
    sleep 1
    kill -$signal $!
    stopped 7 STOPPED.safetensors
    says 'mercer: interrupted'
done
(trap '' HUP; exec "$mercer" $large -o STOPPED.safetensors) >out 2>err & # as under nohup
sleep 1
kill -HUP $!
sleep 0.5
checks=$((checks + 1))
kill -TERM $! || fail 'a hangup that is to be ignored ends it'
stopped 7 STOPPED.safetensors
for signal in TERM HUP TERM; do # each goes on from what the one before left
    "$mercer" $large -o STOPPED.safetensors --checkpoint C.part >out 2>err &
    until_there C.part
    [ ! -e turned ] || sleep 1
    touch turned
    kill -$signal $!
    stopped 7 STOPPED.safetensors C.part.
    checks=$((checks + 1))
    [ -s C.part ] || fail 'the checkpoint is gone'
    says 'mercer: interrupted; the same command resumes from C.part'
done
# a kill leaves nothing, where the file system has files without names
mkdir killed
if $python -c 'import os; os.close(os.open("killed", os.O_TMPFILE | os.O_WRONLY))' 2>/dev/null; then
    for what in "transform M.safetensors LONG.npy -o killed/Z.npy" "kernel LARGE.npy --sigma 2 -o killed/K.npy"; do
        for after in 0.02 0.05 0.1 0.2; do
            "$mercer" $what >out 2>err &
            sleep $after
            kill -KILL $! 2>/dev/null
            wait $! 2>/dev/null
            checks=$((checks + 1))
            left=$(ls -A killed | grep -vx '[ZK].npy')
            [ "$left" = '' ] || fail "left behind after a kill: $left"
        done
    done
fi
mkfifo silent
"$mercer" transform M.safetensors - -o STOPPED.npy <silent >out 2>err &
exec 9>silent
sleep 0.3
kill -TERM $!
stopped 7 STOPPED.npy
exec 9>&-
# a dense factorisation cannot be cancelled: the second signal ends it
"$mercer" fit DENSE.npy --method kpca --sigma 2 --solver dense --threads 1 -o STOPPED.safetensors >out 2>err &
sleep 2
kill -TERM $!
sleep 0.3
kill -INT $!
stopped 130 STOPPED.safetensors

# ---- the progress bar ---------------------------------------------------------------------------------------------

# Where standard error is no terminal: a line every ten seconds, and none with --quiet. A fit that takes minutes is stopped.
slow='fit LARGE.npy --method kpca --kernel anova --gamma 0.1 --storage stream --threads 1 --components 100'
checks=$((checks + 2))
"$mercer" $slow --quiet -o STOPPED.safetensors >out 2>quiet &
quiet=$!
"$mercer" $slow -o STOPPED.safetensors >out 2>err &
tries=0
while ! grep -q ' after ' err && [ $tries -lt 300 ]; do sleep 0.1; tries=$((tries + 1)); done
kill -TERM $quiet $!
stopped 7 STOPPED.safetensors
wait $quiet
grep -q '^mercer: [a-z]*: *[0-9]* % after 0:1[0-9]' err || fail "no line of progress: $(cat err)"
! grep -q ' after ' quiet || fail 'progress in spite of --quiet'

bar='\[[#.]*\] *[0-9]* %'
checks=$((checks + 1))
"$mercer" fit DENSE.npy --method kpca --sigma 2 --components 5 -o S.safetensors >out 2>err || fail 'fit DENSE.npy'
! grep -q "$bar" err out || fail 'progress that is no terminal'
if script -qec true /dev/null >/dev/null 2>&1 </dev/null; then # some containers have no terminals to give
    checks=$((checks + 3))
    script -qec "'$mercer' fit DENSE.npy --method kpca --sigma 2 --components 5 -o S.safetensors --json >/dev/null" /dev/null >out </dev/null
    grep -q "$bar" out || fail 'no progress on a terminal'
    grep -q "$bar  [0-9:]* left" out || fail 'no time left on a terminal'
    script -qec "'$mercer' fit LONG.npy --method nystrom --m 500 --sigma 2 -o S.safetensors --json >/dev/null" /dev/null >out </dev/null
    grep -q ' 9[0-9] %' out && ! grep -q '100 %' out || fail 'all is done before the call is'
fi

# ---- the demo --------------------------------------------------------------------------------------------------------

status 0 demo -o demo --json && json
status 0 demo -o demo && shows .svg && shows forecast
pic picture demo/rings.svg 1800 'inner ring' 'middle ring' 'outer ring'

echo "cli: $checks checks, $failures failed"
[ $failures = 0 ]
