import socket

import pytest

from chat.server import Server, open_room, port
from chat.words import tidy


def test_spaces_are_tidied():
    assert tidy("  hello   all ") == "hello all"


def test_room_can_be_reached():
    open_room("lobby")

    socket.create_connection(("127.0.0.1", port()), timeout=5).close()


def test_empty_line():
    assert tidy("  ") == ""


def test_closed_server_lets_nobody_in():
    Server("attic").close()

    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port()), timeout=5)


def test_one_word():
    assert tidy("hello") == "hello"
