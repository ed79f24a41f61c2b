"""Instruments `assert` statements so that they report their operands and their result.

What pytest makes of an `assert`, or the statement itself, becomes

    try:
        …; is_false = not TEST       (operands are assigned on the way, each evaluated once)
    except BaseException:
        raised(site); raise
    if is_false:
        if failed(site, …): raise AssertionError(…)      (unchanged)
    else:
        held(site, …)

Order, short-circuiting, walruses, `await` and the text of a failure stay the same.
"""

import ast
import sys

# Names that no source can contain.
NAMES = HELD, FAILED, RAISED, JUDGED, UNSEEN = tuple("@unflake_" + name for name in ("held", "failed", "raised", "judged", "unseen"))
OPERAND_NAME = "@unflake%d"


def operands(owner, field, position=None):
    """The operands of a test: ((owner, field, position), whether only its truth is recorded).

    They are both sides of comparisons, results of calls, and the truth of anything else. Constants
    are left out.
    """
    node = getattr(owner, field) if position is None else getattr(owner, field)[position]
    kind = type(node)
    if kind is ast.BoolOp:
        for i in range(len(node.values)):
            yield from operands(node, "values", i)
    elif kind is ast.UnaryOp and type(node.op) is ast.Not:
        yield from operands(node, "operand")
    elif kind is ast.Compare:
        if not _is_constant(node.left):
            yield (node, "left", None), False
        for i, one in enumerate(node.comparators):
            if not _is_constant(one):
                yield (node, "comparators", i), False
    elif kind is not ast.Constant:
        yield (owner, field, position), kind not in (ast.Call, ast.Await)


def _is_constant(node):
    """Whether it consists of constants, or is a chained comparison, which has no single value."""
    if type(node) is ast.UnaryOp:
        return type(node.operand) is ast.Constant
    if type(node) in (ast.List, ast.Tuple, ast.Set):
        return all(_is_constant(one) for one in node.elts)
    if type(node) is ast.Dict:
        return all(one is not None and _is_constant(one) for one in node.keys + node.values)
    return type(node) is ast.Constant or type(node) is ast.Compare and len(node.ops) > 1


def _node_at(slot):
    owner, field, position = slot
    return getattr(owner, field) if position is None else getattr(owner, field)[position]


def set_operands(site, assert_):
    """Registers the operands of an `assert` with its site; their positions in the tree."""
    found = list(operands(assert_, "test"))
    site.set_operands([_node_at(slot) for slot, _ in found], frozenset(i for i, (_, truth) in enumerate(found) if truth))
    return [slot for slot, _ in found]


# -- Statements that pytest rewrites ---------------------------------------------------------------


def instrument_rewritten(rewriter, assert_, site, original):
    """Instruments the statements that pytest's rewriter makes. None if they are unexpected."""
    slots = set_operands(site, assert_)
    nodes = [_node_at(slot) for slot in slots]
    positions = {id(node): position for position, node in enumerate(nodes)}
    names, is_false = {}, []
    visit = rewriter.visit

    def keep(position, value):
        names[position] = rewriter.variable()  # pytest clears it with its own variables.
        rewriter.statements.append(_assign([names[position]], value))

    def visit_and_keep(node):
        if node is assert_.test:
            is_false.append(rewriter.variable())
        result = visit(node)
        position, value = positions.get(id(node)), result[0]
        if position is not None and type(value) is ast.Name:
            keep(position, value)
        for position, (owner, _, _) in enumerate(slots):
            # Walruses, which only the comparison evaluates, and names that pytest replaces by them.
            if owner is node and position not in names and type(nodes[position]) in (ast.Name, ast.NamedExpr):
                keep(position, ast.Name(getattr(nodes[position], "target", nodes[position]).id, ast.Load()))
        return result

    rewriter.visit = visit_and_keep
    try:
        statements = original(rewriter, assert_)
    finally:
        del rewriter.visit
    for position in range(len(statements) - 1, -1, -1):
        decision = statements[position]
        if type(decision) is ast.If and type(decision.body[-1]) is ast.Raise:
            break
    else:
        return None
    values = [ast.Name(names[i] if i in names else UNSEEN, ast.Load()) for i in range(len(nodes))]
    begin = [_assign([names[i] for i in sorted(names)], ast.Name(UNSEEN, ast.Load()))] if names else []
    evaluation = statements[:position] + [_assign(is_false, decision.test)]
    checked = _with_callbacks(site, evaluation, is_false[0], values, decision.body, decision.orelse)
    return _with_locations(begin + checked + statements[position + 1 :], assert_)


# -- Statements that pytest does not rewrite -------------------------------------------------------


def instrument_plain(tree, found):
    """Instruments every remaining `assert` of a module; their number. `found`: from `sites`."""
    sites = {id(node): site for node, site, _ in found if type(node) is ast.Assert}
    pending, changed = [tree], 0
    while pending:
        node = pending.pop()
        for field, value in ast.iter_fields(node):
            if type(value) is list:
                new = []
                for one in value:
                    if type(one) is ast.Assert and id(one) in sites:
                        new.extend(_instrumented(one, sites[id(one)]))
                        changed += 1
                    else:
                        new.append(one)
                        if isinstance(one, ast.AST) and not isinstance(one, ast.expr):
                            pending.append(one)
                setattr(node, field, new)
    return changed


def _instrumented(assert_, site):
    failing = ast.copy_location(ast.Assert(_false(assert_.test), assert_.msg), assert_)
    if not site.in_function:
        # An assigned name would become an attribute of the module or class.
        judged = _call(JUDGED, [ast.Constant(site.id), ast.UnaryOp(ast.Not(), assert_.test)])
        return _with_locations([ast.If(judged, [failing], [])], assert_)
    slots = set_operands(site, assert_)
    names = [OPERAND_NAME % (i + 1) for i in range(len(slots))]
    for name, (owner, field, position) in zip(names, slots):
        value = _node_at((owner, field, position))
        new = ast.copy_location(ast.NamedExpr(ast.copy_location(ast.Name(name, ast.Store()), value), value), value)
        if position is None:
            setattr(owner, field, new)
        else:
            getattr(owner, field)[position] = new
    is_false = OPERAND_NAME % 0
    begin = [_assign(names, ast.Name(UNSEEN, ast.Load()))] if names else []
    evaluation = [_assign([is_false], ast.UnaryOp(ast.Not(), assert_.test))]
    values = [ast.Name(name, ast.Load()) for name in names]
    # So that `locals()` does not contain them.
    clear = ast.Delete([ast.Name(name, ast.Del()) for name in [is_false] + names])
    return _with_locations(begin + _with_callbacks(site, evaluation, is_false, values, [failing], []) + [clear], assert_)


def _false(test):
    """A false expression, located so that Python reports the failure in the original line.

    Before 3.12 that is the line of the comparison that ends the test, if there is one.
    """
    last = test
    while sys.version_info < (3, 12) and type(last) in (ast.BoolOp, ast.UnaryOp, ast.IfExp):
        last = last.values[-1] if type(last) is ast.BoolOp else last.operand if type(last) is ast.UnaryOp else last.orelse
    if sys.version_info >= (3, 12) or type(last) is not ast.Compare:
        return ast.copy_location(ast.Constant(False), test)
    placeholders = [ast.copy_location(ast.Name(UNSEEN, ast.Load()), last) for _ in range(2)]
    return ast.copy_location(ast.Compare(placeholders[0], [ast.IsNot()], [placeholders[1]]), last)


# -- Both ------------------------------------------------------------------------------------------


def _with_callbacks(site, evaluation, is_false, values, failing, passing):
    site_id = ast.Constant(site.id)
    handler = ast.ExceptHandler(None, None, [ast.Expr(_call(RAISED, [site_id])), ast.Raise(None, None)])
    failing = [ast.If(_call(FAILED, [site_id] + values), failing, [])]
    passing = [ast.Expr(_call(HELD, [site_id] + values))] + passing
    return [ast.Try(evaluation, [handler], [], []), ast.If(ast.Name(is_false, ast.Load()), failing, passing)]


def _call(name, arguments):
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _assign(names, value):
    return ast.Assign([ast.Name(name, ast.Store()) for name in names], value, lineno=None)


def _with_locations(statements, assert_):
    """Gives nodes without a location that of the `assert`."""
    pending = list(statements)
    while pending:
        node = pending.pop()
        if getattr(node, "lineno", None) is None and "lineno" in node._attributes:
            ast.copy_location(node, assert_)
        pending.extend(ast.iter_child_nodes(node))
    return statements
