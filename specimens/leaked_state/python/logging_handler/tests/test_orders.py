import io

from shop.log import configure, is_configured
from shop.orders import ship


def test_items_are_counted():
    assert ship({"shoes": 2, "socks": 5}) == 7


def test_lines_tell_their_level():
    stream = io.StringIO()
    configure(stream)
    ship({})

    assert stream.getvalue() == "WARNING an empty order is shipped\n"


def test_empty_order_has_no_items():
    assert ship({}) == 0


def test_shop_is_silent_until_it_is_told():
    ship({})

    assert not is_configured()


def test_empty_order_is_noticed(caplog):
    ship({})

    assert "empty order" in caplog.text
