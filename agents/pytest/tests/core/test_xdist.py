"""The agents in the controller and in the workers of pytest-xdist."""

import pytest

pytest.importorskip("xdist")


class Workers:
    """A pytest that distributes its tests, with the connections of all its agents."""

    def __init__(self, unflake, number):
        self.unflake, self.controller = unflake, unflake.accept()
        found = [unflake.accept() for _ in range(number)]
        self.workers = sorted(found, key=lambda worker: worker.hello["process"])

    def tests(self):
        """The ids that the first worker lists."""
        self.workers[0].order("list")
        events = self.workers[0].until("ready")
        return [test["id"] for event in events if event["event"] == "listed" for test in event["tests"]]

    def run(self, *tests, again=0):
        """The events of each worker until it is idle."""
        for connection in [self.controller] + self.workers:
            connection.order("run", tests=list(tests), again=again)
        events = [worker.until("idle") for worker in self.workers]
        self.controller.until("idle")
        return events

    def end(self, failed):
        self.controller.order("end", failed=failed)
        self.controller.remaining()
        return self.unflake.wait()


def done(events):
    return [(event["n"], event["run"], event["outcome"]) for event in events if event["event"] == "done"]


TESTS = {
    "test_a.py": "import os\ndef test_1(): assert not [k for k in os.environ if k.startswith('UNFLAKE')]\n"
    "def test_2(): assert 'PYTEST_PLUGINS' not in os.environ",
    "test_b.py": "tries = []\ndef test_3():\n    tries.append(1)\n    assert len(tries) > 1\ndef test_4(): pass",
}


def test_workers_report_what_xdist_gives_them_and_retry_at_once(project):
    suite = Workers(project(TESTS, "-n2", "--dist=loadfile", "--junitxml=own.xml", plugins=True), 2)
    assert [worker.hello["process"] for worker in suite.workers] == [0, 1]
    assert suite.tests() == ["test_a.py::test_1", "test_a.py::test_2", "test_b.py::test_3", "test_b.py::test_4"]
    events = suite.run(0, 1, 2, 3, again=1)
    for number, each in enumerate(events):
        assert {event["process"] for event in each if event["event"] == "start"} == {number}
    assert sorted(map(done, events)) == [
        [(0, 0, "passed"), (1, 0, "passed")],
        [(2, 0, "failed"), (2, 1, "passed"), (3, 0, "passed")],
    ]
    assert suite.end(failed=0) == 0
    # xdist knows of the first attempts only.
    with open(suite.unflake.directory + "/own.xml") as report:
        assert 'failures="1"' in report.read()


def test_tests_that_are_not_ordered_do_not_run(project):
    suite = Workers(project(TESTS, "-n1", plugins=True), 1)
    suite.tests()
    assert done(suite.run(1, 3)[0]) == [(1, 0, "passed"), (3, 0, "passed")]
    assert suite.end(failed=0) == 0


def test_the_group_of_a_test_is_not_part_of_its_id(project):
    files = {"test_a.py": "import pytest\n@pytest.mark.xdist_group('g')\ndef test_1(): pass"}
    suite = Workers(project(files, "-n1", "--dist=loadgroup", plugins=True), 1)
    assert suite.tests() == ["test_a.py::test_1"]
    assert done(suite.run(0)[0]) == [(0, 0, "passed")]
    assert suite.end(failed=0) == 0


def test_the_death_of_a_worker_is_reported_and_its_replacement_has_an_agent(project):
    files = {"test_a.py": "import os\ndef test_1(): os._exit(7)\ndef test_2(): pass\ndef test_3(): pass"}
    suite = Workers(project(files, "-n1", plugins=True), 1)
    suite.tests()
    for connection in [suite.controller] + suite.workers:
        connection.order("run", tests=[0, 1, 2], again=0)
    died = suite.controller.event("exited")
    assert (died["process"], died["exit"]) == (0, 7)
    assert [event["event"] for event in suite.workers[0].remaining()] == ["start"]
    other = suite.unflake.accept()
    assert other.hello["process"] == 1
    other.order("run", tests=[0, 1, 2], again=0)
    assert sorted(done(other.until("idle"))) == [(1, 0, "passed"), (2, 0, "passed")]
    suite.controller.until("idle")
    assert suite.end(failed=1) == 1


def test_maxfail_stops_the_run_and_counts_tests(project):
    files = {"test_a.py": "def test_1(): assert 0\n" + "".join("def test_%d(): pass\n" % n for n in range(2, 30))}
    suite = Workers(project(files, "-n1", "--maxfail=1", plugins=True), 1)
    suite.tests()
    for connection in [suite.controller] + suite.workers:
        connection.order("run", tests=list(range(29)), again=1)
    assert [event["event"] for event in suite.controller.until("idle")] == ["stopped", "idle"]
    assert done(suite.workers[0].until("idle"))[:2] == [(0, 0, "failed"), (0, 1, "failed")]
    # Nothing counts as failed, so the stop is no failure either.
    assert suite.end(failed=0) == 0


@pytest.mark.parametrize(
    "options, reports, why",
    [
        (["-n", "4"], "no", "one process"),
        (["--dist", "each", "--tx", "2*popen"], "yes", "several times"),
        (["-d", "--tx", "ssh=host"], "yes", "other machines"),
    ],
)
def test_workers_are_not_used_where_they_cannot_be(project, options, reports, why):
    files = {"test_it.py": "import os\ndef test_a(): assert 'PYTEST_XDIST_WORKER' not in os.environ"}
    unflake = project(files, *options, reports=reports, plugins=True)
    agent = unflake.ready()
    assert len(agent.notes) == 1 and "is not used" in agent.notes[0] and why in agent.notes[0]
    assert agent.outcomes(0) == ["passed"]
    assert unflake.end(agent) == 0
