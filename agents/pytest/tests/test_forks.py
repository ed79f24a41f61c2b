"""Copies of a collected process."""


def test_a_copy_runs_tests_and_a_copy_of_a_copy_keeps_what_it_did(project):
    unflake = project(
        """
        seen = []

        def test_first():
            seen.append(1)

        def test_second():
            assert seen == [1]
        """
    )
    agent = unflake.ready()
    child = unflake.fork(agent, 7)
    assert (child.hello["environment"], child.hello["parent"]) == (7, 0)
    assert child.hello["pid"] == agent.forked["pid"] != agent.hello["pid"]
    assert child.outcomes(0) == ["passed"]
    grandchild = unflake.fork(child, 8)
    assert grandchild.hello["parent"] == 7
    assert grandchild.outcomes(1) == ["passed"]
    assert agent.outcomes(1) == ["failed"]
    assert child.outcomes(1, 0, 1) == ["passed", "passed", "failed"]
    grandchild.order("end")
    assert grandchild.rest() == [{"event": "bye"}]
    child.order("reap", environment=8)
    assert child.event("reaped") == {"event": "reaped", "environment": 8, "exit": 0}
    child.order("end")
    assert child.rest() == [{"event": "bye"}]
    agent.order("reap", environment=7)
    assert agent.event("reaped") == {"event": "reaped", "environment": 7, "exit": 0}
    agent.order("reap", environment=99)
    assert agent.event("reaped") == {"event": "reaped", "environment": 99}
    assert unflake.end(agent) == 1
