from unittest import mock

import pytest

from pay import gateway
from pay.checkout import pay


def test_nothing_to_pay():
    assert pay(0) == "nothing to pay"


def test_amount_is_sent():
    with pytest.raises(gateway.NotConfigured):
        pay(990)
    send = mock.patch("pay.gateway.send", return_value="paid").start()

    assert pay(990) == "paid"
    send.assert_called_once_with({"amount": 990})


def test_negative_amount():
    assert pay(-5) == "nothing to pay"


def test_without_a_bank():
    with pytest.raises(gateway.NotConfigured):
        pay(990)


def test_answer_is_passed_on(monkeypatch):
    monkeypatch.setattr(gateway, "send", lambda request: "refused")

    assert pay(1) == "refused"
