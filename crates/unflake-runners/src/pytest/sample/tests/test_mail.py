import pytest

from shop.mail import Backoff, GaveUp, send


def answering(*answers):
    answers = iter(answers)
    return lambda mail: next(answers)


def test_sent_at_once():
    assert send("hello", answering(True), Backoff(limit=0)) == 1


def test_retry():
    assert send("hello", answering(False, True), Backoff(limit=0.19)) == 2


def test_gives_up():
    with pytest.raises(GaveUp):
        send("hello", answering(False, False), Backoff(limit=0))
