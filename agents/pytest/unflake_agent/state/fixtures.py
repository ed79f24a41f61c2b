"""Fixtures of wider scopes that stay set up between two tests: state that no module leads to."""

import types

from . import noise
from .process_state import StateGroup
from .repr import MISSING


class ActiveFixtures(StateGroup):
    """Values of the fixtures that are set up, by name.

    A new one is undone by tearing it down, with all fixtures that depend on it.
    """

    kind = "fixture"
    prefix = "fixture "

    def __init__(self, session):
        self._request = types.SimpleNamespace(
            node=session.items[0] if session.items else session, config=session.config
        )
        # Fixtures that tests name, and, where pytest shows them, those requested at run time.
        self._definitions_by_name = {}
        sources = [getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {}) for item in session.items]
        sources.append(getattr(session._fixturemanager, "_arg2fixturedefs", {}))
        for source in sources:
            for name, definitions in source.items():
                self._definitions_by_name.setdefault(name, {}).update((id(one), one) for one in definitions)

    def _definitions(self):
        found = {}
        for name, definitions in self._definitions_by_name.items():
            for one in definitions.values():
                made_by = getattr(getattr(one, "func", None), "__module__", None)
                if getattr(one, "cached_result", None) is None or str(made_by).partition(".")[0] in noise.RUNNER_PACKAGES:
                    continue
                path, number = "fixture %s" % name, 2
                while path in found:
                    path, number = "fixture %s (%d)" % (name, number), number + 1
                found[path] = one
        return found

    def active(self):
        """Identifies the set-ups of wider scopes that are done, those of `setup_class` and the like included."""
        definitions = (one for named in self._definitions_by_name.values() for one in named.values())
        return frozenset(
            id(one)
            for one in definitions
            if getattr(one, "cached_result", None) is not None and getattr(one, "scope", None) != "function"
        )

    def read(self):
        """Their values; None for one whose set-up failed."""
        return {path: one.cached_result[0] for path, one in self._definitions().items()}

    def why_fixed(self, path, old, new):
        return None if old is MISSING else "a fixture is set up by the test that needs it"

    def restore(self, path, old):
        definition = self._definitions().get(path)
        if definition is not None:
            definition.finish(self._request)
