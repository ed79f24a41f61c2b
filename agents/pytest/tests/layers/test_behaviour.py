"""The layer `behaviour`: values at the entries and exits of functions."""

import sys

import pytest
from layer_reader import LayerFile

SHOP = {
    "shop.py": """
        class Item:
            __slots__ = "price", "never"

            def __init__(self, price):
                self.price = price

            def __eq__(self, other):
                raise SystemExit("asked for equality")

        class Till:
            def __init__(self, name):
                self.name, self.items = name, []

            def add(self, item, *more, loud=False, **rest):
                self.items.append(item)
                return len(self.items)

            @property
            def total(self):
                raise SystemExit("asked for a property")

            def __repr__(self):
                raise SystemExit("asked for words")

            def __getattr__(self, name):
                raise SystemExit("asked for " + name)

        def numbers(n):
            for i in range(n):
                yield i
            return "all"

        async def later(n):
            return n

        def raises(n):
            raise ValueError(n)

        def double(n):
            return 2 * n
        """,
    "test_shop.py": """
        import asyncio
        import os
        import pytest
        from shop import *

        def helper(n):
            return n + 1

        def test_till():
            till = Till("west")
            assert till.add(Item(3), 1, 2, loud=True, key=None) == 1
            assert till.add(Item(4.5)) == 2

        def test_flow():
            assert list(numbers(2)) == [0, 1]
            assert asyncio.run(later(5)) == 5
            with pytest.raises(ValueError):
                raises(1)
            assert helper(1) == 2
            def inner(): return 1
            assert inner() == 1

        def test_values():
            for n in (1 << 70, float("inf"), "x" * 500, b"abc", None, True, 2j):
                double(n) if n else 0

        def test_often():
            for n in range(2000):
                double(n)

        def test_fork():
            child = os.fork()
            if not child:
                os._exit(Till("east").add(Item(1)) - 1)
            assert os.waitpid(child, 0)[1] == 0
        """,
}


def test_parameters_fields_and_results_without_running_project_code(layered):
    file = layered(SHOP, "behaviour").run(0)
    first, second = file.rows("Till.add", "enter")
    item, items, empty = {"type": "shop.Item"}, {"type": "list", "size": 0}, {"type": "tuple", "size": 0}
    assert first.pop("item") == second.pop("item") == item
    assert first == {
        "self": {"type": "shop.Till"}, "self.name": "west", "self.items": items, "item.price": 3, "loud": True,
        "more": {"type": "tuple", "size": 2}, "rest": {"type": "dict", "size": 1},
    }
    assert second["item.price"] == 4.5 and second["more"] == empty and second["self.items"]["size"] == 1
    assert [row["return"] for row in file.rows("Till.add", "exit")] == [1, 2]
    assert [row["self.items"]["size"] for row in file.rows("Till.add", "exit")] == [1, 2]
    assert file.rows("Item.__init__", "enter")[0] == {"self": item, "price": 3}
    assert file.rows("Item.__init__", "exit")[0] == {"self": item, "self.price": 3, "price": 3, "return": None}
    assert file.gaps("behaviour") == [] and not [point for point in file.points.values() if "test" in point[1]]
    assert file.files[file.points[1][0]] == "shop.py"


def test_generators_coroutines_and_exceptions(layered):
    file = layered(SHOP, "behaviour").run(1)
    assert file.rows("numbers", "enter") == [{"n": 2}]
    assert file.rows("numbers", "exit") == [{"n": 2, "return": "all"}]
    assert (file.rows("later", "enter"), file.rows("later", "exit")) == ([{"n": 5}], [{"n": 5, "return": 5}])
    assert (file.rows("raises", "enter"), file.rows("raises", "exit")) == ([{"n": 1}], [])
    assert file.rows("helper", "exit") == [{"n": 1, "return": 2}]
    assert {point[1] for point in file.points.values()} == {"numbers", "later", "raises", "helper"}


def test_values_that_json_cannot_represent(layered):
    file = layered(SHOP, "behaviour").run(2)
    assert [row["n"] for row in file.rows("double", "enter")] == [
        {"type": "int", "text": str(1 << 70)},
        {"type": "float", "text": "inf"},
        {"type": "str", "size": 500},
        {"type": "bytes", "size": 3},
        True,
        {"type": "complex", "text": "2j"},
    ]


def test_sampled_calls_are_always_the_same(layered):
    agent = layered(SHOP, "behaviour")
    file = agent.run(3)
    sampled = [row["n"] for row in file.rows("double", "enter")]
    assert sampled[:50] == list(range(50)) and len(sampled) == 100
    assert [b - a for a, b in zip(sampled[49:], sampled[50:])] == [2] * 10 + [4] * 10 + [8] * 10 + [16] * 10 + [32] * 10
    assert [row["n"] for row in file.rows("double", "exit")] == sampled
    assert "sampled" in file.gaps("behaviour")[0]
    assert agent.run(3).all == file.all
    assert agent.run(0).gaps("behaviour") == []


def test_fork_in_a_test_writes_nothing(layered):
    (done,) = layered(SHOP, "behaviour").connection.run(4)
    file = LayerFile(done["layers"])
    assert done["outcome"] == "passed" and "forked" in file.gaps("behaviour")[0] and not file.of("row")


def test_fields_of_large_objects_are_left_out(layered):
    source = """
    class Large:
        def __init__(self, n):
            vars(self).update(("field_%d" % i, i) for i in range(n))

        def use(self):
            return 1

    def test():
        Large(30).use()

    def test_more():
        Large(31).use()
    """
    agent = layered(source, "behaviour")
    file = agent.run(0)
    assert file.gaps("behaviour") == [] and file.rows("Large.use", "enter")[0]["self.field_29"] == 29
    file = agent.run(1)
    assert "31" not in file.gaps("behaviour")[0] and list(file.rows("Large.use", "enter")[0]) == ["self"]


def test_numpy_arrays_have_a_size_and_scalars_a_text(layered):
    pytest.importorskip("numpy")
    source = """
    import numpy

    def mean(values, start):
        return values.mean() + start

    def test():
        assert mean(numpy.arange(5), numpy.int64(3)) == 5
    """
    (row,) = layered(source, "behaviour").run().rows("mean", "exit")
    assert row["values"] == {"type": "numpy.ndarray", "size": 5} and row["start"] == {"type": "numpy.int64", "text": "3"}
    assert row["return"] == {"type": "numpy.float64", "text": "5.0"}


def test_all_layers_together(layered):
    agent = layered(SHOP, "assertion,code,behaviour,interface")
    alone = layered(SHOP, "code")
    for test in (0, 1, 0):
        together = agent.run(test)
        assert together.lines() == alone.run(test).lines()
        assert together.of("row") and together.of("assert")


def test_together_with_dependencies(layered):
    agent = layered(SHOP, "code,behaviour", variables={"UNFLAKE_DEPENDENCIES": "file"})
    (done,) = agent.connection.run(0)
    assert "dependencies" in done
    file = LayerFile(done["layers"])
    if hasattr(sys, "monitoring"):
        assert file.rows("Till.add", "exit") and file.lines()["shop.py"]
    else:
        assert file.rows("Till.add", "exit") or file.gaps("behaviour")
