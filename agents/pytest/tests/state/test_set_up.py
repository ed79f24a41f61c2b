"""State that shared set-up makes: what the body of a test changes in it is named, not the whole."""

import pytest

# By kind: the cell that the body changes, and the test file. The first test pollutes the second.
SHARED_SET_UP = {
    "setup_class": (
        "test_it.TestBuffer.buffer",
        """
        class TestBuffer:
            @classmethod
            def setup_class(cls): cls.buffer = []
            def test_pollutes(self): self.buffer.append(1)
            def test_suffers(self): assert self.buffer == []
        """,
    ),
    "setUpClass": (
        "test_it.TestConnection.connection['open']",
        """
        import unittest
        class TestConnection(unittest.TestCase):
            @classmethod
            def setUpClass(cls): cls.connection = {"open": 0}
            def test_1_pollutes(self): self.connection["open"] += 1
            def test_2_suffers(self): assert self.connection["open"] == 0
        """,
    ),
    "setup_module": (
        "test_it.tables['a']",
        """
        def setup_module(module): module.tables = {"a": []}
        def test_pollutes(): tables["a"].append(2)
        def test_suffers(): assert tables["a"] == []
        """,
    ),
    "module fixture": (
        "fixture box.merge",
        """
        import pytest
        class Box: merge = False
        @pytest.fixture(scope="module")
        def box():
            made = Box()
            made.merge = False
            return made
        def test_pollutes(box): box.merge = True
        def test_suffers(box): assert not box.merge
        """,
    ),
    "session fixture": (
        "fixture registry['vat']",
        """
        import pytest
        @pytest.fixture(scope="session")
        def registry(): return {}
        def test_pollutes(registry): registry["vat"] = 1
        def test_suffers(registry): assert registry == {}
        """,
    ),
}


@pytest.mark.parametrize("kind", SHARED_SET_UP)
def test_change_inside_of_what_set_up_made_is_named_and_restored(state_session, kind):
    path, source = SHARED_SET_UP[kind]
    session = state_session({"test_it.py": source})
    cells = session.pollute()
    assert {cell for cell in cells if not session.cells[cell].get("set_up")} == {path}, session.report
    assert session.restored() == ([], "failed")
    assert session.restored(path) == ([], "passed")


def test_set_up_that_leaks_is_a_cell_of_set_up(state_session):
    files = {
        "shop.py": "mode = 'plain'",
        "test_it.py": """
            import shop
            class TestPollutes:
                def setup_class(cls): shop.mode = "test"
                def test_it(self): pass
            def test_suffers(): assert shop.mode == "plain"
        """,
    }
    session = state_session(files)
    assert session.pollute() == {"shop.mode"}, session.report
    assert session.cells["shop.mode"]["set_up"] is True
    assert session.restored("shop.mode") == ([], "passed")


# By cell: the file of tests, of which the first is watched, and the line that leaves the value.
WRITES = {
    "test_it.TestBuffer.buffer['a']": (
        8,
        """
        class TestBuffer:
            @classmethod
            def setup_class(cls):
                cls.buffer = {}
            def test_pollutes(self):
                self.buffer["a"] = 1
                self.buffer["a"] = 2
                print(self.buffer)
        """,
    ),
    "test_it.TestList.items": (
        6,
        """
        class TestList:
            def setup_class(cls):
                cls.items = []
            def test_pollutes(self):
                self.items.append(1)
                print(self.items)
        """,
    ),
    "fixture box['open']": (
        6,
        """
        import pytest
        @pytest.fixture(scope="module")
        def box(): return {}
        def test_pollutes(box):
            box["open"] = True
            print(box)
        """,
    ),
    "test_it.registry.items['x']": (
        8,
        """
        class Registry:
            def __init__(self): self.items = {}
        registry = Registry()
        def test_pollutes():
            global registry
            registry = Registry()
            registry.items["x"] = 1
            print(registry)
        """,
    ),
}


@pytest.mark.parametrize("cell", WRITES)
def test_line_that_left_the_value_is_found(state_session, cell):
    line, source = WRITES[cell]
    session = state_session({"test_it.py": source})
    session.remember()
    session.agent.order("watch", cells=[cell])
    events = session.agent.events_of_run(0, hold=True)
    assert [(one["cell"], one["line"]) for one in events if one["event"] == "written"] == [(cell, line)]
