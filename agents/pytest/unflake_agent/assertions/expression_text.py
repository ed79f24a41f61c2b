"""Expressions as Python would print them. Not by `ast.unparse`: that does not exist on 3.8, and later versions of it differ in
parentheses, quotes and blanks, so that an assertion would have another name under another interpreter. PYTEST_DONT_REWRITE"""

import ast

repr = repr  # As it was before a test could patch it.
OPERATORS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.MatMult: "@", ast.Div: "/", ast.Mod: "%", ast.LShift: "<<", ast.RShift: ">>",
    ast.BitOr: "|", ast.BitXor: "^", ast.BitAnd: "&", ast.FloorDiv: "//", ast.Pow: "**", ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<",
    ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in", ast.And: "and",
    ast.Or: "or", ast.Not: "not ", ast.Invert: "~", ast.UAdd: "+", ast.USub: "-",
}  # fmt: skip
WALRUS, TUPLE, YIELD, TEST, OR, AND, NOT, COMPARE, BITOR, BITXOR, BITAND, SHIFT, SUM, TERM, FACTOR, POWER, AWAIT, ATOM = range(18)
BINDING = {
    ast.BitOr: BITOR, ast.BitXor: BITXOR, ast.BitAnd: BITAND, ast.LShift: SHIFT, ast.RShift: SHIFT, ast.Add: SUM, ast.Sub: SUM,
    ast.Mult: TERM, ast.MatMult: TERM, ast.Div: TERM, ast.Mod: TERM, ast.FloorDiv: TERM, ast.Pow: POWER,
}  # fmt: skip


def text_of(node):
    return _show(node, TEST)


def _show(node, least):
    """The text of a node where anything that binds less than `least` needs parentheses."""
    way = WAYS.get(type(node))
    if way is None:
        return ast.unparse(node)  # Of a version that is newer than this file.
    binding, text = way(node)
    return text if binding >= least else "(%s)" % text


def _list(nodes, least=TEST):
    return ", ".join([_show(one, least) for one in nodes])


def _constant(node):
    if node.value is Ellipsis:
        return ATOM, "..."
    text = repr(node.value)
    return ATOM, text.replace("inf", "1e309") if isinstance(node.value, (float, complex)) else text


def _tuple(node):
    if not node.elts:
        return ATOM, "()"
    return TUPLE, _list(node.elts) + ("," if len(node.elts) == 1 else "")


def _binary(node):
    binding = BINDING[type(node.op)]
    if binding == POWER:
        return POWER, "%s ** %s" % (_show(node.left, POWER + 1), _show(node.right, FACTOR))
    return binding, "%s %s %s" % (_show(node.left, binding), OPERATORS[type(node.op)], _show(node.right, binding + 1))


def _unary(node):
    binding = NOT if type(node.op) is ast.Not else FACTOR
    return binding, OPERATORS[type(node.op)] + _show(node.operand, binding)


def _boolean(node):
    binding = AND if type(node.op) is ast.And else OR
    return binding, (" %s " % OPERATORS[type(node.op)]).join([_show(one, binding + 1) for one in node.values])


def _compare(node):
    parts = [_show(node.left, COMPARE + 1)]
    for operator, value in zip(node.ops, node.comparators):
        parts += [OPERATORS[type(operator)], _show(value, COMPARE + 1)]
    return COMPARE, " ".join(parts)


def _attribute(node):
    value = _show(node.value, ATOM)
    if type(node.value) is ast.Constant and type(node.value.value) is int:
        value += " "
    return ATOM, "%s.%s" % (value, node.attr)


def _keyword(node):
    return ATOM, "%s=%s" % (node.arg, _show(node.value, TEST)) if node.arg else "**" + _show(node.value, TEST)


def _call(node):
    if len(node.args) == 1 and not node.keywords and type(node.args[0]) is ast.GeneratorExp:
        return ATOM, _show(node.func, ATOM) + _show(node.args[0], ATOM)
    return ATOM, "%s(%s)" % (_show(node.func, ATOM), _list(list(node.args) + list(node.keywords)))


def _subscript(node):
    return ATOM, "%s[%s]" % (_show(node.value, ATOM), _subscripts(node.slice))


def _subscripts(node):
    return _tuple(node)[1] if type(node) is ast.Tuple and node.elts else _show(node, TEST)


def _slice(node):
    text = "%s:%s" % tuple("" if one is None else _show(one, TEST) for one in (node.lower, node.upper))
    return ATOM, text if node.step is None else "%s:%s" % (text, _show(node.step, TEST))


def _dict(node):
    pairs = ["**" + _show(v, BITOR) if k is None else "%s: %s" % (_show(k, TEST), _show(v, TEST)) for k, v in zip(node.keys, node.values)]
    return ATOM, "{%s}" % ", ".join(pairs)


def _for(node):
    text = " %s %s in %s" % ("async for" if node.is_async else "for", _show(node.target, TUPLE), _show(node.iter, OR))
    return text + "".join([" if " + _show(one, OR) for one in node.ifs])


def _comprehension(brackets):
    def way(node):
        return ATOM, brackets[0] + _show(node.elt, TEST) + "".join(map(_for, node.generators)) + brackets[1]

    return way


def _dict_comprehension(node):
    return ATOM, "{%s: %s%s}" % (_show(node.key, TEST), _show(node.value, TEST), "".join(map(_for, node.generators)))


def _lambda(node):
    arguments = _arguments(node.args)
    return TEST, "lambda%s: %s" % (" " + arguments if arguments else "", _show(node.body, TEST))


def _arguments(given):
    positional = list(given.posonlyargs) + list(given.args)
    defaults = [None] * (len(positional) - len(given.defaults)) + list(given.defaults)
    parts = []
    for place, (one, default) in enumerate(zip(positional, defaults), 1):
        parts.append(one.arg + ("" if default is None else "=" + _show(default, TEST)))
        if place == len(given.posonlyargs):
            parts.append("/")
    if given.vararg or given.kwonlyargs:
        parts.append("*" + (given.vararg.arg if given.vararg else ""))
    for one, default in zip(given.kwonlyargs, given.kw_defaults):
        parts.append(one.arg + ("" if default is None else "=" + _show(default, TEST)))
    if given.kwarg:
        parts.append("**" + given.kwarg.arg)
    return ", ".join(parts)


def _yield(node):
    return YIELD, "yield" if node.value is None else "yield " + _show(node.value, ATOM)


def _formatted(node):
    """An f-string, in the quotes that its expressions leave."""
    text = _inside(node.values)
    for quote in ("'", '"', "'''", '"""'):
        if quote not in text and (len(quote) == 3 or "\n" not in text) and not text.endswith(quote[0]):
            return ATOM, "f%s%s%s" % (quote, text, quote)
    return ATOM, "f" + repr(text)


def _inside(values):
    parts = []
    for one in values:
        if type(one) is ast.Constant:
            parts.append(one.value.replace("{", "{{").replace("}", "}}"))
        else:
            shown = _show(one.value, TEST + 1)
            conversion = "!" + chr(one.conversion) if one.conversion != -1 else ""
            form = ":" + _inside(one.format_spec.values) if one.format_spec is not None else ""
            parts.append("{%s%s%s%s}" % (" " if shown.startswith("{") else "", shown, conversion, form))
    return "".join(parts)


WAYS = {
    ast.Constant: _constant,
    ast.Name: lambda node: (ATOM, node.id),
    ast.Tuple: _tuple,
    ast.List: lambda node: (ATOM, "[%s]" % _list(node.elts)),
    ast.Set: lambda node: (ATOM, "{%s}" % _list(node.elts)),
    ast.Dict: _dict,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _boolean,
    ast.Compare: _compare,
    ast.Attribute: _attribute,
    ast.Call: _call,
    ast.keyword: _keyword,
    ast.Starred: lambda node: (ATOM, "*" + _show(node.value, BITOR)),
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.IfExp: lambda node: (
        TEST,
        "%s if %s else %s" % (_show(node.body, TEST + 1), _show(node.test, TEST + 1), _show(node.orelse, TEST)),
    ),
    ast.Lambda: _lambda,
    ast.ListComp: _comprehension("[]"),
    ast.SetComp: _comprehension("{}"),
    ast.GeneratorExp: _comprehension("()"),
    ast.DictComp: _dict_comprehension,
    ast.NamedExpr: lambda node: (WALRUS, "%s := %s" % (node.target.id, _show(node.value, ATOM))),
    ast.Await: lambda node: (AWAIT, "await " + _show(node.value, ATOM)),
    ast.Yield: _yield,
    ast.YieldFrom: lambda node: (YIELD, "yield from " + _show(node.value, ATOM)),
    ast.JoinedStr: _formatted,
}
# Before 3.9 what is in brackets has nodes of its own.
if not hasattr(ast, "unparse"):
    WAYS[ast.Index] = lambda node: (ATOM, _subscripts(node.value))
    WAYS[ast.ExtSlice] = lambda node: (ATOM, _list(node.dims) + ("," if len(node.dims) == 1 else ""))
