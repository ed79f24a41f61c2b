"""A plugin for plain pytest, without unflake: writes the outcome of every test in pytest's own words, as JSON."""

import json
import os

outcomes = {}


def pytest_runtest_logreport(report):
    # pytest's own category of a phase; empty for set-up and tear-down that passed.
    category = _config.hook.pytest_report_teststatus(report=report, config=_config)[0]
    if category and outcomes.get(report.nodeid) not in ("failed", "error"):
        outcomes[report.nodeid] = category


def pytest_configure(config):
    global _config
    _config = config


def pytest_unconfigure():
    with open(os.environ["BENCH_OUTCOMES"], "w") as out:
        json.dump(outcomes, out)
