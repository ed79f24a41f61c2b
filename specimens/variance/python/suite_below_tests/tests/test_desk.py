import pytest

from desk.agents import Desk


@pytest.fixture(scope="module")
def desk():
    return Desk()


def test_first_call_is_answered(desk):
    assert "invoice" in desk.answer("which invoice?")


def test_second_call_is_answered(desk):
    assert "parcel" in desk.answer("which parcel?")
