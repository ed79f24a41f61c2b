"""Finds code that would catch the failure of an assertion: `pytest.raises`, `try`, `suppress`, …

There the failure means something to the test, and filtering it would change what the test does.
"""

import _thread
import ast
import builtins
import os
import tokenize

from ..common.boundary import guarded

# The frames of these packages call the test: an exception that gets there is a failure.
RUNNERS = frozenset(("_pytest", "pluggy", "unflake_agent"))
# Packages that only pass an exception on.
TRANSPARENT = frozenset(
    "asyncio pytest_asyncio anyio threading concurrent contextlib hypothesis importlib functools runpy".split()
)
TRY_NODES = (ast.Try,) + ((ast.TryStar,) if hasattr(ast, "TryStar") else ())
UNKNOWN = object()


class Catchers:
    def __init__(self):
        self._expected = []  # (thread, exceptions that it waits for)
        self._files = {}
        self._thread, self._open, self._parse, self._basename = _thread.get_ident, tokenize.open, ast.parse, os.path.basename
        self._builtins = dict(vars(builtins))

    @guarded
    def expect(self, exceptions):
        """From now on, until `forget`, this thread waits for these exceptions."""
        entry = self._thread(), exceptions
        self._expected.append(entry)
        return entry

    @guarded
    def forget(self, entry):
        if entry is not None:
            self._expected[:] = [one for one in self._expected if one is not entry]

    def find(self, exception, frame):
        """What would catch this exception if it leaves `frame`; None if only the runner would."""
        here = self._thread()
        if any(thread == here and _is_caught(exception, expected) for thread, expected in self._expected):
            return "the test waits for an assertion to fail"
        while frame is not None:
            module = frame.f_globals.get("__name__")
            module = module if type(module) is str else ""
            if module.split(".")[0] in RUNNERS or module == "unittest.case":
                return None
            if module.split(".")[0] not in TRANSPARENT and self._catches(exception, frame):
                return "%s:%d would catch its failure" % (self._basename(frame.f_code.co_filename), frame.f_lineno)
            frame = frame.f_back
        return None

    def _catches(self, exception, frame):
        file = frame.f_code.co_filename
        if file.startswith("<"):
            return False  # There is no source to read.
        guards = self._files.get(file)
        if guards is None:
            guards = self._files[file] = self._read(file)
        for first, last, caught in guards:
            if first <= frame.f_lineno <= last and _is_caught(exception, self._resolve(caught, frame)):
                return True
        return False

    def _read(self, file):
        try:
            with self._open(file) as source:
                return find_guards(self._parse(source.read()))
        except (OSError, SyntaxError, ValueError, RecursionError):
            return []

    def _resolve(self, node, frame):
        """The exceptions that an `except` clause names: looked up, not evaluated."""
        if node is None:
            return BaseException
        if type(node) is ast.Tuple:
            return tuple([self._resolve(one, frame) for one in node.elts])
        if type(node) is ast.Attribute:
            owner = self._resolve(node.value, frame)
            return vars(owner).get(node.attr, UNKNOWN) if hasattr(owner, "__dict__") else UNKNOWN
        if type(node) is ast.Name:
            for names in (frame.f_globals, self._builtins, frame.f_locals):
                if node.id in names:
                    return names[node.id]
        return UNKNOWN


def _is_caught(exception, caught):
    if isinstance(caught, tuple):
        return any([_is_caught(exception, one) for one in caught])
    return issubclass(exception, caught) if isinstance(caught, type) else True


def find_guards(tree):
    """(first line, last line, expression of the caught exceptions) of each guarded block."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, TRY_NODES):
            for handler in node.handlers:
                if not _always_reraises(handler.body):
                    found.append((node.body[0].lineno, node.body[-1].end_lineno, handler.type))
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                call = item.context_expr
                if type(call) is ast.Call and _last_name(call.func) == "suppress":
                    found.extend((node.lineno, node.body[-1].end_lineno, one) for one in call.args)
    return found


def _last_name(node):
    return node.attr if type(node) is ast.Attribute else getattr(node, "id", None)


def _always_reraises(body):
    last = body[-1]
    if type(last) is not ast.Raise or last.exc is not None:
        return False
    leaving = ast.Return, ast.Break, ast.Continue
    return not any(isinstance(node, leaving) for one in body for node in ast.walk(one))
