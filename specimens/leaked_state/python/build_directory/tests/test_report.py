from shop import report


def test_one_line():
    report.add("sold: 1")

    assert report.lines() == ["sold: 1"]


def test_a_line_at_the_end():
    report.add("sold: 2")

    assert report.lines()[-1] == "sold: 2"
