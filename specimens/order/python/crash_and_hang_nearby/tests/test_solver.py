import time

from solver import native, steps


def test_halving_ends():
    assert steps.iterate(1, lambda value: value // 2) == 0


def test_empty_matrix():
    assert native.factor([]) == []


def test_few_steps_are_enough():
    steps.limit = 3

    assert steps.iterate(2, lambda value: value // 2) == 0


def test_endless_steps():
    def back_and_forth(value):
        time.sleep(0.01)
        return 1 - value

    assert steps.wait_for_end(0, back_and_forth) in (0, 1)


def test_matrix_is_copied():
    matrix = [[1]]

    assert native.factor(matrix) is not matrix


def test_many_steps():
    assert steps.iterate(40, lambda value: max(0, value - 1)) == 0
