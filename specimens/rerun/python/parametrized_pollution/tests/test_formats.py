import json

import pytest

from export.formats import UnknownFormat, export, register


@pytest.mark.parametrize("name, expected", [("json", "[1, 2]"), ("csv", "1,2")])
def test_export(name, expected):
    assert export([1, 2], name) == expected


@pytest.mark.parametrize(
    "name, writer, expected",
    [("json", json.dumps, "[1]"), ("xml", lambda row: "<row>%s</row>" % row[0], "<row>1</row>")],
    ids=["json", "xml"],
)
def test_own_writer(name, writer, expected):
    register(name, writer)

    assert export([1], name) == expected


@pytest.mark.parametrize("name", ["yaml", "xml", "toml"])
def test_unknown_format_is_refused(name):
    with pytest.raises(UnknownFormat):
        export([1], name)
