import os

import pytest

from mailer.transport import deliver, sender


@pytest.fixture
def outbox():
    return []


def test_sender():
    assert sender() == "shop@example.org"


def test_sender_can_be_chosen(monkeypatch, outbox):
    monkeypatch.setenv("MAILER_SENDER", "news@example.org")

    assert sender() == "news@example.org"


def test_dry_run(outbox):
    assert deliver("first", outbox)
    os.environ["MAILER_DRY_RUN"] = "1"

    assert not deliver("second", outbox)
    assert outbox == [("shop@example.org", "first")]


def test_mail_goes_out(outbox):
    deliver("hello", outbox)

    assert outbox == [("shop@example.org", "hello")]
