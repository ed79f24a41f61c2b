# Completes commands, options, files and tests of unflake.
function __unflake_complete
    set --local before (commandline --current-process --tokenize --cut-at-cursor)
    set --local typed (commandline --current-token --cut-at-cursor)
    $before[1] complete (count $before) -- $before "$typed" 2>/dev/null
end
complete --command unflake --no-files --arguments '(__unflake_complete)'
