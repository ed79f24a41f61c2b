import pytest

from letters.templates import TEXTS, template


@pytest.mark.parametrize("language", sorted(TEXTS))
def test_has_a_place_for_the_name(language):
    assert "{name}" in TEXTS[language]


def test_letter():
    assert template("en").format(name="Ana") == "Dear Ana, thank you!"


def test_another_letter():
    assert template("en").format(name="Ben") == "Dear Ben, thank you!"
