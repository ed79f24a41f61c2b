"""Code that tells of its assertions, kept from run to run as Python and pytest keep theirs: to make it takes as long as a short suite runs.
In the directory that unflake has for such things, never beside the sources. PYTEST_DONT_REWRITE"""

import hashlib
import importlib.util
import marshal
import os
import sys
import time

DAYS = 30


def digest(data):
    return hashlib.sha1(data).hexdigest()[:16]


class Kept:
    def __init__(self, directory):
        """`directory`: None where nothing can be kept."""
        self._directory = os.path.join(directory, "assertions") if directory else None
        self._hash, self._load, self._dump = hashlib.sha1, marshal.loads, marshal.dumps
        self._open, self._rename, self._touch, self._getpid = open, os.replace, os.utime, os.getpid
        self._mine = self._version() if directory else b""
        self._tidied = False

    def _version(self):
        """Of everything that has a hand in what is kept, but for the source."""
        here = os.path.dirname(os.path.abspath(__file__))
        parts = [sys.version, importlib.util.MAGIC_NUMBER]
        for name in sorted(os.listdir(here)):
            if name.endswith(".py"):
                with open(os.path.join(here, name), "rb") as file:
                    parts.append(digest(file.read()))
        return repr(parts).encode()

    def _path(self, source, way):
        return os.path.join(self._directory, self._hash(self._mine + repr(way).encode("utf-8", "surrogatepass") + b"\0" + source).hexdigest())

    def get(self, source, way):
        """Code and what is kept of its sites; None if it is not there. `way`: what else it depends on."""
        if self._directory is None:
            return None
        path = self._path(source, way)
        try:
            with self._open(path, "rb") as file:
                kept = self._load(file.read())
            self._touch(path)
        except (OSError, ValueError, EOFError, TypeError):
            return None
        return kept

    def put(self, source, way, code, sites):
        if self._directory is None:
            return
        path = self._path(source, way)
        try:
            os.makedirs(self._directory, exist_ok=True)
            self._tidy()
            half = "%s.%d" % (path, self._getpid())
            with self._open(half, "wb") as file:
                file.write(self._dump((code, [site.keep() for site in sites])))
            self._rename(half, path)
        except (OSError, ValueError):
            self._directory = None

    def _tidy(self):
        """What nobody has used for long goes."""
        if not self._tidied:
            self._tidied = True
            for one in os.scandir(self._directory):
                if one.stat().st_mtime < time.time() - DAYS * 86400:
                    os.unlink(one.path)
