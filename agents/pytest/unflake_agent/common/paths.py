"""Whose a path is: the project's, its environment's, or neither; and all its names where links lead to it. PYTEST_DONT_REWRITE"""

import os
import stat
import sys
import sysconfig

REPOSITORIES = ".git", ".hg", ".svn", ".bzr", ".jj"
INSTALLED = "/site-packages/", "/dist-packages/"
# No files of anybody.
NOWHERE = "/proc/", "/dev/", "/sys/"
MOST_LINKS = 40
DIRECTORY = stat.S_IFDIR


def repository(directory, exists=os.path.lexists):
    """The directory of the repository that this directory is in, or else the directory itself."""
    above = directory
    while True:
        if any(exists(os.path.join(above, name)) for name in REPOSITORIES):
            return above
        if os.path.dirname(above) == above:
            return directory
        above = os.path.dirname(above)


def environment():
    """Where the interpreter and what is installed for it are."""
    found = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}
    found.update(path for path in sysconfig.get_paths().values() if path)
    found.update({os.path.realpath(path) for path in found} - {"/"})
    return tuple(os.path.join(path, "") for path in found if path != "/")


def kind(path, stat=os.stat, mode=stat.S_IFMT):
    """What is there: "directory", "file" or None. As `os.stat` was when the agent came in."""
    try:
        return "directory" if mode(stat(path).st_mode) == DIRECTORY else "file"
    except (OSError, ValueError):
        return None


class Names:
    """All names of a path: itself, every link on the way, and where they lead. Made when the path is used: a link
    may be another one later."""

    def __init__(self):
        self._link, self._cwd = os.readlink, os.getcwd
        self._encoded, self._is_int = os.fsdecode, int
        self._plain = set()

    def forget(self):
        self._plain.clear()

    def descriptor(self, number):
        """The path of an open file or directory; None where the system does not tell."""
        try:
            path = self._link("/proc/self/fd/%d" % number)
        except OSError:
            return None
        return path if path.startswith("/") else None

    def absolute(self, path, directory=None):
        """Not normalised: `..` after a link is not where it seems to be. None for what is not a path."""
        try:
            path = self._encoded(path)
        except TypeError:
            return None
        if path.startswith("/"):
            return path
        try:
            return (directory or self._cwd()) + "/" + path
        except OSError:
            return None

    def of(self, path):
        """The names of an absolute path, where it really is first."""
        links, plain, found = [], self._plain, MOST_LINKS
        ahead = path.split("/")[::-1]
        here = ""
        while ahead:
            part = ahead.pop()
            if part in ("", "."):
                continue
            if part == "..":
                here = here.rpartition("/")[0]
                continue
            there = here + "/" + part
            if there not in plain:
                try:
                    target = self._link(there)
                except (OSError, ValueError):
                    if ahead:  # A last part may become a link at any time.
                        plain.add(there)
                else:
                    links.append(there)
                    found -= 1
                    if found < 0:
                        break
                    if target.startswith("/"):
                        here = ""
                    ahead.extend(target.split("/")[::-1])
                    continue
            here = there
        return [here or "/"] + links


class Project:
    """Tells the project's files from others. Its own are named from its root."""

    def __init__(self, root, *unflakes):
        """`unflakes`: directories of unflake, which are nobody's."""
        self.root = root
        self._inside = os.path.join(root, "")
        self._unflakes = tuple(os.path.join(os.path.realpath(one), "") for one in unflakes)
        self._environment = environment()
        self._places = {}

    def place(self, path):
        """("project" | "outside" | None, name)"""
        found = self._places.get(path)
        if found is None:
            found = self._places[path] = self._look(path)
        return found

    def _look(self, path):
        slashed = path + "/"
        if slashed.startswith(self._unflakes):
            return None, path
        if slashed.startswith(self._inside):
            name = path[len(self._inside) :] or "."
            nested = [one for one in self._environment if one.startswith(self._inside) and one != self._inside]
            if any(slashed.startswith(one) for one in nested) or any(one in "/" + name for one in INSTALLED):
                return None, path
            first = name.split("/", 1)[0]
            return (None if first in REPOSITORIES else "project"), name
        if slashed.startswith(self._environment + NOWHERE) or any(one in path for one in INSTALLED):
            return None, path
        return "outside", path

    def is_ours(self, path):
        return self.place(path)[0] == "project"
