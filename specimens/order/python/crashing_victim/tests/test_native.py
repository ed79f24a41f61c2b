import pytest

from solver import native


def test_inverse():
    assert native.invert(4) == 0.25


def test_without_checks():
    native.trust_the_caller()

    assert native.invert(2) == 0.5


def test_negative_number():
    assert native.invert(-1) == -1


def test_zero_is_refused():
    with pytest.raises(ZeroDivisionError):
        native.invert(0)


def test_inverse_of_the_inverse():
    assert native.invert(native.invert(8)) == 8
