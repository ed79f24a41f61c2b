"""The lines of the project that write watched cells."""

import pytest
from state_session import StateSession

FILES = {
    "shop/__init__.py": "",
    "shop/cache.py": """
        entries = {}
        sizes = []

        def warm(key):
            return store(key, value(key))

        def store(key, value):
            entries[key] = value
            return value

        def value(key):
            x = key
            return x.upper()

        class Till:
            open = False

            def work(self):
                setattr(Till, "open", True)
                for n in range(3):
                    yield n
    """,
    "test_it.py": """
        import logging, os, threading
        from unittest import mock

        import pytest
        from shop import cache

        def test_store():
            cache.warm("a")

        def test_store_after_a_call():
            cache.entries[cache.value("a")] = 1

        def test_setattr():
            list(cache.Till().work())

        def test_update():
            cache.entries.update(
                a=1,
            )

        def test_environment():
            x = 1
            os.environ["SHOP"] = "x"

        def test_directory():
            os.chdir("/")

        def test_file():
            with open("out.txt", "w") as file:
                file.write("x")

        @pytest.fixture
        def stocked():
            cache.sizes.append(1)
            yield

        def test_fixture(stocked):
            pass

        def test_patch():
            patch = mock.patch.object(cache, "store", None)
            patch.start()

        def test_there_and_back():
            cache.entries["a"] = 1
            del cache.entries["a"]
            cache.entries["a"] = 2

        def test_thread():
            thread = threading.Thread(target=cache.warm, args="a")
            thread.start()
            thread.join()

        def test_new_logger():
            logger = logging.getLogger("cart")
            logger.addHandler(logging.NullHandler())
            logger.name.upper()

        def test_new_list():
            cache.sizes = [size for size in cache.sizes]
            cache.sizes.append(7)
            cache.value("x")

        def test_new_dict():
            cache.entries = dict(cache.entries)
            cache.entries["new"] = 1
            cache.value("x")

        def test_raises():
            with pytest.raises(KeyError):
                del cache.sizes[:], cache.entries["b"]
            cache.entries["a"] = cache.value("x")
    """,
}
WRITES = {
    "test_new_logger": (
        "logging.root.manager.loggerDict['cart'].handlers",
        "test_it.py",
        "logger.addHandler(logging.NullHandler())",
        "test_new_logger",
    ),
    "test_store": ("shop.cache.entries['a']", "shop/cache.py", "entries[key] = value", "store"),
    "test_store_after_a_call": (
        "shop.cache.entries['A']",
        "test_it.py",
        'cache.entries[cache.value("a")] = 1',
        "test_store_after_a_call",
    ),
    "test_setattr": ("shop.cache.Till.open", "shop/cache.py", 'setattr(Till, "open", True)', "Till.work"),
    "test_update": ("shop.cache.entries['a']", "test_it.py", "cache.entries.update(", "test_update"),
    "test_environment": ("os.environ['SHOP']", "test_it.py", 'os.environ["SHOP"] = "x"', "test_environment"),
    "test_directory": ("cwd", "test_it.py", 'os.chdir("/")', "test_directory"),
    "test_file": ("file out.txt", "test_it.py", 'with open("out.txt", "w") as file:', "test_file"),
    "test_fixture": ("shop.cache.sizes", "test_it.py", "cache.sizes.append(1)", "stocked"),
    "test_patch": ("shop.cache.store", "test_it.py", "patch.start()", "test_patch"),
    "test_thread": ("shop.cache.entries['a']", "shop/cache.py", "entries[key] = value", "store"),
    "test_new_list": ("shop.cache.sizes", "test_it.py", "cache.sizes.append(7)", "test_new_list"),
    "test_new_dict": ("shop.cache.entries", "test_it.py", 'cache.entries["new"] = 1', "test_new_dict"),
    "test_raises": ("shop.cache.entries['a']", "test_it.py", 'cache.entries["a"] = cache.value("x")', "test_raises"),
}


def line_of(file, text):
    lines = [line.strip() for line in FILES[file].strip("\n").splitlines()]
    return lines.index(text) + 2  # The first line of each file is empty.


def watch(session, test, *cells):
    session.order("remember", "remembered")
    session.agent.order("watch", cells=list(cells))
    events = session.agent.events_of_run(test, hold=True)
    return [
        (event["cell"], event["file"], event["line"], event["function"])
        for event in events
        if event["event"] == "written"
    ]


@pytest.mark.parametrize("name", WRITES)
def test_writing_line_is_reported(project, name):
    session = StateSession(project(FILES))
    test = session.first.ids.index("test_it.py::" + name)
    cell, file, text, function = WRITES[name]
    session.pollute(test)
    assert cell in {one["path"] for whole in session.cells.values() for one in [whole, *whole.get("inside", [])]}
    second = StateSession.__new__(StateSession)
    second.agent = session.unflake.fork(session.first, 2)
    if name == "test_file":
        session.restored(cell)
    lines = {line_of(file, text)}
    if name == "test_file":
        lines.add(line_of(file, text) + 1)  # Before Python 3.10 the end of `with` has no line.
    [(found, *at, line, by)] = watch(second, test, cell)
    assert (found, at, by) == (cell, [file], function) and line in lines
    # The watch ends with the run.
    assert [event for event in second.agent.events_of_run(test) if event["event"] == "written"] == []


def test_last_line_that_left_the_value_is_reported(project):
    session = StateSession(project(FILES))
    test = session.first.ids.index("test_it.py::test_there_and_back")
    lines = [line for _, _, line, _ in watch(session, test, "shop.cache.entries['a']")]
    assert lines == [line_of("test_it.py", 'cache.entries["a"] = 2')]


def test_unchanged_and_unknown_cells_are_not_reported(project):
    session = StateSession(
        project(
            {
                "conftest.py": "import shop",
                "shop.py": "state = {}",
                "test_it.py": "def test_a(request): request.addfinalizer(lambda: None)\n",
            },
        )
    )
    assert watch(session, 0, "shop.state['x']", "nothing.of.this", "thread 'x'") == []


def test_watch_that_takes_too_long_reports_no_line(project):
    source = """
        import sys
        import shop

        def test_a():
            sys.modules["unflake_agent.state.write_watch"].MOST_SECONDS = -1
            shop.state["x"] = 1
            shop.state["x"] = 2
    """
    session = StateSession(project({"conftest.py": "import shop", "shop.py": "state = {}", "test_it.py": source}))
    assert watch(session, 0, "shop.state['x']") == []


def test_state_orders_need_a_snapshot(project):
    session = StateSession(project("def test_a(): pass"))
    for kind in ("compare", "restore", "watch"):
        assert "before anything was remembered" in session.order(kind, "problem", cells=[])["text"]
    assert session.agent.outcomes(0) == ["passed"]
