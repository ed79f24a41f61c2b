"""The recorded conversations of the protocol. `--record` rewrites them."""

import json
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
TRANSCRIPTS = os.path.join(HERE, *[os.pardir] * 4, "crates", "unflake-protocol", "transcripts")


def normalized(value):
    """Without what differs between runs, machines and versions."""
    if isinstance(value, list):
        return [normalized(one) for one in value]
    if not isinstance(value, dict):
        return value
    value = {key: normalized(one) for key, one in value.items()}
    for key, constant in (("pid", 1), ("seconds", 0.25), ("stack_signal", 61), ("root", "/project"), ("path", "/side/file")):
        if key in value:
            value[key] = constant
    for key in ("runner", "language"):
        if key in value:
            value[key] = re.sub(r"\d.*", "0", value[key])
    if value.get("event") == "problem":
        value["text"] = value["text"].strip().splitlines()[-1]
    return value


def check(request, name, log):
    path = os.path.join(TRANSCRIPTS, name + ".jsonl")
    events = [normalized(one) for one in log]
    if request.config.getoption("--record"):
        os.makedirs(TRANSCRIPTS, exist_ok=True)
        with open(path, "w") as file:
            file.writelines(json.dumps(one, ensure_ascii=False) + "\n" for one in events)
    with open(path) as file:
        assert events == [json.loads(line) for line in file]


FLAKY = """
tries = []

def test_passes():
    pass

def test_flaky():
    tries.append(1)
    print("attempt", len(tries))
    if len(tries) == 1:
        raise ValueError("not yet")

class TestCart:
    def test_total(self):
        pass
"""


def test_retry(project, request):
    unflake = project(FLAKY, plugins=True)
    log = []
    agent = unflake.ready(log)
    agent.run(0, 1, 2, again=2)
    unflake.end(agent)
    check(request, "rerun", log)


def test_fork(project, request):
    unflake = project(FLAKY, plugins=True)
    log, child_log = [], []
    agent = unflake.ready(log)
    child = unflake.fork(agent, 7, child_log)
    child.run(2, 1, again=0)
    child.order("end")
    child.remaining()
    agent.order("reap", environment=7)
    agent.event("reaped")
    unflake.end(agent)
    check(request, "fork-parent", log)
    check(request, "fork-child", child_log)


def test_collection_error(project, request):
    unflake = project({"test_bad.py": "1 / 0", "test_good.py": "def test_good(): pass"}, plugins=True)
    log = []
    agent = unflake.accept(log)
    agent.remaining()
    check(request, "collection-error", log)


def test_maxfail(project, request):
    unflake = project(FLAKY, "--maxfail=1", plugins=True)
    log = []
    agent = unflake.ready(log)
    agent.run(0, 1, 2, again=1)
    unflake.end(agent)
    check(request, "maxfail", log)


def test_filter(project, request):
    flaky = FLAKY.replace('raise ValueError("not yet")', "assert not tries")
    unflake = project(flaky, plugins=True, variables={"UNFLAKE_FILTER": "yes"})
    log = []
    agent = unflake.ready(log)
    agent.order("sites")
    with open(agent.event("sites")["path"], encoding="utf-8") as file:
        site = json.loads(file.readline())
    path = os.path.join(unflake.side, "filter")
    with open(path, "w", encoding="utf-8") as file:
        json.dump([dict(site, test="test_it.py::test_flaky")], file)
    agent.order("filter", path=path)
    agent.event("filtering")
    assert [done["outcome"] for done in agent.run(1, again=1)] == ["passed"]
    unflake.end(agent)
    check(request, "filter", log)
