"""Records the files, variables and processes that each attempt depends on."""
