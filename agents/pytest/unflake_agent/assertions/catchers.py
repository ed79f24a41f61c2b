"""Whether anybody but the runner waits for the failure of an assertion: `pytest.raises`, `assertRaises`, a `try`, a `suppress`. Then it means
something to the test, and letting it pass would change what the test does. PYTEST_DONT_REWRITE"""

import _thread
import ast
import builtins
import os
import tokenize

# Modules that a failure passes through, or that call the test: what they do with a failure is theirs.
RUNNERS = frozenset(("_pytest", "pluggy", "unflake_agent"))
ON_THE_WAY = frozenset(("asyncio", "pytest_asyncio", "anyio", "threading", "concurrent", "contextlib", "hypothesis", "importlib", "functools", "runpy"))
TRIES = (ast.Try,) + ((ast.TryStar,) if hasattr(ast, "TryStar") else ())
UNKNOWN = object()


class Catchers:
    def __init__(self):
        self._expecting = []  # Thread, and what is waited for there.
        self._files = {}
        self._thread, self._open, self._parse, self._name = _thread.get_ident, tokenize.open, ast.parse, os.path.basename
        self._builtins = dict(vars(builtins))

    def expect(self, kinds):
        """From now on, until it is forgotten, this thread waits for exceptions of these kinds."""
        entry = self._thread(), kinds
        self._expecting.append(entry)
        return entry

    def forget(self, entry):
        if entry is not None:
            self._expecting[:] = [one for one in self._expecting if one is not entry]

    def who(self, kind, frame):
        """Who would catch an exception of this kind that leaves `frame`, in words; None if only the runner would."""
        here = self._thread()
        if any(thread == here and _is_caught(kind, kinds) for thread, kinds in self._expecting):
            return "the test waits for an assertion to fail"
        while frame is not None:
            module = frame.f_globals.get("__name__")
            module = module if type(module) is str else ""
            if module.split(".")[0] in RUNNERS or module == "unittest.case":
                return None
            if module.split(".")[0] not in ON_THE_WAY and self._catches(kind, frame):
                return "%s:%d would catch its failure" % (self._name(frame.f_code.co_filename), frame.f_lineno)
            frame = frame.f_back
        return None

    def _catches(self, kind, frame):
        file = frame.f_code.co_filename
        if file.startswith("<"):
            return False  # Of the interpreter, or text that was compiled: there is nothing to look at.
        guards = self._files.get(file)
        if guards is None:
            guards = self._files[file] = self._read(file)
        for first, last, waited in guards:
            if first <= frame.f_lineno <= last and _is_caught(kind, self._value(waited, frame)):
                return True
        return False

    def _read(self, file):
        try:
            with self._open(file) as source:
                return guards(self._parse(source.read()))
        except (OSError, SyntaxError, ValueError, RecursionError):
            return []

    def _value(self, node, frame):
        """What an expression after `except` stands for. Looked up, not evaluated."""
        if node is None:
            return BaseException
        if type(node) is ast.Tuple:
            return tuple([self._value(one, frame) for one in node.elts])
        if type(node) is ast.Attribute:
            of = self._value(node.value, frame)
            return vars(of).get(node.attr, UNKNOWN) if hasattr(of, "__dict__") else UNKNOWN
        if type(node) is ast.Name:
            for names in (frame.f_globals, self._builtins, frame.f_locals):
                if node.id in names:
                    return names[node.id]
        return UNKNOWN


def _is_caught(kind, kinds):
    if isinstance(kinds, tuple):
        return any([_is_caught(kind, one) for one in kinds])
    return issubclass(kind, kinds) if isinstance(kinds, type) else True


def guards(tree):
    """First and last line of what is guarded, and what is waited for."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, TRIES):
            for handler in node.handlers:
                if not _only_looks(handler.body):
                    found.append((node.body[0].lineno, node.body[-1].end_lineno, handler.type))
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                call = item.context_expr
                if type(call) is ast.Call and _last(call.func) == "suppress":
                    found.extend((node.lineno, node.body[-1].end_lineno, one) for one in call.args)
    return found


def _last(node):
    return node.attr if type(node) is ast.Attribute else getattr(node, "id", None)


def _only_looks(body):
    """Whether a handler always passes on what it has caught."""
    last = body[-1]
    if type(last) is not ast.Raise or last.exc is not None:
        return False
    leaving = ast.Return, ast.Break, ast.Continue
    return not any(isinstance(node, leaving) for one in body for node in ast.walk(one))
