"""Tests that leak no state are not reported."""

import pytest
from state_session import StateSession

CLEAN_TESTS = {
    "shop.py": """
        import dataclasses, enum, functools, logging, re

        log = logging.getLogger(__name__)
        config = {"mode": "plain"}
        listeners = []

        class Colour(enum.Enum):
            RED = 1
            BLUE = 2

        @dataclasses.dataclass
        class Item:
            name: str
            price: float = 0.0

        class Till:
            cash = 0
            def take(self, amount):
                self.cash += amount
                log.warning("took %s", amount)
                return self.cash

        def parse(text):
            return re.match(r"(\\w+)=(\\d+)", text).groups()
    """,
    "conftest.py": """
        import pytest, shop

        @pytest.fixture
        def till():
            return shop.Till()

        @pytest.fixture
        def listening():
            shop.listeners.append(1)
            yield
            shop.listeners.pop()
    """,
    "test_it.py": """
        import abc, asyncio, collections, datetime, decimal, io, json, logging, os, random, subprocess, sys, tempfile, threading
        import time, typing, unittest, warnings
        from unittest import mock

        import pytest
        import shop

        def test_plain(): assert shop.parse("a=1") == ("a", "1")
        def test_fixture(till, listening): assert till.take(2) == 2
        def test_tmp_path(tmp_path):
            (tmp_path / "x").write_text("x")
            assert os.listdir(tmp_path) == ["x"]
        def test_temporary():
            with tempfile.TemporaryDirectory() as directory, tempfile.NamedTemporaryFile() as file:
                open(os.path.join(directory, "x"), "w").close()
        def test_monkeypatch(monkeypatch):
            monkeypatch.setattr(shop.Till, "cash", 5)
            monkeypatch.setattr(shop, "parse", None)
            monkeypatch.delattr(shop, "listeners")
            monkeypatch.setitem(shop.config, "mode", "x")
            monkeypatch.delitem(shop.config, "mode")
            monkeypatch.setenv("A", "1")
            monkeypatch.chdir("/")
            monkeypatch.syspath_prepend("/nowhere")
        def test_mock():
            with mock.patch("shop.parse") as parse, mock.patch.dict(shop.config, x=1), mock.patch.object(shop.Till, "take", autospec=True):
                shop.parse(1)
                shop.Till().take(3)
                assert parse.call_count == 1
        def test_output(capsys, capfd):
            print("x")
            assert "x" in capfd.readouterr().out
        def test_log(caplog):
            with caplog.at_level("DEBUG"):
                shop.log.info("x")
            assert caplog.records
        def test_warning(recwarn):
            warnings.warn("x")
            with pytest.warns(UserWarning):
                warnings.warn("y")
        def test_raises():
            with pytest.raises(ValueError, match="x"):
                raise ValueError("x")
        @pytest.mark.parametrize("n", [1, 2])
        def test_parameters(n): assert n
        @pytest.mark.xfail
        def test_xfail(): assert 0
        @pytest.mark.skip
        def test_skip(): pass
        class TestClass:
            def setup_method(self): self.x = 1
            @classmethod
            def setup_class(cls): pass
            def test_method(self): assert self.x
        class TestCase(unittest.TestCase):
            def setUp(self): self.x = 1
            def test_case(self):
                self.addCleanup(len, "x")
                with self.subTest(n=1):
                    self.assertEqual(self.x, 1)
        def test_thread():
            threads = [threading.Thread(target=print) for _ in range(3)]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
        def test_process():
            assert subprocess.run([sys.executable, "-c", "print(1)"], stdout=subprocess.PIPE).stdout
        def test_local_random(): assert random.Random(1).random() > 0
        def test_times(): assert datetime.datetime.strptime("2020-01-01", "%Y-%m-%d").year == time.strptime("2020", "%Y").tm_year
        def test_decimal():
            with decimal.localcontext() as context:
                context.prec = 3
                assert decimal.Decimal(1) / 3
        def test_json(): assert json.loads(json.dumps({"a": [1, None]}))
        def test_class():
            class Shape(abc.ABC):
                @abc.abstractmethod
                def area(self): pass
            class Square(Shape):
                def area(self): return 1
            assert isinstance(Square(), Shape) and isinstance([], collections.abc.Sequence)
        def test_types():
            assert typing.get_type_hints(shop.Item) and shop.Colour(1) and shop.Item("a") == shop.Item("a")
        def test_fails(): assert shop.config == {}
        def test_open(): open(os.devnull).close()
        def test_coroutine():
            async def one(): await asyncio.sleep(0)
            loop = asyncio.new_event_loop()
            loop.run_until_complete(one())
            loop.close()
    """,
}


# What some of them do change: asyncio creates its policy on first use, `tempfile` registers a
# callback at exit, and pytest 6.2 loads pkg_resources, which adds an importer.
EXPECTED = {
    "test_it.py::test_coroutine": {"asyncio.events._event_loop_policy"},
    "test_it.py::test_temporary": {"atexit"},
    "test_it.py::test_monkeypatch": {"sys.meta_path"} if pytest.__version__ < "7" else set(),
}


def changes_by(session, agent, test):
    """The cells that a test changes, except for modules that it is the first to import."""
    session.agent = agent
    session.remember()
    agent.run(test)
    paths = {path for path in session.compare() if not path.startswith("sys.modules[")}
    return paths - EXPECTED.get(session.first.ids[test], set())


def test_clean_tests_change_nothing_in_forks(project):
    unflake = project(CLEAN_TESTS)
    session = StateSession(unflake, forks=False)
    for test, name in enumerate(session.first.ids):
        fork = unflake.fork(session.first, 10 + test)
        assert (name, changes_by(session, fork, test)) == (name, set())
        fork.order("end")
        fork.remaining()


def test_clean_tests_change_nothing_in_one_process(project):
    unflake = project(CLEAN_TESTS)
    session = StateSession(unflake, forks=False)
    for test, name in enumerate(session.first.ids):
        assert (name, changes_by(session, session.first, test)) == (name, set())
