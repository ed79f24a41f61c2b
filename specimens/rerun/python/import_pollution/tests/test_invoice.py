from invoices.invoice import gross, total


def test_tax_is_added():
    assert gross(1000) == 1190


def test_nothing_costs_nothing():
    assert gross(0) == 0


def test_empty_invoice():
    assert total([]) == 0
