# bash completion of mercer: what a word may become, mercer itself says. Installed beside it, or by
#     eval "$(mercer completion bash)"
_mercer() {
    local given=() word joined= command=()
    for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do # bash parts words at "=", mercer does not
        if [[ ${#given[@]} -gt 0 && ($word == = || $joined) ]]; then given[-1]+=$word; else given+=("$word"); fi
        [[ $word == = ]] && joined=yes || joined=
    done
    local last=${given[-1]}
    [[ ${#given[@]} -gt 1 ]] && command=("${given[0]}") given=("${given[@]:1}")
    mapfile -t COMPREPLY < <("${COMP_WORDS[0]}" "${command[@]}" --complete "${given[@]}" 2>/dev/null)
    [[ $last == *=* && $COMP_WORDBREAKS == *=* ]] && COMPREPLY=("${COMPREPLY[@]#"${last%=*}="}")
    [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace 2>/dev/null
    return 0
}
complete -o default -F _mercer mercer
