"""Reads the files in which an agent describes attempts at each layer."""

import json
import os


class LayerFile:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.all = [json.loads(line) for line in file]
        assert self.all[0] == ["format", 1]
        self.files = {line[1]: line[2] for line in self.of("file")}
        self.points = {line[1]: line[2:] for line in self.of("point")}
        assert len(self.files) == len(self.of("file")) and len(self.points) == len(self.of("point"))

    def of(self, kind):
        return [line for line in self.all if line[0] == kind]

    def lines(self):
        """By file: the numbers of the lines that ran."""
        found = {}
        for _, file, spans in self.of("lines"):
            assert self.files[file] not in found
            found[self.files[file]] = [n for first, last in spans for n in range(first, last + 1)]
        return found

    def branches(self):
        """By file: line and description of the branches that were taken."""
        return {self.files[file]: [tuple(way) for way in ways] for _, file, ways in self.of("branches")}

    def output(self, stream):
        return [text for _, name, text in self.of("out") if name == stream]

    def rows(self, function, where):
        """The rows at a point, in the order of the calls: values by variable."""
        found = []
        for _, number, values in self.of("row"):
            _, name, side, variables = self.points[number]
            if (name, side) == (function, where):
                assert len(values) == len(variables)
                found.append(dict(zip(variables, values)))
        return found

    def gaps(self, layer):
        return [text for _, name, text in self.of("gap") if name == layer]


class LayeredPytest:
    """A pytest process whose attempts are described at some layers."""

    def __init__(self, unflake, connection):
        self.unflake, self.connection = unflake, connection

    def run(self, test=0, outcome="passed"):
        (done,) = self.connection.run(test)
        assert done["outcome"] == outcome, done
        assert os.path.dirname(done["layers"]) == self.unflake.side
        return LayerFile(done["layers"])
