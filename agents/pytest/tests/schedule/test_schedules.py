"""Tests under a schedule, in the agent."""

import pytest
from race import RACE, WRITE
from trace_reader import NATIVE_TRACER

FAILS = "hold=test_it.py:%d@ask-1 after test_it.py:%d@ask-2" % (WRITE, WRITE)
PASSES = "hold=test_it.py:%d@ask-2 after test_it.py:%d@ask-1" % (WRITE - 1, WRITE + 1)

LATE = """
import asyncio

def test_order():
    order = []

    async def ask(number):
        await asyncio.sleep(0.001)
        order.append(number)

    async def both():
        await asyncio.gather(ask(1), ask(2))

    asyncio.run(both())
    assert order == [1, 2]

def test_ready_tasks_keep_their_order():
    order = []

    async def step(number):
        for _ in range(3):
            order.append(number)
            await asyncio.sleep(0)

    async def both():
        await asyncio.gather(step(1), step(2))

    asyncio.run(both())
    assert order == [1, 2] * 3
"""
ALONE = """
def test_steps():
    steps = 0
    for _ in range(3):
        steps += 1
"""
STEP = 1 + ALONE.split("\n").index("        steps += 1")
SLEEP = 1 + LATE.split("\n").index("        await asyncio.sleep(0.001)")


def under(words):
    return {"UNFLAKE_UNDER": "origins=1,2,3;%s;page=/nowhere" % words}


def outcomes(done):
    return [one["outcome"] for one in done]


@pytest.mark.parametrize("length, times", [("", 0), ("=20", 1)])
def test_a_delay_with_a_length_needs_no_other_thread(project, length, times):
    agent = project(ALONE, variables=under("delay-at=test_it.py:%d#1%s" % (STEP, length))).ready()
    assert agent.run(0)[0].get("delays", []) == ["test_it.py:%d#1@main" % STEP] * times


@pytest.mark.parametrize("words, outcome", [(FAILS, "failed"), (PASSES, "passed")])
def test_a_forced_order_decides(project, words, outcome):
    unflake = project(RACE, variables=under(words))
    agent = unflake.ready()
    assert outcomes(agent.run(0, 0)) == [outcome] * 2
    assert outcomes(unflake.fork(agent, 5).run(0)) == [outcome]


def test_a_delay_makes_a_race_fail(project):
    agent = project(RACE, variables=under("delay-at=test_it.py:%d@ask-1" % WRITE)).ready()
    done = agent.run(0, 0, 0)
    assert "failed" in outcomes(done)
    assert all(one["delays"] == ["test_it.py:%d#1@ask-1" % WRITE] for one in done)


NATIVE = NATIVE_TRACER or "python"


@pytest.mark.parametrize("traced, tracer", [("lines", NATIVE), ("lines", "python"), ("values", "python")])
def test_a_schedule_and_a_trace_go_together(project, traced, tracer):
    unflake = project(RACE, variables=dict(under(FAILS), UNFLAKE_TRACED=traced, UNFLAKE_TRACER=tracer))
    done = unflake.ready().run(0)
    assert outcomes(done) == ["failed"] and "trace" in done[-1]


def test_waits_of_tasks_are_delayed_and_ready_tasks_are_not(project):
    assert outcomes(project(LATE, variables=under("delay-at=test_it.py:%d@ask-1" % SLEEP)).ready().run(0)) == ["failed"]
    agent = project(LATE, variables=under("schedule=1,1")).ready()
    assert outcomes(agent.run(1, 1, 1)) == ["passed"] * 3


def test_an_error_of_the_loop_is_the_test_s_own(project):
    tests = "import asyncio\ndef test_closed():\n    loop = asyncio.new_event_loop()\n    loop.close()\n    loop.call_later(1, print)\n"
    done = project(tests, variables=under("schedule=1,1")).ready().run(0)
    assert outcomes(done) == ["failed"] and "Event loop is closed" in done[-1]["failure"]["message"]
