"""Table 5.1: what six assertions see in ten runs. Each has a test of its own, so that all are reached."""

from table import run_number


def test_root():
    is_root = False
    assert is_root is False


def test_width():
    width = [358, 358, 358, 358, 358, 348, 348, 348, 338, 338][run_number("width")]
    assert width == 358


def test_height():
    height = [496, 496, 496, 496, 498, 498, 498, 500, 500, 502][run_number("height")]
    assert height == 496


def test_text():
    text = "Indent..."
    assert text == "Indent..."


def test_selected():
    selected = run_number("selected") != 3
    assert selected == 1


def test_y():
    y = 22 if run_number("y") < 7 else 17
    assert y == 22
