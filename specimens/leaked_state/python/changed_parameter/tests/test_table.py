import pytest

from shop import table


@pytest.mark.parametrize("rows, columns", [([["a"], ["b", "c"]], [1, 2]), ([["a"]], [1])])
def test_columns(rows, columns):
    assert [len(row) for row in rows] == columns

    assert table.render(rows).count("\n") == len(rows) - 1
