"""Answers that are slow to get, kept as long as the process lives."""

_entries = {}


def lookup(key, load):
    if key not in _entries:
        _entries[key] = load()
    return _entries[key]
