import time

import pytest

from auth.codes import code_for
from auth.login import Login, Refused


@pytest.fixture
def login():
    login = Login()
    login.register("ada", b"secret")
    return login


def test_code_lets_its_owner_in(login):
    code = code_for(b"secret")
    time.sleep(0.015)  # By text message.
    login.enter("ada", code)

    assert login.inside == ["ada"]


def test_wrong_code_is_refused(login):
    with pytest.raises(Refused):
        login.enter("ada", "123")
