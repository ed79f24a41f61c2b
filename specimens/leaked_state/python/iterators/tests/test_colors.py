from shop import colors


def test_any_color():
    assert colors.next_color() in ("red", "green", "blue")


def test_first_color():
    assert colors.next_color() == "red"


def test_any_number():
    assert next(colors.NUMBERS) > 0


def test_first_number():
    assert next(colors.NUMBERS) == 1
