"""Assertions in the sources: where they are, and names for them that outlive moved and reformatted code. PYTEST_DONT_REWRITE"""

import ast
import hashlib

from .expression_text import text_of

FUNCTIONS = ast.FunctionDef, ast.AsyncFunctionDef
SCOPES = FUNCTIONS + (ast.ClassDef, ast.Lambda)
# Of calls, what a name says: `assert_frame_equal`, `self.assertEqual`, and these.
CHECKS = frozenset(("raises", "warns", "deprecated_call"))
# `fail` is a usual name for other things.
WHO_FAILS = frozenset(("self", "pytest"))
# An expression is a part of a name. A table of a thousand rows in it is shortened in the same way everywhere.
MOST = 1000
# Nodes without anything below that could be an assertion.
LEAVES = frozenset((ast.Name, ast.Constant, ast.Pass, ast.Break, ast.Continue, ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom, ast.alias, ast.arg))


class Site:
    """An assertion of the sources."""

    # What is known of it without the source.
    KEPT = "function", "expression", "ordinal", "line", "end", "labels", "truths", "in_function", "picks"
    __slots__ = KEPT + ("path", "id", "key", "number", "nodes")

    def __init__(self, path, function, node, in_function):
        self.path, self.function, self.in_function = path, function, in_function
        self.expression = shortened(text_of(node.test if type(node) is ast.Assert else node))
        self.line, self.end = node.lineno, (node.end_lineno, node.end_col_offset)
        # What is told of it: values of expressions, or only whether they are true. Of calls: which arguments these are.
        self.nodes, self.truths, self.labels, self.picks = (), (), None, None
        if type(node) is ast.Call:
            self._look_at_arguments(node)

    def _look_at_arguments(self, call):
        """Those that are no constants, by place or by name. Behind a `*` nobody knows which is which."""
        picks = []
        for place, one in enumerate(call.args):
            if type(one) is ast.Starred:
                break
            picks.append((place, one))
        picks += [(one.arg, one.value) for one in call.keywords if one.arg is not None]
        picks = [(which, one) for which, one in picks if type(one) is not ast.Constant]
        self.picks = [which for which, _ in picks]
        self.look_at([one for _, one in picks])

    def look_at(self, nodes, truths=()):
        self.nodes, self.truths, self.labels = nodes, truths, None

    def words(self):
        """The expressions whose values are told; put into words when they are first needed."""
        if self.labels is None:
            self.labels = [shortened(text_of(node)) for node in self.nodes]
            self.nodes = ()
        return self.labels

    def keep(self):
        self.words()
        return tuple([getattr(self, name) for name in self.KEPT])

    @classmethod
    def kept(cls, path, values):
        site = cls.__new__(cls)
        site.path, site.nodes = path, ()
        for name, value in zip(cls.KEPT, values):
            setattr(site, name, value)
        return site


def shortened(text):
    if len(text) <= MOST:
        return text
    return "%s… %s" % (text[:MOST], hashlib.sha1(text.encode("utf-8", "surrogatepass")).hexdigest()[:12])


def is_check(call):
    """Whether a call is an assertion, by its name."""
    function = call.func
    if type(function) is ast.Attribute:
        name, of = function.attr, function.value
        if name == "fail":
            return type(of) is ast.Name and of.id in WHO_FAILS
        return name.startswith("assert") or name in CHECKS
    return type(function) is ast.Name and (function.id.startswith("assert") or function.id in CHECKS)


def assertions(tree):
    """All `assert` and all calls that are assertions: the node, the qualified name of the function around it, and that function."""
    found, ahead = [], [(tree, "", "<module>", tree)]
    while ahead:
        node, prefix, function, around = ahead.pop()
        kind = type(node)
        if kind in LEAVES:
            continue
        if kind is ast.Assert:
            found.append((node, function, around))
            below = [node.test, node.msg] if node.msg is not None else [node.test]
            if type(node.test) is ast.Call and is_check(node.test):
                below[:1] = ast.iter_child_nodes(node.test)  # One assertion, not two of the same name.
            ahead.extend((one, prefix, function, around) for one in below)
            continue
        if kind is ast.Call and is_check(node):
            found.append((node, function, around))
        if kind in SCOPES:
            name = prefix + ("<lambda>" if kind is ast.Lambda else node.name)
            inside = name + ("." if kind is ast.ClassDef else ".<locals>.")
            body = node.body if kind is not ast.Lambda else [node.body]
            ahead.extend((one, inside, name, node) for one in body)
            # Decorators and defaults are evaluated outside.
            ahead.extend((one, prefix, function, around) for field, one in _children(node) if field != "body")
        else:
            ahead.extend((one, prefix, function, around) for _, one in _children(node))
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
    """The assertions of a module in the order of the source: node, site, function. Two of one name are told apart by their ordinals."""
    counts, told = {}, []
    for node, function, around in assertions(tree):
        site = Site(path, function, node, isinstance(around, FUNCTIONS))
        name = function, site.expression
        site.ordinal = counts.get(name, 0)
        counts[name] = site.ordinal + 1
        told.append((node, site, around))
    return told


def body_hash(function, hashes):
    """Of what a function does: the same under another name, at another place, in another layout, with another docstring."""
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


class Table:
    """The calls of one file that are assertions, found by where they are."""

    def __init__(self, sites):
        self._by_end, self._by_line = {}, {}
        for site in sites:
            if site.picks is not None:
                self._by_end[site.end] = site
                for line in range(site.line, site.end[0] + 1):
                    self._by_line.setdefault(line, []).append(site)

    def at(self, line, end):
        """All that a call at a line can be. `end`: the line and the column where it ends, None where code does not know it."""
        if end is not None and None not in end:
            return [self._by_end[end]] if end in self._by_end else []
        here = self._by_line.get(line, [])
        return [one for one in here if one.line == line] or here
