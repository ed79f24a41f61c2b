from game import dice


def test_first_throws():
    assert [dice.throw() for _ in range(5)] == [1, 6, 4, 4, 2]


def test_sum_is_the_score():
    assert dice.score([1, 2, 3]) == 6


def test_equal_dice_count_twice():
    assert dice.score([2, 2]) == 8


def test_die_has_six_sides():
    assert {dice.throw() for _ in range(200)} == {1, 2, 3, 4, 5, 6}


def test_no_dice():
    assert dice.score([]) == 0
