"""Something to be done to a module as soon as it is loaded, before whoever imports it sees it. PYTEST_DONT_REWRITE"""

import sys


class _Finder:
    """Finds modules as the others do, and adds to their loading."""

    def __init__(self):
        self.actions = {}

    def find_spec(self, name, path=None, target=None):
        action = self.actions.pop(name, None)
        if action is None:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find is not None and finder is not self else None
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader, action)
                return spec
        self.actions[name] = action  # It may be there later.
        return None


class _Loader:
    """In a loader's place for as long as the module is loaded; afterwards nothing is left of it."""

    def __init__(self, loader, action):
        self._loader, self._action = loader, action

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._action(module)


_finder = _Finder()


def after_import(name, action):
    """Has `action(module)` called when the module is loaded, or now if it is."""
    if name in sys.modules:
        action(sys.modules[name])
        return
    _finder.actions[name] = action
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
