"""Which executions of lines are change points."""

from unflake_agent.schedule.change_points import NEVER, GivenPoints, Point, SeededPoints, ThreadNames


def points_of(site, executions):
    """The numbers of the executions that are change points."""
    found = []
    for _ in range(executions):
        site.count += 1
        site.remaining -= 1
        if site.remaining <= 0:
            found.append(site.count)
            site.remaining = site.gap(site.count)
    return found


def test_a_seed_decides_for_each_line_of_each_thread():
    def drawn(seed, name, thread):
        return points_of(SeededPoints(seed, 5).line(name, thread), 1000)

    assert drawn(1, "a.py:3", "main") == drawn(1, "a.py:3", "main")
    others = drawn(2, "a.py:3", "main"), drawn(1, "a.py:4", "main"), drawn(1, "a.py:3", "work-1")
    assert all(drawn(1, "a.py:3", "main") != other for other in others)


def test_a_rate_is_kept():
    assert 150 < len(points_of(SeededPoints(1, 5).line("a.py:3", "main"), 1000)) < 250
    assert points_of(SeededPoints(1, 1).line("a.py:3", "main"), 3) == [1, 2, 3]


def test_without_a_rate_many_lines_are_delayed_when_they_first_run():
    first = [seed for seed in range(200) if points_of(SeededPoints(seed).line("a.py:3", "main"), 1)]
    assert 20 < len(first) < 120


def test_given_points():
    def at(text, name="shop/a.py:3", thread="main"):
        return points_of(GivenPoints([Point(one) for one in text.split(",")]).line(name, thread), 5)

    assert at("a.py:3") == at("shop/a.py:3") == at("a.py:3@main") == [1, 2, 3, 4, 5]
    assert at("a.py:3#2@main,a.py:3#4") == [2, 4]
    assert at("a.py:4") == at("b.py:3") == at("op/a.py:3") == at("a.py:3@work-1") == []
    assert GivenPoints([]).line("a.py:3", "main").remaining == NEVER


def test_a_length_delays_lines_and_no_timers():
    points = GivenPoints([Point("a.py:3#2@main=500")])
    site = points.line("a.py:3", "main")
    assert (site.delay, points_of(site, 5)) == (0.5, [2])
    assert points.wait("a.py:3", "main").remaining == NEVER
    assert points.delays_single_threads and not GivenPoints([Point("a.py:3")]).delays_single_threads


def test_threads_are_named_after_what_they_run():
    names = ThreadNames()
    assert [names.name("Thread-%d (work)" % n) for n in (7, 9)] == ["work-1", "work-2"]
    assert names.name("ThreadPoolExecutor-3_0") == "ThreadPoolExecutor-1"
    assert names.name("3") == "thread-1"
