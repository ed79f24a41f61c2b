"""Classifies paths as the project's, installed or foreign, and lists all names of a linked path."""

import os
import stat
import sys
import sysconfig

REPOSITORIES = ".git", ".hg", ".svn", ".bzr", ".jj"
INSTALLED = "/site-packages/", "/dist-packages/"
# Below these there are no files that anybody wrote.
VIRTUAL = "/proc/", "/dev/", "/sys/"
MAX_LINKS = 40
DIRECTORY = stat.S_IFDIR


def repository(directory, exists=os.path.lexists):
    """The root of the repository that contains this directory, or the directory itself."""
    above = directory
    while True:
        if any(exists(os.path.join(above, name)) for name in REPOSITORIES):
            return above
        if os.path.dirname(above) == above:
            return directory
        above = os.path.dirname(above)


def environment():
    """The directories of the interpreter and of the packages installed for it."""
    found = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}
    found.update(path for path in sysconfig.get_paths().values() if path)
    found.update({os.path.realpath(path) for path in found} - {"/"})
    return tuple(os.path.join(path, "") for path in found if path != "/")


def path_kind(path, stat=os.stat, mode=stat.S_IFMT):
    """What is there: "directory", "file" or None. Uses `os.stat` from before any patches."""
    try:
        return "directory" if mode(stat(path).st_mode) == DIRECTORY else "file"
    except (OSError, ValueError):
        return None


class PathNames:
    """All names of a path: where it really is, and every link on the way.

    They are resolved when the path is used, since a link may point elsewhere later.
    """

    def __init__(self):
        self._readlink, self._getcwd, self._fsdecode = os.readlink, os.getcwd, os.fsdecode
        self._no_links = set()

    def forget(self):
        self._no_links.clear()

    def descriptor(self, number):
        """The path of an open file or directory; None if the system does not say."""
        try:
            path = self._readlink("/proc/self/fd/%d" % number)
        except OSError:
            return None
        return path if path.startswith("/") else None

    def absolute(self, path, directory=None):
        """Not normalised, since `..` after a link is elsewhere. None for what is not a path."""
        try:
            path = self._fsdecode(path)
        except TypeError:
            return None
        if path.startswith("/"):
            return path
        try:
            return (directory or self._getcwd()) + "/" + path
        except OSError:
            return None

    def of(self, path):
        """The names of an absolute path, the real one first."""
        links, no_links, remaining = [], self._no_links, MAX_LINKS
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
            if there not in no_links:
                try:
                    target = self._readlink(there)
                except (OSError, ValueError):
                    if ahead:  # The last part may become a link at any time.
                        no_links.add(there)
                else:
                    links.append(there)
                    remaining -= 1
                    if remaining < 0:
                        break
                    if target.startswith("/"):
                        here = ""
                    ahead.extend(target.split("/")[::-1])
                    continue
            here = there
        return [here or "/"] + links


class ProjectPaths:
    """Tells the project's files from others, and names them relative to its root."""

    def __init__(self, root, *excluded):
        """`excluded`: directories of unflake."""
        self.root = root
        self._inside = os.path.join(root, "")
        self._excluded = tuple(os.path.join(os.path.realpath(one), "") for one in excluded)
        self._environment = environment()
        self._known = {}

    def classify(self, path):
        """("project" | "outside" | None, name). None: installed, virtual, or unflake's."""
        found = self._known.get(path)
        if found is None:
            found = self._known[path] = self._classify(path)
        return found

    def _classify(self, path):
        slashed = path + "/"
        if slashed.startswith(self._excluded):
            return None, path
        if slashed.startswith(self._inside):
            name = path[len(self._inside) :] or "."
            nested = [one for one in self._environment if one.startswith(self._inside) and one != self._inside]
            if any(slashed.startswith(one) for one in nested) or any(one in "/" + name for one in INSTALLED):
                return None, path
            first = name.split("/", 1)[0]
            return (None if first in REPOSITORIES else "project"), name
        if slashed.startswith(self._environment + VIRTUAL) or any(one in path for one in INSTALLED):
            return None, path
        return "outside", path

    def has(self, path):
        return self.classify(path)[0] == "project"
