import pytest

from bank.account import Account, transfer


def test_transfer():
    ana, ben = Account(100), Account(20)
    transfer(ana, ben, 30)

    assert (ana.balance, ben.balance) == (70, 50)


def test_transfer_to_itself_changes_nothing():
    ana = Account(100)
    transfer(ana, ana, 30)

    assert ana.balance == 100


def test_not_enough_money():
    with pytest.raises(ValueError):
        transfer(Account(1), Account(), 2)


def test_lock_is_free_after_a_refusal():
    ana = Account(1)
    with pytest.raises(ValueError):
        transfer(ana, Account(), 2)

    assert not ana.lock.locked()
