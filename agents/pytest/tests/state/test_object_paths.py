"""Paths of cells, cells that cannot be restored, and limits."""

import os
import sys

import pytest
from state_session import StateSession


def pollute(project, files, *tests, **options):
    """The session after the first test, and (before, after) of the cells that it changed."""
    if isinstance(files, str):
        files = {"test_it.py": files}
    session = StateSession(project(files, **options))
    session.pollute(*tests)
    return session, {path: (cell["before"], cell["after"]) for path, cell in session.cells.items()}


def test_cell_is_named_after_the_module_that_defines_it(project):
    _, cells = pollute(
        project,
        {
            "conftest.py": "from pack.registry import handlers\nfrom pack import *",
            "pack/__init__.py": "from .app import register\nfrom .registry import handlers, Base",
            "pack/app.py": "from .registry import handlers as known, Base\ndef register(x): known[x] = 1\nclass Sub(Base): pass",
            "pack/registry.py": "handlers = {}\nclass Base:\n    class Inner:\n        kinds = []\n    def call(self, memo=[]): memo.append(1)",
            "test_it.py": """
                from pack import handlers, register, Base
                from pack.app import Sub

                def test_a():
                    register("x")
                    register(Base)
                    register(Base.call)
                    register(object())
                    Sub.Inner.kinds.append(1)
                    Sub().call()
            """,
        },
    )
    assert cells == {
        "pack.registry.handlers['x']": (None, "1"),
        "pack.registry.handlers[pack.registry.Base]": (None, "1"),
        "pack.registry.handlers[pack.registry.Base.call]": (None, "1"),
        "pack.registry.handlers[<object>]": (None, "1"),
        "pack.registry.Base.Inner.kinds": ("[]", "[1]"),
        "pack.registry.Base.call.__defaults__[0]": ("[]", "[1]"),
    }


def test_paths_are_the_same_in_another_process(project):
    files = {
        "shop.py": "class A:\n    def __init__(self): self.parts = {}\nitems = {A(): 1, (1, 'x'): [A()]}\nkinds = set()",
        "test_it.py": """
            import shop
            def test_a():
                shop.items[(1, 'x')][0].parts[shop.A] = 1
                shop.kinds.update([shop.A(), shop.A(), 'b', 3, len])
                shop.items.clear() if 0 else None
        """,
    }
    first, cells = pollute(project, files)
    assert set(cells) == {
        "shop.items[(1, 'x')][0].parts[shop.A]",
        "shop.kinds{'b'}",
        "shop.kinds{3}",
        "shop.kinds{<shop.A>}",
        "shop.kinds{<shop.A>} (2)",
        "shop.kinds{<built-in len>}",
    }
    assert first.restored(*cells, test=0) == ([], "passed")
    assert set(pollute(project, files, variables={"PYTHONHASHSEED": "7"})[1]) == set(cells)


NOT_RESTORABLE = {
    "weak container": (
        "import weakref\nclass A: pass\nweak = weakref.WeakSet()\nkept = []",
        "shop.kept.append(shop.A()); shop.weak.add(shop.kept[0])",
        "shop.weak",
        "weak references",
    ),
    "context variable": (
        "import contextvars\nvar = contextvars.ContextVar('var')",
        "shop.var.set(1)",
        "shop.var.get()",
        "cannot be unset",
    ),
    "cache": (
        "import functools\n@functools.lru_cache(None)\ndef f(x): return x\nf(1)",
        "shop.f(2)",
        "shop.f.cache_info()",
        "only an empty cache",
    ),
    "callbacks at exit": ("", "import atexit; atexit.register(print)", "atexit", "cannot be read"),
    "large": ("data = bytearray(1 << 21)", "shop.data[0] = 1", "shop.data", "larger than 1 MB"),
    "thread": (
        "",
        "import threading; threading.Thread(target=threading.Event().wait, name='pump', daemon=True).start()",
        "thread 'pump'",
        "cannot be stopped",
    ),
    "large file": ("", "open('large', 'a').write('x')", "file large", "too large"),
    "closed": (
        "import os\nnumber = os.open('/dev/null', 0)",
        "import os; os.close(shop.number)",
        "descriptor %d",
        "cannot be reopened",
    ),
}


@pytest.mark.parametrize("name", NOT_RESTORABLE)
def test_cell_that_cannot_be_restored_says_why(project, name):
    module, pollution, path, why = NOT_RESTORABLE[name]
    files = {
        "shop.py": module,
        "test_it.py": "import shop\ndef test_a():\n    %s\n" % pollution,
        "large": "x" * (1 << 20),
    }
    session = StateSession(project(files))
    session.pollute()
    if "%d" in path:
        path = next(cell for cell in session.cells if cell.startswith("descriptor "))
    assert why in session.cells[path]["fixed"]
    session.agent.order("restore", cells=[path, "no.such.cell"])
    failed = {entry["cell"]: entry["why"] for entry in session.agent.event("restored")["failed"]}
    assert why in failed[path] and "reported" in failed["no.such.cell"]


def test_open_port_is_released(project):
    session, cells = pollute(
        project,
        """
        import socket
        open_ones = []

        def serve():
            server = socket.socket()
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            server.bind(("127.0.0.1", PORT))
            server.listen(1)
            open_ones.append(server)

        def test_a(): serve()
        def test_b(): serve()

        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            PORT = free.getsockname()[1]
        """,
    )
    (path,) = [path for path in cells if path.startswith("descriptor ")]
    assert cells[path][1].startswith("tcp socket at 127.0.0.1:")
    # Not in a fork, since its parent still has the port.
    assert session.agent.outcomes(1) == ["failed"]
    session.agent.order("restore", cells=[path])
    assert session.agent.event("restored") == {"event": "restored"}
    assert session.agent.outcomes(1) == ["passed"]


def test_deep_large_and_cyclic_objects(project):
    session, cells = pollute(
        project,
        {
            "shop.py": """
                deep = []
                at = deep
                for _ in range(100_000):
                    at.append([])
                    at = at[0]
                round_one = {}
                round_one["self"] = round_one
                wide = list(range(300_000))
                huge = 10 ** 10_000
                text = "x" * 1_000_000
            """,
            "test_it.py": """
                import shop
                def test_a():
                    shop.at.append(1)
                    shop.round_one["x"] = shop.round_one
                    shop.huge += 1
                    shop.text += "y"
                def test_b(): assert shop.at == [] and len(shop.round_one) == 1
            """,
        },
    )
    deep = [path for path in cells if path.startswith("shop.deep[0]") or path == "shop.at"]
    assert len(deep) == 1 and {"shop.round_one['x']", "shop.huge", "shop.text"} == set(cells) - set(deep)
    assert all(len(text or "") <= 200 and len(path) < 600 for path in cells for text in cells[path])
    assert session.restored(*cells) == ([], "passed")


def test_detached_object_is_restored_to_its_old_state(project):
    session, cells = pollute(
        project,
        {
            "shop.py": "class Box: pass\nbox = Box()\nbox.inner = Box()\nbox.inner.items = ['a']\nboxes = [box.inner]\nlone = Box()\nlone.items = {'a': [1]}",
            "test_it.py": """
                import shop
                def test_a():
                    shop.box.inner.items.append("b")
                    shop.box.inner = None
                    shop.lone.items["a"].append(2)
                    shop.lone.items["b"] = 3
                    shop.lone = None
                def test_b():
                    assert shop.lone.items == {"a": [1]} and list(shop.lone.items) == ["a"]
                def test_c():
                    assert shop.boxes[0].items == ["a", "b"] and shop.box.inner is shop.boxes[0]
            """,
        },
    )
    # What is still in the list is a cell of its own; a detached object belongs to its reference.
    assert set(cells) == {"shop.box.inner", "shop.boxes[0].items", "shop.lone"}
    assert session.restored("shop.lone", test=1) == ([], "passed")
    assert session.restored("shop.box.inner", test=2) == ([], "passed")


def test_proxies_and_lazy_modules_are_not_triggered(project):
    session, cells = pollute(
        project,
        {
            "lazy.py": """
                def __getattr__(name):
                    with open("woken", "a") as file:
                        file.write(name + " ")
                    raise AttributeError(name)
            """,
            "shop.py": """
                import lazy
                class Proxy:
                    __slots__ = "_target"
                    def __getattribute__(self, name): raise RuntimeError("outside of any request")
                    __setattr__ = __delattr__ = __getattribute__
                    __eq__ = __hash__ = __bool__ = __repr__ = __len__ = __iter__ = lambda self, *rest: 1 / 0
                    @property
                    def __dict__(self): 1 / 0
                    @property
                    def __class__(self): 1 / 0
                request = Proxy()
                type(request)._target.__set__(request, [])
                table = {"request": request}
            """,
            "test_it.py": """
                import shop
                def test_a():
                    type(shop.request)._target.__get__(shop.request).append(1)
            """,
        },
    )
    assert cells == {"shop.request._target": ("[]", "[1]")}
    assert session.restored("shop.request._target", test=0) == ([], "passed")
    assert not os.path.exists(os.path.join(project.directory, "woken"))


def test_too_many_files_are_reported_as_unknown(project):
    files = {"many/%d" % n: "" for n in range(5001)}
    session, cells = pollute(project, dict(files, **{"test_it.py": "def test_a(): open('x', 'w').close()"}))
    assert cells == {} and "more than 5000 files" in session.report["unknown"][0]


@pytest.mark.skipif(
    "numpy" not in sys.modules and not __import__("importlib").util.find_spec("numpy"), reason="needs NumPy"
)
@pytest.mark.parametrize(
    "pollution, path, check",
    [
        ("shop.prices[0] = 7", "shop.prices", "shop.prices[0, 0] == 0"),
        ("shop.prices.shape = (3, 2)", None, "shop.prices.shape == (3, 2)"),
        ("numpy.random.seed(1)", "numpy.random.mtrand._rand.get_state()", "numpy.random.rand() != 0.417022004702574"),
        ("shop.dice.random()", "shop.dice.bit_generator.state", "shop.dice.random() == 0.5118216247002567"),
    ],
)
def test_numpy_arrays_and_generators(project, pollution, path, check):
    session, cells = pollute(
        project,
        {
            "shop.py": "import numpy\nprices = numpy.zeros((2, 3))\ndice = numpy.random.default_rng(1)",
            "test_it.py": "import numpy, shop\ndef test_a():\n    %s\ndef test_b(): assert %s" % (pollution, check),
        },
    )
    assert list(cells) == ([path] if path else [])
    if path:
        assert session.restored() == ([], "failed")
        assert session.restored(path) == ([], "passed")


LONG_BUFFERS = {
    "shop.sizes": ("shop.sizes[3] = 9", "[3] = 3", "[3] = 9"),
    "shop.text": ("shop.text[1:3] = b'xy'", "[1] = 1", "[1] = 120 (2 of 50 elements differ)"),
    "shop.prices": ("shop.prices -= 0.5", "[0, 0] = 1.0", "[0, 0] = 0.5 (12 of 12 elements differ)"),
}


@pytest.mark.parametrize("path", LONG_BUFFERS)
def test_long_buffers_are_shown_by_the_first_element_that_differs(project, path):
    if path == "shop.prices":
        pytest.importorskip("numpy")
    pollution, before, after = LONG_BUFFERS[path]
    shop = """
        import array
        sizes = array.array("i", range(20))
        text = bytearray(range(50))
        try:
            import numpy
            prices = numpy.ones((4, 3))
        except ImportError:
            pass
    """
    session = StateSession(project({"shop.py": shop, "test_it.py": "import shop\ndef test_a():\n    %s" % pollution}))
    assert session.pollute() == {path}
    assert (session.cells[path]["before"], session.cells[path]["after"]) == (before, after)


def test_numpy_without_its_random_module(project):
    pytest.importorskip("numpy")
    shop = "import sys, numpy\nsys.modules.pop('numpy.random', None)\nprices = numpy.zeros(3)"
    session, cells = pollute(project, {"shop.py": shop, "test_it.py": "import shop\ndef test_a(): shop.prices[0] = 7"})
    assert list(cells) == ["shop.prices"]


def test_patched_standard_library_is_reported_and_restored(project):
    session, cells = pollute(
        project,
        """
        import builtins, gc, json, os, random, sys, time
        BROKEN = [(builtins, "open"), (os, "lstat"), (os, "getcwd"), (os, "scandir"), (os.path, "join"), (os.path, "realpath"), (os, "fsdecode")]
        BROKEN += [(json, "dumps"), (json, "JSONEncoder"), (time, "perf_counter"), (random, "getstate"), (gc, "isenabled"), (os, "readlink")]

        def test_a():
            for module, name in BROKEN:
                setattr(module, name, None)

        def test_b():
            assert all(getattr(module, name) for module, name in BROKEN)
        """,
    )
    assert {
        "builtins.open",
        "os.lstat",
        "os.getcwd",
        "os.scandir",
        "posixpath.join",
        "json.dumps",
        "random.getstate",
    } <= set(cells)
    session.agent.order("restore", cells=list(cells))
    assert session.agent.event("restored") == {"event": "restored"}
    assert session.agent.outcomes(1) == ["passed"]
    assert session.compare() == set()


def test_file_names_that_are_not_unicode(project):
    session, cells = pollute(
        project,
        "def test_a(): open(b'out\\xff', 'w').close()\ndef test_b():\n    import os\n    assert not os.path.exists(b'out\\xff')",
    )
    assert cells == {"file out\\udcff": (None, "0 bytes: ''")}
    assert session.restored(*cells) == ([], "passed")


def test_state_of_a_process_that_continues_another_one(project):
    unflake = project(
        """
        import pytest
        seen = []

        @pytest.fixture(scope="module")
        def shared():
            seen.append("set up")
            yield
            seen.append("torn down")

        def test_a(shared): pass
        def test_b(shared): seen.append("b")
        def test_c(): assert seen == []
        """
    )
    session = StateSession(unflake)
    assert session.pollute(0) == {"test_it.seen", "fixture shared"}
    assert session.cells["test_it.seen"]["after"] == "['set up']"
    assert session.restored("test_it.seen", test=2) == ([], "passed")
    fork = unflake.fork(session.agent, 40)
    fork.run(1, hold=True)
    assert session.compare(fork) == {"test_it.seen", "fixture shared"}
    assert session.cells["test_it.seen"]["after"] == "['set up', 'b']"


def test_active_fixture_is_state(project):
    unflake = project(
        """
        import pytest

        @pytest.fixture(scope="session")
        def base():
            return {"items": [1, 2]}

        @pytest.fixture(scope="module")
        def inventory(base):
            return base

        def test_a(inventory): inventory["items"].pop()
        def test_b(inventory): assert inventory["items"] == [1, 2]
        def test_c(base): assert base["items"] == [1]
        def test_d(base): pass
        """
    )
    session = StateSession(unflake)
    assert session.pollute(0) == {"fixture base", "fixture inventory", "fixture inventory['items']"}
    assert session.cells["fixture base"]["after"] == "{'items': [1]}"
    assert [session.cells[path].get("set_up") for path in sorted(session.cells)] == [True, True, None]
    assert session.restored("fixture inventory['items']") == ([], "passed")
    assert session.restored() == ([], "failed")
    assert session.restored("fixture inventory") == ([], "failed")
    assert session.restored("fixture base") == ([], "passed")
    assert session.restored("fixture inventory", test=2) == ([], "passed")
    # A fixture that was active before is followed like any object.
    session.agent = unflake.fork(session.first, 50)
    session.agent.run(3, hold=True)
    assert session.pollute(0) == {"fixture base['items']", "fixture inventory"}
    assert session.restored("fixture base['items']") == ([], "passed")
