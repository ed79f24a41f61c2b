"""The watch inside a Python that a test started. PYTEST_DONT_REWRITE"""

import os

from .child_processes import Children
from .executed_code import Code
from .facts import Journal, Recorder
from .imports import Imports
from ..common.paths import Names
from .file_access import Touched


def start(told):
    recorder = Recorder()
    recorder.in_attempt = True
    names = Names()
    code = Code(recorder, told["mode"])
    children = Children(recorder, names, told["mode"], told["agent"], told["side"], code.begin)
    children.begin(told["directory"])
    recorder.journal = Journal(told["directory"], "%s-%d" % (told["token"], os.getpid()))
    recorder.journal.write("hello", os.getpid())
    Touched(recorder, names, children, code).install()
    Imports(recorder).install()
    children.install()
    code.start()
