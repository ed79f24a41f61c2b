import pytest

from bank import accounts
from bank.pool import Pool


@pytest.fixture
def pool():
    return Pool(3, {"ada": 10, "ben": 20})


def test_preview_changes_nothing(pool):
    accounts.preview(pool, "ada", 5)
    accounts.deposit(pool, "ben", 1)

    assert pool.balances == {"ada": 10, "ben": 21}


def test_preview_shows_the_change(pool):
    assert accounts.preview(pool, "ada", 5) == {"ada": 15, "ben": 20}
