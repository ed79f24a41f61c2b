import pytest

from hotel import rooms


@pytest.mark.parametrize("room", ["101", "205"])
def test_room_is_booked(room):
    assert rooms.book(room, "Ada") == "Ada"


@pytest.mark.parametrize("room, floor", [("101", 1), ("205", 2), ("12", 0)])
def test_floor(room, floor):
    assert rooms.floor(room) == floor


def test_first_floor_is_free():
    assert "101" not in rooms._guests
