import threading
from contextlib import nullcontext

from bank.account import Account


def deposit_in_two_threads(account):
    def deposits():
        for _ in range(20):
            account.deposit(1)

    threads = [threading.Thread(target=deposits) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return account.balance


def test_no_deposit_is_lost():
    assert deposit_in_two_threads(Account(nullcontext())) == 40


def test_no_deposit_is_lost_with_a_lock():
    assert deposit_in_two_threads(Account(threading.Lock())) == 40
