"""Whether unflake sees what pytest sees, test for test."""

import json
import os
import re
import subprocess
import tempfile

from suites import HERE

# From pytest's words to unflake's.
WORDS = {"xfailed": "expected-failure", "xpassed": "unexpected-pass"}


def plain(suite):
    """The outcome of every test under pytest alone."""
    with tempfile.TemporaryDirectory() as place:
        file = os.path.join(place, "outcomes.json")
        variables = dict(suite.variables(path=[HERE]), BENCH_OUTCOMES=file)
        run(suite.pytest("-p", "plain_outcomes"), suite, variables)
        with open(file) as text:
            return {test: WORDS.get(outcome, outcome) for test, outcome in json.load(text).items()}


def under_unflake(suite):
    """The first attempt at every test in the user's own process."""
    first = {}
    for attempt in attempts(suite):
        first.setdefault(attempt["test"], attempt["outcome"])
    return first


def attempts(suite, *flags, command=None):
    with tempfile.TemporaryDirectory() as place:
        file = os.path.join(place, "run.json")
        words = suite.unflake("--quiet", "--json", file, *flags)
        if command is not None:
            words[words.index("--") + 1 :] = command
        run(words, suite, suite.variables())
        with open(file) as text:
            return json.load(text)["attempts"]


def run(command, suite, variables):
    with tempfile.TemporaryFile() as output:
        subprocess.run(
            command, cwd=suite.directory, env=variables, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )


def differences(one, other):
    """Test, outcome here, outcome there; None for a test that is missing.

    marshmallow names tests after the time at which they were collected. Of names that only one side has, those that
    differ in nothing but digits mean the same test.
    """
    here, there = (sorted(set(a) - set(b), key=without_digits) for a, b in ((one, other), (other, one)))
    if list(map(without_digits, here)) == list(map(without_digits, there)):
        renamed = dict(zip(there, here))
        other = {renamed.get(test, test): outcome for test, outcome in other.items()}
    return [(test, one.get(test), other.get(test)) for test in {**one, **other} if one.get(test) != other.get(test)]


def without_digits(name):
    return re.sub(r"\d", "#", name)
