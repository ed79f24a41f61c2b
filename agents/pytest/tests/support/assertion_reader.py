"""Runs tests with instrumented assertions, and reads their results."""

import json
import os
import tempfile
import textwrap

from driver import FakeUnflake

# Where the assertions of a test are: in a file that pytest rewrites, in a helper module that it
# does not rewrite, or in a test file with rewriting switched off.
MODES = "rewritten", "helper", "plain"
LAYER = {"UNFLAKE_LAYERS": "assertion"}
FILTER = {"UNFLAKE_FILTER": "yes"}
BOTH = dict(LAYER, **FILTER)


class AssertionLog:
    """The results of an attempt: (expression, result, operands) in `results`."""

    def __init__(self, done):
        self.outcome, self.failure = done["outcome"], done.get("failure")
        with open(done["layers"], encoding="utf-8") as file:
            self.lines = [json.loads(line) for line in file]
        assert self.lines[0] == ["format", 1]
        files, self.sites, self.results, self.gaps = {}, {}, [], []
        for kind, *fields in self.lines:
            if kind == "file":
                files[fields[0]] = fields[1]
            elif kind == "site":
                names = "file", "function", "expression", "ordinal", "line"
                self.sites[fields[0]] = dict(zip(names, [files[fields[1]]] + fields[2:]))
            elif kind == "assert":
                site = self.sites[fields[0]]  # Described before it is mentioned.
                self.results.append((site["expression"], fields[1], [tuple(one) for one in fields[2]]))
            elif kind == "gap":
                self.gaps.append(fields[1])
        keys = [tuple(sorted(one.items())) for one in self.sites.values()]
        assert len(set(keys)) == len(keys)

    @property
    def outcomes(self):
        return [(expression, how) for expression, how, _ in self.results]

    def only(self, expression):
        """Result and operands of the only evaluation of an assertion."""
        found = [(how, operands) for name, how, operands in self.results if name == expression]
        assert len(found) == 1, self.results
        return found[0]


def project_with_test(body, mode):
    """The files and options of a project with one test, `test_a`."""
    return project_with_tests({"a": body}, mode)


def project_with_tests(bodies, mode):
    """The same for several tests. Their names are `test_` and the keys."""
    prefix = "check" if mode == "helper" else "test"
    functions = ["def %s_%s():\n%s\n" % (prefix, name, textwrap.indent(body, "    ")) for name, body in bodies.items()]
    if mode == "helper":
        calls = ["def test_%s():\n    helper.check_%s()\n" % (name, name) for name in bodies]
        return {"helper.py": "".join(functions), "test_it.py": "import helper\n" + "".join(calls)}, ()
    return {"test_it.py": "".join(functions)}, () if mode == "rewritten" else ("--assert=plain",)


class FilterSession:
    """A project whose assertions can be listed and filtered."""

    def __init__(self, unflake):
        self._unflake = unflake
        self.agent = unflake.ready()

    def sites(self):
        self.agent.order("sites")
        with open(self.agent.event("sites")["path"], encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def site(self, expression, ordinal=0, within=""):
        """The only assertion with this expression. `within`: part of its function's name."""
        sites = [one for one in self.sites() if within in one["function"] + "."]
        found = [one for one in sites if (one["expression"], one["ordinal"]) == (expression, ordinal)]
        assert len(found) == 1, sites
        return found[0]

    def set_filter(self, *sites, test="test_it.py::test_a"):
        path = os.path.join(self._unflake.side, "filter")
        with open(path, "w", encoding="utf-8") as file:
            json.dump([dict(site, test=test) for site in sites], file)
        self.agent.order("filter", path=path)
        self.agent.event("filtering")

    def run(self, outcome="passed", test=0):
        done = self.agent.run(test)[0]
        assert done["outcome"] == outcome, done
        return AssertionLog(done) if "layers" in done else None


class SharedProject:
    """One project for many tests, because starting it is slow."""

    def __init__(self, files, args, variables):
        self._directory = tempfile.TemporaryDirectory(prefix="uf")
        directory = os.path.realpath(self._directory.name)
        for name, text in files.items():
            with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
                file.write(text)
        self._unflake = FakeUnflake(directory, *args, variables=variables)
        self.session = FilterSession(self._unflake)

    def close(self):
        self._unflake.close()
        self._directory.cleanup()
