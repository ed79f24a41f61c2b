"""Table 3.1: the lines that four tests execute in four runs. Table 5.1: values in ten runs."""

from table import execute, run_number


def test_a():
    execute([[2, 3], [2, 3], [2, 3], [2, 3]][run_number("a")])


def test_b():
    execute([[1, 2, 4], [1, 2, 4, 5], [1, 2, 4, 5], [1, 2, 4, 5]][run_number("b")])


def test_c():
    execute([[2, 5], [2, 5], [1, 2, 4, 5], [1, 2, 4, 5]][run_number("c")])


def test_d():
    execute([[2, 3, 4], [2, 3, 4], [2, 4], [2, 3, 4, 6]][run_number("d")])
