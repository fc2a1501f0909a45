#!/bin/bash
# What bash offers for a command line of mercer: completion_test.sh MERCER FOLDER-OF-PLUGINS. The function of completion.bash is
# called as bash calls it, and at last by bash itself, on a terminal.
set -u
mercer=$(realpath "$1") plugins=$(realpath "$2") here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
PATH=$(dirname "$mercer"):$PATH
checks=0 failures=0
eval "$(mercer completion bash)" || exit 1

# offered LINE: what is offered at the end of the line, sorted, in $got. Bash parts words at blanks and "=".
offered() {
    read -ra COMP_WORDS <<<"${1//=/ = }"
    [[ $1 != *" " ]] || COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    COMPREPLY=()
    _mercer
    got=$(printf '%s\n' "${COMPREPLY[@]}" | sort | paste -sd' ')
}
check() {
    checks=$((checks + 1))
    "${@:2}" && return
    failures=$((failures + 1))
    echo "FAILED: $1; offered are: $got"
}
# is LINE WORDS: all that is offered; has LINE WORD...: these are among it; lacks LINE WORD
is() { offered "$1"; check "'$1' -> '$2'" [ "$got" = "$2" ]; }
has() {
    offered "$1"
    for word in "${@:2}"; do check "'$1' lacks '$word'" grep -qw -e "$word" <<<"${got//./_}"; done
}
lacks() { offered "$1"; check "'$1' has '$2'" eval '! grep -qw -e "$2" <<<"$got"'; }
names() { mercer methods "$1" --json | /usr/bin/python3 -c 'import json, sys; print(*sorted(e["name"] for e in next(iter(json.load(sys.stdin).values()))))'; }

# commands
is 'mercer tra' transform
is 'mercer plugin' 'plugin-check plugin-new plugins'
is 'mercer --v' --version
is 'mercer help tra' transform
commands=$(mercer --help | sed -n 's/^  \([a-z-]*\)  .*/\1/p' | grep -v ^-- | sort | paste -sd' ')
has 'mercer ' $commands help
for command in $commands; do has "mercer $command --" --help; done

# names of registries
for pair in 'fit X.npy --method:methods' 'fit X.npy --kernel:kernels' 'transform M Q --what:operations' 'describe:methods' 'describe:derivations'; do
    offered "mercer ${pair%:*} "
    for name in $(names "${pair#*:}"); do check "'$pair' lacks '$name'" grep -qw -e "$name" <<<"$got"; done
done
is 'mercer fit X.npy --method kp' kpca
is 'mercer fit X.npy --method=kp' kpca
is 'mercer describe gauss' gaussian
is 'mercer fit --method kpca --reducer=rp' rpcholesky
is 'mercer fit --method kpca --solver block' block-krylov
is 'mercer methods sta' statuses
is 'mercer plugin-new ' 'kernel reducer solver'
is 'mercer plugin-check kernel-gau' kernel-gaussian
has 'mercer plugin-check ' reducer-rpcholesky solver-block-krylov
is 'mercer describe kernel.s' kernel.sigma
has 'mercer describe kernel.' kernel_gamma kernel_bandwidth

# flags: those of the recipe that the line makes, each once; dotted names once a dot is written
is 'mercer fit X.npy --method kpca --sig' --sigma
is 'mercer fit X.npy --method kpca --kernel linear --sig' ''
is 'mercer fit X.npy --method kpca --kernel.si' --kernel.sigma
has 'mercer fit X.npy --method kpca --kernel matern --' --nu --components --seed --threads --memory --json --set
lacks 'mercer fit X.npy --method kpca --' kernel.sigma
has 'mercer transform M X --what scores --w' --whiten
is 'mercer info M --j' --json
is 'mercer info M --v' --verbose
has 'mercer compress M --' --reducer --m --orthonormal --seed --json
is 'mercer describe kpca --kernel gaussian --bandw' --bandwidth

# values
is 'mercer fit X.npy --method kpca --bandwidth ' 'mean median scale'
is 'mercer fit X.npy --header=' 'no yes'
is 'mercer fit X.npy --precomputed k' kernel
is 'mercer transform M X --whiten t' true
is 'mercer plot M --kind sc' 'scatter scree'
is 'mercer transform M X --format ' 'csv npy'
is 'mercer transform M X --what t' t2
is 'mercer transform M X --what scores,t' scores,t2
is 'mercer transform M X --what=scores,res' scores,residual
is 'mercer fit X.npy --method kpca --set sig' sigma=
is 'mercer fit X.npy --method kpca --set kernel.sig' kernel.sigma=
has 'mercer fit X.npy --method kpca --set kern' kernel kernel_sigma kernel_gamma
is 'mercer fit X.npy --method kpca --set bandwidth=me' 'mean median'
is 'mercer fit X.npy --method kpca --set kernel.bandwidth=s' scale
is 'mercer fit X.npy --dtype f' 'f32 f64'

# files are left to bash, and so is what makes no sense
is 'mercer fit ' ''
is 'mercer fit X.npy -o ' ''
is 'mercer fit X.npy --threads ' ''
is 'mercer fit --method nothing --' ''
is 'mercer fit --method nothing --json --' ''
is 'mercer nothing ' ''

# a plugin of the user's own
cp "$plugins/kernel-marker.so" . && export MERCER_PLUGIN_PATH=$PWD
is 'mercer fit X.npy --kernel mark' marker
unset MERCER_PLUGIN_PATH

# bash itself: what stands on the line after TAB
touch 'some file.npy'
/usr/bin/python3 - "$mercer" <<'END' || failures=$((failures + 1))
import os, pty, select, subprocess, sys, time
folder, wrong = os.path.dirname(sys.argv[1]), 0
cases = {"mercer inf": "mercer info", "mercer fit X --method=kp": "mercer fit X --method=kpca", "mercer fit X --set see": "mercer fit X --set seed=",
         "mercer fit X --set kernel.bandwidth=sc": "mercer fit X --set kernel.bandwidth=scale", "mercer fit som": "mercer fit some\\ file.npy"}
for typed, expected in cases.items():
    try:
        ours, theirs = pty.openpty()
    except OSError:
        print("no terminals here: bash itself was not asked")
        break
    environment = dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}", TERM="dumb", PS1="", INPUTRC="/dev/null")
    bash = subprocess.Popen(["bash", "--norc", "--noprofile", "-i"], stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True)
    os.write(ours, b'PS1=; PS2=; eval "$(mercer completion bash)"; echo rea""dy\n')
    seen, end = b"", time.time() + 20
    def read_until(text):
        global seen
        while text not in seen and time.time() < end and select.select([ours], [], [], 5)[0]:
            seen += os.read(ours, 4096)
    read_until(b"ready\r\n")
    seen = b""
    os.write(ours, typed.encode() + b"\t")
    read_until(expected.encode())
    if expected.encode() not in seen:
        wrong += 1
        print(f"FAILED: '{typed}' TAB: {seen!r}")
    bash.kill()
    bash.wait()
    os.close(ours), os.close(theirs)
sys.exit(wrong > 0)
END

echo "completion: $checks checks, $failures failed"
[ $failures = 0 ]
