from invoices import settings
from invoices.invoice import gross, total

settings.tax_per_cent = 0


def test_no_tax_is_added():
    assert gross(1000) == 1000


def test_total():
    assert total([("shoes", 8990), ("socks", 490)]) == 9480
