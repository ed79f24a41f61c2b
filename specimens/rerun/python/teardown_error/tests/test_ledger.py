import pytest

from ledger.ledger import Ledger


@pytest.fixture
def ledger():
    ledger = Ledger()
    yield ledger
    ledger.close()


def test_new_ledger_is_empty(ledger):
    assert ledger.entries == []


def test_booking_can_be_cancelled(ledger):
    transaction = ledger.begin()
    transaction.book("rent", -90000)
    transaction.cancel()

    assert ledger.entries == []


def test_booking_is_kept(ledger):
    transaction = ledger.begin()
    transaction.book("rent", -90000)
    transaction.commit()

    assert ledger.entries == [("rent", -90000)]


def test_nothing_is_kept_before_the_commit(ledger):
    transaction = ledger.begin()
    transaction.book("rent", -90000)
    before = list(ledger.entries)
    transaction.commit()

    assert before == []
