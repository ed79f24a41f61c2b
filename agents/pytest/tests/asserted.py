"""What an attempt told of its assertions."""

import json

LAYER = {"UNFLAKE_LAYERS": "assertion"}
FILTER = {"UNFLAKE_FILTER": "yes"}
BOTH = dict(LAYER, **FILTER)


class Told:
    def __init__(self, done):
        self.outcome, self.failure = done["outcome"], done.get("failure")
        with open(done["layers"], encoding="utf-8") as file:
            self.lines = [json.loads(line) for line in file]
        assert self.lines[0] == ["format", 1]
        files, self.sites, self.all, self.gaps = {}, {}, [], []
        for kind, *rest in self.lines:
            if kind == "file":
                files[rest[0]] = rest[1]
            elif kind == "site":
                number, file, function, expression, ordinal, line = rest
                self.sites[number] = {"file": files[file], "function": function, "expression": expression, "ordinal": ordinal, "line": line}
            elif kind == "assert":
                site = self.sites[rest[0]]  # Known before it is mentioned.
                self.all.append((site["expression"], rest[1], [tuple(one) for one in rest[2]]))
            elif kind == "gap":
                self.gaps.append(rest[1])
        keys = [tuple(sorted(one.items())) for one in self.sites.values()]
        assert len(set(keys)) == len(keys)

    @property
    def how(self):
        return [(expression, how) for expression, how, _ in self.all]

    def one(self, expression):
        """How the only evaluation of an assertion went, and what it saw."""
        found = [(how, seen) for name, how, seen in self.all if name == expression]
        assert len(found) == 1, self.all
        return found[0]
