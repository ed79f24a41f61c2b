from editor import undo


def test_step_is_kept():
    undo.do("type a")

    assert undo._steps[-1] == "type a"


def test_forgotten():
    undo.forget()

    assert undo._steps == []


def test_nothing_to_undo():
    assert undo.undo() is None


def test_step_is_undone():
    undo.do("delete b")

    assert undo.undo() == "delete b"
