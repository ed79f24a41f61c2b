import pytest

from labels.slug import slug

TITLES = [
    "Red Shoes",
    " red shoes ",
    "red\nshoes",
    "red\tshoes",
    "red::shoes",
    "red[shoes]",
    "red]shoes[",
    "'red' \"shoes\"",
    "red/shoes.py",
    "red\\shoes",
    "red $(shoes) `shoes` ${shoes}",
    "--red=shoes",
    "red%shoes%0A",
    "<red>&amp;</shoes>",
    "red — shoes",
    "::error file=red::shoes",
]


@pytest.mark.parametrize("title", TITLES)
def test_only_letters_and_digits_are_left(title):
    assert slug(title).startswith("red") or slug(title).startswith("error")


@pytest.mark.parametrize("title", ["crème \"brûlée\" [2::3] ☕\n"])
def test_accents_are_kept(title):
    assert slug(title) == "creme-brulee-2-3"


@pytest.mark.parametrize("title", ["", "-"])
def test_nothing_is_left(title):
    assert slug(title) == ""
