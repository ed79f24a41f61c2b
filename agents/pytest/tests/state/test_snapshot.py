"""Leaked state of every kind is reported and can be restored."""

import sys

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
    "module that cannot be imported": ("shop.lazy.name", "shop.lazy.name = 'x'", "not hasattr(shop.lazy, 'name')"),
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
    "file at home": (
        "file ~/.shop",
        "open(os.path.expanduser('~/.shop'), 'w').close()",
        "not os.path.exists(os.path.expanduser('~/.shop'))",
    ),
    "file in a build directory": (
        "file build",
        "os.mkdir('build'); open('build/x', 'w').close()",
        "not os.path.exists('build')",
    ),
    "iterator": ("shop.colors", "next(shop.colors)", "next(shop.colors) == 'red'"),
    "context variable with a default": ("shop.role.get()", "shop.role.set('boss')", "shop.role.get() == 'none'"),
    "subclass": (
        "shop.Till.__subclasses__()[test_it.Big]",
        "shop.kept.send(type('Big', (shop.Till,), {'__module__': 'test_it'}))",
        "not shop.Till.__subclasses__()",
    ),
    "registered class": ("shop.Shape.register(shop.Till)", "shop.Shape.register(shop.Till)", "not isinstance(till, shop.Shape)"),
    "class registered with the standard library": (
        "collections.abc.Mapping.register(shop.Slotted)",
        "collections.abc.Mapping.register(shop.Slotted)",
        "not isinstance(shop.slotted, collections.abc.Mapping)",
    ),
    "singledispatch": (
        "shop.show.registry[int]",
        "shop.show.register(int, lambda one: 'int'); shop.show(3)",
        "shop.show(3) == 'any'",
    ),
    "codec error handler": (
        "codecs.lookup_error('star')",
        "codecs.register_error('star', shop.add)",
        "shop.raises(LookupError, codecs.lookup_error, 'star')",
    ),
    "codec": (
        "codecs.register(shop.search)",
        "codecs.register(shop.search); 'a'.encode('shout')",
        "shop.raises(LookupError, 'a'.encode, 'shout')",
    ),
    "variable of child processes": (
        "os.putenv('SHOP_MODE')",
        "os.putenv('SHOP_MODE', 'x')",
        "os.system('test -z \"$SHOP_MODE\"') == 0",
    ),
    "default context": (
        "decimal.DefaultContext.prec",
        "decimal.DefaultContext.prec = 3",
        "decimal.DefaultContext.prec == 28",
    ),
    "limit": (
        "resource.getrlimit(resource.RLIMIT_NOFILE)",
        "resource.setrlimit(resource.RLIMIT_NOFILE, (99, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))",
        "resource.getrlimit(resource.RLIMIT_NOFILE)[0] != 99",
    ),
    "import hook": ("sys.meta_path", "sys.meta_path.append(shop.till)", "shop.till not in sys.meta_path"),
    "path hook": ("sys.path_hooks", "sys.path_hooks.append(shop.add)", "shop.add not in sys.path_hooks"),
    "event loop policy": (
        "asyncio.events._event_loop_policy",
        "asyncio.set_event_loop_policy(shop.Policy())",
        "type(asyncio.get_event_loop_policy()) is not shop.Policy",
    ),
    "replaced container": ("shop.names", "shop.names.append('c'); shop.names = []", "shop.names == ['a', 'b']"),
}

SHOP = """
    import abc, array, asyncio, codecs, collections, contextvars, functools, itertools, logging, random, threading

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
    role = contextvars.ContextVar("role", default="none")
    dice = random.Random(1)
    logger = logging.getLogger("shop")
    handler = logging.NullHandler()
    local = threading.local()

    class Till:
        open = False
        def __init__(self): self.cash = 0
        def total(self): return self.cash

    class Shape(abc.ABC):
        pass

    class Policy(asyncio.DefaultEventLoopPolicy):
        pass

    colors = iter(["red", "green"])

    def keep_all():
        kept = []
        while True:
            kept.append((yield))

    def keep():
        yield from keep_all()

    kept = keep()
    next(kept)

    def search(name):
        found = codecs.lookup("ascii")
        return codecs.CodecInfo(found.encode, found.decode, name="shout") if name == "shout" else None

    def raises(error, function, *arguments):
        try:
            function(*arguments)
        except error:
            return True

    @functools.singledispatch
    def show(one):
        return "any"

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
        import asyncio, builtins, codecs, collections.abc, decimal, encodings.ascii, gc, json, locale, logging, os, platform
        import random, resource, shutil, signal, socket, sys, tempfile, time, unittest
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
    home = tmp_path / "home"
    home.mkdir()
    session = state_session(files, variables={"TZ": "UTC", "LC_ALL": "C", "TMPDIR": str(tmp_path), "HOME": str(home)})
    assert session.pollute() == {path}, session.report
    assert "fixed" not in session.cells[path]
    assert session.restored() == ([], "failed")
    assert session.restored(path) == ([], "passed")
    fork = session.unflake.fork(session.agent, 5)
    fork.order("restore", cells=[path])
    assert fork.event("restored") == {"event": "restored"}
    assert session.compare(fork) == set()
    assert session.restored() == ([], "failed")  # Whatever other forks have restored.


@pytest.mark.skipif(sys.version_info < (3, 11), reason="the contents of a database cannot be read")
def test_rows_of_a_database_in_memory_are_counted_and_restored(state_session):
    files = {
        "test_it.py": """
            import sqlite3
            database = sqlite3.connect(":memory:")
            database.execute("CREATE TABLE item (name TEXT)")
            def test_pollutes(): database.execute("INSERT INTO item VALUES ('pen')")
            def test_suffers(): assert database.execute("SELECT count(*) FROM item").fetchone() == (0,)
        """,
    }
    session = state_session(files)
    assert session.pollute() == {"test_it.database"}, session.report
    cell = session.cells["test_it.database"]
    assert (cell["before"], cell["after"]) == ("table item: 0 rows", "table item: 1 rows")
    assert session.restored() == ([], "failed")
    assert session.restored("test_it.database") == ([], "passed")


def test_values_of_parametrized_tests_are_named_and_restored(state_session):
    files = {
        "test_it.py": """
            import pytest
            @pytest.mark.parametrize("rows, n", [([1], 1), pytest.param([2], 2, id="two")])
            def test_rows(rows, n):
                rows.append(0)
                assert rows == [n, 0]
        """,
    }
    session = state_session(files)
    assert session.pollute(0, 1) == {
        "test_it.test_rows.pytestmark[0].args[1][0][0]",
        "test_it.test_rows.pytestmark[0].args[1][1][0][0]",
    }, session.report
    assert session.restored(test=1) == ([], "failed")
    assert session.restored("test_it.test_rows.pytestmark[0].args[1][1][0][0]", test=1) == ([], "passed")


def test_a_generator_is_named_and_not_restored(state_session):
    files = {
        "test_it.py": """
            def numbers():
                number = 0
                while True:
                    number += 1
                    yield number
            ids = numbers()
            def test_pollutes(): next(ids)
        """,
    }
    session = state_session(files)
    assert session.pollute() == {"test_it.ids"}, session.report
    cell = session.cells["test_it.ids"]
    assert (cell["after"], cell["fixed"]) == ("at line 6, number = 1", "a generator cannot be set back")


def test_native_code_that_globals_belong_to_is_named(state_session):
    session = state_session({"test_it.py": "import ctypes\nlibrary = ctypes.CDLL(None)\ndef test_pollutes(): library.rand()"})
    session.pollute()
    assert session.report["unknown"] == ["state inside of native code is not compared: ctypes"]


def test_parts_of_a_replaced_object_are_named_and_restored(state_session):
    files = {
        "test_it.py": """
            class Registry:
                def __init__(self): self.items, self.name = {"a": [1]}, "main"
            registry = Registry()
            def test_pollutes():
                global registry
                registry = Registry()
                registry.items["x"] = 1
            def test_suffers(): assert "x" not in registry.items
        """
    }
    session = state_session(files)
    assert session.pollute() == {"test_it.registry"}, session.report
    inside = session.cells["test_it.registry"]["inside"]
    assert [(one["path"], one["before"], one["after"]) for one in inside] == [("test_it.registry.items['x']", None, "1")]
    assert session.restored("test_it.registry.items['x']") == ([], "passed")
    assert session.restored("test_it.registry") == ([], "passed")
    assert session.restored() == ([], "failed")


def test_a_new_logger_is_compared_with_one_that_nobody_configured(state_session):
    files = {
        "test_it.py": """
            import logging
            def test_pollutes():
                logging.getLogger("cart.prices").setLevel(50)
                logging.getLogger("cart.names")
            def test_suffers(): assert logging.getLogger("cart.prices").isEnabledFor(40)
        """
    }
    session = state_session(files)
    new = "logging.root.manager.loggerDict['%s']"
    assert {new % "cart.prices", new % "cart.names"} <= session.pollute(), session.report
    assert "inside" not in session.cells[new % "cart.names"]
    inside = session.cells[new % "cart.prices"]["inside"]
    level = new % "cart.prices" + ".level"
    assert [(one["path"], one["before"], one["after"]) for one in inside] == [(level, "0", "50")]
    assert session.restored(level) == ([], "passed")
    assert session.restored() == ([], "failed")


def test_values_that_read_alike_are_told_apart(state_session):
    files = {
        "test_it.py": """
            class Hook: pass
            first, hooks = Hook(), [list(range(40)) for _ in range(9)]
            def test_pollutes():
                global first
                first = Hook()
                hooks.append(Hook())
        """
    }
    session = state_session(files)
    assert session.pollute() == {"test_it.first", "test_it.hooks"}, session.report
    texts = {path: (cell["before"], cell["after"]) for path, cell in session.cells.items()}
    assert texts["test_it.first"] == ("<test_it.Hook>", "another <test_it.Hook>")
    assert texts["test_it.hooks"] == ("9 elements", "10 elements, with <test_it.Hook>")
