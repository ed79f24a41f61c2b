"""Fixtures of wider scopes that stand between two tests: state that no module leads to. PYTEST_DONT_REWRITE"""

import types

from . import noise
from .process_state import Group
from ..common.introspect import MISSING


class Standing(Group):
    """Which fixtures stand, by name. One that was not there is put back by tearing it down, with all that rests on it."""

    kind = "fixture"
    prefix = "fixture "

    def __init__(self, session):
        self._request = types.SimpleNamespace(
            node=session.items[0] if session.items else session, config=session.config
        )
        # All that tests ask for by name, and, where pytest shows them, those that they ask for as they run.
        self._known = {}
        sources = [getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {}) for item in session.items]
        sources.append(getattr(session._fixturemanager, "_arg2fixturedefs", {}))
        for source in sources:
            for name, definitions in source.items():
                self._known.setdefault(name, {}).update((id(one), one) for one in definitions)

    def _definitions(self):
        found = {}
        for name, definitions in self._known.items():
            for one in definitions.values():
                made_by = getattr(getattr(one, "func", None), "__module__", None)
                if getattr(one, "cached_result", None) is None or str(made_by).partition(".")[0] in noise.OURS:
                    continue
                path, number = "fixture %s" % name, 2
                while path in found:
                    path, number = "fixture %s (%d)" % (name, number), number + 1
                found[path] = one
        return found

    def read(self):
        """What they gave: None of one whose set-up failed."""
        return {path: one.cached_result[0] for path, one in self._definitions().items()}

    def fixed(self, path, old, new):
        return None if old is MISSING else "a fixture is set up by a test that needs it, not from outside"

    def write(self, path, old):
        definition = self._definitions().get(path)
        if definition is not None:
            definition.finish(self._request)
