import datetime

VALID_UNTIL = datetime.date(2037, 12, 31)


def price(amount, today):
    return amount - 5 if today <= VALID_UNTIL else amount


def test_voucher_is_accepted():
    assert price(20, datetime.date.today()) == 15
