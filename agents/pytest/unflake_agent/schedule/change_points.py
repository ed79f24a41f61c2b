"""Change points: the executions of lines at which a thread or task is delayed.

A point is named `FILE:LINE#N@THREAD`: the Nth time that this thread runs this line. A seed decides
for each line of each thread on its own, so an equal run has equal points, however threads
interleave. Threads are named after what they run, and equal ones are numbered as they arrive: which
of two equal threads comes first does not matter.
"""

import math
import random
import re

# One in so many executions is a change point, where no rate is given.
RATES = 2, 4, 10, 30, 100, 400
# Waits of tasks are much rarer than lines. Longer delays than the pauses of a busy machine keep the
# order of tasks the same in every run.
WAIT_RATE, WAIT_DELAYS = 2, (0.005, 0.03, 0.1)
# Seconds. All together are at most LIMIT in one attempt.
DELAYS = 0.001, 0.004, 0.015
LIMIT = 1.0
# With half of the seeds some threads are not delayed at all: where all of them are, short ones keep
# their order.
THREAD_FACTORS = 0, 0, 1, 2
# One in so many lines is a change point when a thread first runs it; with some seeds the next
# executions are, too. So a line that runs once matters as much as one in a loop.
LINE_RATES = 2, 4, 8
EXECUTIONS_OF_LINE = 20
# Where points are given.
GIVEN_DELAY, GIVEN_LIMIT = 0.05, 5.0
NEVER = 1 << 60
POINT = re.compile(r"(?P<file>.+?):(?P<line>\d+)(#(?P<n>\d+))?(@(?P<thread>[^=]+))?(=(?P<ms>\d+))?$")
NAMED_BY_FUNCTION = re.compile(r".*\((.+)\)$")
NUMBER = re.compile(r"[-_]?\d+")


class Point:
    """`FILE:LINE#N@THREAD=MILLISECONDS`, of which the line is enough. A file matches by its end."""

    def __init__(self, text):
        found = POINT.match(text.strip())
        if found is None:
            raise ValueError(text)
        self.file, self.line = found.group("file"), int(found.group("line"))
        self.n, self.thread = int(found.group("n") or 0), found.group("thread")
        self.has_length = found.group("ms") is not None
        self.delay = int(found.group("ms")) / 1000 if self.has_length else GIVEN_DELAY

    def is_at(self, file, line):
        return line == self.line and ("/" + file).endswith("/" + self.file)


class Site:
    """A line in a thread, and how many more executions there are before the next change point."""

    __slots__ = "name", "thread", "count", "remaining", "gap", "delay", "holds", "passes"

    def __init__(self, name, thread, gap, delay=0.0):
        """`gap`: a function of the executions so far. `delay`: seconds at each change point."""
        self.name, self.thread, self.gap, self.delay = name, thread, gap, delay
        self.count, self.remaining = 0, gap(0)
        self.holds = self.passes = None


class SeededPoints:
    """Change points that follow from a seed. Without a rate the seed decides that, too."""

    limit = LIMIT
    # Whether a thread is delayed where no other one could use the time.
    delays_single_threads = False

    def __init__(self, seed, rate=0):
        drawn = random.Random("schedule %d" % seed)
        self._seed = seed
        self._rate = rate or drawn.choice(RATES)
        self._wait_rate = rate or WAIT_RATE
        self._delay = drawn.choice(DELAYS)
        self._line_rate = 0 if rate else drawn.choice(LINE_RATES)
        self._whole_lines = drawn.random() < 0.5
        self._factors = THREAD_FACTORS if drawn.random() < 0.5 else (1,)
        self._engine, self._log = random.Random, math.log

    def line(self, name, thread):
        engine = self._engine("%d %s %s" % (self._seed, thread, name))
        gap = self._random_gap(engine, self._rate)
        if self._line_rate:
            is_chosen, more = engine.random() < 1 / self._line_rate, gap
            often = EXECUTIONS_OF_LINE if self._whole_lines else 1
            gap = lambda count: 1 if is_chosen and count < often else more(count)
        return Site(name, thread, gap, self._delay * self._factor(thread))

    def _factor(self, thread):
        return self._engine("%d %s" % (self._seed, thread)).choice(self._factors)

    def wait(self, name, thread):
        engine = self._engine("%d %s %s" % (self._seed, thread, name))
        delay = engine.choice(WAIT_DELAYS)
        return Site(name, thread, self._random_gap(engine, self._wait_rate), delay)

    def _random_gap(self, engine, rate):
        if rate == 1:
            return lambda count: 1
        log, scale = self._log, self._log(1 - 1 / rate)
        return lambda count: int(log(1 - engine.random()) / scale) + 1


class GivenPoints:
    """Change points that the user or a search names."""

    limit = GIVEN_LIMIT

    def __init__(self, points):
        self._points = points
        # How slow the machine may be matters to a single thread, too.
        self.delays_single_threads = any(point.has_length for point in points)

    def line(self, name, thread):
        here = self._here(name, thread)
        return Site(name, thread, self._gap(here), max((one.delay for one in here), default=GIVEN_DELAY))

    def wait(self, name, thread):
        here = [one for one in self._here(name, thread) if not one.has_length]
        return Site(name, thread, self._gap(here), GIVEN_DELAY)

    def _here(self, name, thread):
        file, _, line = name.rpartition(":")
        return [one for one in self._points if one.is_at(file, int(line)) and one.thread in (None, thread)]

    def _gap(self, here):
        if any(not one.n for one in here):
            return lambda count: 1
        times = sorted({one.n for one in here})
        return lambda count: next((n - count for n in times if n > count), NEVER)


class ThreadNames:
    """Names of threads and tasks in an attempt, the same in equal runs."""

    def __init__(self):
        self._numbers = {}

    def name(self, given):
        named = NAMED_BY_FUNCTION.match(given)
        base = named.group(1) if named else NUMBER.sub("", given)
        base = base.replace(",", "_").replace(";", "_") or "thread"
        number = self._numbers[base] = self._numbers.get(base, 0) + 1
        return "%s-%d" % (base, number)
