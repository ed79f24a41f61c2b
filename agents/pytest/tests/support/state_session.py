"""Runs a polluter in one process, and restores cells and runs a victim in forks of it."""

import json


class StateSession:
    """Remembers, runs the first test and compares; forks restore cells and run the second test."""

    def __init__(self, unflake, forks=True):
        self.unflake, self.first = unflake, unflake.ready()
        self.agent = unflake.fork(self.first, 1) if forks else self.first
        self._last_environment = 10

    def order(self, kind, answer, **fields):
        self.agent.order(kind, **fields)
        return self.agent.until(answer, "problem")[-1]

    def remember(self):
        remembered = self.order("remember", "remembered")
        assert remembered.get("cells", 0) > 100, remembered
        return remembered

    def pollute(self, *tests, outcome="passed"):
        """The paths of the cells that these tests change."""
        self.remember()
        assert self.agent.outcomes(*(tests or (0,)), hold=True) == [outcome] * (len(tests) or 1)
        return self.compare()

    def compare(self, agent=None):
        agent = agent or self.agent
        agent.order("compare")
        with open(agent.event("changed")["path"]) as file:
            self.report = json.load(file)
        assert self.report["format"] == 1
        self.cells = {cell["path"]: cell for cell in self.report["cells"]}
        assert len(self.cells) == len(self.report["cells"])
        return set(self.cells)

    def restored(self, *cells, test=1):
        """In a fork: what could not be restored, and the outcome of the test then."""
        self._last_environment += 1
        fork = self.unflake.fork(self.agent, self._last_environment)
        fork.order("restore", cells=list(cells))
        failed = fork.event("restored").get("failed", [])
        return failed, fork.outcomes(test)[0]
