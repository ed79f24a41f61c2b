"""What each attempt of a test looks like at the layers that are asked for: `assertion`, `code`, `behaviour`, `interface`. There
only when it is asked for. PYTEST_DONT_REWRITE

`layer_sheet` writes it down, `layer_output` has what tests write, `layer_interface` what a person would see in a browser. Code that
runs is seen by `layer_watch` (`layer_native`), and told by `layer_code` as lines and by `layer_behaviour` as values (`layer_values`).
"""

import os

from .. import DIRECTORY, bring
from .layer_file import Sheet
from ..common.project_code import Own

LIBRARY = "tracer.so"
NAMES = "assertion", "code", "behaviour", "interface"


class Layers:
    def __init__(self, told, text):
        """`text`: shortens texts."""
        self._wanted = [name for name in NAMES if name in told["layers"].split(",")]
        self._side, self._text, self._cache = told["side"], text, told.get("cache")
        self._agent = DIRECTORY
        # One attempt has one tracer.
        is_free = not told.get("traced") and told.get("tracer") != "python"
        self._library = (told.get("tracer") or os.path.join(self._agent, LIBRARY)) if is_free else None
        self._sheet = self._assertions = None
        self._instruments = []

    def configure(self, config):
        """As soon as pytest knows where the project is, and before any of its code is loaded."""
        root = os.path.realpath(str(config.rootpath))
        sheet = self._sheet = Sheet(self._side, root, self._text, self._wanted)
        own = Own(root, self._side, self._agent)
        wants_lines, wants_calls = "code" in self._wanted, "behaviour" in self._wanted
        if wants_lines or wants_calls:
            calls = bring("layers.behaviour").Calls(sheet) if wants_calls else None
            self._instruments.append(bring("layers.code_watch").watch(own, sheet, wants_lines, calls, self._library))
        if "interface" in self._wanted:
            self._instruments.append(bring("layers.interface").Interface(sheet, config))
            self._instruments.append(bring("layers.output").Output(sheet, config))
        if "assertion" in self._wanted:
            self._assertions = bring("assertions.instrument")
            self._assertions.install(root, sheet, self._cache)

    def begin(self, item):
        self._sheet.open()
        if self._assertions is not None:
            self._assertions.begin(item.nodeid)
        for one in self._instruments[::-1]:
            one.begin(item)

    def end(self, item):
        """The path of what was written down."""
        for one in self._instruments:
            one.end(item)
        if self._assertions is not None:
            self._assertions.end()
        return self._sheet.close()
