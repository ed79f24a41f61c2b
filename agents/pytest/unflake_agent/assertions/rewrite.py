"""`assert` statements that tell what they saw. PYTEST_DONT_REWRITE

What pytest makes of an `assert`, or else the statement itself, becomes

    try:
        …; truth = not TEST          (what TEST is made of is kept under names on the way, each part evaluated once)
    except BaseException:
        raised(site); raise
    if truth:
        if failed(site, …): raise AssertionError(…)      (as it was)
    else:
        held(site, …)

so that order, short cuts, walruses, `await` and the text of a failure stay what they are.
"""

import ast
import sys

# Names that no source can have.
NAMES = HELD, FAILED, RAISED, JUDGED, UNSEEN = tuple("@unflake_" + name for name in ("held", "failed", "raised", "judged", "unseen"))
OWN = "@unflake%d"


def parts(owner, field, place=None):
    """The parts of a test that are looked at: where each is (owner, field, place), and whether only its truth counts. Both sides of
    comparisons, what calls return, the truth of anything else; a constant says nothing new."""
    node = getattr(owner, field) if place is None else getattr(owner, field)[place]
    kind = type(node)
    if kind is ast.BoolOp:
        for i in range(len(node.values)):
            yield from parts(node, "values", i)
    elif kind is ast.UnaryOp and type(node.op) is ast.Not:
        yield from parts(node, "operand")
    elif kind is ast.Compare:
        if not _is_plain(node.left):
            yield (node, "left", None), False
        for i, one in enumerate(node.comparators):
            if not _is_plain(one):
                yield (node, "comparators", i), False
    elif kind is not ast.Constant:
        yield (owner, field, place), kind not in (ast.Call, ast.Await)


def _is_plain(node):
    """Constants only; or a chain of comparisons, the whole of which has no value before its parts are joined."""
    if type(node) is ast.UnaryOp:
        return type(node.operand) is ast.Constant
    if type(node) in (ast.List, ast.Tuple, ast.Set):
        return all(_is_plain(one) for one in node.elts)
    if type(node) is ast.Dict:
        return all(one is not None and _is_plain(one) for one in node.keys + node.values)
    return type(node) is ast.Constant or type(node) is ast.Compare and len(node.ops) > 1


def _at(slot):
    owner, field, place = slot
    return getattr(owner, field) if place is None else getattr(owner, field)[place]


def look_at(site, assert_):
    """Has the site know what is told of it; where these parts are."""
    found = list(parts(assert_, "test"))
    site.look_at([_at(slot) for slot, _ in found], frozenset(i for i, (_, truth) in enumerate(found) if truth))
    return [slot for slot, _ in found]


# -- What pytest makes of it ---------------------------------------------------------------------------------------------


def rewrite(rewriter, assert_, site, original):
    """The statements of pytest's rewriter for an `assert`, telling. None if they are not what is expected."""
    slots = look_at(site, assert_)
    nodes = [_at(slot) for slot in slots]
    places = {id(node): place for place, node in enumerate(nodes)}
    names, truth = {}, []
    visit = rewriter.visit

    def keep(place, value):
        names[place] = rewriter.variable()  # pytest clears it with its own.
        rewriter.statements.append(_assign([names[place]], value))

    def watching(node):
        if node is assert_.test:
            truth.append(rewriter.variable())
        result = visit(node)
        place, value = places.get(id(node)), result[0]
        if place is not None and type(value) is ast.Name:
            keep(place, value)
        for place, (owner, _, _) in enumerate(slots):
            # Walruses, which only the comparison evaluates, and names that pytest replaces by the walrus that set them.
            if owner is node and place not in names and type(nodes[place]) in (ast.Name, ast.NamedExpr):
                keep(place, ast.Name(getattr(nodes[place], "target", nodes[place]).id, ast.Load()))
        return result

    rewriter.visit = watching
    try:
        statements = original(rewriter, assert_)
    finally:
        del rewriter.visit
    for place in range(len(statements) - 1, -1, -1):
        decision = statements[place]
        if type(decision) is ast.If and type(decision.body[-1]) is ast.Raise:
            break
    else:
        return None
    values = [ast.Name(names[i] if i in names else UNSEEN, ast.Load()) for i in range(len(nodes))]
    begin = [_assign([names[i] for i in sorted(names)], ast.Name(UNSEEN, ast.Load()))] if names else []
    evaluating = statements[:place] + [_assign(truth, decision.test)]
    told = begin + _told(site, evaluating, truth[0], values, decision.body, decision.orelse) + statements[place + 1 :]
    return _placed(told, assert_)


# -- The statement itself ----------------------------------------------------------------------------------------------


def transform(tree, told):
    """Has every `assert` that is left in a module tell. `told`: nodes with their sites."""
    by_node = {id(node): site for node, site, _ in told if type(node) is ast.Assert}
    ahead, changed = [tree], 0
    while ahead:
        node = ahead.pop()
        for field, value in ast.iter_fields(node):
            if type(value) is list:
                new = []
                for one in value:
                    if type(one) is ast.Assert and id(one) in by_node:
                        new.extend(_plain(one, by_node[id(one)]))
                        changed += 1
                    else:
                        new.append(one)
                        if isinstance(one, ast.AST) and not isinstance(one, ast.expr):
                            ahead.append(one)
                setattr(node, field, new)
    return changed


def _plain(assert_, site):
    failing = ast.copy_location(ast.Assert(_false(assert_.test), assert_.msg), assert_)
    if not site.in_function:
        # A name would be one of the module's or the class's.
        judged = _call(JUDGED, [ast.Constant(site.id), ast.UnaryOp(ast.Not(), assert_.test)])
        return _placed([ast.If(judged, [failing], [])], assert_)
    slots = look_at(site, assert_)
    names = [OWN % (i + 1) for i in range(len(slots))]
    for name, (owner, field, place) in zip(names, slots):
        value = _at((owner, field, place))
        new = ast.copy_location(ast.NamedExpr(ast.copy_location(ast.Name(name, ast.Store()), value), value), value)
        if place is None:
            setattr(owner, field, new)
        else:
            getattr(owner, field)[place] = new
    truth = OWN % 0
    begin = [_assign(names, ast.Name(UNSEEN, ast.Load()))] if names else []
    evaluating = [_assign([truth], ast.UnaryOp(ast.Not(), assert_.test))]
    values = [ast.Name(name, ast.Load()) for name in names]
    clear = ast.Delete([ast.Name(name, ast.Del()) for name in [truth] + names])  # `locals()` is as it was.
    return _placed(begin + _told(site, evaluating, truth, values, [failing], []) + [clear], assert_)


def _false(test):
    """What is not true, placed so that Python has the failure where it would have it: before 3.12 in the line of the comparison with
    which the test ends, if it ends with one."""
    last = test
    while sys.version_info < (3, 12) and type(last) in (ast.BoolOp, ast.UnaryOp, ast.IfExp):
        last = last.values[-1] if type(last) is ast.BoolOp else last.operand if type(last) is ast.UnaryOp else last.orelse
    if sys.version_info >= (3, 12) or type(last) is not ast.Compare:
        return ast.copy_location(ast.Constant(False), test)
    unseen = [ast.copy_location(ast.Name(UNSEEN, ast.Load()), last) for _ in range(2)]
    return ast.copy_location(ast.Compare(unseen[0], [ast.IsNot()], [unseen[1]]), last)


# -- Both ----------------------------------------------------------------------------------------------------------------


def _told(site, evaluating, truth, values, failing, passing):
    which = ast.Constant(site.id)
    handler = ast.ExceptHandler(None, None, [ast.Expr(_call(RAISED, [which])), ast.Raise(None, None)])
    failing = [ast.If(_call(FAILED, [which] + values), failing, [])]
    passing = [ast.Expr(_call(HELD, [which] + values))] + passing
    return [ast.Try(evaluating, [handler], [], []), ast.If(ast.Name(truth, ast.Load()), failing, passing)]


def _call(name, arguments):
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _assign(names, value):
    return ast.Assign([ast.Name(name, ast.Store()) for name in names], value, lineno=None)


def _placed(statements, assert_):
    """Whatever has no place in the source is where the `assert` is."""
    ahead = list(statements)
    while ahead:
        node = ahead.pop()
        if getattr(node, "lineno", None) is None and "lineno" in node._attributes:
            ast.copy_location(node, assert_)
        ahead.extend(ast.iter_child_nodes(node))
    return statements
