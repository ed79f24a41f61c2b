"""Keeps instrumented code from run to run: making it takes as long as a short suite runs.

It is in unflake's cache directory, never beside the sources.
"""

import hashlib
import importlib.util
import marshal
import os
import sys
import time

MAX_AGE_DAYS = 30


def digest(data):
    return hashlib.sha1(data).hexdigest()[:16]


class CodeCache:
    def __init__(self, directory):
        """`directory`: None disables the cache."""
        self._directory = os.path.join(directory, "assertions") if directory else None
        self._hash, self._load, self._dump = hashlib.sha1, marshal.loads, marshal.dumps
        self._open, self._rename, self._touch, self._getpid = open, os.replace, os.utime, os.getpid
        self._version = self._own_version() if directory else b""
        self._is_cleaned = False

    def _own_version(self):
        """Identifies everything besides the source that the code depends on."""
        here = os.path.dirname(os.path.abspath(__file__))
        parts = [sys.version, importlib.util.MAGIC_NUMBER]
        for name in sorted(os.listdir(here)):
            if name.endswith(".py"):
                with open(os.path.join(here, name), "rb") as file:
                    parts.append(digest(file.read()))
        return repr(parts).encode()

    def _path(self, source, key):
        data = self._version + repr(key).encode("utf-8", "surrogatepass") + b"\0" + source
        return os.path.join(self._directory, self._hash(data).hexdigest())

    def get(self, source, key):
        """Code and its stored sites, or None. `key`: what else the code depends on."""
        if self._directory is None:
            return None
        path = self._path(source, key)
        try:
            with self._open(path, "rb") as file:
                found = self._load(file.read())
            self._touch(path)
        except (OSError, ValueError, EOFError, TypeError):
            return None
        return found

    def put(self, source, key, code, sites):
        if self._directory is None:
            return
        path = self._path(source, key)
        try:
            os.makedirs(self._directory, exist_ok=True)
            self._remove_old()
            unfinished = "%s.%d" % (path, self._getpid())
            with self._open(unfinished, "wb") as file:
                file.write(self._dump((code, [site.to_tuple() for site in sites])))
            self._rename(unfinished, path)
        except (OSError, ValueError):
            self._directory = None

    def _remove_old(self):
        if not self._is_cleaned:
            self._is_cleaned = True
            for one in os.scandir(self._directory):
                if one.stat().st_mtime < time.time() - MAX_AGE_DAYS * 86400:
                    os.unlink(one.path)
