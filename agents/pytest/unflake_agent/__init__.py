"""unflake's agent inside pytest: lists tests, runs them in the requested order, reports outcomes.

It implements the contract in agents/README.md. pytest loads it through PYTHONPATH and
PYTEST_PLUGINS; it restores both variables at once. Without UNFLAKE_SOCKET it does nothing.

- `core` talks to unflake, runs tests and forks the process. It is the only package that every run
  loads; a setting or an order loads the others.
- `state` finds, restores and watches the state that tests leave behind.
- `dependencies` records the files, variables and processes that a test depends on.
- `trace` records the order in which lines run, with the values of variables.
- `layers` records what an attempt looks like: lines, values, output, pages in a browser.
- `assertions` records what assertions evaluate to, and filters failing ones.
- `schedule` delays threads and tasks at chosen lines.
- `common` has what several of them share: paths, names, texts of values.

PYTEST_DONT_REWRITE
"""

import _imp
import importlib
import os
import sys
from importlib.machinery import PathFinder, SourceFileLoader

DIRECTORY = os.path.dirname(os.path.abspath(__file__))
NATIVE_TRACER = os.path.join(DIRECTORY, "tracer.so")


class _HiddenLoader(SourceFileLoader):
    """Loads the agent's modules with file names in angle brackets, as code that is in no file.

    coverage without a `source` measures every file that is not installed, and Hypothesis collects
    constants from such files. Both ignore names in brackets.
    """

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


def _take_settings():
    """The UNFLAKE_ variables, without their prefix. Afterwards the environment has none of them."""
    settings = {key[8:].lower(): os.environ[key] for key in list(os.environ) if key.startswith("UNFLAKE_")}
    for key in settings:
        if key != "under":  # Child processes of the project must run in the same sandbox.
            del os.environ["UNFLAKE_" + key.upper()]
    if "restore" in settings:
        import json

        for name, value in json.loads(settings["restore"]).items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
    parent = os.path.dirname(DIRECTORY)
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != parent]
    return settings


# Without the socket the variables are meant for another unflake, which tests this project.
_settings = _take_settings() if "UNFLAKE_SOCKET" in os.environ else {}


def load(name):
    """Imports a module of the agent.

    Python keeps its compiled form beside the agent even if the project disables that: compiling
    on every start would take 25 ms.
    """
    setting, sys.dont_write_bytecode = sys.dont_write_bytecode, False
    sys.meta_path.insert(0, _HiddenLoader)
    try:
        return importlib.import_module("." + name, __name__)
    finally:
        sys.meta_path.remove(_HiddenLoader)
        sys.dont_write_bytecode = setting


def pytest_addoption(parser, pluginmanager):
    # pytest calls this hook as soon as it registers the module. The agent is an object because
    # libraries such as freezegun replace attributes of modules.
    if "process" in _settings:
        pluginmanager.register(load("core.xdist_worker").XdistWorker(_settings), "unflake")
    elif _settings:
        agent = load("core.plugin").Agent(_settings)
        pluginmanager.register(agent, "unflake")
        random_state = load("core.random_state")
        seed = random_state.seed_of(_settings.get("under", ""))
        if seed is not None:
            pluginmanager.register(random_state.SeedPlugin(seed, agent.randomness), "unflake-seeds")
        if "under" in _settings or "forced_value" in _settings:
            load("core.world_plugins").register(_settings, pluginmanager, agent)
