import pytest

from sound import codecs


def test_extension():
    assert codecs.extension("song.FLAC") == "flac"


def test_built_in_codec_is_not_replaced():
    with pytest.raises(ValueError):
        codecs.register("wav")


def test_codec_is_registered():
    before = codecs.number()
    codecs.register("opus")

    assert codecs.number() == before + 1


def test_two_codecs_are_built_in():
    assert codecs.number() == 2


def test_no_extension():
    assert codecs.extension("song") == "song"
