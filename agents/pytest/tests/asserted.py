"""What attempts told of their assertions."""

import json
import os
import tempfile
import textwrap

from driver import Unflake

WAYS = "rewritten", "helper", "plain"
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


def in_way(body, way):
    """The files of a project whose only test has this body, in a file that pytest rewrites, in one that it does not, or without rewriting."""
    return in_ways({"a": body}, way)


def in_ways(bodies, way):
    """The same for several tests, `test_` and their names."""
    functions = ["def %s_%s():\n%s\n" % ("check" if way == "helper" else "test", name, textwrap.indent(body, "    ")) for name, body in bodies.items()]
    if way == "helper":
        calls = ["def test_%s():\n    helper.check_%s()\n" % (name, name) for name in bodies]
        return {"helper.py": "".join(functions), "test_it.py": "import helper\n" + "".join(calls)}, ()
    return {"test_it.py": "".join(functions)}, () if way == "rewritten" else ("--assert=plain",)


class Filtering:
    """A project whose assertions may be asked for and let fail."""

    def __init__(self, unflake):
        self._unflake = unflake
        self.agent = unflake.ready()

    def sites(self):
        self.agent.order("sites")
        with open(self.agent.event("sites")["path"], encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def site(self, expression, ordinal=0, within=""):
        """The assertion of this expression in functions whose name has this in it."""
        sites = [one for one in self.sites() if within in one["function"] + "."]
        found = [one for one in sites if (one["expression"], one["ordinal"]) == (expression, ordinal)]
        assert len(found) == 1, sites
        return found[0]

    def let_fail(self, *sites, test="test_it.py::test_a"):
        path = os.path.join(self._unflake.side, "filter")
        with open(path, "w", encoding="utf-8") as file:
            json.dump([dict(site, test=test) for site in sites], file)
        self.agent.order("filter", path=path)
        self.agent.event("filtering")

    def run(self, outcome="passed", test=0):
        done = self.agent.run(test)[0]
        assert done["outcome"] == outcome, done
        return Told(done) if "layers" in done else None


class Suite:
    """One project for many tests, which is slow to start."""

    def __init__(self, files, args, variables):
        self._directory = tempfile.TemporaryDirectory(prefix="uf")
        directory = os.path.realpath(self._directory.name)
        for name, text in files.items():
            with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
                file.write(text)
        self.unflake = Unflake(directory, *args, variables=variables)
        self.filtering = Filtering(self.unflake)

    def close(self):
        self.unflake.close()
        self._directory.cleanup()
