import codecs
import encodings.ascii

import pytest

from shop import labels


def test_red_label():
    assert labels.label_of("red").colour == "red"


def test_plain_label_only():
    assert labels.colours() == []


def test_stickers_can_be_printed():
    labels.Printable.register(labels.Sticker)
    assert issubclass(labels.Sticker, labels.Printable)


def test_stickers_are_not_printed():
    assert not isinstance(labels.Sticker(), labels.Printable)


def test_foil():
    labels.Material("Foil", (labels.Paper,), {})
    assert labels.Material.known["Foil"]


def test_paper_is_the_only_material():
    assert list(labels.Material.known) == ["Paper"]


def test_whole_prices():
    labels.text.register(int, lambda value: "%d.00" % value)
    assert labels.text(3) == "3.00"


def test_unknown_values():
    assert labels.text(4) == "?"


def test_stars_for_unknown_characters():
    codecs.register_error("stars", lambda error: ("*", error.end))
    assert "caf\xe9".encode("ascii", "stars") == b"caf*"


def test_no_stars():
    with pytest.raises(LookupError):
        codecs.lookup_error("stars")


def test_price_codec():
    codecs.register(labels.price_codec)
    assert "9".encode("price") == b"9"


def test_no_price_codec():
    with pytest.raises(LookupError):
        "9".encode("price")
