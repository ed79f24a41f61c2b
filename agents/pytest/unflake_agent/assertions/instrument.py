"""Records the assertions of the project, and filters failures of some (agents/README.md, 36 to 38).

`sites` finds assertions in sources, `rewrite` instruments statements, `loading` brings that into
the modules and `code_cache` keeps it, `calls` instruments assertions that are calls. `recorder`
receives their results, with `operand_text` for the values and `catchers` for code that expects a
failure.
"""

import ast
import builtins
import json
import os

from .. import DIRECTORY
from ..common.project_code import ProjectCode
from .calls import AssertionCalls
from .code_cache import CodeCache
from .loading import AssertionLoading
from .recorder import UNSEEN, AssertionRecorder
from .rewrite import NAMES
from .sites import body_hash, sites

_recorder = _loading = None


def install(root, layer_file=None, cache=None):
    """Instruments the project's code, before any of it is loaded. A second call adds the file.

    `layer_file`: where results are written. `cache`: a directory for instrumented code.
    """
    global _recorder, _loading
    if _recorder is None:
        project = ProjectCode(root, DIRECTORY)
        _recorder = recorder = AssertionRecorder()

        def name(path, relative=os.path.relpath):
            return relative(path, root)

        _loading = AssertionLoading(project, name, recorder, CodeCache(cache))
        functions = recorder.held, recorder.failed, recorder.raised, recorder.judged, UNSEEN
        vars(builtins).update(zip(NAMES, functions))
        _loading.install()
        AssertionCalls(project, _loading.table, recorder).install()
    if layer_file is not None:
        _recorder.file = layer_file


def begin(test):
    _recorder.begin(test)


def end():
    _recorder.end()


def write_sites(path):
    """Writes every assertion in the loaded files of the project."""
    with open(path, "w", encoding="utf-8") as file:
        for one in _listed(_loading.files(), _loading.name):
            file.write(json.dumps(one, ensure_ascii=False) + "\n")


def _listed(files, name):
    for path in files:
        try:
            with open(path, "rb") as source:
                found = sites(ast.parse(source.read()), path)
        except (OSError, SyntaxError, ValueError, RecursionError):
            continue
        hashes = {}
        for _, site, function in found:
            yield {
                "file": name(path),
                "function": site.function,
                "expression": site.expression,
                "ordinal": site.ordinal,
                "line": site.line,
                "body": body_hash(function, hashes),
            }


def set_filter(path):
    """From now on the assertions named in this file do not fail their tests."""
    with open(path, encoding="utf-8") as file:
        _recorder.set_filter(json.load(file))
