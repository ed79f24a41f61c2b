"""Makes one function of the agent raise, the one that BREAK names; `list` writes all their names."""

import os
import sys
import types

AGENT = "unflake_agent."


def functions():
    for name in sorted(sys.modules):
        if not name.startswith(AGENT):
            continue
        for attribute, value in list(vars(sys.modules[name]).items()):
            if getattr(value, "__module__", None) != name:
                continue
            if isinstance(value, types.FunctionType):
                yield name, None, attribute
            elif isinstance(value, type):
                methods = [key for key, one in vars(value).items() if isinstance(one, types.FunctionType)]
                yield from ((name, attribute, method) for method in methods if method != "__init__")


def label(name, owner, function):
    return ".".join(filter(None, (name[len(AGENT) :], owner, function)))


# The agent's code has file names in angle brackets, and so has this function.
exec(compile("def injected(*arguments, **named): raise RuntimeError('injected')", "<unflake_agent.fault>", "exec"))


def failing(original):
    """Raises where the original's own code would: inside of its guard, if it has one."""
    is_guarded = hasattr(original, "__wrapped__")
    return sys.modules[AGENT + "common.boundary"].guarded(injected) if is_guarded else injected


def break_function(name, owner, function):
    module = sys.modules[name]
    if owner is not None:
        cls = getattr(module, owner)
        setattr(cls, function, failing(vars(cls)[function]))
        return
    original = getattr(module, function)
    replacement = failing(original)
    for other in [one for key, one in sys.modules.items() if key.startswith(AGENT)]:
        for attribute, value in list(vars(other).items()):
            if value is original:
                setattr(other, attribute, replacement)


def pytest_collection_modifyitems():
    wanted = os.environ["BREAK"]
    if wanted == "list":
        with open("functions", "w") as file:
            file.write("\n".join(label(*one) for one in functions()))
    for one in functions():
        if label(*one) == wanted:
            break_function(*one)
