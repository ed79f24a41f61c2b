# Completes commands, options, files and tests of unflake.
_unflake() {
    # Bash splits words at the characters of COMP_WORDBREAKS, such as the colons of a test name.
    # Words between which the line has no blank are one.
    local rest=${COMP_LINE:0:COMP_POINT} word i
    local -a words=()
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((i == 0)) || [[ $rest == [[:blank:]]* ]]; then
            rest=${rest#"${rest%%[![:blank:]]*}"}
            words+=("")
        fi
        ((i == COMP_CWORD)) && word=$rest
        words[${#words[@]} - 1]+=$word
        rest=${rest#"$word"}
    done
    local typed=${words[${#words[@]} - 1]} line
    # Bash replaces only what follows the last such character.
    local kept=${typed%"${typed##*[:=]}"}
    COMPREPLY=()
    while IFS= read -r line; do
        line=${line%%$'\t'*}
        [[ -z $kept || $line == "$typed"* ]] || continue
        printf -v line %q "${line#"$kept"}"
        COMPREPLY+=("$line")
    done < <("${words[0]}" complete "$((${#words[@]} - 1))" -- "${words[@]}" 2>/dev/null)
    if ((${#COMPREPLY[@]} == 1)) && [[ ${COMPREPLY[0]} == */ ]]; then
        compopt -o nospace
    fi
}
complete -F _unflake unflake
