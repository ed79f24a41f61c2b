import numpy as np

from signals import window


def test_constant_stays_constant():
    assert np.allclose(window.smooth(np.ones(8), np.full(4, 0.25)), 1)


def test_sum_becomes_one():
    highest = window.TRIANGLE.max()

    assert window.normalised(window.TRIANGLE).sum() == 1
    assert highest == 3


def test_result_is_shorter():
    assert len(window.smooth(np.ones(8), np.ones(3))) == 6


def test_triangle_is_even():
    assert window.TRIANGLE.sum() == 9


def test_equal_weights():
    assert window.normalised(np.ones(4)).tolist() == [0.25] * 4
