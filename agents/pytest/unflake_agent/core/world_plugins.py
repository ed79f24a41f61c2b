"""The plugins that a world needs inside of pytest: its schedule, and a forced value.

A process registers them when it starts. A fork may have them where the process that was forked has
none: then modules are imported already, and may have the original functions under names of their own.
"""

import sys

from ..schedule.plugin import SchedulePlugin, has_schedule
from .forced_wait import ForcedWait, plugin_of


def register(settings, pluginmanager, agent):
    """Registers what the settings ask for. Returns the plugin that forces a value, or None."""
    if has_schedule(settings.get("under", "")):
        plugin = SchedulePlugin(settings["under"])
        agent.follow(plugin)
        pluginmanager.register(plugin, "unflake-schedule")
    if "forced_value" not in settings:
        return None
    forced = plugin_of(settings["forced_value"])
    pluginmanager.register(forced, "unflake-forced-value")
    return forced


def register_in_fork(settings, pluginmanager, agent):
    forced = register(settings, pluginmanager, agent)
    if isinstance(forced, ForcedWait):
        _rebind(forced.replaced)


def _rebind(replaced):
    """Replaces functions that modules imported by name. `replaced`: pairs of original and wrapper."""
    wrappers = {id(original): wrapper for original, wrapper in replaced}
    for name, module in list(sys.modules.items()):
        names = getattr(module, "__dict__", None)
        if type(names) is not dict or name.startswith(__name__.partition(".")[0]):
            continue
        found = [(key, wrappers[id(value)]) for key, value in list(names.items()) if id(value) in wrappers]
        names.update(found)
