"""unflake against plain pytest and its peers, side by side in one run: `python3 bench/run.py`.

Sets up all it needs below .venvs/ (a virtual environment, released suites from PyPI, the opponents) and builds
unflake. Contenders take turns, so that whatever else the machine does meets all of them. Wall time is what a person
waits; CPU time counts the process and everything it started and is the steadier of the two on a busy machine.
"""

import argparse
import os
import sys
import tempfile

import outcomes
import suites
from forks import Warm
from measure import Contender, Cost, alternate, least, median, once


class Table:
    def __init__(self, title, *columns):
        self.title, self.columns, self.rows, self.notes = title, columns, [], []

    def row(self, *cells):
        self.rows.append([str(cell) for cell in cells])
        print("  …", *self.rows[-1], sep="  ", file=sys.stderr, flush=True)  # What is known is not lost if the rest is.

    def markdown(self):
        lines = [self.columns, ["---"] * len(self.columns), *self.rows]
        text = "### %s\n\n%s\n" % (self.title, "\n".join("| %s |" % " | ".join(line) for line in lines))
        return text + "".join("\n%s\n" % note for note in self.notes)

    def text(self):
        lines = [self.columns, *self.rows]
        widths = [max(len(line[at]) for line in lines) for at in range(len(self.columns))]
        shown = ("  ".join(cell.rjust(width) for cell, width in zip(line, widths)) for line in lines)
        return "\n%s\n%s\n%s" % (self.title, "\n".join(shown), "".join("%s\n" % note for note in self.notes))


def seconds(costs, what):
    return "%.2f / %.2f" % (median(costs, what), least(costs, what))


def ratio(costs, base, what):
    return "%.3f / %.3f" % (median(costs, what) / median(base, what), least(costs, what) / least(base, what))


def overhead(quick):
    """An all-passing suite: what it costs to have unflake, or a rerun plugin, there for nothing."""
    table = Table(
        "Overhead on all-passing suites (bar 1.10, goal 1.03)",
        "suite", "contender", "wall s median / min", "× plain", "CPU s median / min", "× plain", "times",
    )
    for name in ["jinja2"] if quick else suites.REAL:
        suite = suites.real(name)
        suite.forget()
        rerun, retry = suite.variables("pytest-rerunfailures"), suite.variables("pytest-retry")
        contenders = [
            Contender("pytest", suite.pytest(), suite.directory, suite.variables()),
            Contender("unflake run", suite.unflake(), suite.directory, suite.variables()),
            Contender("pytest-rerunfailures", suite.pytest("--reruns", "1"), suite.directory, rerun),
            Contender("pytest-retry", suite.pytest("--retries", "1"), suite.directory, retry),
        ]
        times = 2 if name == "packaging" else 3 if quick else 11
        costs = alternate(contenders, times)
        for contender, its in costs.items():
            base = costs["pytest"]
            table.row(
                name, contender, seconds(its, "wall"), ratio(its, base, "wall"), seconds(its, "cpu"),
                ratio(its, base, "cpu"), times,
            )
    return table


def same_outcomes(quick):
    """unflake must not change what a suite comes to."""
    table = Table("Outcomes under unflake against plain pytest (bar: no difference)", "suite", "tests", "of which", "differ")
    for name in ["jinja2", "click"] if quick else suites.REAL:
        suite = suites.real(name)
        plain = outcomes.plain(suite)
        differ = outcomes.differences(plain, outcomes.under_unflake(suite))
        kinds = ", ".join("%d %s" % (list(plain.values()).count(kind), kind) for kind in sorted(set(plain.values())))
        table.row(name, len(plain), kinds, len(differ))
        table.notes += ["%s: %s" % (name, difference) for difference in differ[:10]]
    return table


ALWAYS_FAILS = "def test_bench_one_that_always_fails():\n    assert 1 == 2\n\n\n"
ALSO = ALWAYS_FAILS.replace("one", "another")
FORKS = 200


def fresh(quick):
    """One test in a fresh environment: a fork of a pytest that has collected its file, against a new pytest for it."""
    table = Table(
        "One test in a fresh environment (bar: 30 times cheaper than a new pytest)",
        "suite", "plugins", "test", "new pytest ms: wall, CPU", "fork, one at a time ms: wall, CPU", "× cheaper",
        "two at a time ms: wall, CPU", "× cheaper",
    )
    for name in ["click"] if quick else ["click", "jinja2", "marshmallow"]:
        suite = suites.real(name)
        file = suite.one.split("::")[0]
        failing = suites.copy_with(suite, "failing", {file: ALWAYS_FAILS + ALSO})
        fails = "%s::test_bench_one_that_always_fails" % file
        for plugins in ((), ("usual",)):
            for test, outcome in ((suite.one, "passed"), (fails, "failed")):
                costs = fork_or_new(failing, file, test, outcome, plugins, 3 if quick else 6)
                new, *forks = map(in_short, costs)
                cells = ["%.0f, %.0f" % new]
                for fork in forks:
                    cells.append("%.1f, %.1f" % fork)
                    cells.append("%.0f, %.0f" % tuple(a / b for a, b in zip(new, fork)))
                table.row(name, plugins[0] if plugins else "none", outcome, *cells)
    table.notes.append(
        "Least wall time and median CPU time of six measurements, each of a new pytest and of 25 forks in a row; two at a "
        "time, wall time is the time for all divided by their number."
    )
    return table


def fork_or_new(suite, file, test, outcome, plugins, rounds, forks=25):
    """Costs of a new pytest, of a fork one at a time and two at a time, measured in turn."""
    new = Contender("new pytest", suite.pytest(test), suite.directory, suite.variables(*plugins), (outcome == "failed",))
    costs = [], [], []
    once(new)
    warm = Warm(suite, plugins, [file])
    warm.one_test(test, 3, 1, outcome)
    for _ in range(rounds):
        costs[0].append(once(new))
        for at_once in (1, 2):
            wall, cpu = warm.one_test(test, forks, at_once, outcome)
            costs[at_once].append(Cost(wall / forks, cpu / forks, 0))
    warm.close()
    return costs


def in_short(costs):
    """Milliseconds of wall and CPU time."""
    return 1000 * least(costs, "wall"), 1000 * median(costs, "cpu")


def binary(quick):
    """The same through `unflake run --fresh`, with all that the binary does around it."""
    table = Table(
        "A failing test in a fresh environment, through the binary",
        "suite", "contender", "wall ms median / min", "new pytest ÷", "CPU ms median / min", "new pytest ÷", "times",
    )
    for name in ["click"] if quick else ["click", "jinja2", "marshmallow"]:
        suite = suites.real(name)
        file = suite.one.split("::")[0]
        failing = suites.copy_with(suite, "failing", {file: ALWAYS_FAILS + ALSO})
        fails = "%s::test_bench_one_that_always_fails" % file
        few, many = 1, 1 + (20 if quick else FORKS) // 2
        contenders = [Contender("new pytest", failing.pytest(fails), failing.directory, failing.variables(), (1,))]
        contenders += [reruns(failing, "fork", jobs, count) for jobs in (1, 2) for count in (few, many)]
        times = 2 if quick else 4
        costs = alternate(contenders, times)
        shares = {"new pytest": costs["new pytest"]}
        for jobs in (1, 2):
            one, more = (costs[reruns(failing, "fork", jobs, count).name] for count in (few, many))
            shares["fork, --jobs %d" % jobs] = [each(a, b, 2 * (many - few)) for a, b in zip(one, more)]
        for contender, its in shares.items():
            cells = []
            for what in ("wall", "cpu"):
                middle, lowest = median(its, what), least(its, what)
                cells += ["%.1f / %.1f" % (1000 * middle, 1000 * lowest)]
                cells += ["%.0f" % (median(shares["new pytest"], what) / middle)]
            table.row(name, contender, *cells, times)
    table.notes.append(
        "A fork is the difference between two runs of the whole suite with two failing tests, one with %d more reruns "
        "in fresh environments than the other, divided by that number." % FORKS
    )
    return table


def reruns(suite, how, jobs, count):
    flags = ["--immediate", 0, "--at-end", 0, "--fresh", count, "--fresh-by", how, "--jobs", jobs]
    command = suite.unflake(*map(str, flags))
    return Contender("%s, --jobs %d, %d" % (how, jobs, count), command, suite.directory, suite.variables(), (1,))


def each(few, many, count):
    """The cost of one of the `count` that `many` has more than `few`."""
    return type(few)(*((getattr(many, what) - getattr(few, what)) / count for what in ("wall", "cpu", "own_cpu")))


def forked(quick):
    """Every test of a suite in a fork of its own, against pytest-forked and against one process for all."""
    table = Table(
        "Every test in a fork of its own (bar: no difference in outcomes)",
        "suite", "contender", "tests", "outcomes differ", "wall ms a test", "CPU ms a test",
    )
    for name in ["click"] if quick else ["click", "jinja2", "marshmallow"]:
        suite = suites.real(name)
        plain = outcomes.plain(suite)
        together = Contender("pytest, one process", suite.pytest(), suite.directory, suite.variables())
        rival = Contender("pytest-forked", suite.pytest("--forked"), suite.directory, suite.variables("pytest-forked"), (0, 1))
        for contender in (together, rival):
            costs = [once(contender) for _ in range(1 if quick else 2)]
            parts = (1000 * least(costs, what) / len(plain) for what in ("wall", "cpu"))
            table.row(name, contender.name, len(plain), "", *("%.2f" % part for part in parts))
        for at_once in (1, 2):
            best = None
            for _ in range(1 if quick else 2):
                warm = Warm(suite)
                seen, *spent = warm.every_test_in_its_own_fork(at_once)
                warm.close()
                best = [min(pair) for pair in zip(spent, best or spent)]
                differ = outcomes.differences(plain, seen)
                table.notes += ["%s: %s" % (name, difference) for difference in differ[:3]]
            parts = (1000 * part / len(plain) for part in best)
            table.row(name, "agent, %d at once" % at_once, len(plain), len(differ), *("%.2f" % part for part in parts))
    table.notes.append("Least of two. The two pytests include their start, the agent does not.")
    return table


def scale(quick):
    """What unflake costs beyond pytest for each test, with few and with many."""
    table = Table(
        "Cost of each test beyond plain pytest (bar: flat within 1.3, unflake itself below 100 MB)",
        "suite", "tests", "wall µs a test median / min", "CPU µs a test median / min", "unflake's own CPU µs a test",
        "unflake's peak MB", "times",
    )
    one_in_a_hundred = lambda number: "assert %s" % (number % 100 != 50)
    for name, body, exits, counts in (
        ("passing", lambda number: "assert True", (0,), (1000, 20000)),
        ("1 % failing", one_in_a_hundred, (1,), (1000, 20000)),
    ):
        for count in counts[:1] if quick else counts:
            suite = suites.made(count, name.replace(" % ", "-per-cent-"), body)
            contenders = [
                Contender("pytest", suite.pytest(), suite.directory, suite.variables(), exits),
                Contender("unflake", suite.unflake("--quiet"), suite.directory, suite.variables(), exits, watched=True),
            ]
            times = 3 if quick else 15 if count <= 1000 else 3
            costs = alternate(contenders, times)
            plain, ours = costs["pytest"], costs["unflake"]
            cells = []
            for what in ("wall", "cpu"):
                gaps = (measure(ours, what) - measure(plain, what) for measure in (median, least))
                cells.append("%.0f / %.0f" % tuple(1e6 * gap / count for gap in gaps))
            own = 1e6 * median(ours, "own_cpu") / count
            table.row(name, count, *cells, "%.0f" % own, "%.1f" % (max(cost.peak for cost in ours) / 1e6), times)
    count = 1000 if quick else 20000
    suite = suites.made(count, "all-failing", lambda number: "print('x' * 10_000)\nassert False")
    cost = once(Contender("unflake", suite.unflake("--quiet"), suite.directory, suite.variables(), (1,), watched=True))
    plain = once(Contender("pytest", suite.pytest(), suite.directory, suite.variables(), (1,)))
    gaps = ("%.0f" % (1e6 * (getattr(cost, what) - getattr(plain, what)) / count) for what in ("wall", "cpu"))
    table.row("all failing, 10 kB each", count, *gaps, "%.0f" % (1e6 * cost.own_cpu / count), "%.1f" % (cost.peak / 1e6), 1)
    table.notes.append("Failing tests are run once more each: unflake makes twice their attempts.")
    return table


def rerun_cost(quick):
    """What failures and crashes set in motion. For information."""
    table = Table("What failures set in motion (for information)", "suite of 100 tests", "attempts", "in forks", "runner starts")
    died = "import os\nos.kill(os.getpid(), 11)"
    for name, failing, body in (
        ("all pass", 0, ""),
        ("1 fails", 1, "assert False"),
        ("9 fail", 9, "assert False"),
        ("10 fail", 10, "assert False"),
        ("1 crashes", 1, died),
        ("3 crash", 3, died),
    ):
        suite = suites.made(100, name.replace(" ", "-"), lambda number: body if number % 11 < 1 and number < 11 * failing else "pass", a_file=20)
        with tempfile.TemporaryDirectory() as place:
            starts = os.path.join(place, "starts")
            script = 'echo >> "$0"; exec "$@"'
            made = outcomes.attempts(suite, command=["sh", "-c", script, starts, *suite.pytest()])
            count = os.path.getsize(starts)
        table.row(name, len(made), sum(attempt["origin"] == "fork" for attempt in made), count)
    return table


BENCHES = {
    "overhead": overhead,
    "outcomes": same_outcomes,
    "fresh": fresh,
    "binary": binary,
    "forked": forked,
    "scale": scale,
    "reruns": rerun_cost,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a fast look: fewer suites and repetitions")
    parser.add_argument("--only", action="append", choices=BENCHES, metavar="NAME", help=", ".join(BENCHES))
    parser.add_argument("--markdown", metavar="FILE", help="write the tables there too")
    arguments = parser.parse_args()
    suites.prepare()
    written = []
    for name in arguments.only or BENCHES:
        table = BENCHES[name](arguments.quick)
        print(table.text(), flush=True)
        written.append(table.markdown())
        if arguments.markdown:
            with open(arguments.markdown, "w") as out:
                out.write("\n".join(written))


if __name__ == "__main__":
    sys.exit(main())
