"""Leaked state of every kind is reported and can be restored."""

import pytest

# By kind: the path of the cell, code that pollutes, and a condition that the victim asserts.
POLLUTIONS = {
    "environment variable": (
        "os.environ['SHOP_MODE']",
        "os.environ['SHOP_MODE'] = 'x'",
        "'SHOP_MODE' not in os.environ",
    ),
    "working directory": ("cwd", "os.chdir('/')", "os.getcwd() != '/'"),
    "umask": ("umask", "os.umask(0o11)", "os.umask(0o22) == 0o22"),
    "module global": ("shop.mode", "shop.mode = 'x'", "shop.mode == 'plain'"),
    "module that nobody can import": ("shop.lazy.name", "shop.lazy.name = 'x'", "not hasattr(shop.lazy, 'name')"),
    "new global": ("shop.extra", "shop.extra = 'x'", "not hasattr(shop, 'extra')"),
    "entry": ("shop.prices['tea']", "shop.prices['tea'] = 2", "'tea' not in shop.prices"),
    "lost entry": ("shop.prices['ink']", "del shop.prices['ink']", "list(shop.prices) == ['ink', 'pen']"),
    "deep entry": ("shop.nested['a'][0]['b']", "shop.nested['a'][0]['b'] = 5", "shop.nested == {'a': ({'b': 1},)}"),
    "list": ("shop.names", "shop.names.insert(0, 'x')", "shop.names == ['a', 'b']"),
    "element of a list": ("shop.names[1]", "shop.names[1] = 'x'", "shop.names == ['a', 'b']"),
    "set": ("shop.seen{'x'}", "shop.seen.add('x')", "shop.seen == {'a'}"),
    "deque": ("shop.queue", "shop.queue.append(1)", "list(shop.queue) == []"),
    "ordered": ("shop.ordered['b']", "shop.ordered['b'] = 1", "list(shop.ordered) == ['a']"),
    "class attribute": ("shop.Till.open", "shop.Till.open = True", "not shop.Till.open"),
    "new class attribute": ("shop.Till.extra", "shop.Till.extra = True", "not hasattr(shop.Till, 'extra')"),
    "monkeypatch": ("shop.Till.total", "shop.Till.total = lambda self: 9", "shop.Till().total() == 0"),
    "instance": ("shop.till.cash", "shop.till.cash += 1", "shop.till.cash == 0"),
    "class of an instance": ("shop.till.cash", "shop.till.cash = None", "shop.till.cash == 0"),
    "slot": ("shop.slotted.x", "shop.slotted.x = 2", "shop.slotted.x == 1"),
    "unset slot": ("shop.slotted.y", "shop.slotted.y = 2", "not hasattr(shop.slotted, 'y')"),
    "default": ("shop.add.__defaults__[0]", "shop.add(1)", "shop.add(2) == [2]"),
    "function attribute": ("shop.add.calls", "shop.add.calls = 1", "not hasattr(shop.add, 'calls')"),
    "keyword default": ("shop.take.__kwdefaults__['n']", "shop.take.__kwdefaults__['n'] = 2", "shop.take() == 1"),
    "closure": ("shop.count.__closure__['n']", "shop.count()", "shop.count() == 1"),
    "cache": ("shop.cached.cache_info()", "shop.cached(1)", "shop.cached.cache_info().currsize == 0"),
    "bytearray": ("shop.buffer", "shop.buffer[0] = 7", "shop.buffer == b'abc'"),
    "array": ("shop.numbers", "shop.numbers.append(7)", "list(shop.numbers) == [1, 2]"),
    "counter": ("shop.ids", "next(shop.ids)", "next(shop.ids) == 1"),
    "context variable": ("shop.user.get()", "shop.user.set('eve')", "shop.user.get() == 'adam'"),
    "random": ("random.getstate()", "random.seed(1)", "random.random() != 0.13436424411240122"),
    "other random": ("shop.dice.getstate()", "shop.dice.random()", "shop.dice.random() == 0.13436424411240122"),
    "signal": (
        "signal.getsignal(signal.SIGUSR1)",
        "signal.signal(signal.SIGUSR1, signal.SIG_IGN)",
        "signal.getsignal(signal.SIGUSR1) == 0",
    ),
    "level": (
        "logging.getLogger('shop').level",
        "logging.getLogger('shop').setLevel(50)",
        "logging.getLogger('shop').isEnabledFor(40)",
    ),
    "handlers": (
        "logging.getLogger('shop').handlers",
        "logging.getLogger('shop').addHandler(shop.handler)",
        "not logging.getLogger('shop').handlers",
    ),
    "root handlers": (
        "logging.getLogger().filters",
        "logging.getLogger().addFilter(len)",
        "not logging.getLogger().filters",
    ),
    "logging off": (
        "logging.root.manager._disable",
        "logging.disable(50)",
        "logging.getLogger('shop').isEnabledFor(40)",
    ),
    "propagate": (
        "logging.getLogger('shop').propagate",
        "logging.getLogger('shop').propagate = False",
        "logging.getLogger('shop').propagate",
    ),
    "time zone": (
        "time zone",
        "os.environ['TZ'] = 'Asia/Tokyo'; time.tzset(); os.environ['TZ'] = 'UTC'",
        "time.localtime(0).tm_hour == 0",
    ),
    "locale": (
        "locale.setlocale(locale.LC_NUMERIC)",
        "locale.setlocale(locale.LC_NUMERIC, 'C.UTF-8')",
        "locale.setlocale(locale.LC_NUMERIC) == 'C'",
    ),
    "sys.path": ("sys.path", "sys.path.insert(0, '/nowhere')", "'/nowhere' not in sys.path"),
    "sys.argv": ("sys.argv", "sys.argv.append('x')", "sys.argv[-1] != 'x'"),
    "stdout": ("sys.__stdout__", "sys.__stdout__ = None", "sys.__stdout__ is not None"),
    "hook": ("sys.excepthook", "sys.excepthook = print", "sys.excepthook is not print"),
    "recursion limit": ("sys.getrecursionlimit()", "sys.setrecursionlimit(4321)", "sys.getrecursionlimit() != 4321"),
    "collector": ("gc.isenabled()", "gc.disable()", "gc.isenabled()"),
    "timeout": ("socket.getdefaulttimeout()", "socket.setdefaulttimeout(5)", "socket.getdefaulttimeout() is None"),
    "precision": ("decimal.getcontext().prec", "decimal.getcontext().prec = 3", "decimal.getcontext().prec == 28"),
    "builtin": ("builtins.shop_flag", "builtins.shop_flag = 1", "not hasattr(builtins, 'shop_flag')"),
    "standard library": ("json.dumps", "json.dumps = None", "json.dumps"),
    "class of the standard library": (
        "json.decoder.JSONDecoder.extra",
        "json.JSONDecoder.extra = 1",
        "not hasattr(json.JSONDecoder, 'extra')",
    ),
    "function of a module with caches": (
        "platform.system",
        "platform.system = lambda: 'Plan 9'",
        "platform.system() != 'Plan 9'",
    ),
    "base class": ("unittest.case.TestCase.maxDiff", "unittest.TestCase.maxDiff = None", "unittest.TestCase.maxDiff"),
    "module": ("sys.modules['late']", "import late", "'late' not in sys.modules and not hasattr(shop, 'late')"),
    "submodule": (
        "sys.modules['pack.sub']",
        "import pack.sub",
        "'pack.sub' not in sys.modules and not hasattr(sys.modules['pack'], 'sub')",
    ),
    "replaced module": ("sys.modules['shop']", "sys.modules['shop'] = json", "sys.modules['shop'] is not json"),
    "file": ("file out.txt", "open('out.txt', 'w').write('x')", "not os.path.exists('out.txt')"),
    "changed file": ("file data/in.txt", "open('data/in.txt', 'w').write('x')", "open('data/in.txt').read() == 'in'"),
    "removed file": ("file data/in.txt", "os.unlink('data/in.txt')", "open('data/in.txt').read() == 'in'"),
    "directory": ("file out", "os.makedirs('out/a'); open('out/a/x', 'w').close()", "not os.path.exists('out')"),
    "removed directory": ("file data", "shutil.rmtree('data')", "open('data/in.txt').read() == 'in'"),
    "thread-local": ("shop.local.x", "shop.local.x = 1", "not hasattr(shop.local, 'x')"),
    "property of a subclass": (
        "shop.special['k']",
        "dict.__setitem__(shop.special, 'k', 1)",
        "not dict.__contains__(shop.special, 'k')",
    ),
    "temporary file": (
        "file TMP/x",
        "open(tempfile.gettempdir() + '/x', 'w').close()",
        "not os.path.exists(tempfile.gettempdir() + '/x')",
    ),
    "replaced container": ("shop.names", "shop.names.append('c'); shop.names = []", "shop.names == ['a', 'b']"),
}

SHOP = """
    import array, collections, contextvars, functools, itertools, logging, random, threading

    mode = "plain"
    lazy = type(collections)("shop.lazy")
    prices = {"ink": 1, "pen": 2}
    nested = {"a": ({"b": 1},)}
    names = ["a", "b"]
    seen = {"a"}
    queue = collections.deque()
    ordered = collections.OrderedDict(a=1)
    buffer = bytearray(b"abc")
    numbers = array.array("i", [1, 2])
    ids = itertools.count(1)
    user = contextvars.ContextVar("user")
    user.set("adam")
    dice = random.Random(1)
    logger = logging.getLogger("shop")
    handler = logging.NullHandler()
    local = threading.local()

    class Till:
        open = False
        def __init__(self): self.cash = 0
        def total(self): return self.cash

    class Slotted:
        __slots__ = "x", "y"
        def __init__(self): self.x = 1

    class Special(dict):
        def __setitem__(self, key, value): raise TypeError
        def __iter__(self): raise TypeError
        def items(self): raise TypeError
        def __eq__(self, other): raise TypeError
        def __repr__(self): raise TypeError

    till, slotted, special = Till(), Slotted(), Special()

    def add(item, items=[]):
        items.append(item)
        return items

    def take(*, n=1):
        return n

    def counter():
        n = 0
        def count():
            nonlocal n
            n += 1
            return n
        return count

    count = counter()

    @functools.lru_cache(maxsize=None)
    def cached(n):
        return n
"""
FILES = {
    "shop.py": SHOP,
    "late.py": "x = 1",
    "pack/__init__.py": "",
    "pack/sub.py": "",
    "data/in.txt": "in",
    "test_it.py": """
        import builtins, decimal, gc, json, locale, logging, os, platform, random, shutil, signal, socket, sys, tempfile, time, unittest
        import shop, pack
        from shop import prices, till, count

        def test_pollutes():
            {pollution}

        def test_suffers():
            assert {check}
    """,
}


def test_attribute_that_existed_before_the_import_stays(state_session):
    files = {
        "shop.py": "import sys\ntill = type(sys)('shop.till')",
        "test_it.py": """
            import shop, sys
            def test_pollutes(): sys.modules["shop.till"] = shop.till
            def test_suffers(): assert "shop.till" not in sys.modules and shop.till
        """,
    }
    session = state_session(files)
    assert session.pollute() == {"sys.modules['shop.till']"}, session.report
    assert session.restored("sys.modules['shop.till']") == ([], "passed")


@pytest.mark.parametrize("name", POLLUTIONS)
def test_leaked_state_is_reported_and_restored(state_session, name, tmp_path):
    path, pollution, check = POLLUTIONS[name]
    path = path.replace("TMP", str(tmp_path))
    files = dict(FILES, **{"test_it.py": FILES["test_it.py"].format(pollution=pollution, check=check)})
    session = state_session(files, variables={"TZ": "UTC", "LC_ALL": "C", "TMPDIR": str(tmp_path)})
    assert session.pollute() == {path}, session.report
    assert "fixed" not in session.cells[path]
    assert session.restored() == ([], "failed")
    assert session.restored(path) == ([], "passed")
    fork = session.unflake.fork(session.agent, 5)
    fork.order("restore", cells=[path])
    assert fork.event("restored") == {"event": "restored"}
    assert session.compare(fork) == set()
    assert session.restored() == ([], "failed")  # Whatever other forks have restored.
