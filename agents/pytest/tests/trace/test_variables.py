"""Values of variables, and uses of sources of nondeterminism."""

import pytest


@pytest.fixture
def values(traced):
    """(line, name, text) of the values in the main thread of a test."""

    def run(source, outcome="passed", **options):
        return traced(source, mode="values", **options).trace(0, outcome).values("MainThread")

    return run


def named(values, *names):
    return [value for value in values if value[1] in names]


def test_value_is_recorded_at_the_line_that_set_it(values):
    found = values(
        """
        def double(n):
            twice = n * 2
            return twice

        def test():
            a = double(4)
            for b in range(2):
                c = a + b
            text = "x" * 3
        """
    )
    assert found == [
        (3, "n", "4"),
        (3, "twice", "8"),
        (4, "returns", "8"),
        (7, "a", "8"),
        (8, "b", "0"),
        (9, "c", "8"),
        (8, "b", "1"),
        (9, "c", "9"),
        (10, "text", "'xxx'"),
        (10, "returns", "None"),
    ]


def test_generators_and_coroutines_record_returns_not_yields(traced):
    trace = traced(
        """
        import asyncio

        def numbers():
            got = yield 1
            return 7

        async def late():
            await asyncio.sleep(0)
            return 5

        def test():
            list(numbers())
            asyncio.run(late())
        """,
        mode="values",
    ).trace(0)
    assert named(trace.values("MainThread"), "returns", "got") == [(5, "got", "None"), (6, "returns", "7"), (14, "returns", "None")]
    assert trace.values("task late") == [(10, "returns", "5")]


def test_function_that_raises_has_no_return_value(values):
    found = values("def fail():\n    raise ValueError(3)\n\ndef test():\n    try:\n        fail()\n    except ValueError as e:\n        x = e\n")
    assert named(found, "returns", "e", "x") == [(7, "e", "ValueError(3)"), (8, "x", "ValueError(3)"), (8, "returns", "None")]


def test_attributes_of_self(values):
    found = values(
        """
        class Till:
            def __init__(self):
                self.sums = []
                self.open = False

            def take(self, sum):
                self.sums.append(sum)
                self.open = True
                return len(self.sums)

        def test():
            till = Till()
            till.take(3)
        """
    )
    assert named(found, "self.sums", "self.open", "till") == [
        (4, "self.sums", "[]"),
        (5, "self.open", "False"),
        (13, "till", "<test_it.Till>"),
        (8, "self.sums", "[3]"),
        (9, "self.open", "True"),
    ]


def test_values_while_loading_are_recorded(traced):
    trace = traced("import random\nrandom.seed(3)\nDRAWN = random.random()\n\ndef test():\n    pass\n", mode="values").trace(0)
    assert named(trace.values("loading"), "DRAWN") == [(3, "DRAWN", "0.23796462709189137")]


def test_no_code_of_the_project_runs(values):
    found = values(
        """
        class Bomb:
            def __getattribute__(self, name):
                raise SystemError(name)
            def _no(self, *_):
                raise SystemError
            __repr__ = __str__ = __eq__ = __hash__ = __len__ = __iter__ = __bool__ = __format__ = _no

        class Meta(type):
            def __eq__(self, other):
                raise SystemError
            __hash__ = __eq__

        class Odd(Bomb, metaclass=Meta):
            pass

        class Words(list):
            def __len__(self):
                raise SystemError
            __iter__ = __repr__ = __getitem__ = __len__

        class Methods(Bomb):
            def method(self):
                x = 1

        def test():
            bomb, odd = Bomb(), Odd()
            words = Words((1, 2))
            held = [bomb, {"odd": odd}]
            Methods.method(Methods())
        """
    )
    assert (28, "words", "[1, 2]") in found
    assert (29, "held", "[<test_it.Bomb>, {'odd': <test_it.Odd>}]") in found


def test_texts_of_values(values):
    found = values(
        """
        import datetime, decimal, enum, pathlib, uuid

        class Colour(enum.Enum):
            RED = 1

        def test():
            a = 0.1 + 0.2
            b = "x" * 100
            c = list(range(100))
            d = datetime.datetime(2026, 1, 30, tzinfo=datetime.timezone.utc)
            e = decimal.Decimal("9.90")
            f = Colour.RED
            g = pathlib.Path("a/b")
            h = {"k": (1,)}
            i = {3}, set(), ()
            j = 1 << 300
            k = object()
            l = len
            m = datetime.timedelta(seconds=3)
            n = b"\\x00"
        """
    )
    texts = {name: text for _, name, text in found}
    assert texts == {
        "a": "0.30000000000000004",
        "b": "'%s'… 100 long" % ("x" * 36),
        "c": texts["c"],
        "d": "2026-01-30T00:00:00+00:00",
        "e": "9.90",
        "f": "Colour.RED",
        "g": "Path('a/b')",
        "h": "{'k': (1,)}",
        "i": "({3}, set(), ())",
        "j": "<int of 301 bits>",
        "k": "<object>",
        "l": "<function len>",
        "m": "0:00:03",
        "n": r"b'\\x00'",
        "returns": "None",
    }
    assert texts["c"].startswith("[0, 1, 2") and texts["c"].endswith("… 100 items]")
    assert all(len(text) <= 60 for text in texts.values())


def test_frequent_line_stops_recording(values):
    found = values("def test():\n    for i in range(3000):\n        x = i\n")
    assert 90 <= len(named(found, "x")) <= 100 and 90 <= len(named(found, "i")) <= 100


def test_objects_are_freed_as_usual(values):
    values(
        """
        import weakref

        class Thing:
            pass

        def test():
            thing = Thing()
            watch = weakref.ref(thing)
            del thing
            assert watch() is None
        """
    )


def test_sources_of_nondeterminism(traced):
    trace = traced(
        """
        import asyncio, datetime, os, random, threading, time
        from random import random as draw
        from time import monotonic

        def ask(clock):
            return clock()

        async def nap():
            await asyncio.sleep(0)

        def test(tmp_path):
            a = draw()
            b = random.choice([1, 2])
            c = ask(monotonic)
            d = datetime.datetime.now()
            e = os.environ["PATH"]
            names, numbers = {"a", "b"}, {1, 2}
            f = list(names)
            g = list(numbers)
            h = sorted(names)
            i = ",".join(names)
            for j in names:
                pass
            lock = threading.Lock()
            with lock:
                pass
            thread = threading.Thread(target=nap)
            thread.start()
            thread.join()
            (tmp_path / "x").write_text("y")
            k = os.listdir(str(tmp_path))
            time.sleep(0)
            l = random.Random(3).random()
            asyncio.run(nap())
            m = max(numbers)
            n = "a" in names
        """,
        mode="values",
    ).trace(0)
    found = {use for use in trace.reaches() if use[0] < 100}
    by_line = {}
    for line, cause, what in found:
        by_line.setdefault(line, set()).add((cause, what))
    assert by_line[13] == {("randomness", "random.random")}
    assert by_line[14] == {("randomness", "random.choice")}
    assert by_line[7] == {("time", "time.monotonic")}
    assert by_line[16] == {("time", "datetime.datetime.now")}
    assert by_line[17] == {("environment", "os.environ")}
    assert by_line[19] == by_line[22] == by_line[23] == {("unordered-collection", "the order of a set")}
    assert by_line[26] == {("race", "threading.lock")}
    assert by_line[29] == {("race", "threading.Thread.start")}
    assert by_line[30] == {("async-wait", "threading.Thread.join")}
    assert by_line[31] == {("io", "pathlib.Path.write_text")}
    assert by_line[32] == {("unordered-collection", "os.listdir")}
    assert by_line[33] == {("async-wait", "time.sleep")}
    assert ("randomness", "random.random") in by_line[34]
    assert by_line[10] == {("async-wait", "asyncio.sleep")}
    assert not {20, 21, 36, 37} & set(by_line)


def test_lazily_loaded_submodule_is_recognised_by_name(traced):
    trace = traced(
        """
        import sys, types

        lazy = types.ModuleType("numpy")

        def load(name):
            made = types.SimpleNamespace(default_rng=lambda: 4)
            setattr(lazy, name, made)
            return made

        lazy.__getattr__ = load

        class Proud:
            def __eq__(self, other):
                raise AttributeError("nobody compares me")

            def __getattr__(self, name):
                return self

        proud = Proud()

        def test():
            drawn = lazy.random.default_rng()
            number = lazy.linalg
            nothing = proud.some.more()
            assert nothing is proud

        Proud.__call__ = lambda self: self
        """,
        mode="values",
    ).trace(0)
    found = {use for use in trace.reaches() if use[0] < 100}
    assert {what for _, _, what in found} == {"numpy.random.default_rng"}
