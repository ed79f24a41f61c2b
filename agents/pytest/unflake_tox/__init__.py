"""A plugin of tox that lets unflake's agent reach the pytest in a tox environment.

tox starts commands with few of the variables that it was started with. It finds this plugin beside
the agent on PYTHONPATH, by the entry point in `unflake_tox.dist-info`. Without UNFLAKE_SOCKET the
plugin does nothing.
"""

import json
import os

from tox.plugin import impl

AGENT_DIRECTORY = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def agent_variables(outside, inside):
    """The variables that load the agent, for commands that start with the variables `inside`.

    `outside` are the variables of tox. The agent restores the values that tox itself would give.
    """
    passed = {name: value for name, value in outside.items() if name.startswith("UNFLAKE_") and name != "UNFLAKE_UNDER"}
    changed = {"PYTHONPATH": (AGENT_DIRECTORY, os.pathsep), "PYTEST_PLUGINS": ("unflake_agent", ",")}
    for name, (value, separator) in changed.items():
        passed[name] = separator.join(filter(None, (value, inside.get(name))))
    passed["UNFLAKE_RESTORE"] = json.dumps({name: inside.get(name) for name in changed})
    return passed


@impl
def tox_before_run_commands(tox_env):
    if "UNFLAKE_SOCKET" in os.environ:
        tox_env.conf["set_env"].update(agent_variables(os.environ, tox_env.environment_variables))
