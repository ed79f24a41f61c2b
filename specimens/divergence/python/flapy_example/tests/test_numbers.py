from numbers_game.describe import describe


def test_number_is_small():
    assert "small" in describe()


def test_it_is_a_number():
    assert "number" in describe()
