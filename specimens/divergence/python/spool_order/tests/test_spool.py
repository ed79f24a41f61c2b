from spool.box import Box
from spool.printer import print_all


def test_first_come_first_served(tmp_path):
    box = Box(tmp_path)
    box.put("letter")
    box.put("poster")

    assert print_all(box) == ["letter", "poster"]


def test_what_is_urgent_comes_first(tmp_path):
    box = Box(tmp_path)
    box.put("letter")
    box.put("urgent notice")

    assert print_all(box)[0] == "urgent notice"
