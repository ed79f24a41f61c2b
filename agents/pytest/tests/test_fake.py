"""The scripted agent that unflake's own tests use: it has to speak as a real one does."""

import json
import os
import sys

FAKE = os.path.join(os.path.dirname(__file__), "..", "..", "fake", "fake_agent.py")


def fake(project, *steps):
    files = {"script.json": json.dumps(steps)}
    return project(files, command=[sys.executable, os.path.abspath(FAKE), "script.json"])


def test_it_serves_as_a_whole_agent(project):
    unflake = fake(project, {"serve": {"tests": {"a": ["failed", "passed"], "b": "error", "c": "crash"}}})
    agent = unflake.ready()
    assert agent.ids == ["a", "b", "c"]
    child = unflake.fork(agent, 1)
    assert agent.outcomes(0, 1, again=1) == ["failed", "passed", "error", "error"]
    assert child.outcomes(0) == ["failed"]
    child.order("run", tests=[2], again=0)
    assert child.rest() == [{"event": "start", "n": 2, "run": 0}]
    agent.order("reap", environment=1)
    assert agent.event("reaped")["signal"] == 11
    assert unflake.end(agent) == 0


def test_it_carries_out_steps(project):
    unflake = fake(project, {"hello": True}, {"send": {"event": "idle"}}, {"expect": "end"}, {"print": "x"}, {"exit": 3})
    agent = unflake.accept()
    assert agent.next() == {"event": "idle"}
    agent.order("run", tests=[], again=0)
    agent.order("end")
    assert agent.rest() == []
    assert (unflake.wait(), unflake.out) == (3, "x\n")
