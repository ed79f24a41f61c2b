"""Which code is the project's own, and what its lines are called. PYTEST_DONT_REWRITE"""

import filecmp
import os

from .paths import INSTALLED, Project, repository
from .qualified_names import Qualified

# Where a repository may have the packages that are also installed.
HOMES = "", "src", "lib", "python"


class Own:
    def __init__(self, root, side, agent):
        self._root = repository(os.path.realpath(root))
        self._project = Project(self._root, side, agent)
        self._real, self._exists, self._same = os.path.realpath, os.path.exists, filecmp.cmp
        self._files = {}
        self._qualified = Qualified()

    def file(self, name):
        """The file of the project that code with this file name is from; None if it is not the project's."""
        known = self._files.get(name, False)
        if known is False:
            known = self._files[name] = self._find(name)
        return known

    def _find(self, name):
        if name.startswith("<"):
            return None
        path = self._real(name)
        if self._project.is_ours(path):
            return path
        for mark in INSTALLED:
            if mark in path:
                return self._copied(path.rpartition(mark)[2], path)
        return None

    def _copied(self, name, path):
        """The file that an installed one is a copy of."""
        for home in HOMES:
            there = os.path.join(self._root, home, name)
            try:
                if "/" in name and self._exists(there) and self._same(there, path, shallow=False):
                    return there
            except OSError:
                pass
        return None

    def function(self, code):
        name = getattr(code, "co_qualname", None)
        return name or self._qualified(code.co_filename, code.co_firstlineno, code.co_name)
