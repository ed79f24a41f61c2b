from wiki.pages import search


def test_found():
    assert search("Welcome") == ["Start"]


def test_nothing_found():
    assert search("recipe") == []
