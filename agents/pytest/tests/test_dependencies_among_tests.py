"""What tests of other files do to the answer: nothing, unless they are used."""

import json

FILE = {"UNFLAKE_DEPENDENCIES": "file"}
FAILS = "def test_%s(): assert False"


def told(connection, number):
    with open(connection.run(number)[0]["dependencies"]) as file:
        return json.load(file)


def three_files(project):
    files = {"test_a.py": FAILS % "a", "test_b.py": FAILS % "b", "test_c.py": "import test_b\ndef test_c(): assert not test_b"}
    return project(files, variables=FILE)


def test_copies_do_not_depend_on_the_files_of_copies_before_them(project):
    """Before each fork the file of the next test is prepared for tracebacks."""
    unflake = three_files(project)
    agent = unflake.ready()
    executed = [told(unflake.fork(agent, 5 + number), number)["executed"] for number in (0, 1)]
    assert executed == [["test_a.py"], ["test_b.py"]]


def test_names_of_other_test_files_were_looked_for_by_those_alone(project):
    unflake = three_files(project)
    agent = unflake.ready()
    searched = [set(told(unflake.fork(agent, 5 + number), number)["searched"]["."]) for number in (0, 2)]
    names = {"test_a", "test_b", "test_c"}
    assert [found & names for found in searched] == [{"test_a"}, {"test_b", "test_c"}]
    assert "json" in searched[0]


def test_the_line_that_leads_to_a_file_is_one_on_the_way_from_the_test(project):
    files = {
        "shop.py": "import rates",
        "rates.py": "",
        "late.py": "",
        "test_a.py": "import rates\ndef test_a(): pass",
        "test_b.py": "import os\nimport shop\ndef test_b():\n    import late",
    }
    unflake = project(files, variables=FILE)
    agent = unflake.ready()
    assert told(unflake.fork(agent, 5), 1)["via"] == {"shop.py": "test_b.py:2", "rates.py": "shop.py:1", "late.py": "test_b.py:4"}
