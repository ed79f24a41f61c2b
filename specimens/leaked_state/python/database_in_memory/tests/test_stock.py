from shop import stock


def test_item_is_added():
    stock.add("pen")

    assert stock.count() > 0


def test_stock_is_empty_at_first():
    assert stock.count() == 0
