import pytest

from menu import card


def test_whole_euros():
    assert card.price(900) == "9.00"


def test_cents():
    assert card.price(1205) == "12.05"


def test_old_printers_have_no_accents():
    assert card.printable("entrée")
    card.plain()

    with pytest.raises(UnicodeEncodeError):
        card.printable("entrée")


def test_accents():
    assert card.printable("crème brûlée") == "crème brûlée".encode()


def test_plain_letters():
    assert card.printable("soup") == b"soup"
