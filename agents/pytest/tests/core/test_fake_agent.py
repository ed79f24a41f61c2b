"""The scripted agent of unflake's own tests speaks the same protocol as a real one."""

import json
import os
import sys

FAKE = os.path.join(os.path.dirname(__file__), "..", "..", "..", "fake", "fake_agent.py")


def fake(project, *steps):
    files = {"script.json": json.dumps(steps)}
    return project(files, command=[sys.executable, os.path.abspath(FAKE), "script.json"])


def test_serve_behaves_like_an_agent(project):
    unflake = fake(project, {"serve": {"tests": {"a": ["failed", "passed"], "b": "error", "c": "crash"}}})
    agent = unflake.ready()
    assert agent.ids == ["a", "b", "c"]
    child = unflake.fork(agent, 1)
    assert agent.outcomes(0, 1, again=1) == ["failed", "passed", "error", "error"]
    assert child.outcomes(0) == ["failed"]
    child.order("run", tests=[2], again=0)
    assert child.remaining() == [{"event": "start", "n": 2, "run": 0}]
    agent.order("reap", environment=1)
    assert agent.event("reaped")["signal"] == 11
    assert unflake.end(agent) == 0


def test_steps_are_executed_in_order(project):
    unflake = fake(project, {"hello": True}, {"send": {"event": "idle"}}, {"expect": "end"}, {"print": "x"}, {"exit": 3})
    agent = unflake.accept()
    assert agent.next() == {"event": "idle"}
    agent.order("run", tests=[], again=0)
    agent.order("end")
    assert agent.remaining() == []
    assert (unflake.wait(), unflake.output) == (3, "x\n")
