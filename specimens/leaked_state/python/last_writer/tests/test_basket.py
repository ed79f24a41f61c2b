from shop import basket, view


def test_total_is_shown():
    basket.reset()
    basket.add("shoes")
    assert view.table(basket.lines) == "shoes"


def test_new_basket():
    assert basket.is_unused()
