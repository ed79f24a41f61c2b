import pytest

from web.requests import handle
from web.sessions import Sessions


@pytest.fixture
def sessions():
    sessions = Sessions()
    yield sessions
    sessions.close()


def test_request_is_answered(sessions):
    sessions.open("t", "ada")

    assert handle(sessions, "t") == "hello Ada"


def test_unknown_visitor_has_to_sign_in(sessions):
    assert handle(sessions, "u").startswith("please sign in")
