//! What a ledger file looks like. The cases in `tests/cases` are shared with the other implementations.
