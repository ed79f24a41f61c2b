"""Calls a function on a module right after it is loaded, before its importer sees it."""

import sys


class _Finder:
    """Finds modules through the other finders and wraps their loaders."""

    def __init__(self):
        self.actions = {}

    def find_spec(self, name, path=None, target=None):
        action = self.actions.get(name)
        if action is None:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find is not None and finder is not self else None
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader, action)
                return spec
        return None


class _Loader:
    """Replaces a loader only while the module is loaded."""

    def __init__(self, loader, action):
        self._loader, self._action = loader, action

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._action(module)


_finder = _Finder()


def after_import(name, action):
    """Calls `action(module)` whenever the module is loaded, and now if it is loaded already."""
    if name in sys.modules:
        action(sys.modules[name])
        return
    _finder.actions[name] = action
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
