#compdef unflake
# Completes commands, options, files and tests of unflake.
_unflake() {
    local line
    local -a values shown
    for line in ${(f)"$(${words[1]} complete $((CURRENT - 1)) -- "${(Q)words[@]}" 2>/dev/null)"}; do
        values+=("${line%%$'\t'*}")
        shown+=("${line/$'\t'/  }")
    done
    # -U: the candidates match already, some in the middle.
    compadd -U -l -d shown -a values
}
compdef _unflake unflake
