"""What a run looked like: values at the entries and exits of functions."""

import sys

import pytest

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
        """,
}


def test_parameters_fields_and_results_without_asking_objects(looked):
    sheet = looked(SHOP, "behaviour").sheet(0)
    first, second = sheet.rows("Till.add", "enter")
    item, items, empty = {"type": "shop.Item"}, {"type": "list", "size": 0}, {"type": "tuple", "size": 0}
    assert first.pop("item") == second.pop("item") == item
    assert first == {
        "self": {"type": "shop.Till"}, "self.name": "west", "self.items": items, "item.price": 3, "loud": True,
        "more": {"type": "tuple", "size": 2}, "rest": {"type": "dict", "size": 1},
    }
    assert second["item.price"] == 4.5 and second["more"] == empty and second["self.items"]["size"] == 1
    assert [row["return"] for row in sheet.rows("Till.add", "exit")] == [1, 2]
    assert [row["self.items"]["size"] for row in sheet.rows("Till.add", "exit")] == [1, 2]
    assert sheet.rows("Item.__init__", "enter")[0] == {"self": item, "price": 3}
    assert sheet.rows("Item.__init__", "exit")[0] == {"self": item, "self.price": 3, "price": 3, "return": None}
    assert sheet.gaps("behaviour") == [] and not [point for point in sheet.points.values() if "test" in point[1]]
    assert sheet.files[sheet.points[1][0]] == "shop.py"


def test_generators_coroutines_and_exceptions(looked):
    sheet = looked(SHOP, "behaviour").sheet(1)
    assert sheet.rows("numbers", "enter") == [{"n": 2}]
    assert sheet.rows("numbers", "exit") == [{"n": 2, "return": "all"}]
    assert (sheet.rows("later", "enter"), sheet.rows("later", "exit")) == ([{"n": 5}], [{"n": 5, "return": 5}])
    assert (sheet.rows("raises", "enter"), sheet.rows("raises", "exit")) == ([{"n": 1}], [])
    assert sheet.rows("helper", "exit") == [{"n": 1, "return": 2}]
    assert {point[1] for point in sheet.points.values()} == {"numbers", "later", "raises", "helper"}


def test_what_json_cannot_carry(looked):
    sheet = looked(SHOP, "behaviour").sheet(2)
    assert [row["n"] for row in sheet.rows("double", "enter")] == [
        {"type": "int", "text": str(1 << 70)},
        {"type": "float", "text": "inf"},
        {"type": "str", "size": 500},
        {"type": "bytes", "size": 3},
        True,
        {"type": "complex", "text": "2j"},
    ]


def test_of_many_calls_always_the_same_are_looked_at(looked):
    agent = looked(SHOP, "behaviour")
    sheet = agent.sheet(3)
    looked_at = [row["n"] for row in sheet.rows("double", "enter")]
    assert looked_at[:50] == list(range(50)) and len(looked_at) == 100
    assert [b - a for a, b in zip(looked_at[49:], looked_at[50:])] == [2] * 10 + [4] * 10 + [8] * 10 + [16] * 10 + [32] * 10
    assert [row["n"] for row in sheet.rows("double", "exit")] == looked_at
    assert "some calls only" in sheet.gaps("behaviour")[0]
    assert agent.sheet(3).all == sheet.all
    assert agent.sheet(0).gaps("behaviour") == []


def test_an_object_with_very_many_fields_is_not_looked_into(looked):
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
    agent = looked(source, "behaviour")
    sheet = agent.sheet(0)
    assert sheet.gaps("behaviour") == [] and sheet.rows("Large.use", "enter")[0]["self.field_29"] == 29
    sheet = agent.sheet(1)
    assert "31" not in sheet.gaps("behaviour")[0] and list(sheet.rows("Large.use", "enter")[0]) == ["self"]


def test_arrays_have_a_size_and_their_numbers_a_text(looked):
    pytest.importorskip("numpy")
    source = """
    import numpy

    def mean(values, start):
        return values.mean() + start

    def test():
        assert mean(numpy.arange(5), numpy.int64(3)) == 5
    """
    (row,) = looked(source, "behaviour").sheet().rows("mean", "exit")
    assert row["values"] == {"type": "numpy.ndarray", "size": 5} and row["start"] == {"type": "numpy.int64", "text": "3"}
    assert row["return"] == {"type": "numpy.float64", "text": "5.0"}


def test_all_layers_go_together(looked):
    agent = looked(SHOP, "assertion,code,behaviour,interface")
    alone = looked(SHOP, "code")
    for test in (0, 1, 0):
        together = agent.sheet(test)
        assert together.lines() == alone.sheet(test).lines()
        assert together.of("row") and together.of("assert")


def test_it_goes_with_dependencies(looked):
    agent = looked(SHOP, "code,behaviour", variables={"UNFLAKE_DEPENDENCIES": "file"})
    (done,) = agent.connection.run(0)
    assert "dependencies" in done
    import sheets

    sheet = sheets.Sheet(done["layers"])
    if hasattr(sys, "monitoring"):
        assert sheet.rows("Till.add", "exit") and sheet.lines()["shop.py"]
    else:
        assert sheet.rows("Till.add", "exit") or sheet.gaps("behaviour")
