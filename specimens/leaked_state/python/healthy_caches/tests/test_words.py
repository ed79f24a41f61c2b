import pytest

from text import words


@pytest.mark.parametrize("word, number", [("rain", 2), ("sun", 0), ("in", 1)])
def test_words_are_counted(word, number):
    assert words.count(word, "Rain in the rainy rain") == number


def test_stem():
    assert words.stem("clouds") == "cloud"


def test_stop_words_are_left_out():
    assert words.Reader.shared().read("The end of days") == ["end", "day"]


def test_reader_is_shared():
    assert words.Reader.shared() is words.Reader.shared()


def test_decimals():
    from decimal import Decimal

    assert Decimal("0.1") * 3 == Decimal("0.3")
