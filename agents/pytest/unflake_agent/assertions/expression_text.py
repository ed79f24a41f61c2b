"""Formats expressions the same way under every Python version.

`ast.unparse` does not exist on 3.8, and its versions differ in parentheses, quotes and blanks: an
assertion would have another name under another interpreter.
"""

import ast

repr = repr  # Before a test can patch it.
OPERATORS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.MatMult: "@", ast.Div: "/", ast.Mod: "%", ast.LShift: "<<", ast.RShift: ">>",
    ast.BitOr: "|", ast.BitXor: "^", ast.BitAnd: "&", ast.FloorDiv: "//", ast.Pow: "**", ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<",
    ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in", ast.And: "and",
    ast.Or: "or", ast.Not: "not ", ast.Invert: "~", ast.UAdd: "+", ast.USub: "-",
}  # fmt: skip
# Precedences, the weakest first.
WALRUS, TUPLE, YIELD, TEST, OR, AND, NOT, COMPARE, BITOR, BITXOR, BITAND, SHIFT, SUM, TERM, FACTOR, POWER, AWAIT, ATOM = range(18)
OPERATOR_PRECEDENCE = {
    ast.BitOr: BITOR, ast.BitXor: BITXOR, ast.BitAnd: BITAND, ast.LShift: SHIFT, ast.RShift: SHIFT, ast.Add: SUM, ast.Sub: SUM,
    ast.Mult: TERM, ast.MatMult: TERM, ast.Div: TERM, ast.Mod: TERM, ast.FloorDiv: TERM, ast.Pow: POWER,
}  # fmt: skip


def expression_text(node):
    return _format(node, TEST)


def _format(node, minimum):
    """The text of a node, in parentheses if it binds weaker than `minimum`."""
    formatter = FORMATTERS.get(type(node))
    if formatter is None:
        return ast.unparse(node)  # A node of a Python that is newer than this file.
    precedence, text = formatter(node)
    return text if precedence >= minimum else "(%s)" % text


def _join(nodes, minimum=TEST):
    return ", ".join([_format(one, minimum) for one in nodes])


def _constant(node):
    if node.value is Ellipsis:
        return ATOM, "..."
    text = repr(node.value)
    return ATOM, text.replace("inf", "1e309") if isinstance(node.value, (float, complex)) else text


def _tuple(node):
    if not node.elts:
        return ATOM, "()"
    return TUPLE, _join(node.elts) + ("," if len(node.elts) == 1 else "")


def _binary(node):
    precedence = OPERATOR_PRECEDENCE[type(node.op)]
    if precedence == POWER:
        return POWER, "%s ** %s" % (_format(node.left, POWER + 1), _format(node.right, FACTOR))
    return precedence, "%s %s %s" % (_format(node.left, precedence), OPERATORS[type(node.op)], _format(node.right, precedence + 1))


def _unary(node):
    precedence = NOT if type(node.op) is ast.Not else FACTOR
    return precedence, OPERATORS[type(node.op)] + _format(node.operand, precedence)


def _boolean(node):
    precedence = AND if type(node.op) is ast.And else OR
    return precedence, (" %s " % OPERATORS[type(node.op)]).join([_format(one, precedence + 1) for one in node.values])


def _compare(node):
    parts = [_format(node.left, COMPARE + 1)]
    for operator, value in zip(node.ops, node.comparators):
        parts += [OPERATORS[type(operator)], _format(value, COMPARE + 1)]
    return COMPARE, " ".join(parts)


def _attribute(node):
    value = _format(node.value, ATOM)
    if type(node.value) is ast.Constant and type(node.value.value) is int:
        value += " "
    return ATOM, "%s.%s" % (value, node.attr)


def _keyword(node):
    return ATOM, "%s=%s" % (node.arg, _format(node.value, TEST)) if node.arg else "**" + _format(node.value, TEST)


def _call(node):
    if len(node.args) == 1 and not node.keywords and type(node.args[0]) is ast.GeneratorExp:
        return ATOM, _format(node.func, ATOM) + _format(node.args[0], ATOM)
    return ATOM, "%s(%s)" % (_format(node.func, ATOM), _join(list(node.args) + list(node.keywords)))


def _subscript(node):
    return ATOM, "%s[%s]" % (_format(node.value, ATOM), _subscripts(node.slice))


def _subscripts(node):
    return _tuple(node)[1] if type(node) is ast.Tuple and node.elts else _format(node, TEST)


def _slice(node):
    text = "%s:%s" % tuple("" if one is None else _format(one, TEST) for one in (node.lower, node.upper))
    return ATOM, text if node.step is None else "%s:%s" % (text, _format(node.step, TEST))


def _dict(node):
    pairs = ["**" + _format(v, BITOR) if k is None else "%s: %s" % (_format(k, TEST), _format(v, TEST)) for k, v in zip(node.keys, node.values)]
    return ATOM, "{%s}" % ", ".join(pairs)


def _for(node):
    text = " %s %s in %s" % ("async for" if node.is_async else "for", _format(node.target, TUPLE), _format(node.iter, OR))
    return text + "".join([" if " + _format(one, OR) for one in node.ifs])


def _comprehension(brackets):
    def formatter(node):
        return ATOM, brackets[0] + _format(node.elt, TEST) + "".join(map(_for, node.generators)) + brackets[1]

    return formatter


def _dict_comprehension(node):
    return ATOM, "{%s: %s%s}" % (_format(node.key, TEST), _format(node.value, TEST), "".join(map(_for, node.generators)))


def _lambda(node):
    arguments = _arguments(node.args)
    return TEST, "lambda%s: %s" % (" " + arguments if arguments else "", _format(node.body, TEST))


def _arguments(given):
    positional = list(given.posonlyargs) + list(given.args)
    defaults = [None] * (len(positional) - len(given.defaults)) + list(given.defaults)
    parts = []
    for position, (one, default) in enumerate(zip(positional, defaults), 1):
        parts.append(one.arg + ("" if default is None else "=" + _format(default, TEST)))
        if position == len(given.posonlyargs):
            parts.append("/")
    if given.vararg or given.kwonlyargs:
        parts.append("*" + (given.vararg.arg if given.vararg else ""))
    for one, default in zip(given.kwonlyargs, given.kw_defaults):
        parts.append(one.arg + ("" if default is None else "=" + _format(default, TEST)))
    if given.kwarg:
        parts.append("**" + given.kwarg.arg)
    return ", ".join(parts)


def _yield(node):
    return YIELD, "yield" if node.value is None else "yield " + _format(node.value, ATOM)


def _f_string(node):
    """An f-string, in quotes that its expressions do not use."""
    text = _f_string_parts(node.values)
    for quote in ("'", '"', "'''", '"""'):
        if quote not in text and (len(quote) == 3 or "\n" not in text) and not text.endswith(quote[0]):
            return ATOM, "f%s%s%s" % (quote, text, quote)
    return ATOM, "f" + repr(text)


def _f_string_parts(values):
    parts = []
    for one in values:
        if type(one) is ast.Constant:
            parts.append(one.value.replace("{", "{{").replace("}", "}}"))
        else:
            shown = _format(one.value, TEST + 1)
            conversion = "!" + chr(one.conversion) if one.conversion != -1 else ""
            form = ":" + _f_string_parts(one.format_spec.values) if one.format_spec is not None else ""
            parts.append("{%s%s%s%s}" % (" " if shown.startswith("{") else "", shown, conversion, form))
    return "".join(parts)


FORMATTERS = {
    ast.Constant: _constant,
    ast.Name: lambda node: (ATOM, node.id),
    ast.Tuple: _tuple,
    ast.List: lambda node: (ATOM, "[%s]" % _join(node.elts)),
    ast.Set: lambda node: (ATOM, "{%s}" % _join(node.elts)),
    ast.Dict: _dict,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _boolean,
    ast.Compare: _compare,
    ast.Attribute: _attribute,
    ast.Call: _call,
    ast.keyword: _keyword,
    ast.Starred: lambda node: (ATOM, "*" + _format(node.value, BITOR)),
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.IfExp: lambda node: (
        TEST,
        "%s if %s else %s" % (_format(node.body, TEST + 1), _format(node.test, TEST + 1), _format(node.orelse, TEST)),
    ),
    ast.Lambda: _lambda,
    ast.ListComp: _comprehension("[]"),
    ast.SetComp: _comprehension("{}"),
    ast.GeneratorExp: _comprehension("()"),
    ast.DictComp: _dict_comprehension,
    ast.NamedExpr: lambda node: (WALRUS, "%s := %s" % (node.target.id, _format(node.value, ATOM))),
    ast.Await: lambda node: (AWAIT, "await " + _format(node.value, ATOM)),
    ast.Yield: _yield,
    ast.YieldFrom: lambda node: (YIELD, "yield from " + _format(node.value, ATOM)),
    ast.JoinedStr: _f_string,
}
# Before 3.9 subscripts have nodes of their own.
if not hasattr(ast, "unparse"):
    FORMATTERS[ast.Index] = lambda node: (ATOM, _subscripts(node.value))
    FORMATTERS[ast.ExtSlice] = lambda node: (ATOM, _join(node.dims) + ("," if len(node.dims) == 1 else ""))
