"""The assertions of the project: what each saw when it was evaluated, and letting some of them fail without failing the test (agents/README.md, 36 to
38). There only when it is asked for. PYTEST_DONT_REWRITE

`assert_sites` knows the assertions of a source (by their `assert_text`), `assert_rewrite` makes statements tell, `assert_loading` brings that in and `assert_kept` keeps it,
`assert_calls` sees assertions that are calls. `assert_recorder` hears from them all, with `assert_values` for what they saw and
`assert_caught` for who waits for their failure.
"""

import builtins
import json
import os

from .. import DIRECTORY
from .calls import Calls
from .code_cache import Kept
from .listing import listed
from .loading import Loading
from .recorder import UNSEEN, Recorder
from .rewrite import NAMES
from ..common.project_code import Own

_recorder = _loading = None


def install(root, sheet=None, cache=None):
    """Before any code of the project is loaded. `sheet`: where to tell; `cache`: a directory to keep things in. A second time it only brings
    the sheet."""
    global _recorder, _loading
    if _recorder is None:
        own = Own(root, DIRECTORY, DIRECTORY)
        _recorder = Recorder()

        def name(path, relative=os.path.relpath):
            return relative(path, root)

        _loading = Loading(own, name, _recorder, Kept(cache))
        vars(builtins).update(zip(NAMES, (_recorder.held, _recorder.failed, _recorder.raised, _recorder.judged, UNSEEN)))
        _loading.install()
        Calls(own, _loading.table, _recorder).install()
    if sheet is not None:
        _recorder.sheet = sheet


def begin(test):
    _recorder.begin(test)


def end():
    _recorder.end()


def tell_sites(path):
    """Writes every assertion of the project's files that are loaded."""
    with open(path, "w", encoding="utf-8") as file:
        for one in listed(_loading.files(), _loading.name):
            file.write(json.dumps(one, ensure_ascii=False) + "\n")


def let_fail(path):
    """From now on the assertions that this file names do not fail their tests."""
    with open(path, encoding="utf-8") as file:
        _recorder.filter(json.load(file))
