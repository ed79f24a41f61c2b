"""Coming in, listing, running, running again, leaving."""


def test_a_failing_test_is_run_again_until_it_passes(project):
    unflake = project(
        """
        tries = []

        def test_passes():
            pass

        def test_flaky():
            tries.append(1)
            assert len(tries) > 2
        """
    )
    agent = unflake.ready()
    assert agent.ids == ["test_it.py::test_passes", "test_it.py::test_flaky"]
    assert [(test["file"], test["line"]) for test in agent.tests] == [("test_it.py", 4), ("test_it.py", 7)]
    assert agent.ready == {"event": "ready", "tests": 2, "deselected": 0, "unforkable": None}
    done = agent.run(0, 1, again=4)
    assert [(event["n"], event["run"], event["outcome"]) for event in done] == [
        (0, 0, "passed"),
        (1, 0, "failed"),
        (1, 1, "failed"),
        (1, 2, "passed"),
    ]
    failure = done[1]["failure"]
    assert (failure["phase"], failure["kind"]) == ("call", "AssertionError")
    assert (failure["file"], failure["line"]) == ("test_it.py", 9)
    assert failure["message"].startswith("assert 1 > 2")
    assert "test_it.py:9: AssertionError" in failure["trace"]
    assert unflake.end(agent) == 1
