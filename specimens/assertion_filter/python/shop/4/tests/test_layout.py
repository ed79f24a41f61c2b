from shop.window import Window


def test_layout():
    window = Window()
    assert window.width == 358
    assert window.height == 496
    assert window.title == "Your order"

