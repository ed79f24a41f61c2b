"""Records the dependencies of a Python process that a test starts; runs inside that process.

The package is imported as `unflake_watch` there, without the `__init__` of the agent.
"""

import os

from ..common.paths import PathNames
from .child_processes import ChildProcesses
from .executed_code import ExecutedCode
from .facts import FactJournal, FactRecorder
from .file_access import FileAccess
from .imports import ImportHooks


def start(settings):
    recorder = FactRecorder()
    recorder.in_attempt = True
    names = PathNames()
    code = ExecutedCode(recorder, settings["mode"])
    children = ChildProcesses(recorder, names, settings["mode"], settings["agent"], settings["side"], code.begin)
    children.begin(settings["directory"])
    recorder.journal = FactJournal(settings["directory"], "%s-%d" % (settings["token"], os.getpid()))
    recorder.journal.write("hello", os.getpid())
    FileAccess(recorder, names, children, code).install()
    ImportHooks(recorder).install()
    children.install()
    code.start()
