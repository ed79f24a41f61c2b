"""Finds the assertions in a source, and gives them names that survive moving and reformatting."""

import ast
import hashlib

from .expression_text import expression_text

FUNCTIONS = ast.FunctionDef, ast.AsyncFunctionDef
SCOPES = FUNCTIONS + (ast.ClassDef, ast.Lambda)
# Calls that are assertions besides `assert_frame_equal`, `self.assertEqual` and the like.
CALL_NAMES = frozenset(("raises", "warns", "deprecated_call"))
# Only their `fail` is one: the name is common for other things.
OWNERS_OF_FAIL = frozenset(("self", "pytest"))
# Of an expression, which is part of a name: it may contain a long table.
MAX_LENGTH = 1000
# Nodes that contain no assertion.
LEAVES = frozenset(
    (ast.Name, ast.Constant, ast.Pass, ast.Break, ast.Continue, ast.Global, ast.Nonlocal)
    + (ast.Import, ast.ImportFrom, ast.alias, ast.arg)
)


class AssertionSite:
    """An assertion in a source."""

    # Known without the source.
    STORED = "function", "expression", "ordinal", "line", "end", "labels", "truths", "in_function", "arguments"
    __slots__ = STORED + ("path", "id", "key", "number", "nodes")

    def __init__(self, path, function, node, in_function):
        self.path, self.function, self.in_function = path, function, in_function
        self.expression = shortened(expression_text(node.test if type(node) is ast.Assert else node))
        self.line, self.end = node.lineno, (node.end_lineno, node.end_col_offset)
        # The operands: their nodes, which of them are recorded as true or false only, their
        # texts, and for calls the positions or names of the arguments.
        self.nodes, self.truths, self.labels, self.arguments = (), (), None, None
        if type(node) is ast.Call:
            self._set_arguments(node)

    def _set_arguments(self, call):
        """Takes the arguments that are not constants. Positions after a `*` are unknown."""
        arguments = []
        for position, one in enumerate(call.args):
            if type(one) is ast.Starred:
                break
            arguments.append((position, one))
        arguments += [(one.arg, one.value) for one in call.keywords if one.arg is not None]
        arguments = [(argument, one) for argument, one in arguments if type(one) is not ast.Constant]
        self.arguments = [argument for argument, _ in arguments]
        self.set_operands([one for _, one in arguments])

    def set_operands(self, nodes, truths=()):
        self.nodes, self.truths, self.labels = nodes, truths, None

    def operand_labels(self):
        """The expressions of the operands, formatted on first use."""
        if self.labels is None:
            self.labels = [shortened(expression_text(node)) for node in self.nodes]
            self.nodes = ()
        return self.labels

    def to_tuple(self):
        self.operand_labels()
        return tuple([getattr(self, name) for name in self.STORED])

    @classmethod
    def from_tuple(cls, path, values):
        site = cls.__new__(cls)
        site.path, site.nodes = path, ()
        for name, value in zip(cls.STORED, values):
            setattr(site, name, value)
        return site


def shortened(text):
    if len(text) <= MAX_LENGTH:
        return text
    return "%s… %s" % (text[:MAX_LENGTH], hashlib.sha1(text.encode("utf-8", "surrogatepass")).hexdigest()[:12])


def is_assertion_call(call):
    """Whether a call is an assertion, judging by its name."""
    function = call.func
    if type(function) is ast.Attribute:
        name, owner = function.attr, function.value
        if name == "fail":
            return type(owner) is ast.Name and owner.id in OWNERS_OF_FAIL
        return name.startswith("assert") or name in CALL_NAMES
    return type(function) is ast.Name and (function.id.startswith("assert") or function.id in CALL_NAMES)


def assertions(tree):
    """(node, qualified name of the enclosing function, that function) of each assertion."""
    found, pending = [], [(tree, "", "<module>", tree)]
    while pending:
        node, prefix, function, scope = pending.pop()
        kind = type(node)
        if kind in LEAVES:
            continue
        if kind is ast.Assert:
            found.append((node, function, scope))
            children = [node.test, node.msg] if node.msg is not None else [node.test]
            if type(node.test) is ast.Call and is_assertion_call(node.test):
                children[:1] = ast.iter_child_nodes(node.test)  # One assertion, not two.
            pending.extend((one, prefix, function, scope) for one in children)
            continue
        if kind is ast.Call and is_assertion_call(node):
            found.append((node, function, scope))
        if kind in SCOPES:
            name = prefix + ("<lambda>" if kind is ast.Lambda else node.name)
            inner_prefix = name + ("." if kind is ast.ClassDef else ".<locals>.")
            body = node.body if kind is not ast.Lambda else [node.body]
            pending.extend((one, inner_prefix, name, node) for one in body)
            # Decorators and defaults are evaluated in the enclosing scope.
            pending.extend((one, prefix, function, scope) for field, one in _children(node) if field != "body")
        else:
            pending.extend((one, prefix, function, scope) for _, one in _children(node))
    found.sort(key=lambda one: (one[0].lineno, one[0].col_offset))
    return found


def _children(node):
    for field in node._fields:
        value = getattr(node, field, None)
        if type(value) is list:
            for one in value:
                if isinstance(one, ast.AST):
                    yield field, one
        elif isinstance(value, ast.AST):
            yield field, value


def sites(tree, path):
    """(node, site, function) of each assertion in source order. Ordinals tell equal names apart."""
    counts, found = {}, []
    for node, function, scope in assertions(tree):
        site = AssertionSite(path, function, node, isinstance(scope, FUNCTIONS))
        name = function, site.expression
        site.ordinal = counts.get(name, 0)
        counts[name] = site.ordinal + 1
        found.append((node, site, scope))
    return found


def body_hash(function, hashes):
    """Hash of a function's body; its name, position, layout and docstring do not matter."""
    known = hashes.get(id(function))
    if known is None:
        body = function.body if type(function.body) is list else [function.body]
        first = body[0] if body else None
        if type(first) is ast.Expr and type(first.value) is ast.Constant and type(first.value.value) is str:
            body = body[1:]
        arguments = [function.args] if hasattr(function, "args") else []
        dumped = "\n".join(ast.dump(one) for one in arguments + body)
        known = hashes[id(function)] = hashlib.sha1(dumped.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return known


class CallTable:
    """The assertion calls of one file, by position."""

    def __init__(self, sites):
        self._by_end, self._by_line = {}, {}
        for site in sites:
            if site.arguments is not None:
                self._by_end[site.end] = site
                for line in range(site.line, site.end[0] + 1):
                    self._by_line.setdefault(line, []).append(site)

    def at(self, line, end):
        """The candidates for a call. `end`: line and column of its end, None before Python 3.11."""
        if end is not None and None not in end:
            return [self._by_end[end]] if end in self._by_end else []
        here = self._by_line.get(line, [])
        return [one for one in here if one.line == line] or here
