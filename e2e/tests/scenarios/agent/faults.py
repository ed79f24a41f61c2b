"""Makes one function of the agent raise, the one that BREAK names; `list` records which ones are called."""

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


# In place of a function: notes its first call in this process, then calls it.
RECORDER = """def recorder(original, text, file, noted, write=os.write):
    def recorded(*arguments, **named):
        if not noted:
            noted.append(True)
            write(file, text)
        return original(*arguments, **named)
    recorded.__dict__.update(vars(original))
    return recorded
"""
exec(compile(RECORDER, "<unflake_agent.fault>", "exec"))


def replace(name, owner, function, wrap):
    module = sys.modules[name]
    if owner is not None:
        cls = getattr(module, owner)
        setattr(cls, function, wrap(vars(cls)[function]))
        return
    original = getattr(module, function)
    replacement = wrap(original)
    for other in [one for key, one in sys.modules.items() if key.startswith(AGENT)]:
        for attribute, value in list(vars(other).items()):
            if value is original:
                setattr(other, attribute, replacement)


def pytest_collection_modifyitems():
    wanted = os.environ["BREAK"]
    found = list(functions())
    if wanted == "list":
        file = os.open("functions", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        for one in found:
            text = (label(*one) + "\n").encode()
            replace(*one, lambda original: recorder(original, text, file, []))
    for one in found:
        if label(*one) == wanted:
            replace(*one, failing)
