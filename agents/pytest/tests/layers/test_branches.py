"""The layer `branch`: which ways conditions and loops take."""

import sys

# Before, a branch is a step from line to line, so conditions within a line are not seen.
HAS_INSTRUCTIONS = hasattr(sys, "monitoring")

SHOP = {
    "shop.py": """
        def price(n):
            if n > 10:
                return n - 1
            return n

        def total(numbers):
            found = 0
            for n in numbers:
                found += n
            while found > 100:
                found -= 100
            return found

        def sign(n):
            return -1 if n < 0 else 1

        def straight(n):
            found = n + 1
            return found
        """,
    "test_shop.py": """
        import threading
        import shop

        def test_small():
            assert shop.price(3) == 3

        def test_large():
            thread = threading.Thread(target=shop.price, args=(30,))
            thread.start()
            thread.join()

        def test_both():
            shop.price(3), shop.price(30)

        def test_loop():
            shop.total([1, 2])

        def test_no_loop():
            shop.total([])

        def test_positive():
            shop.sign(1)

        def test_negative():
            shop.sign(-1)

        def test_straight():
            shop.straight(1)
        """,
}


def ways(record, file="shop.py"):
    """Line, and the line that a branch leads to or None."""
    found = set()
    for line, text in record.branches().get(file, []):
        there = text.partition(" to line ")[2]
        found.add((line, int(there) if there else None))
    return found


def test_the_ways_of_conditions_are_recorded_alike_in_each_attempt(layered):
    agent = layered(SHOP, "branch")
    for _ in range(3):
        assert ways(agent.run(0)) == {(3, 5)}
        assert ways(agent.run(1)) == {(3, 4)}
        assert ways(agent.run(2)) == {(3, 4), (3, 5)}


def test_the_ways_of_loops_are_recorded(layered):
    agent = layered(SHOP, "branch,code,behaviour")
    loop, no_loop = agent.run(3), agent.run(4)
    # The loop variable is assigned in the line of the loop.
    again = (9, None if HAS_INSTRUCTIONS else 10)
    assert {again, (9, 11)} <= ways(loop)
    assert (9, 11) in ways(no_loop) and again not in ways(no_loop)
    assert 10 in loop.lines()["shop.py"] and 10 not in no_loop.lines()["shop.py"]
    assert [row["return"] for row in loop.rows("total", "exit")] == [3]


def test_conditions_within_a_line_differ(layered):
    agent = layered(SHOP, "branch")
    positive, negative = agent.run(5).branches(), agent.run(6).branches()
    assert (positive != negative) == HAS_INSTRUCTIONS
    assert agent.run(7).branches().get("shop.py") is None


def test_forks_record_the_same_branches(layered):
    agent = layered(SHOP, "branch", forked=True)
    assert ways(agent.run(2)) == {(3, 4), (3, 5)}
