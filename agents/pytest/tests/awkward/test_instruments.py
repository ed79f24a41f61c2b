"""No instrument changes an outcome: each runs over tests that are hard to observe.

`awkward_tests.py` are the tests, which this process does not collect, and `awkward_code.py` what they
call.
"""

import os

import pytest
from trace_reader import NATIVE_TRACER

HERE = os.path.dirname(os.path.abspath(__file__))
LAYERS = "assertion", "code", "branch", "behaviour", "interface"
INSTRUMENTS = dict(
    {layer: {"UNFLAKE_LAYERS": layer} for layer in LAYERS},
    **{
        "all layers": {"UNFLAKE_LAYERS": ",".join(LAYERS)},
        "filter": {"UNFLAKE_LAYERS": "assertion", "UNFLAKE_FILTER": "yes"},
        "lines": {"UNFLAKE_TRACED": "lines", "UNFLAKE_TRACER": "python"},
        "values": {"UNFLAKE_TRACED": "values", "UNFLAKE_TRACER": "python"},
        "dependencies": {"UNFLAKE_DEPENDENCIES": "file"},
        "dependencies by function": {"UNFLAKE_DEPENDENCIES": "function"},
        "schedule": {"UNFLAKE_UNDER": "origins=1,2,3;schedule=7,20;page=/nowhere"},
    }
)
if NATIVE_TRACER:
    INSTRUMENTS["native lines"] = {"UNFLAKE_TRACED": "lines", "UNFLAKE_TRACER": NATIVE_TRACER}
    INSTRUMENTS["native values"] = {"UNFLAKE_TRACED": "values", "UNFLAKE_TRACER": NATIVE_TRACER}
    INSTRUMENTS["native layers"] = {"UNFLAKE_LAYERS": "code", "UNFLAKE_TRACER": NATIVE_TRACER}


def read(name):
    with open(os.path.join(HERE, name)) as file:
        return file.read()


@pytest.fixture
def awkward(project):
    """Outcomes by test, and messages of failures."""
    files = {"test_awkward.py": read("awkward_tests.py"), "awkward.py": read("awkward_code.py")}

    def start(variables=(), use=lambda agent, tests: agent.run(*tests)):
        unflake = project(files, "-W", "ignore", variables=dict(variables))
        agent = unflake.ready()
        done = use(agent, range(len(agent.ids)))
        assert len(done) == len(agent.ids) > 30
        return {
            agent.ids[one["test"] if "test" in one else one["n"]]: (one["outcome"], (one.get("failure") or {}).get("message"))
            for one in done
        }

    return start


PLAIN = {}


def differences(awkward, found):
    """Against the outcomes without an instrument, which are found once."""
    if "outcomes" not in PLAIN:
        PLAIN["outcomes"] = awkward()
    plain = PLAIN["outcomes"]
    assert {outcome for outcome, _ in plain.values()} <= {"passed", "skipped"}, plain
    return {test: found[test] for test in plain if found[test][0] != plain[test][0]}


@pytest.mark.parametrize("instrument", sorted(INSTRUMENTS))
def test_no_instrument_changes_an_outcome(awkward, instrument):
    assert differences(awkward, awkward(INSTRUMENTS[instrument])) == {}


def test_comparing_state_changes_no_outcome(awkward):
    def with_state(agent, tests):
        done = []
        for test in tests:
            agent.order("remember")
            agent.until("remembered", "problem")
            done += agent.run(test, hold=True)
            agent.order("compare")
            agent.until("changed", "problem")
        return done

    assert differences(awkward, awkward(use=with_state)) == {}
