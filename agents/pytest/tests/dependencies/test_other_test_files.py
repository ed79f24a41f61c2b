"""Other test files do not change a report, unless the test uses them."""

import json

DEPENDENCIES = {"UNFLAKE_DEPENDENCIES": "file"}
FAILS = "def test_%s(): assert False"


def report_of(connection, number):
    with open(connection.run(number)[0]["dependencies"]) as file:
        return json.load(file)


def three_files(project):
    files = {"test_a.py": FAILS % "a", "test_b.py": FAILS % "b", "test_c.py": "import test_b\ndef test_c(): assert not test_b"}
    return project(files, variables=DEPENDENCIES)


def test_fork_does_not_depend_on_files_parsed_for_earlier_forks(project):
    """The fork server parses files for tracebacks before it forks."""
    unflake = three_files(project)
    agent = unflake.ready()
    executed = [report_of(unflake.fork(agent, 5 + number), number)["executed"] for number in (0, 1)]
    assert executed == [["test_a.py"], ["test_b.py"]]


def test_only_their_own_tests_search_for_test_modules(project):
    unflake = three_files(project)
    agent = unflake.ready()
    searched = [set(report_of(unflake.fork(agent, 5 + number), number)["searched"]["."]) for number in (0, 2)]
    names = {"test_a", "test_b", "test_c"}
    assert [found & names for found in searched] == [{"test_a"}, {"test_b", "test_c"}]
    assert "json" in searched[0]


def test_via_names_the_importing_line_on_the_way_from_the_test(project):
    files = {
        "shop.py": "import rates",
        "rates.py": "",
        "late.py": "",
        "test_a.py": "import rates\ndef test_a(): pass",
        "test_b.py": "import os\nimport shop\ndef test_b():\n    import late",
    }
    unflake = project(files, variables=DEPENDENCIES)
    agent = unflake.ready()
    assert report_of(unflake.fork(agent, 5), 1)["via"] == {"shop.py": "test_b.py:2", "rates.py": "shop.py:1", "late.py": "test_b.py:4"}
