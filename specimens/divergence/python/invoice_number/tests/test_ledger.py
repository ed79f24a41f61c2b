from billing.ledger import Ledger


def test_two_invoices_are_kept():
    ledger = Ledger()
    ledger.bill("ada", 10)
    ledger.bill("ben", 20)

    assert len(ledger) == 2


def test_numbers_have_a_prefix():
    assert Ledger().bill("ada", 10).startswith("R-")
