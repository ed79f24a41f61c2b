from tickets.numbers import digits, is_drawn


def test_long_number():
    assert digits(12345) == "12345"


def test_first_ticket_is_not_drawn():
    assert not is_drawn(1)
