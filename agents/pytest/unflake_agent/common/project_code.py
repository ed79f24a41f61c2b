"""Decides which code belongs to the project, and finds the project's file for it.

A package of the project that is imported from an installed copy counts as the project's file, if
the two are equal.
"""

import filecmp
import os

from .paths import INSTALLED, ProjectPaths, repository
from .qualified_names import QualifiedNames

# Where a repository may have packages that are also installed.
SOURCE_DIRECTORIES = "", "src", "lib", "python"


class ProjectCode:
    def __init__(self, root, *excluded):
        self._root = repository(os.path.realpath(root))
        self._project = ProjectPaths(self._root, *excluded)
        self._realpath, self._exists, self._is_equal = os.path.realpath, os.path.exists, filecmp.cmp
        self._files = {}
        self.qualified_name = QualifiedNames().of_code

    def file(self, name):
        """The project's file for code with this file name; None if it is not the project's."""
        known = self._files.get(name, False)
        if known is False:
            known = self._files[name] = self._find(name)
        return known

    def _find(self, name):
        if name.startswith("<"):
            return None
        path = self._realpath(name)
        if self._project.has(path):
            return path
        for mark in INSTALLED:
            if mark in path:
                return self._source_of_copy(path.rpartition(mark)[2], path)
        return None

    def _source_of_copy(self, name, path):
        for directory in SOURCE_DIRECTORIES:
            source = os.path.join(self._root, directory, name)
            try:
                if "/" in name and self._exists(source) and self._is_equal(source, path, shallow=False):
                    return source
            except OSError:
                pass
        return None
