"""unflake's agent inside pytest: lists tests, runs what it is told, reports. It keeps agents/README.md.

It comes in by PYTHONPATH and PYTEST_PLUGINS, puts both back at once, and without UNFLAKE_SOCKET does nothing.
One job a file: `wire` speaks, `plugin` listens to pytest and obeys orders, `items` makes distinct copies of tests,
`reports` tells how a test ended, `forks` copies the process, `capturing` keeps what copies write apart, `stacks` shows where it hangs or crashed. Only where it is
asked for: `dependencies` tells what a test depended on, from `facts` that are gathered by `touched` (files, variables),
`executed` (code, seen by `watch`), `imports` (who imports whom) and `children` (other processes; `follow` is inside
those), and written by `told`; `paths` and `qualified` name things. `state` obeys orders about what tests leave behind: objects that can be reached (`heap`, made of
`shapes` and `values` by `plans`, told by `names` and `texts`; `origins` says whose they are), the process
(`surroundings`, `descriptors`), fixtures (`standing`), files (`disk`), less the `noise`; and `writes` sees which lines write it.
`tracing` has the order in which lines run, `layers` what a run looked like, `assert_instrument` what its assertions saw; their own docstrings say who helps.

PYTEST_DONT_REWRITE
"""

import _imp
import importlib
import os
import sys
from importlib.machinery import PathFinder, SourceFileLoader


# Where the agent is laid out.
DIRECTORY = os.path.dirname(os.path.abspath(__file__))


class _Unseen(SourceFileLoader):
    """Loads the agent's files so that they are not taken for the project's: coverage without a `source` measures every
    file that is not installed, but none that has a name in brackets; Hypothesis takes constants from such files."""

    def get_code(self, fullname):
        code = super().get_code(fullname)
        if hasattr(_imp, "_fix_co_filename"):
            _imp._fix_co_filename(code, "<%s>" % fullname)
        return code

    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        if not fullname.startswith(__name__ + "."):
            return None
        spec = PathFinder.find_spec(fullname, path)
        spec.loader = cls(spec.loader.name, spec.loader.path)
        return spec


def _come_in():
    """What unflake said in the environment, which afterwards looks as if unflake were not there."""
    told = {key[8:].lower(): os.environ[key] for key in list(os.environ) if key.startswith("UNFLAKE_")}
    for key in told:
        if key != "under":  # What the project starts is to be in the same world.
            del os.environ["UNFLAKE_" + key.upper()]
    if "restore" in told:
        import json

        for name, value in json.loads(told["restore"]).items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
    home = os.path.dirname(DIRECTORY)
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != home]
    return told


# A project that tests itself under another unflake must not lose the variables meant for that one.
_told = _come_in() if "UNFLAKE_SOCKET" in os.environ else {}


def bring(name):
    """A file of the agent. Compiled files are kept, beside the agent, even where the project wants none of its own:
    without them every start would take 25 ms longer."""
    wanted, sys.dont_write_bytecode = sys.dont_write_bytecode, False
    sys.meta_path.insert(0, _Unseen)
    try:
        return importlib.import_module("." + name, __name__)
    finally:
        sys.meta_path.remove(_Unseen)
        sys.dont_write_bytecode = wanted


def pytest_addoption(parser, pluginmanager):
    # The first hook that a plugin sees; it is called as soon as this module is registered. The agent is an object and
    # not this module because tests (freezegun) replace attributes of modules.
    if _told:
        plugin = bring("core.plugin")
        if "dependencies" in _told:
            bring("dependencies.plugin")
        pluginmanager.register(plugin.Agent(_told), "unflake")
