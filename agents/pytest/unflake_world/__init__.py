"""A plugin for pytest in a world with a seed, a schedule or a forced value, where the agent is not.

Its modules are those of the agent.

PYTEST_DONT_REWRITE
"""

import os


def pytest_addoption(parser, pluginmanager):
    under = os.environ.get("UNFLAKE_UNDER", "")
    # The agent of unflake does the same.
    if "UNFLAKE_SOCKET" in os.environ or pluginmanager.hasplugin("unflake"):
        return
    from .core.random_state import Randomness, SeedPlugin, seed_of
    from .schedule.plugin import SchedulePlugin, has_schedule

    seed = seed_of(under)
    if seed is not None:
        pluginmanager.register(SeedPlugin(seed, Randomness()), "unflake-seeds")
    if has_schedule(under):
        pluginmanager.register(SchedulePlugin(under, shows_points=True), "unflake-schedule")
    setting = os.environ.get("UNFLAKE_FORCED_VALUE")
    if setting is not None:
        from .core.forced_wait import plugin_of

        pluginmanager.register(plugin_of(setting), "unflake-forced-value")
