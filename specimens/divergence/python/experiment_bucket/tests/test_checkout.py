from shop import checkout


def test_checkout_has_three_steps():
    assert checkout.page().count("<li>") == 3


def test_address_comes_first():
    assert checkout.steps()[0] == "address"
