import pytest

from catalogue.service import Search, service


@pytest.fixture(scope="module")
def search():
    connected = service.connect()
    connected.add(17, "red shoes")
    connected.add(18, "red socks")
    return connected


def test_finds_by_word(search):
    assert search.find("shoes") == [17]


def test_finds_all(search):
    assert search.find("red") == [17, 18]


def test_finds_nothing(search):
    assert search.find("green") == []


def test_empty_catalogue():
    assert Search().find("red") == []
