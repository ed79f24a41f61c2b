"""Whether earlier attempts in the process may hide a dependency behind something cached."""

import json

import pytest

LIB = """
    import functools
    @functools.lru_cache
    def text(): return open('data.txt').read()
    def other(): return 1
    """
PLAIN = "import lib\ndef test_a(): pass\ndef test_b(): lib.other()\n"
READS = "import lib\ndef test_a(): lib.text()\ndef test_b(): lib.text()\n"
READS_MORE = "import lib\ndef test_a(): lib.text()\ndef test_b(): lib.text(); open('data.txt').close()\n"
SHARED = (
    "import lib, pytest\n@pytest.fixture(scope='module')\ndef text(): return lib.text()\n"
    "def test_a(text): pass\ndef test_b(text): pass\n"
)
LAZY = "def test_a(): import lazy\ndef test_b(): pass\n"
STARTS = "import os\ndef test_a(): os.system('true; false')\ndef test_b(): pass\n"
NONE, LATER = [False, False, False], [False, True, True]
HIDDEN = "earlier tests in its process may have hidden a dependency"


def is_hidden(project, mode, test):
    """Of the first test, the second, and the second once more."""
    files = {"lib.py": LIB, "lazy.py": "", "data.txt": "", "test_it.py": test}
    agent = project(files, variables={"UNFLAKE_DEPENDENCIES": mode}).ready()
    found = []
    for done in agent.run(0, 1, 1):
        with open(done["dependencies"]) as file:
            found.append(HIDDEN in json.load(file)["unknown"])
    return found


@pytest.mark.parametrize(
    "test, expected",
    [(PLAIN, NONE), (READS, LATER), (READS_MORE, NONE), (SHARED, NONE), (LAZY, LATER), (STARTS, LATER)],
    ids=["plain", "cached", "read-again", "fixture", "lazy-import", "program"],
)
def test_by_file(project, test, expected):
    assert is_hidden(project, "file", test) == expected


def test_by_function_the_dependencies_of_earlier_attempts_are_added(dependencies):
    files = {"lib.py": LIB, "data.txt": "", "test_it.py": READS}
    alone, first, later = [dependencies(files, *tests, mode="function") for tests in ([1], [0], [0, 1])]
    assert later["executed"] == {
        "lib.py": sorted({*alone["executed"]["lib.py"], *first["executed"]["lib.py"]}),
        "test_it.py": ["<module>", "test_a", "test_b"],
    }
    assert "text" in later["executed"]["lib.py"] and later["read"] == ["data.txt"] and later["unknown"] == []


BREAKS_ONCE = """
    from unflake_agent.dependencies.plugin import DependencyPlugin as plugin
    def test_a():
        report = plugin._report
        def fail(*_):
            plugin._report = report
            raise ValueError
        plugin._report = fail
    def test_b(): pass
    """


@pytest.mark.parametrize("mode", ["file", "function"])
def test_attempt_whose_dependencies_are_not_recorded_hides_all(dependencies, mode):
    assert dependencies(BREAKS_ONCE, 1, mode=mode)["unknown"] == []
    assert dependencies(BREAKS_ONCE, 0, 1, mode=mode)["unknown"] != []
