"""Records what each attempt looks like at the requested layers, into one file per attempt.

The layers: `assertion` (what assertions evaluate to), `code` (lines that run), `branch` (ways that
conditions took), `behaviour` (values at entries and exits of functions), `interface` (output, and
pages in a browser).
"""

import os

from .. import DIRECTORY, NATIVE_TRACER, load
from ..common.project_code import ProjectCode
from .layer_file import LayerFile

LAYERS = "assertion", "code", "branch", "behaviour", "interface"


class AttemptLayers:
    def __init__(self, settings, truncate):
        self._layers = [name for name in LAYERS if name in settings["layers"].split(",")]
        self._side, self._truncate, self._cache = settings["side"], truncate, settings.get("cache")
        # The native tracer serves one user in a process.
        is_free = not settings.get("traced") and settings.get("tracer") != "python"
        self._library = (settings.get("tracer") or NATIVE_TRACER) if is_free else None
        self._file = self._assertions = None
        self._recorders = []

    def configure(self, config):
        """Starts as soon as pytest knows the root, before any code of the project is loaded."""
        root = os.path.realpath(str(config.rootpath))
        file = self._file = LayerFile(self._side, root, self._truncate, self._layers)
        project = ProjectCode(root, self._side, DIRECTORY)
        wants_lines, wants_branches, wants_calls = [name in self._layers for name in ("code", "branch", "behaviour")]
        if wants_lines or wants_branches or wants_calls:
            calls = load("layers.behaviour").CallRecorder(file) if wants_calls else None
            watch = load("layers.code_watch").code_watch
            self._recorders.append(watch(project, file, wants_lines, wants_branches, calls, self._library))
        if "interface" in self._layers:
            self._recorders.append(load("layers.interface").InterfaceRecorder(file, config))
            self._recorders.append(load("layers.output").OutputRecorder(file, config))
        if "assertion" in self._layers:
            self._assertions = load("assertions.instrument")
            self._assertions.install(root, file, self._cache)

    def begin(self, item):
        self._file.open()
        if self._assertions is not None:
            self._assertions.begin(item.nodeid)
        for one in self._recorders[::-1]:
            one.begin(item)

    def end(self, item):
        """The path of the attempt's file."""
        for one in self._recorders:
            one.end(item)
        if self._assertions is not None:
            self._assertions.end()
        return self._file.close()
