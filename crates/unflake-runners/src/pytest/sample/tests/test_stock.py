from shop import stock


def test_unknown_article():
    assert stock.available("unicorn") == 0


def test_abandoned_carts_are_released():
    stock.reserve("mug")
    stock.release_abandoned()

    assert stock.available("mug") == 40
