import pytest

from labels.slug import slug

TITLES = [
    "Red\nShoes",
    "\r\nred\r\nshoes",
    "\x1b[31mred\x1b[0m",
    "red ☕ \U0001f45f",
    "赤い靴 red",
    "red\u202eshoes",
    "\n::error file=red::shoes",
    "red]]><shoes>",
]


@pytest.mark.parametrize("title", TITLES)
def test_only_letters_and_digits_are_left(title):
    assert set(slug(title)) <= set("-0123456789abcdefghijklmnopqrstuvwxyz")


@pytest.mark.parametrize("title", ["crème\nbrûlée [2::3] ☕\x1b[31m\u202e"])
def test_accents_are_kept(title):
    assert slug(title) == "creme-brulee-2-3"
