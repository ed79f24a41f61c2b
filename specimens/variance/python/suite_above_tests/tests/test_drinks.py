from mixer import drinks


def test_tea_is_tea():
    assert drinks.tea()[0] == "tea"


def test_coffee_is_coffee():
    assert drinks.coffee()[0] == "coffee"


def test_water_is_water():
    assert drinks.water()[0] == "water"
